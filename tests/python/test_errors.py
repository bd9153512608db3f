"""What the compiled methods refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soa

ARM = soa.Model.open("arm7")
DOG = soa.Model.open("quadruped")
Q = np.zeros(7)

REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    # shapes
    (ValueError, "aba: q has shape (6,), expected (7,) for one state or (N, 7) for many", lambda: ARM.aba(np.zeros(6))),
    (ValueError, "aba: q has shape (2, 6), expected (7,) for one state or (N, 7) for many", lambda: ARM.aba(np.zeros((2, 6)))),
    (ValueError, "mass: q has shape (), expected (7,) for one state or (N, 7) for many", lambda: ARM.mass(np.array(1.0))),
    (ValueError, "mass: q has shape (1, 2, 7), expected (7,) for one state or (N, 7) for many",
     lambda: ARM.mass(np.zeros((1, 2, 7)))),
    (ValueError, "aba: v has shape (2, 7), expected (7,), because q is one state", lambda: ARM.aba(Q, np.zeros((2, 7)))),
    (ValueError, "aba: v has shape (3, 7), expected (2, 7), because q has 2 states",
     lambda: ARM.aba(np.zeros((2, 7)), np.zeros((3, 7)))),
    (ValueError, "rnea: v has shape (7,), expected (2, 7), because q has 2 states",
     lambda: ARM.rnea(np.zeros((2, 7)), np.zeros(7))),
    (ValueError, "jacobian_transpose_mul: f has shape (3,), expected (6,), because q is one state",
     lambda: ARM.jacobian_transpose_mul(Q, "link7", [1.0, 2.0, 3.0])),
    # dtypes
    (TypeError, "aba: q has dtype int64, expected float64 or float32; convert it with q.astype(float)",
     lambda: ARM.aba(np.zeros(7, dtype=np.int64))),
    (TypeError, "aba: q has dtype complex128", lambda: ARM.aba(np.zeros(7, dtype=complex))),
    (TypeError, "aba: q has dtype object", lambda: ARM.aba(np.zeros(7, dtype=object))),
    (TypeError, "aba: v is float64, but q is float32; give both the same dtype",
     lambda: ARM.aba(np.zeros(7, dtype=np.float32), np.zeros(7))),
    (TypeError, "minv works in float64 only, q is float32; aba, rnea and mass take float32",
     lambda: ARM.minv(np.zeros(7, dtype=np.float32))),
    (TypeError, "aba: wrenches need float64 arrays",
     lambda: ARM.aba(np.zeros(7, dtype=np.float32), wrenches=[soa.Wrench("link7")])),
    (TypeError, "aba: q is a <class 'str'>, expected an array or a sequence of numbers", lambda: ARM.aba("seven")),
    (TypeError, "aba: q is a <class 'list'>, expected an array or a sequence of numbers",
     lambda: ARM.aba([1.0, [2.0], 3.0])),
    (TypeError, "integrate: dt is a <class 'str'>, expected a number", lambda: ARM.integrate(Q, Q, "now")),
    # arguments
    (TypeError, "aba needs the argument q", lambda: ARM.aba()),
    (TypeError, "aba needs the argument q", lambda: ARM.aba(None)),
    (TypeError, "pose needs the argument frame", lambda: ARM.pose(Q)),
    (TypeError, "mass takes at most 1 arguments, 2 given", lambda: ARM.mass(Q, Q)),
    (TypeError, "mass: argument 'q' is given twice", lambda: ARM.mass(Q, q=Q)),
    (TypeError, "mass has no argument 'Q'; it takes q", lambda: ARM.mass(Q=Q)),
    # frames, axes, wrenches
    (soa.InputError, "the model has no frame 'link77'; did you mean 'link7'?", lambda: ARM.pose(Q, "link77")),
    (IndexError, "frame 99: the model has frames 0 (the world) to", lambda: ARM.pose(Q, 99)),
    (IndexError, "frame -1: the model has frames 0 (the world) to", lambda: ARM.pose(Q, -1)),
    (TypeError, "frame is a <class 'float'>, expected a name or a number", lambda: ARM.pose(Q, 1.0)),
    (ValueError, "axes is 'local', expected 'world' or 'body'", lambda: ARM.jacobian(Q, "link7", "local")),
    (ValueError, "0 frames given, expected 1 to 64", lambda: ARM.jjt(Q, [])),
    (ValueError, "65 frames given, expected 1 to 64", lambda: ARM.jjt(Q, ["link7"] * 65)),
    (ValueError, "65 wrenches given, expected at most 64", lambda: ARM.aba(Q, wrenches=[soa.Wrench("link7")] * 65)),
    (TypeError, "a wrench is a <class 'int'>, expected a soa.Wrench", lambda: ARM.aba(Q, wrenches=[3])),
    (ValueError, "a wrench has 3 numbers, expected 6: moment, force",
     lambda: ARM.aba(Q, wrenches=[soa.Wrench("link7", [1, 2, 3])])),
    (ValueError, "axes is 'tool', expected 'world' or 'body'",
     lambda: ARM.aba(Q, wrenches=[soa.Wrench("link7", [0] * 6, "tool")])),
    (ValueError, "factor is 'M', expected one of L, L*", lambda: ARM.mass_factor_mul(Q, "M", Q)),
    # numbers
    (soa.InputError, "aba: q[3] is nan: all numbers must be finite", lambda: ARM.aba([0, 0, 0, np.nan, 0, 0, 0])),
    (soa.InputError, "rnea: v[0] is inf: all numbers must be finite", lambda: ARM.rnea(Q, [np.inf, 0, 0, 0, 0, 0, 0])),
    (soa.InputError, "aba (state 1): tau[1, 2] is -inf: all numbers must be finite",
     lambda: ARM.aba(np.zeros((3, 7)), None, np.array([[0.0] * 7, [0, 0, -np.inf, 0, 0, 0, 0], [0.0] * 7]))),
    (soa.InputError, "minv (state 2): q[2, 6] is nan", lambda: ARM.minv(np.where(np.arange(21).reshape(3, 7) == 20, np.nan, 0))),
    (soa.InputError, "Model.normalise(q) makes it so", lambda: DOG.aba(np.zeros(19))),
    (soa.InputError, "mass (state 1): joint 'root'", lambda: DOG.mass(np.array([DOG.neutral(), 1.01 * DOG.neutral() + 0.0]))),
    (soa.InputError, "normalise: joint 'root'", lambda: DOG.normalise(np.zeros(19))),
    # models
    (KeyError, "the model has no joint 'joint8' that moves; did you mean", lambda: ARM.joint("joint8")),
    (IndexError, "body 8: the model has bodies 1 to 7", lambda: ARM.body(8)),
    (IndexError, "body 0: the model has bodies 1 to 7", lambda: ARM.body(0)),
    (OSError, "", lambda: soa.Model.open("/no/such/file.urdf")),
    (soa.InputError, "", lambda: soa.Model.open("arm8")),
    (soa.FileError, "", lambda: soa.Model.from_urdf("<robot><link name='a'>")),
    (soa.SoaError, "", lambda: soa.Model.from_bytes(b"no model at all")),
    (soa.SoaError, "", lambda: soa.Model.from_bytes(b"")),
]


@pytest.mark.parametrize("kind, words, call", REFUSED, ids=[f"{i}" for i in range(len(REFUSED))])
def test_refused(kind: type[Exception], words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind) as caught:
        call()
    text = caught.value.args[0]
    assert words in text and text, text


def test_fields_of_exceptions() -> None:
    with pytest.raises(soa.SoaError) as caught:
        DOG.aba(np.zeros(19))
    assert caught.value.status == "SOA_E_QUATERNION"
    assert caught.value.body == DOG.joint("root").number
    with pytest.raises(soa.SoaError) as caught:
        soa.Model.from_urdf("<robot name='r'>\n<link name='a'>\n</robot>")
    assert caught.value.status == "SOA_E_FORMAT" and caught.value.line == 3


def test_massless_joint_is_singular() -> None:
    urdf = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="0"/>
        <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""
    model = soa.Model.from_urdf(urdf)
    with pytest.raises(soa.SingularError, match="joint 'j'") as caught:
        model.aba([0.0], None, [1.0])
    assert isinstance(caught.value, ArithmeticError) and caught.value.status == "SOA_E_HINGE_SINGULAR"

"""What the Python part refuses, and in which words: the argument, its value, what was expected, what to do."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soa
import soa.collision
from soa.operators import form, parse

ARM = soa.Model.open("arm7")
Q = ARM.neutral() + 0.3
SLOPE = soa.Scenario.open("slope")
BALL = {"name": "ball", "body": {"mass": 1, "box": [0.1, 0.1, 0.1]}}


def made(**keys: Any) -> soa.Scenario:
    return soa.Scenario.from_dict({"name": "drop", "duration": 0.2, "parts": [BALL], **keys})


def pulled(*pulls: soa.Pull, holds: tuple[soa.Hold, ...] = ()) -> None:
    SLOPE.world().set_pulls(pulls, holds)


REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    # poses
    (ValueError, "position has shape (2,), expected (3,)", lambda: soa.pose([1, 2])),
    (ValueError, "position is [nan  0.  0.], expected finite", lambda: soa.pose([np.nan, 0, 0])),
    (ValueError, "rpy has shape (2,), expected (3,)", lambda: soa.pose(rpy=[0, 1])),
    (ValueError, "rotation has shape (2, 2), expected (3, 3)", lambda: soa.pose(rotation=np.eye(2))),
    (ValueError, "differs from the identity by 3, expected at most 1e-06", lambda: soa.pose(rotation=2 * np.eye(3))),
    (ValueError, "give one of rpy, rotation and quaternion", lambda: soa.pose(rpy=[0, 0, 1], quaternion=[1, 0, 0, 0])),
    (ValueError, "expected w x y z of length 1", lambda: soa.pose(quaternion=[1, 1, 0, 0])),
    (ValueError, "quaternion has shape (3,), expected (4,)", lambda: soa.pose(quaternion=[1, 0, 0])),
    (ValueError, "rotation has shape (2, 2), expected (3, 3), or (4, 4)", lambda: soa.quaternion(np.eye(2))),
    (ValueError, "differs from the identity", lambda: soa.quaternion(np.ones((3, 3)))),
    (ValueError, "rotation is a reflection", lambda: soa.pose(rotation=-np.eye(3))),
    (ValueError, "rotation has a number that is not finite", lambda: soa.pose(rotation=np.full((3, 3), np.nan))),
    (ValueError, "3 x 3 part of a pose is no rotation",
     lambda: ARM.inverse_kinematics("link7", np.diag([1.0, 1.0, 1.001, 1.0]))),
    # wrenches
    (TypeError, "wrenches is a single soa.Wrench, expected a sequence", lambda: ARM.aba(Q, wrenches=soa.Wrench("link7"))),
    (TypeError, "wrenches is a single soa.Wrench, expected a sequence", lambda: ARM.smoother(Q, wrenches=soa.Wrench("link7"))),  # type: ignore[arg-type]
    (ValueError, "a wrench has two dimensions, expected 6 numbers, the same for all states",
     lambda: ARM.rnea(np.zeros((2, 7)), wrenches=[soa.Wrench("link7", np.zeros((2, 6)))])),
    (soa.InputError, "random: n is -1", lambda: ARM.random(n=-1)),
    # operational space, inverse kinematics
    (soa.InputError, "operational_space: damping is -1, expected 0 or more",
     lambda: ARM.operational_space(Q, None, "link7", damping=-1)),
    (soa.InputError, "operational_space: damping is nan", lambda: ARM.operational_space(Q, None, "link7", damping=np.nan)),
    (soa.InputError, "operational_space: there are no tasks", lambda: ARM.operational_space(Q, None, [])),
    (soa.SingularError, "task 'link7' has 6 rows, of which the joints can move 5",
     lambda: ARM.operational_space(ARM.neutral(), None, "link7")),
    (soa.SingularError, "the tasks 'link7', 'link7' have 12 rows together, of which the joints can move 6",
     lambda: ARM.operational_space(Q, None, ["link7", soa.Task("link7", "body")])),
    (soa.SingularError, "damping > 0, for example damping=1e-6", lambda: ARM.operational_space(ARM.neutral(), None, "link7")),
    (soa.InputError, "most_steps is -1, expected 0 or more",
     lambda: ARM.inverse_kinematics("link7", np.eye(4), most_steps=-1)),
    (soa.InputError, "tolerance is -0.1, expected 0 or more",
     lambda: ARM.inverse_kinematics("link7", np.eye(4), tolerance=-0.1)),
    (soa.InputError, "tolerance is nan", lambda: ARM.inverse_kinematics("link7", np.eye(4), tolerance=np.nan)),
    (soa.InputError, "frame 0 is fixed to the world", lambda: ARM.inverse_kinematics(0, np.eye(4))),
    # pulls
    (soa.InputError, "body of pull 1 is 99, expected a moving body, 1 to 3", lambda: pulled(soa.Pull(1), soa.Pull(99))),
    (soa.InputError, "body of pull 0 is 0, expected", lambda: pulled(soa.Pull(0))),
    (soa.InputError, "did you mean", lambda: pulled(soa.Pull("smoth"))),
    (soa.InputError, "stiffness of pull 0 is -2, expected", lambda: pulled(soa.Pull(1, stiffness=-2))),
    (soa.InputError, "most of pull 0 is inf, expected", lambda: pulled(soa.Pull(1, most=np.inf))),
    (soa.InputError, "force of pull 0 is [nan  0.  0.]", lambda: pulled(soa.Pull(1, force=[np.nan, 0, 0]))),
    (ValueError, "at of pull 0 has shape (2,)", lambda: pulled(soa.Pull(1, at=[0, 0]))),
    (soa.InputError, "there are 17 pulls, expected 16 at most", lambda: pulled(*[soa.Pull(1)] * 17)),
    (soa.InputError, "v of hold 0 is 99, expected", lambda: pulled(holds=(soa.Hold(99, 0.0, 1.0),))),
    (soa.InputError, "v of hold 0 is 0, at the free joint", lambda: pulled(holds=(soa.Hold(0, 0.0, 1.0),))),
    (soa.InputError, "to of hold 0 is nan", lambda: pulled(holds=(soa.Hold(0, np.nan, 1.0),))),
    (soa.InputError, "damping of hold 0 is -1", lambda: pulled(holds=(soa.Hold(0, 0.0, 1.0, damping=-1),))),
    # worlds and sweeps
    (soa.InputError, "ticks is -1, expected 0 or more", lambda: SLOPE.world().step(-1)),
    (TypeError, "float", lambda: SLOPE.world().step(1.5)),  # type: ignore[arg-type]
    (soa.InputError, "t is -1 s, but the world is at 0 s already", lambda: SLOPE.world().run_until(-1)),
    (ValueError, "t is inf, expected a time", lambda: SLOPE.world().run_until(np.inf)),
    (soa.InputError, "sweep: cases is 0, expected 1 or more", lambda: SLOPE.sweep(0)),
    (soa.InputError, "sweep: threads is -1, expected 0", lambda: SLOPE.sweep(1, threads=-1)),
    # motions
    (TypeError, "is a Model, expected Constraints: model.constraints", lambda: soa.simulate_closed(ARM, Q)),
    (TypeError, "is a Model, expected Grasp: soa.Grasp(model)", lambda: soa.simulate_grasp(ARM, Q)),
    (TypeError, "is a str, expected Constraints", lambda: soa.simulate_closed("arm7", Q)),
    (TypeError, "is a str, expected a Model", lambda: soa.simulate("arm7", Q)),  # type: ignore[arg-type]
    (TypeError, "torque is a ndarray, expected a function", lambda: soa.simulate(ARM, Q, torque=np.zeros(7))),  # type: ignore[arg-type]
    (TypeError, "torque returned a str ('x'), expected 7 numbers", lambda: soa.simulate(ARM, Q, torque=lambda t, q, v: "x")),
    (TypeError, "duration is '1': ", lambda: soa.simulate(ARM, Q, duration="1")),  # type: ignore[arg-type]
    (TypeError, "q is None, expected a configuration, (7,)", lambda: soa.simulate(ARM, None)),  # type: ignore[arg-type]
    # models and grasps
    (soa.InputError, "integrate: dt is nan: all numbers must be finite", lambda: ARM.integrate(Q, Q, dt=np.nan)),
    (soa.InputError, "with_gravity: gravity is [ 0.  0. nan]", lambda: ARM.with_gravity([0, 0, np.nan])),
    (TypeError, "joint is given by a int (3), expected its name", lambda: ARM.joint(3)),  # type: ignore[arg-type]
    (IndexError, "frame 'world' is fixed to the world", lambda: ARM.body("world")),
    (soa.InputError, "the model has no frame 'link9'", lambda: ARM.body("link9")),
    (soa.InputError, "there is no contact 5; there are []", lambda: soa.Grasp(ARM).remove(5)),
    (soa.InputError, "there is no contact 5; there are []", lambda: soa.Grasp(ARM).switch(5, True)),
    (soa.InputError, "both shapes are planes",
     lambda: soa.collision.distance(soa.collision.Shape.plane(), None, soa.collision.Shape.plane())),
    # states and seeds
    (soa.InputError, "World.model.normalise(q) makes it so", lambda: SLOPE.world().set_state(np.zeros(21))),
    (soa.InputError, "restore: the state (3 bytes) does not fit this world", lambda: SLOPE.world().restore(b"abc")),
    (TypeError, "state is a str, expected the bytes of World.save", lambda: SLOPE.world().restore("abc")),  # type: ignore[arg-type]
    (TypeError, "pulls is a single Pull, expected a sequence: [pull]",
     lambda: SLOPE.world().set_pulls(soa.Pull(1))),  # type: ignore[arg-type]
    (soa.InputError, "seed is -1, expected a whole number from 0 to 2^64 - 1", lambda: SLOPE.run(seed=-1)),
    (soa.InputError, "seed is -1, expected a whole number", lambda: SLOPE.sweep(1, seed=-1)),
    (soa.FileError, "the folder /no/such does not exist", lambda: SLOPE.run(until=0.01).report("/no/such/x.html")),
    # scenarios of dicts
    (soa.InputError, "duration is nan: all numbers must be finite", lambda: made(duration=float("nan"))),
    (soa.InputError, "parts[0].body.mass is inf: all", lambda: made(parts=[{"name": "b", "body": {"mass": np.float64("inf")}}])),
    (soa.InputError, "gravity[1] is nan: all", lambda: made(gravity=np.array([0, np.nan, 0]))),
    (soa.InputError, "gravity[1] is nan: all", lambda: SLOPE.with_values(gravity=[0.0, np.nan, 0.0])),
    (soa.InputError, "duration: expected a number, found 'long'", lambda: SLOPE.with_values(duration="long")),
    (soa.InputError, "duration: expected a number, found 'long'; line 3", lambda: made(duration="long")),
    (soa.InputError, "parts: expected a list, found '3'", lambda: made(parts=3)),
    (soa.InputError, "did you mean 'duration'?", lambda: made(durtion=1)),
    (TypeError, "control.rate: a scenario cannot hold a set", lambda: made(control={"rate": {1}})),
    (TypeError, "parts[0].place is a Model, which belongs under the key `model` of a part",
     lambda: soa.Scenario.from_dict({"parts": [{"name": "arm", "place": ARM}]})),
    (TypeError, "run has no argument 'controler' for a function; did you mean 'controller'",
     lambda: SLOPE.run(controler=lambda t, q, v: None)),
    (TypeError, "controller is a str, expected a function (t, q, v) -> tau",
     lambda: soa.World(SLOPE, "law")),  # type: ignore[arg-type]
    (TypeError, "Scenario.from_dict(document) reads dicts", lambda: soa.Scenario.open({"name": "x"})),  # type: ignore[arg-type]
    (ValueError, "soa.pose(position) makes one", lambda: ARM.inverse_kinematics("link7", [0.4, 0.2, 0.6])),
    # pickles
    (TypeError, "a Scenario cannot be pickled: send its text", lambda: pickle.dumps(SLOPE)),
    (TypeError, "a World cannot be pickled: make it there", lambda: pickle.dumps(SLOPE.world())),
    (TypeError, "give the run a file", lambda: pickle.dumps(SLOPE.run(until=0.01))),
    (soa.InputError, "the key 1 is a int, expected a str", lambda: made(control={1: 2})),
    # names
    (soa.InputError, "did you mean 'arm7'? (soa.stock_models() lists these: puma560,", lambda: soa.Model.open("arm77")),
    (soa.InputError, "'kuka' is neither a file (in ", lambda: soa.Model.open("kuka")),
    (soa.FileError, "soa.stock_models()", lambda: soa.Model.open("kuka.urdf")),
    (soa.FileError, "did you mean 'arm7'?", lambda: soa.Model.open("arm7.urdf")),
    (soa.SoaError, "soa.stock_scenarios() lists the shipped ones: ", lambda: soa.Scenario.open("grappel")),
    # operators
    (soa.InputError, "'FD5' is neither an operator nor a vector; own vectors are given with their values; did you mean 'FD1'?",
     lambda: parse("FD5")),
]


@pytest.mark.parametrize("kind, words, call", REFUSED, ids=[f"{i}" for i in range(len(REFUSED))])
def test_refused(kind: type[Exception], words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert words in caught.value.args[0], caught.value.args[0]


def test_status_of_input_errors() -> None:
    with pytest.raises(soa.InputError) as caught:
        SLOPE.sweep(0)
    assert caught.value.status == "SOA_E_ARGUMENT" and isinstance(caught.value, ValueError)
    with pytest.raises(soa.InputError) as caught:
        made(duration="long")
    assert caught.value.status == "SOA_E_FORMAT" and caught.value.line == 3 and not isinstance(caught.value, OSError)


def test_singular_task_is_the_one_named() -> None:
    """Of two tasks the one that is singular alone is named; fewer rows make it regular."""
    with pytest.raises(soa.SingularError) as caught:
        ARM.operational_space(Q, None, [soa.Task("link1"), soa.Task("link7", rows=[3])])
    text = str(caught.value)
    assert "task 'link1' has 6 rows, of which the joints can move 1" in text and "'link7'" not in text
    space = ARM.operational_space(Q, None, [soa.Task("link1", rows=[2]), soa.Task("link7", rows=[3])])
    assert space.rcond > 1e-12 and np.isfinite(space.inertia).all()
    damped = ARM.operational_space(ARM.neutral(), None, "link7", damping=1e-6)
    assert np.isfinite(damped.inertia).all()


def test_rotations_of_single_precision_are_accepted() -> None:
    turn = soa.pose(rpy=[0.3, 0.2, 0.1])[:3, :3].astype(np.float32)
    assert np.allclose(soa.pose(rotation=turn)[:3, :3], turn, atol=0)


# --- loops that are left out ------------------------------------------------------------------------------------------


def loop_warnings(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(one.category is soa.LoopWarning and one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


CALLS: dict[str, Callable[[soa.Model, np.ndarray[Any, Any]], Any]] = {
    "aba": lambda m, q: m.aba(q), "rnea": lambda m, q: m.rnea(q), "minv": lambda m, q: m.minv(q),
    "minv_mul": lambda m, q: m.minv_mul(q, np.ones(m.nv)), "bias_torque": lambda m, q: m.bias_torque(q),
    "gravity_torque": lambda m, q: m.gravity_torque(q), "aba_derivatives": lambda m, q: m.aba_derivatives(q),
    "rnea_derivatives": lambda m, q: m.rnea_derivatives(q), "compliance": lambda m, q: m.compliance(q, 1),
    "acceleration_parts": lambda m, q: m.acceleration_parts(q), "nu_force": lambda m, q: m.nu_force(q),
    "nu_rate": lambda m, q: m.nu_rate(q, np.ones(m.nv)), "smoother": lambda m, q: m.smoother(q),
    "op": lambda m, q: m.op("Mass", q=q), "estimate": lambda m, q: m.estimate(q),
    "observability": lambda m, q: m.observability(q, m.body(1).link),
    "operational_space": lambda m, q: m.operational_space(q, None, soa.Task(m.body(1).link, rows=[2]), 1e-3),
    "inverse_kinematics": lambda m, q: m.inverse_kinematics(m.body(1).link, np.eye(4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_loops_are_said_once(name: str) -> None:
    machine = soa.Model.open("four-bar")
    q = machine.neutral() + 0.1
    said = loop_warnings(lambda: CALLS[name](machine, q))
    assert len(said) == 1 and said[0].startswith(f"{name}: '{machine.name}' has 1 loop or other constraint, which")
    assert "model.constraints" in said[0] or "Model.constraints" in said[0]
    assert not loop_warnings(lambda: CALLS[name](machine, q))  # once for each model
    assert len(loop_warnings(lambda: CALLS[name](machine.with_gravity([0, 0, 0]), q))) == 1  # a copy is another model
    closed = soa.Model.open("four-bar")
    assert closed.constraints is not None
    assert not loop_warnings(lambda: CALLS[name](closed, q))  # who has the closed machine knows of it
    assert not loop_warnings(lambda: CALLS[name](ARM, Q))


def test_loops_as_an_error() -> None:
    machine = soa.Model.open("four-bar")
    with warnings.catch_warnings():
        warnings.simplefilter("error", soa.LoopWarning)
        with pytest.raises(soa.LoopWarning):
            machine.aba(machine.neutral())
    assert np.isfinite(machine.aba(machine.neutral())).all()


def test_what_loops_do_not_change_says_nothing() -> None:
    machine = soa.Model.open("four-bar")
    q = machine.neutral()
    assert not loop_warnings(lambda: (machine.pose(q, 1), machine.jacobian(q, 1), machine.mass(q), machine.energy(q)))


# --- algorithms by name -----------------------------------------------------------------------------------------------


def test_algorithms_by_name() -> None:
    ideal = soa.Model.open("arm7", ideal=True)
    v, tau = np.full(7, 0.2), np.arange(7.0)
    assert np.allclose(ideal.op("FD3", q=Q, v=v, tau=tau), ideal.aba(Q, v, tau), rtol=1e-10, atol=1e-10)
    for name in soa.operators.forms():
        try:
            wanted = ideal.op(form(name), q=Q, v=v, tau=tau, a=tau)
        except soa.SoaError:
            continue
        assert np.array_equal(ideal.op(f" {name} ", q=Q, v=v, tau=tau, a=tau), wanted, equal_nan=True), name


def test_a_variable_goes_before_a_name() -> None:
    """A caller's vector called as an algorithm is the vector."""
    x = np.arange(7.0)
    assert np.array_equal(ARM.op("FD3", q=Q, FD3=x), x)


# --- what is documented of axes ---------------------------------------------------------------------------------------


def test_jacobian_dot_v_in_both_axes() -> None:
    """By differences: J' v of world axes; the rate of the frame's own Jacobian differs by [0; w x v]."""
    rng = np.random.default_rng(7)
    q, v, h = rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7), 1e-6

    def rate(axes: Any) -> Any:
        return (ARM.jacobian(q + h * v, "link7", axes) - ARM.jacobian(q - h * v, "link7", axes)) @ v / (2 * h)

    world, own = (ARM.jacobian_dot_v(q, v, "link7", axes) for axes in ("world", "body"))
    np.testing.assert_allclose(world, rate("world"), atol=1e-8)
    R = ARM.pose(q, "link7")[:3, :3]
    np.testing.assert_allclose(own, np.concatenate([R.T @ world[:3], R.T @ world[3:]]), atol=1e-12)
    V = ARM.velocity(q, v, "link7", "body")
    np.testing.assert_allclose(rate("body"), own - np.concatenate([np.zeros(3), np.cross(V[:3], V[3:])]), atol=1e-8)
    assert np.abs(np.cross(V[:3], V[3:])).max() > 0.01


# --- motions that diverge, exceptions that carry what there is --------------------------------------------------------


def test_diverged_motion_is_called_that() -> None:
    with pytest.raises(soa.SoaError, match="the motion diverged to positions or speeds beyond 1e\\+09"):
        soa.simulate(ARM, Q, np.full(7, 1e100), duration=0.1, max_steps=1000)
    world = soa.Scenario.from_dict({"name": "a", "control": {"rate": 100}, "parts": [{"name": "arm", "model": "arm7"}]}).world()
    world.set_state(Q, np.full(7, 1e100))
    with pytest.raises(soa.SoaError, match="the motion diverged"):
        world.step()


def test_singular_joint_at_a_diverged_state() -> None:
    urdf = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="turn" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
        <joint name="slide" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    model = soa.Model.from_urdf(urdf)
    with pytest.raises(soa.SingularError, match=re.escape("but q[1] is 1e+200: the motion that led to this state")):
        model.aba([0.0, 1e200])
    with pytest.raises(soa.SingularError, match=re.escape("(state 1): joint 'turn'")) as caught:
        model.aba(np.array([[0.0, 0.0], [0.0, -1e200]]))
    assert "but q[1] is -1e+200" in str(caught.value)


def test_exceptions_carry_the_motion() -> None:
    def torque(t: float, q: Any, v: Any) -> Any:
        if t > 0.05:
            raise KeyError("fault of the law")
        return -v

    with pytest.raises(KeyError) as caught:
        soa.simulate(ARM, Q, duration=0.2, torque=torque, sample_time=0.01)
    motion = getattr(caught.value, "motion")
    assert 0.03 < motion.t[-1] <= 0.06 and motion.q.shape == (len(motion.t), 7)
    machine = soa.Model.open("four-bar")
    with pytest.raises(KeyError) as caught:
        soa.simulate_closed(machine.constraints, machine.neutral(), duration=0.2, torque=lambda t, q, v: torque(t, q, v))
    assert getattr(caught.value, "motion").t[-1] <= 0.06


# --- small conveniences -----------------------------------------------------------------------------------------------


def test_quaternions() -> None:
    rng = np.random.default_rng(11)
    body = soa.Model.open("satellite")
    special = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0.5, -0.5, 0.5, -0.5], [1e-9, 1, 0, 0]]
    for given in [*special, *rng.normal(size=(200, 4))]:
        four = np.asarray(given) / np.linalg.norm(given)
        place = soa.pose([1, 2, 3], quaternion=four)
        back = soa.quaternion(place)
        assert min(np.abs(back - four).max(), np.abs(back + four).max()) < 1e-14 and back[0] >= 0
        q = body.neutral()
        q[:3], q[3:7] = place[:3, 3], four
        np.testing.assert_allclose(body.pose(q, body.body(1).link), place, atol=1e-14)  # as the C code reads quaternions


def test_random_configurations() -> None:
    many = ARM.random(np.random.default_rng(3), 500)
    assert many.shape == (500, 7) and (many >= ARM.lower).all() and (many <= ARM.upper).all()
    assert len(np.unique(many[:, 0])) == 500 and np.ptp(many, axis=0).min() > 0.9 * (ARM.upper - ARM.lower).min()
    assert ARM.random(np.random.default_rng(3), 0).shape == (0, 7)
    dog = soa.Model.open("quadruped")
    np.testing.assert_allclose(np.linalg.norm(dog.random(np.random.default_rng(3), 20)[:, 3:7], axis=1), 1, atol=1e-12)


def test_bodies_by_name() -> None:
    assert ARM.body("link3").number == ARM.body(3).number == 3


def test_a_machine_without_joints_does_not_move() -> None:
    model = soa.Model.from_urdf("<robot name='r'><link name='a'/></robot>")
    assert soa.simulate(model, [], duration=0.1).q.shape == (21, 0)


def test_motions_are_printed_short() -> None:
    assert repr(soa.simulate(ARM, Q, duration=0.1)) == "<soa.Motion: 21 samples, 0 to 0.1 s, nq 7, nv 7>"

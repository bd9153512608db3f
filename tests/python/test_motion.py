"""Motion of single machines, against closed forms and energy."""

from __future__ import annotations

from ctypes import POINTER, byref
from typing import Any

import numpy as np
import pytest

import soa
from soa import _c
from soa._call import check, new_report
from soa.motion import simulate, simulate_closed, simulate_grasp


class Held:
    """A soa_constraints or soa_grasp for a test."""

    def __init__(self, pointer: Any, *keep: object) -> None:
        self._pointer = pointer
        self._keep = keep


def loops_of(model: soa.Model) -> Held:
    pointer, report = POINTER(_c.soa_constraints)(), new_report()
    check(_c.soa_constraints_from_list(byref(model._loops), model._pointer, 1, byref(pointer), byref(report)), report)
    return Held(pointer, model)


def pressed_ball(friction: float) -> tuple[Held, soa.Model]:
    """A ball on a free joint, pressed on the world by its weight: one one-sided contact."""
    model = soa.Model.from_urdf('<robot name="ball"><link name="ball"><inertial><mass value="2"/>'
                                '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
                                floating=True)
    pointer, report = POINTER(_c.soa_grasp)(), new_report()
    check(_c.soa_grasp_create(model._pointer, 1, byref(pointer)))
    contact = _c.soa_contact_default(_c.SOA_CONTACT_POINT, 0, model.find_frame("ball"))
    contact.one_sided, contact.friction = 1, friction
    check(_c.soa_grasp_add(pointer, byref(contact), None, byref(report)), report)
    return Held(pointer, model), model


def test_energy_is_kept() -> None:
    arm = soa.Model.open("arm7", ideal=True)
    motion = simulate(arm, arm.neutral() + 0.3, duration=0.3)
    kinetic, potential = arm.energy(motion.q, motion.v)
    np.testing.assert_allclose(kinetic, motion.kinetic, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kinetic + potential, kinetic[0] + potential[0], atol=1e-6)
    np.testing.assert_allclose(motion.balance, 0, atol=1e-6)
    assert motion.q.shape == (61, 7) and motion.t[-1] == pytest.approx(0.3)
    assert motion.result["samples"] == 61


def test_inverse_dynamics_gives_the_torque_back() -> None:
    arm = soa.Model.open("arm7", ideal=True)
    motion = simulate(arm, arm.neutral() + 0.3, np.full(7, 0.1), 0.05, lambda t, q, v: arm.rnea(q, v, np.full(7, 0.5)))
    np.testing.assert_allclose(motion.v[-1], 0.1 + 0.5 * 0.05, rtol=1e-7)


def test_arguments_are_kept_and_checked() -> None:
    arm = soa.Model.open("arm7")
    q = arm.neutral() + 0.3
    before = q.copy()
    simulate(arm, q, duration=0.01)
    np.testing.assert_array_equal(q, before)
    with pytest.raises(ValueError, match=r"expected \(7,\)"):
        simulate(arm, np.zeros(3))
    with pytest.raises(ValueError, match="duration"):
        simulate(arm, q, duration=float("nan"))
    with pytest.raises(soa.SoaError):
        simulate(arm, q, duration=0.01, order=7)


def test_callbacks() -> None:
    arm = soa.Model.open("arm7")

    def boom(t: float, q: np.ndarray, v: np.ndarray) -> None:
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        simulate(arm, arm.neutral(), duration=0.1, torque=boom)
    with pytest.raises(RuntimeError, match="boom"):
        simulate(arm, arm.neutral(), duration=0.1, stop=boom)
    motion = simulate(arm, arm.neutral(), duration=1.0, stop=lambda t, q, v: t >= 0.0999)
    assert motion.t[-1] == pytest.approx(0.1)


def test_a_closed_machine_stays_closed() -> None:
    machine = soa.Model.open("four-bar", ideal=True)
    loops = loops_of(machine)
    q = machine.neutral()
    before = q.copy()
    motion = simulate_closed(loops, q, duration=0.3, sample_time=0.01)
    np.testing.assert_array_equal(q, before)
    assert motion.position_error.max() < 1e-9
    assert np.abs(motion.balance).max() < 1e-6 * max(1.0, motion.result["energy_scale"])
    assert len(motion.t) == len(motion.q) >= 30
    other = simulate_closed(loops, q, duration=0.3, sample_time=0.01, method="kkt")
    np.testing.assert_allclose(motion.q[-1], other.q[-1], atol=1e-7)
    with pytest.raises(ValueError, match="method"):
        simulate_closed(loops, q, method="magic")


def test_a_grasp_holds_breaks_and_slips() -> None:
    grasp, model = pressed_ball(0.5)
    q = model.neutral()
    lift = np.zeros(6)
    axis = int(np.argmax(model.rnea(q, None, None)))  # the coordinate along gravity
    asked: list[str] = []

    def ask(event: Any) -> Any:
        asked.append(event.event)
        return "release"

    lift[axis] = 3 * 9.81 * 2
    held = simulate_grasp(grasp, q, duration=0.1, sample_time=0.05)
    assert not held.events and np.abs(held.q[-1] - q).max() < 1e-9
    np.testing.assert_allclose([f[0, 3:] for f in held.forces], [[0, 0, 2 * 9.81]] * len(held.t), atol=1e-9)
    assert all(margin > 0 for margins in held.margins for margin in margins)
    free = simulate_grasp(grasp, q, duration=0.1, torque=lambda t, q, v: lift, event=ask)
    assert asked and free.result["releases"] == 1
    assert free.v[-1][axis] == pytest.approx(2 * 9.81 * 0.1, rel=1e-6)
    with pytest.raises(ValueError, match="event returned"):
        simulate_grasp(pressed_ball(0.5)[0], q, torque=lambda t, q, v: lift, event=lambda e: "maybe")  # type: ignore

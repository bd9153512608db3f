"""Control laws: their torques go into the plant's dynamics, which must move as the law says."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soa
from numpy.typing import NDArray
from soa.control import (
    CatchingPath,
    Control,
    Coordination,
    FrameMotion,
    FrameTask,
    JointPath,
    JointReference,
    PosePath,
    Profile,
    rotation_from_vector,
    rotation_to_vector,
)
from test_memory import MOST_GROWTH, needs_statm, resident

Array = NDArray[np.float64]

SEED = 20
STEP = 1e-6
FIXED = ["arm7", "puma560", "chain:6"]
FLOATING = ["quadruped", "humanoid"]


@functools.cache
def plant(name: str) -> soa.Model:
    """A machine without friction."""
    return soa.Model.open(name).without_losses(friction=True, springs=True)


class Case:
    """A control over a machine, a random state, and what may be wanted."""

    def __init__(self, name: str, seed: int = SEED, **options: Any) -> None:
        print(f"{name}, seed {seed}")
        self.rng = rng = np.random.default_rng(seed)
        self.model = model = plant(name)
        self.control = Control(model, passive=["root"] if name in FLOATING else (), **options)
        self.own = self.control.driven
        self.q, self.v = model.random(rng), rng.normal(size=model.nv)
        self.want = JointReference(
            model.integrate(self.q, rng.uniform(-0.5, 0.5, model.nv)),
            rng.normal(size=model.nv),
            rng.normal(size=model.nv),
        )
        self.K = rng.uniform(10, 30, model.nv)
        self.D = rng.uniform(3, 10, model.nv)
        self.e = np.where(self.own, model.difference(self.q, np.asarray(self.want.q)), 0)
        self.rate = np.where(self.own, np.asarray(self.want.v) - self.v, 0)
        self.frame = model.bodies[-1].link


def close(given: Any, expected: Any, tolerance: float = 1e-9) -> bool:
    """Within a tolerance of the largest number; False where there is a NaN."""
    given, expected = np.asarray(given), np.asarray(expected)
    scale = max(1.0, float(np.abs(expected).max()))
    return given.shape == expected.shape and bool(
        np.abs(given - expected).max() <= tolerance * scale
    )


def exponential(rho: Array) -> Array:
    """The rotation of a vector, by the series of the matrix exponential."""
    x, y, z = rho
    S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    result, term = np.eye(3), np.eye(3)
    for k in range(1, 40):
        term = term @ S / k
        result = result + term
    return result


def slope(function: Callable[[float], Any], h: float = STEP) -> Array:
    """The derivative at 0 by a central difference."""
    result: Array = (np.asarray(function(h)) - np.asarray(function(-h))) / (2 * h)
    return result


# --- laws of joints -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FIXED + FLOATING)
def test_inverse_dynamics_gives_the_acceleration_asked_for(name: str) -> None:
    case = Case(name)
    wrenches = [soa.Wrench(case.frame, case.rng.normal(size=6))]
    law = case.control.inverse_dynamics(
        case.q, case.v, case.want, stiffness=case.K, damping=case.D, wrenches=wrenches
    )
    a = case.model.aba(case.q, case.v, law.tau, wrenches)
    asked = np.asarray(case.want.a) + case.D * case.rate + case.K * case.e
    assert close(a[case.own], asked[case.own])
    assert close(law.a, a)
    assert not law.tau[~case.own].any()


def test_inverse_dynamics_leaves_other_joints_to_other_laws() -> None:
    model = plant("arm7")
    rng = np.random.default_rng(SEED)
    q, v, a_other = model.random(rng), rng.normal(size=7), rng.normal(size=7)
    control = Control(model, other=[0, 3])
    law = control.inverse_dynamics(q, v, JointReference(q, v, a_other), stiffness=1.0)
    assert not law.tau[[0, 3]].any() and close(law.a, a_other)
    both = law.tau + np.where(control.other, model.rnea(q, v, a_other), 0)
    assert close(model.aba(q, v, both), a_other)


@pytest.mark.parametrize("name", FIXED + FLOATING)
def test_joint_pd(name: str) -> None:
    case = Case(name)
    tau = case.control.joint_pd(case.q, case.v, case.want, stiffness=case.K, damping=case.D)
    wanted = case.K * case.e + case.D * case.rate + case.model.gravity_torque(case.q)
    assert close(tau, np.where(case.own, wanted, 0))


@pytest.mark.parametrize("name", FIXED + FLOATING)
def test_compensation(name: str) -> None:
    case = Case(name)
    a = np.asarray(case.want.a)
    wrenches = [soa.Wrench(case.frame, case.rng.normal(size=6), "body")]
    tau = case.control.compensation(case.q, case.v, a, wrenches=wrenches)
    wanted = case.model.rnea(case.q, case.v, a, wrenches)
    assert close(tau, np.where(case.own, wanted, 0))
    alone = Control(case.model, compensate=["gravity"]).compensation(case.q, case.v)
    assert close(alone, case.model.gravity_torque(case.q))
    assert not Control(case.model, compensate=[]).compensation(case.q, case.v).any()


def test_compensation_of_friction() -> None:
    model = soa.Model.open("puma560")
    q, v = model.neutral() + 0.2, np.full(6, 0.5)
    smooth = model.without_losses(friction=True).rnea(q, v)
    damping = np.array([body.damping for body in model.bodies])
    friction = np.array([body.friction[0] for body in model.bodies])
    assert friction.any() or damping.any()
    assert close(Control(model).compensation(q, v), smooth + damping * v)
    everything: list[Any] = ["gravity", "coriolis", "viscous", "coulomb", "springs"]
    tau = Control(model, compensate=everything, coulomb_rate=0.4).compensation(q, v)
    assert close(tau, smooth + damping * v + friction * math.tanh(0.5 / 0.4))


@pytest.mark.parametrize("name", FLOATING)
def test_passive_acceleration(name: str) -> None:
    case = Case(name)
    wrenches = [soa.Wrench(case.frame, case.rng.normal(size=6))]
    given = np.asarray(case.want.a)
    a = case.control.passive_acceleration(case.q, case.v, given, wrenches=wrenches)
    assert close(a[case.own], given[case.own])
    tau = case.model.rnea(case.q, case.v, a, wrenches)
    assert np.abs(tau[~case.own]).max() < 1e-9 * np.abs(tau).max()


@pytest.mark.parametrize("name", FIXED + FLOATING)
def test_recursion_of_the_feedback_is_inverse_dynamics(name: str) -> None:
    case = Case(name)
    a = np.asarray(case.want.a)
    feedback = case.control.inverse_feedback(case.q, case.v, a)
    assert feedback.F.shape == (case.model.body_count, 6)
    rho, tau = case.control.recursion(case.q, feedback.F, feedback.eta)
    assert close(tau, case.model.rnea(case.q, case.v, a)) and close(rho, tau)


def test_recursion_of_a_closed_machine() -> None:
    model = plant("four-bar")
    embedding = soa.Embedding(
        model, ["A"], model.constraints, guess=model.constraints.assemble(model.neutral() + 0.3)
    )
    state = embedding.state([0.5], [1.2], [-0.7])
    control = Control(model)
    feedback = control.inverse_feedback(state.q, state.v, state.a)
    _, tau = control.recursion(state.q, feedback.F, feedback.eta, state.E)
    assert close(tau, embedding.id([0.5], [1.2], [-0.7]))


def along(case: Case, tau: Array, value: Callable[[Array, Array], float]) -> float:
    """The rate of a function of the state, while the plant moves under tau."""
    a = case.model.aba(case.q, case.v, tau)
    return float(slope(lambda h: value(case.model.integrate(case.q, case.v, h), case.v + h * a)))


@pytest.mark.parametrize("name", FIXED + FLOATING)
def test_slotine_and_li_dissipate(name: str) -> None:
    case = Case(name)
    goal = JointReference(case.want.q)  # at rest: the same at the shifted states

    def V(q: Array, v: Array) -> float:
        law = case.control.passivity(q, v, goal, stiffness=case.K / 10, damping=case.D)
        return law.lyapunov

    law = case.control.passivity(case.q, case.v, goal, stiffness=case.K / 10, damping=case.D)
    s = np.where(case.own, case.K / 10 * case.e - case.v, 0)[case.own]
    if case.own.all():
        assert abs(law.lyapunov - s @ case.model.mass(case.q) @ s / 2) < 1e-9 * law.lyapunov
    assert close(along(case, law.tau, V), -s @ (case.D[case.own] * s), 1e-5)
    assert not law.tau[~case.own].any()


@pytest.mark.parametrize("name", FIXED)
def test_wen_and_bayard(name: str) -> None:
    case = Case(name)
    M, model, K, D = case.model.mass(case.q), case.model, case.K, case.D
    goal = JointReference(case.want.q)

    def V(q: Array, v: Array) -> float:
        return case.control.passivity(
            q, v, goal, stiffness=K, damping=D, form="wen_bayard_1"
        ).lyapunov

    first = case.control.passivity(
        case.q, case.v, goal, stiffness=K, damping=D, form="wen_bayard_1"
    )
    energy = case.v @ M @ case.v / 2 + case.e @ (K * case.e) / 2
    assert abs(first.lyapunov - energy) < 1e-9 * energy
    assert close(along(case, first.tau, V), -case.v @ (D * case.v), 1e-5)
    # C(q, v) v of Newton and Euler, where the two velocities are the same
    vd = np.asarray(case.want.v)
    second = case.control.passivity(
        case.q, case.v, case.want, stiffness=K, damping=D, form="wen_bayard_2"
    )
    plain = model.rnea(case.q, vd, np.asarray(case.want.a))
    assert close(second.tau, plain + K * case.e + D * case.rate)
    third = case.control.passivity(
        case.q, case.v, case.want, stiffness=K, damping=D, form="wen_bayard_3"
    )
    swapped = third.tau - second.tau + plain - model.rnea(case.q, None, case.want.a)  # C(q, v_d) v
    assert close(swapped, model.coriolis_mul(case.q, vd, case.v))
    both = swapped + model.coriolis_mul(case.q, case.v, vd)  # by the squares of Newton and Euler
    assert close(both, (model.rnea(case.q, case.v + vd) - model.rnea(case.q, case.v - vd)) / 2)


@pytest.mark.parametrize("name", FIXED + FLOATING)
def test_decoupled_innovations_decay(name: str) -> None:
    case = Case(name)
    goal, k = JointReference(case.want.q), 4.0

    def half_square(q: Array, v: Array) -> float:
        sigma = case.control.decoupled(q, v, goal, stiffness=case.K / 10, rate=k).sigma
        return float(sigma @ sigma / 2)

    law = case.control.decoupled(case.q, case.v, goal, stiffness=case.K / 10, rate=k)
    V = half_square(case.q, case.v)
    other = case.control.passivity(case.q, case.v, goal, stiffness=case.K / 10, damping=0.0)
    assert abs(V - other.lyapunov) < 1e-9 * V
    assert close(along(case, law.tau, half_square), -2 * k * V, 1e-5)


def test_decoupled_rates_of_single_innovations() -> None:
    case = Case("arm7")
    goal, k = JointReference(case.want.q), case.K / 5

    def half_square(q: Array, v: Array) -> float:
        sigma = case.control.decoupled(q, v, goal, stiffness=2.0, rate=k).sigma
        return float(sigma @ sigma / 2)

    law = case.control.decoupled(case.q, case.v, goal, stiffness=2.0, rate=k)
    assert close(along(case, law.tau, half_square), -float(law.sigma @ (k * law.sigma)), 1e-5)


# --- laws of frames -------------------------------------------------------------------------------
def moving_goal(case: Case, pose: Array) -> FrameMotion:
    turn = exponential(case.rng.uniform(-0.4, 0.4, 3))
    there = np.eye(4)
    there[:3, :3] = turn @ pose[:3, :3]
    there[:3, 3] = pose[:3, 3] + case.rng.uniform(-0.1, 0.1, 3)
    return FrameMotion(there, case.rng.normal(size=6) / 5, case.rng.normal(size=6) / 5)


def goal_pose(goal: FrameMotion, h: float) -> Array:
    """The goal h s later, without its acceleration."""
    twist, pose = np.asarray(goal.twist), np.array(goal.pose)
    pose[:3, :3] = exponential(twist[:3] * h) @ pose[:3, :3]
    pose[:3, 3] += twist[3:] * h
    return pose


def test_rotation_vectors() -> None:
    rng = np.random.default_rng(SEED)
    for length in (0.0, 1e-9, 1e-5, 1e-3, 0.5, 2.0, math.pi - 1e-9, math.pi):
        rho = rng.normal(size=3)
        rho *= length / np.linalg.norm(rho)
        R = rotation_from_vector(rho)
        assert close(R, exponential(rho), 1e-14)
        back = rotation_to_vector(R)
        assert close(back, rho, 1e-8) or (length > 3.14 and close(-back, rho, 1e-8))


@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_frame_error(name: str) -> None:
    case = Case(name)
    model, base = case.model, "trunk" if name in FLOATING else "world"
    goal = moving_goal(
        case, np.linalg.inv(model.pose(case.q, base)) @ model.pose(case.q, case.frame)
    )
    answer = case.control.frame_error(case.q, case.v, case.frame, goal, relative_to=base)
    T_goal = model.pose(case.q, base) @ np.asarray(goal.pose)
    T_hand = model.pose(case.q, case.frame)
    assert close(answer.goal.pose, T_goal)
    R = T_goal[:3, :3]
    turned = exponential(R @ answer.error[:3]) @ T_hand[:3, :3]
    assert close(turned, R, 1e-12)
    assert close(R @ answer.error[3:], T_goal[:3, 3] - T_hand[:3, 3])

    def difference(h: float) -> Array:
        """From the frame to the goal in axes of the frame in which the goal is given."""
        q = model.integrate(case.q, case.v, h)
        hand = np.linalg.inv(model.pose(q, base)) @ model.pose(q, case.frame)
        result: Array = goal_pose(goal, h)[:3, 3] - hand[:3, 3]
        return result

    R_base = model.pose(case.q, base)[:3, :3]
    assert close(R @ answer.rate[3:], R_base @ slope(difference), 1e-7)
    twist = model.velocity(case.q, case.v, case.frame)
    assert close(R @ answer.rate[:3], np.asarray(answer.goal.twist)[:3] - twist[:3])


def test_relative_motion() -> None:
    case = Case("quadruped")
    model = case.model

    def relative(h: float) -> Array:
        q = model.integrate(case.q, case.v, h)
        result: Array = np.linalg.inv(model.pose(q, "trunk")) @ model.pose(q, case.frame)
        return result

    motion = case.control.relative_motion(case.q, case.v, case.frame, relative_to="trunk")
    pose = np.asarray(motion.pose)
    assert close(pose, relative(0.0))
    rate = slope(relative)
    spin = rate[:3, :3] @ pose[:3, :3].T
    assert close(np.asarray(motion.twist)[3:], rate[:3, 3], 1e-7)
    assert close(np.asarray(motion.twist)[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], 1e-7)
    assert not np.asarray(motion.acceleration).any()


@pytest.mark.parametrize("name", ["arm7", "puma560"])
def test_impedance_obeys_its_target_dynamics(name: str) -> None:
    case = Case(name)
    model = case.model
    goal = moving_goal(case, model.pose(case.q, case.frame))
    K, D = case.rng.uniform(10, 100, 6), case.rng.uniform(1, 10, 6)
    force = case.rng.normal(size=6)
    law = case.control.impedance(
        case.q, case.v, case.frame, goal, stiffness=K, damping=D, force=force
    )
    error = case.control.frame_error(case.q, case.v, case.frame, goal)
    R = np.asarray(error.goal.pose)[:3, :3]
    wanted = np.kron(np.eye(2), R) @ (K * error.error + D * error.rate + force)
    assert close(law.wrench, wanted) and close(law.error.error, error.error)
    # the machine moves as if it were free of gravity and centrifugal forces, and the wrench acted
    J = model.jacobian(case.q, case.frame)
    a = model.aba(case.q, case.v, law.tau)
    assert close(a, np.linalg.solve(model.mass(case.q), J.T @ wanted), 1e-8)
    alone = case.control.impedance(
        case.q, case.v, case.frame, goal, stiffness=K, damping=D, force=force, compensated=False
    )
    assert close(alone.tau, J.T @ wanted)
    assert close(alone.tau + case.control.compensation(case.q, case.v), law.tau)


def test_impedance_bounds_scale_the_whole_wrench() -> None:
    case = Case("arm7")
    goal = soa.pose([0.3, 0, 0]) @ case.model.pose(case.q, case.frame)

    def wrench(**bounds: float) -> Array:
        law = case.control.impedance(
            case.q,
            None,
            case.frame,
            goal,
            stiffness=(100, 1000),
            force=[3, 4, 0, 0, 0, 0],
            **bounds,
        )
        return law.wrench

    free = wrench()
    assert close(np.linalg.norm(free[3:]), 300.0) and close(np.linalg.norm(free[:3]), 5.0)
    assert close(wrench(max_force=30.0), free / 10)
    assert close(wrench(max_force=30.0, max_torque=0.25), free / 20)


def test_impedance_relative_to_a_floating_base_leaves_the_base_alone() -> None:
    case = Case("quadruped")
    model = case.model
    still = np.zeros(model.nv)
    here = np.linalg.inv(model.pose(case.q, "trunk")) @ model.pose(case.q, case.frame)
    goal = here @ soa.pose([0, 0, 0.05])
    law = case.control.impedance(
        case.q, still, case.frame, goal, stiffness=200.0, relative_to="trunk", compensated=False
    )
    # the power is that of the wrench on the motion seen from the base
    v = np.where(case.own, case.v, 0)
    seen = model.jacobian(case.q, case.frame) @ v
    assert abs(law.tau @ v - law.wrench @ seen) < 1e-9 * abs(law.wrench @ seen)
    assert not law.tau[~case.own].any()


def wanted_acceleration(case: Case, task: FrameTask) -> Array:
    error = case.control.frame_error(case.q, case.v, task.frame, task.goal)
    R6 = np.kron(np.eye(2), np.asarray(error.goal.pose)[:3, :3])
    K, D = np.asarray(task.stiffness), np.asarray(task.damping)
    result: Array = np.asarray(error.goal.acceleration) + R6 @ (K * error.error + D * error.rate)
    return result


@pytest.mark.parametrize("name", ["arm7", "puma560", "quadruped"])
@pytest.mark.parametrize("rows", [(0, 1, 2, 3, 4, 5), (3, 4, 5), (2, 3)])
def test_operational_space(name: str, rows: tuple[int, ...]) -> None:
    case = Case(name)
    model = case.model
    if name == "quadruped":  # a leg has three joints
        rows = tuple(row for row in rows if row > 2)
    goal = moving_goal(case, model.pose(case.q, case.frame))
    task = FrameTask(case.frame, goal, case.K[:6], case.D[:6], rows)
    posture = case.rng.normal(size=model.nv)
    for second in (None, posture):
        law = case.control.operational_space(case.q, case.v, task, posture=second)
        a = model.aba(case.q, case.v, law.tau)
        got = model.acceleration(case.q, case.v, a, case.frame)
        R6 = np.kron(np.eye(2), np.asarray(goal.pose)[:3, :3])
        lack = (R6.T @ (got - wanted_acceleration(case, task)))[list(rows)]
        assert np.abs(lack).max() < 1e-7
        assert close(law.a, a, 1e-8) and 0 < law.rcond <= 1 and len(law.errors) == 1
        assert not law.tau[~case.own].any()


def test_operational_space_of_a_hand_and_the_base() -> None:
    case = Case("humanoid")
    model = case.model
    trunk = model.body(1).link
    tasks = [
        FrameTask(case.frame, model.pose(case.q, case.frame), 20.0, 8.0, (3, 4, 5)),
        FrameTask(trunk, model.pose(case.q, trunk), 20.0, 8.0, (0, 1, 2)),
    ]
    law = case.control.operational_space(case.q, case.v, tasks)
    a = model.aba(case.q, case.v, law.tau)
    hand = model.acceleration(case.q, case.v, a, case.frame)[3:]
    base = model.acceleration(case.q, case.v, a, trunk)[:3]
    hand_rate = model.velocity(case.q, case.v, case.frame)[3:]
    base_rate = model.velocity(case.q, case.v, trunk)[:3]
    assert close(hand, -8.0 * hand_rate, 1e-7) and close(base, -8.0 * base_rate, 1e-7)


def test_base_attitude() -> None:
    case = Case("humanoid")
    model = case.model
    trunk = model.body(1).link
    goal = moving_goal(case, model.pose(case.q, trunk))
    law = case.control.base_attitude(case.q, case.v, trunk, goal, stiffness=20.0, damping=9.0)
    task = FrameTask(trunk, goal, np.full(6, 20.0), np.full(6, 9.0), (0, 1, 2))
    a = model.aba(case.q, case.v, law.tau)
    got = model.acceleration(case.q, case.v, a, trunk)[:3]
    assert close(got, wanted_acceleration(case, task)[:3], 1e-7)
    assert close(law.error.error, case.control.frame_error(case.q, case.v, trunk, goal).error)


def test_generalised_jacobian() -> None:
    case = Case("quadruped")
    model, own = case.model, case.own
    J_g = case.control.generalised_jacobian(case.q, case.frame)
    assert J_g.shape == (6, model.nv) and not J_g[:, ~own].any()
    M = model.mass(case.q)
    v = np.where(own, case.v, 0)
    v[~own] = -np.linalg.solve(M[np.ix_(~own, ~own)], M[np.ix_(~own, own)] @ v[own])
    assert close(J_g @ v, model.jacobian(case.q, case.frame) @ v)
    turned = case.control.generalised_jacobian(case.q, case.frame, "body")
    R6 = np.kron(np.eye(2), model.pose(case.q, case.frame)[:3, :3])
    assert close(R6 @ turned, J_g)


def test_hybrid_moves_along_some_axes_and_presses_along_the_other() -> None:
    case = Case("arm7")
    model, rows = case.model, [5]
    goal = moving_goal(case, model.pose(case.q, case.frame))
    force, measured = case.rng.normal(size=6), case.rng.normal(size=6)
    K, D = case.K[:6], case.D[:6]

    def call(**more: Any) -> Any:
        return case.control.hybrid(
            case.q,
            case.v,
            case.frame,
            goal,
            force_rows=rows,
            force=force,
            measured=measured,
            dt=0.01,
            stiffness=K,
            damping=D,
            **more,
        )

    law = call(force_gain=(0.7, 5.0), max_integral=100.0, integral=np.full(6, 0.2))
    lack = np.where(np.arange(6) == 5, force - measured, 0)
    integral = np.full(6, 0.2) + lack * 0.01
    assert close(law.integral, integral)
    # the surroundings answer with what the law counts on
    R6 = np.kron(np.eye(2), np.asarray(goal.pose)[:3, :3])
    exerted = np.where(np.arange(6) == 5, force + 0.7 * lack + 5.0 * integral, measured)
    a = model.aba(case.q, case.v, law.tau, [soa.Wrench(case.frame, -R6 @ exerted)])
    got = R6.T @ model.acceleration(case.q, case.v, a, case.frame)
    task = FrameTask(case.frame, goal, K, D)
    moving = R6.T @ wanted_acceleration(case, task)
    error = case.control.frame_error(case.q, case.v, case.frame, goal)
    assert close(got[:5], moving[:5], 1e-7)
    assert close(got[5], D[5] * error.rate[5], 1e-7)
    bounded = call(force_gain=(0.0, 5.0), max_integral=0.5, integral=np.full(6, 10.0))
    assert close(bounded.integral[5], 0.1) and close(bounded.integral[:5], np.full(5, 10.0))


# --- several hands --------------------------------------------------------------------------------
class Held:
    """Two arms that hold an object rigidly, moving."""

    def __init__(self) -> None:
        print(f"seed {SEED}")
        rng = np.random.default_rng(SEED)
        self.model = model = plant("two-puma-object")
        self.q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv), 1.0)
        self.hands = [model.body(6).link, model.body(12).link]
        self.grasp = soa.Grasp(model, 2)
        there = model.pose(self.q, "object")
        self.places = [np.linalg.solve(there, model.pose(self.q, hand)) for hand in self.hands]
        for hand, place in zip(self.hands, self.places):
            self.grasp.add(soa.Contact("rigid", hand, "object", None, place))
        self.v = self.grasp.impulse(self.q, rng.normal(size=model.nv) / 5).v
        self.control = Control(model, passive=list(range(12, 18)))
        self.goal = soa.pose([0.05, 0, 0.02], rpy=[0.1, 0, 0.2]) @ there


def test_linearising_coordination_moves_the_object_and_squeezes_it() -> None:
    held = Held()
    law = Coordination(
        "object",
        held.hands,
        "linearising",
        stiffness=20.0,
        damping=9.0,
        squeeze=25.0,
        shares=[1, 2],
    )
    answer = held.control.coordination(held.q, held.v, law, held.goal)
    plant_answer = held.grasp.fd(held.q, held.v, answer.tau)
    got = held.model.acceleration(held.q, held.v, plant_answer.qdd, "object")
    error = held.control.frame_error(held.q, held.v, "object", held.goal)
    R6 = np.kron(np.eye(2), held.goal[:3, :3])
    assert close(got, R6 @ (20.0 * error.error + 9.0 * error.rate), 1e-6)
    assert close(answer.hand_wrenches, plant_answer.force, 1e-6)
    force = held.control.internal_force(held.q, law, plant_answer.force)
    assert abs(force - 25.0) < 1e-5 and answer.squeeze == 25.0
    # all hands together are the wanted wrench
    at = held.model.pose(held.q, "object")[:3, 3]
    total = np.zeros(6)
    for hand, one in zip(held.hands, answer.hand_wrenches):
        arm = held.model.pose(held.q, hand)[:3, 3] - at
        total += np.concatenate([one[:3] + np.cross(arm, one[3:]), one[3:]])
    assert close(total, answer.wrench)


def test_passive_coordination() -> None:
    held = Held()
    law = Coordination(
        "object", held.hands, stiffness=(30.0, 300.0), damping=(3.0, 30.0), grasp=held.places
    )
    answer = held.control.coordination(held.q, held.v, law, held.goal)
    J = [held.model.jacobian(held.q, hand) for hand in held.hands]
    share = sum(one.T @ wrench for one, wrench in zip(J, answer.hand_wrenches))
    wanted = share + held.control.compensation(held.q, held.v)
    assert close(answer.tau[:12], np.asarray(wanted)[:12])
    assert not answer.tau[12:].any()
    error = held.control.frame_error(held.q, held.v, "object", held.goal)
    R = held.goal[:3, :3]
    mass = held.model.body(18).mass
    weight = -mass * held.model.gravity
    assert close(answer.wrench[3:], R @ (300 * error.error[3:] + 30 * error.rate[3:]) + weight)


def test_shares_are_the_least_weighted_forces() -> None:
    held = Held()
    w, length = np.array([0.25, 0.75]), 0.3
    law = Coordination("object", held.hands, stiffness=100.0, shares=[1, 3], couple_length=length)
    answer = held.control.coordination(held.q, held.v, law, held.goal)
    at = held.model.pose(held.q, "object")[:3, 3]
    whole = []  # of hands' wrenches to that of the object
    for hand in held.hands:
        x, y, z = held.model.pose(held.q, hand)[:3, 3] - at
        block = np.eye(6)
        block[:3, 3:] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
        whole.append(block)
    A = np.hstack(whole)
    scale = np.sqrt(np.concatenate([one * np.array([length**2] * 3 + [1] * 3) for one in w]))
    wanted = scale * (np.linalg.pinv(A * scale) @ answer.wrench)
    assert close(answer.hand_wrenches.ravel(), wanted)


def test_hands_follow_the_object() -> None:
    held = Held()
    shift = soa.pose([0.01, -0.02, 0.03], rpy=[0.05, 0, 0])
    grasp = [shift @ place for place in held.places]
    plain = Coordination("object", held.hands)
    law = Coordination("object", held.hands, follow_stiffness=(7.0, 80.0), grasp=grasp)
    more = (
        held.control.coordination(held.q, held.v, law, held.goal).tau
        - held.control.coordination(held.q, held.v, plain, held.goal).tau
    )
    wanted = np.zeros(held.model.nv)
    for hand, place in zip(held.hands, grasp):
        there, here = held.model.pose(held.q, "object") @ place, held.model.pose(held.q, hand)
        turn = rotation_to_vector(there[:3, :3] @ here[:3, :3].T)
        wrench = np.concatenate([7.0 * turn, 80.0 * (there - here)[:3, 3]])
        wanted += held.model.jacobian(held.q, hand).T @ wrench
    assert close(more[:12], wanted[:12], 1e-8) and np.abs(more[:12]).max() > 0.1


def test_squeeze_is_regulated() -> None:
    held = Held()
    law = Coordination(
        "object", held.hands, squeeze=20.0, squeeze_gain=(0.5, 10.0), max_integral=3.0
    )
    first = held.control.coordination(held.q, held.v, law, held.goal, measured=18.0, dt=0.01)
    assert first.integral == pytest.approx(0.02, abs=1e-14)
    assert first.squeeze == pytest.approx(20 + 0.5 * 2 + 10 * 0.02, abs=1e-12)
    last = held.control.coordination(
        held.q, held.v, law, held.goal, measured=18.0, dt=1.0, integral=first.integral
    )
    assert last.integral == pytest.approx(0.3, abs=1e-14)  # its bound: 3 N / 10


# --- machines with loops --------------------------------------------------------------------------
def test_inverse_dynamics_of_a_closed_machine() -> None:
    model = plant("four-bar")
    closed = model.constraints
    q = closed.assemble(model.neutral() + 0.3)
    v = closed.project(q, np.ones(3)).v
    control = Control(model, passive=["B", "D"], primary=["A"])
    dependent = control.dependent(q)
    assert dependent.tolist() == [False, True, True]
    law = control.inverse_dynamics(q, v, q + 0.1, stiffness=30.0, damping=5.0)
    a = closed.fd(q, v, law.tau).qdd
    assert v is not None
    assert close(a[0], 30.0 * 0.1 - 5.0 * v[0], 1e-8) and close(law.a, a, 1e-8)
    assert not law.tau[1:].any()


def test_joint_pd_of_a_closed_machine_holds_it() -> None:
    model = plant("four-bar")
    closed = model.constraints
    q = closed.assemble(model.neutral() + 0.4)
    for passive in ([], ["B", "D"], ["A", "B"]):
        control = Control(model, passive=passive)
        tau = control.joint_pd(q, None, q, stiffness=10.0, damping=1.0)
        assert np.abs(closed.fd(q, None, tau).qdd).max() < 1e-8
        assert np.abs(control.compensation(q) - tau).max() < 1e-9


@pytest.mark.parametrize("joint", ["A", "B", "D"])
def test_primary_joints_stay_independent(joint: str) -> None:
    model = plant("four-bar")
    q = model.constraints.assemble(model.neutral() + 0.3)
    dependent = Control(model, primary=[joint]).dependent(q)
    assert dependent.tolist() == [name != joint for name in model.joint_names]


def test_loops_may_be_switched_and_left_out() -> None:
    model = soa.Model.open("four-bar")
    closed = soa.Constraints(model)
    closed.add(model.constraints[0].definition)
    q = closed.assemble(model.neutral() + 0.3)
    control = Control(model, constraints=closed)
    assert control.dependent(q).sum() == 2
    closed.switch(0, False)
    assert control.dependent(q).sum() == 0
    tree = Control(model, constraints=False)
    assert tree.dependent(q).sum() == 0 and tree.constraints is None
    assert close(tree.joint_pd(q, None, q, stiffness=1.0), model.gravity_torque(q))
    for law in (
        lambda: control.passivity(q, None, q, stiffness=1.0, damping=1.0),
        lambda: control.decoupled(q, None, q, rate=1.0),
        lambda: control.generalised_jacobian(q, "rocker"),
    ):
        with pytest.raises(ValueError, match="for trees"):
            law()


def test_constraints_that_time_drives_are_refused() -> None:
    model = soa.Model.open("four-bar")
    closed = soa.Constraints(model)
    control = Control(model, constraints=closed)
    closed.add(soa.Ratio([("A", 1.0)], drive=lambda t: (t, 1.0, 0.0), name="motor"))
    with pytest.raises(ValueError, match="motor is driven in time"):
        Control(model, constraints=closed)
    with pytest.raises(ValueError, match="motor is driven in time"):
        control.joint_pd(model.neutral(), None, model.neutral(), stiffness=1.0)


# --- paths ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "profile",
    [Profile.quintic(1.7), Profile("trapezoid", 2.0, 0.6), Profile("trapezoid", 2.0, 1.0)],
)
def test_profiles(profile: Profile) -> None:
    t = np.linspace(-0.1, profile.time + 0.1, 401)
    s = profile.at(t)
    assert s.shape == (401, 3)
    inside = np.abs((t[:, None] - [0, profile.ramp, profile.time - profile.ramp, profile.time]))
    smooth = inside.min(axis=1) > 1e-3  # the trapezoid's acceleration jumps at its corners
    for k in (0, 1):
        by_difference = (profile.at(t + STEP)[:, k] - profile.at(t - STEP)[:, k]) / (2 * STEP)
        assert close(s[smooth, k + 1], by_difference[smooth], 1e-7)
    assert not s[t < 0].any() and close(
        s[t > profile.time], [[1, 0, 0]] * int((t > profile.time).sum())
    )
    assert close(profile.at(profile.time / 2)[0], 0.5)


@pytest.mark.parametrize("kind", ["quintic", "trapezoid"])
def test_fastest_profiles_use_their_limits(kind: Any) -> None:
    for speed, acceleration in ((0.5, 1.0), (5.0, 1.0), (0.1, 10.0)):
        profile = Profile.fastest(kind, speed, acceleration)
        s = profile.at(np.linspace(0, profile.time, 20001))
        used = np.abs(s[:, 1]).max() / speed, np.abs(s[:, 2]).max() / acceleration
        assert max(used) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_joint_path(name: str) -> None:
    model = plant(name)
    rng = np.random.default_rng(SEED)
    q0 = model.random(rng)
    q1 = model.integrate(q0, rng.uniform(-1, 1, model.nv))
    path = JointPath(model, q0, q1, Profile.quintic(1.5))
    assert close(path.at(0.0).q, q0) and close(
        model.difference(path.at(1.5).q, q1), np.zeros(model.nv)
    )
    for t in (0.3, 0.75, 1.2):
        here = path.at(t)
        rate = slope(lambda h: model.difference(np.asarray(here.q), np.asarray(path.at(t + h).q)))
        assert close(here.v, rate, 1e-7)
        assert close(here.a, slope(lambda h: np.asarray(path.at(t + h).v)), 1e-7)


def test_pose_paths() -> None:
    rng = np.random.default_rng(SEED)
    start = soa.pose(rng.normal(size=3), rpy=rng.uniform(-1, 1, 3))
    end = soa.pose(rng.normal(size=3), rpy=rng.uniform(-1, 1, 3))
    first = FrameMotion(start, rng.normal(size=6))
    straight, catching = PosePath(start, end, Profile.quintic(2.0)), CatchingPath(first, end, 2.0)
    for path in (straight, catching):
        assert close(path.at(0.0).pose, start) and close(path.at(2.5).pose, end)
        assert not np.asarray(path.at(2.5).twist).any()
        for t in (0.2, 1.0, 1.7):
            pose, twist = (np.asarray(x) for x in (path.at(t).pose, path.at(t).twist))
            rate = slope(lambda h: path.at(t + h).pose)
            spin = rate[:3, :3] @ pose[:3, :3].T
            assert close(twist[3:], rate[:3, 3], 1e-7)
            assert close(twist[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], 1e-7)
            assert close(path.at(t).acceleration, slope(lambda h: path.at(t + h).twist), 1e-6)
    assert close(catching.at(0.0).twist, first.twist)
    # straight: the middle is the middle
    assert close(np.asarray(straight.at(1.0).pose)[:3, 3], (start + end)[:3, 3] / 2)


def test_fastest_pose_path() -> None:
    end = soa.pose([0.4, 0, 0], rpy=[0, 0, 1.2])
    path = PosePath.fastest(soa.pose(), end, speed=(0.5, 0.1), acceleration=(math.inf, 10.0))
    twists = np.array([np.asarray(path.at(t).twist) for t in np.linspace(0, path.time, 2001)])
    turning, moving = (
        np.linalg.norm(twists[:, part], axis=1).max() for part in (slice(3), slice(3, 6))
    )
    assert moving == pytest.approx(0.1, rel=1e-5) and turning <= 0.5
    with pytest.raises(ValueError, match="do not limit the time"):
        PosePath.fastest(soa.pose(), end)


def test_joint_path_within_limits() -> None:
    model = plant("arm7")
    control, rng = Control(model), np.random.default_rng(SEED)
    q0 = model.neutral()
    q1 = q0 + rng.uniform(-1, 1, 7)
    path = control.joint_path(q0, q1, "trapezoid", speed=np.full(7, 0.8), acceleration=2.0)
    t = np.linspace(0, path.time, 2001)
    v = np.array([np.asarray(path.at(x).v) for x in t])
    a = np.array([np.asarray(path.at(x).a) for x in t])
    used = np.abs(v).max() / 0.8, np.abs(a).max() / 2.0
    assert max(used) == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(model.max_effort).all()
    path = control.joint_path(q0, q1, speed=100.0, effort=True)

    def most(one: JointPath) -> float:
        times = np.linspace(1e-9, one.time * (1 - 1e-9), 65)
        tau = [model.rnea(np.asarray(r.q), r.v, r.a) for r in map(one.at, times)]
        return float((np.abs(tau) / model.max_effort).max())

    assert most(path) <= 1.0
    assert most(JointPath(model, q0, q1, Profile.quintic(path.time * 0.99))) > 1.0


# --- a closed loop --------------------------------------------------------------------------------
def test_an_arm_follows_a_path_in_a_simulation() -> None:
    arm = plant("arm7")
    control = Control(arm)
    path = control.joint_path(arm.neutral(), arm.neutral() + 0.5, speed=1.0)

    def torque(t: float, q: Array, v: Array) -> Array:
        return control.inverse_dynamics(q, v, path.at(t), stiffness=100.0, damping=20.0).tau

    motion = soa.simulate(arm, arm.neutral() + 0.05, None, path.time + 0.5, torque, sample_time=0.1)
    for t, q in zip(motion.t, motion.q):
        error = 0.05 * (1 + 10 * t) * math.exp(-10 * t)  # e'' + 20 e' + 100 e = 0
        assert np.abs(q - np.asarray(path.at(t).q) - error).max() < 1e-6


def test_a_world_is_controlled() -> None:
    scenario = soa.Scenario.from_dict(
        {"parts": [{"name": "arm", "model": "arm7"}], "control": {"rate": 500, "saturate": False}}
    )
    laws: list[Control] = []

    def controller(t: float, q: Array, v: Array) -> Array:
        goal = np.full(7, 0.2)
        return laws[0].inverse_dynamics(q, v, goal, stiffness=400.0, damping=40.0).tau

    world = soa.World(scenario, controller)
    laws.append(Control(world.model))
    world.run_until(1.0)
    assert np.abs(world.q - 0.2).max() < 1e-3


# --- refusals -------------------------------------------------------------------------------------
def test_refusals_say_what_was_given() -> None:
    arm = plant("arm7")
    control, q = Control(arm), arm.neutral()
    bad = q.copy()
    bad[2] = np.nan
    cases: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: Control(arm, passive=["elbow"]), KeyError, "no joint 'elbow'"),
        (lambda: Control(arm, passive=[0], other=[0]), ValueError, "in passive and in other"),
        (lambda: Control(arm, compensate=["gravitation"]), ValueError, "expected one of gravity"),
        (lambda: Control(arm, coulomb_rate=0.0), ValueError, "coulomb_rate is 0"),
        (lambda: Control(arm, primary=[0]), ValueError, "there are none here"),
        (
            lambda: Control(arm, constraints=plant("four-bar").constraints),
            ValueError,
            "another model",
        ),
        (lambda: control.joint_pd(bad, None, q, stiffness=1.0), ValueError, r"q\[2\] is nan"),
        (
            lambda: control.joint_pd(q, None, bad, stiffness=1.0),
            ValueError,
            r"q of the reference\[2\]",
        ),
        (
            lambda: control.joint_pd(q, None, q[:6], stiffness=1.0),
            ValueError,
            r"shape \(6,\), expected \(7,\)",
        ),
        (lambda: control.joint_pd(q, None, q, stiffness=-1.0), ValueError, "stiffness.0. is -1"),
        (
            lambda: control.joint_pd(q, None, q, stiffness=np.ones(3)),
            ValueError,
            r"stiffness has shape \(3,\)",
        ),
        (lambda: control.decoupled(q, None, q, rate=np.nan), ValueError, "rate.0. is nan"),
        (
            lambda: Control(arm, other=[0]).decoupled(q, None, q, rate=np.arange(7.0)),
            ValueError,
            "must be equal",
        ),
        (
            lambda: control.passivity(q, None, q, stiffness=1, damping=1, form="slotine"),
            ValueError,
            "form is 'slotine', expected one of slotine_li",
        ),
        (lambda: control.frame_error(q, None, "link9", np.eye(4)), ValueError, "no frame 'link9'"),
        (
            lambda: control.frame_error(q, None, "link7", np.eye(3)),
            ValueError,
            r"goal has shape \(3, 3\)",
        ),
        (
            lambda: control.frame_error(q, None, "link7", 2 * np.eye(4)),
            ValueError,
            "is not a rotation",
        ),
        (
            lambda: control.impedance(q, None, "link7", np.eye(4), stiffness=np.ones(4)),
            ValueError,
            r"shape \(4,\), expected a number, \(2,\) or \(6,\)",
        ),
        (
            lambda: control.impedance(q, None, "link7", np.eye(4), stiffness=1, max_force=-1),
            ValueError,
            "max_force is -1",
        ),
        (lambda: control.operational_space(q, None, []), ValueError, "0 tasks"),
        (
            lambda: control.operational_space(q, None, FrameTask("link7", np.eye(4), rows=[6])),
            ValueError,
            "expected at least one number from 0 to 5",
        ),
        (
            lambda: control.operational_space(q, None, FrameTask(0, np.eye(4))),
            soa.SingularError,
            "rcond",
        ),
        (
            lambda: control.hybrid(
                q,
                None,
                "link7",
                np.eye(4),
                force_rows=[5],
                force=np.zeros(6),
                measured=np.zeros(6),
                dt=0.1,
                stiffness=1,
                damping=1,
                force_gain=(0, 1),
            ),
            ValueError,
            "max_integral is 0",
        ),
        (lambda: control.compensation(q, np.ones(6)), ValueError, "v has shape"),
        (lambda: control.recursion(q, np.zeros((3, 6))), ValueError, r"expected \(7, 6\)"),
        (lambda: control.joint_path(q, q + 1, speed=0.0), ValueError, "expected numbers > 0"),
        (lambda: Profile("quintic", -1.0), ValueError, "time is -1"),
        (lambda: Profile("trapezoid", 1.0, 0.6), ValueError, "at most half of the time"),
        (lambda: Profile.fastest("trapezoid", speed=1.0), ValueError, "nothing limits"),
        (lambda: rotation_to_vector(np.diag([1.0, 1.0, -1.0])), ValueError, "not a rotation"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind, match=text):
            call()
    two = plant("two-puma-object")
    hands = Control(two, passive=list(range(12, 18)))
    with pytest.raises(ValueError, match="follow_stiffness needs grasp"):
        hands.coordination(
            two.neutral(),
            None,
            Coordination("object", ["left_link6"], follow_stiffness=1.0),
            np.eye(4),
        )
    with pytest.raises(ValueError, match="belong to a measured internal force"):
        hands.coordination(
            two.neutral(), None, Coordination("object", ["left_link6"]), np.eye(4), dt=0.1
        )
    with pytest.raises(soa.InputError, match="joint 'root'.*normalise"):
        Control(plant("quadruped")).compensation(np.zeros(plant("quadruped").nq))


@needs_statm
def test_controls_are_freed() -> None:
    model = plant("humanoid")

    def work() -> None:
        control = Control(model, passive=["root"])
        control.inverse_dynamics(model.neutral(), None, model.neutral(), stiffness=1.0)
        with pytest.raises(ValueError, match="shape"):
            control.joint_pd(model.neutral(), None, [0.0], stiffness=1.0)

    for _ in range(50):
        work()
    before = resident()
    for _ in range(500):
        work()
    assert resident() - before < MOST_GROWTH


def test_other_threads_wait() -> None:
    case = Case("arm7")
    wanted = case.control.joint_pd(case.q, case.v, case.want, stiffness=case.K, damping=case.D)
    wrong: list[Array] = []

    def work() -> None:
        for _ in range(200):
            tau = case.control.joint_pd(case.q, case.v, case.want, stiffness=case.K, damping=case.D)
            if not (tau == wanted).all():
                wrong.append(tau)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

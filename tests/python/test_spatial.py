"""Six-vectors against 6 x 6 matrices; forces through joints; random configurations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import soa
from soa import spatial
from soa.spatial import axis_angle, cross_force, cross_motion, force_to_parent, motion_to_child
from soa.taylor import Taylor


def cross(p: np.ndarray) -> np.ndarray:
    x, y, z = p
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def phi(pose: np.ndarray) -> np.ndarray:
    """The papers' operator as a matrix: force of the child, seen in the parent."""
    R, p = pose[:3, :3], pose[:3, 3]
    return np.block([[R, cross(p) @ R], [np.zeros((3, 3)), R]])


def test_against_matrices() -> None:
    rng = np.random.default_rng(41)
    pose = soa.pose(rng.normal(size=3), rpy=rng.normal(size=3))
    V, A, f = rng.normal(size=(3, 8, 6))
    assert np.allclose(motion_to_child(pose, V), V @ phi(pose), rtol=0, atol=1e-13)
    assert np.allclose(force_to_parent(pose, f), f @ phi(pose).T, rtol=0, atol=1e-13)
    assert np.array_equal(motion_to_child(pose, V[3]), motion_to_child(pose, V)[3])
    zero = np.zeros((3, 3))
    for i in range(8):
        motion = np.block([[cross(V[i, :3]), zero], [cross(V[i, 3:]), cross(V[i, :3])]])
        assert np.allclose(cross_motion(V, A)[i], motion @ A[i], rtol=0, atol=1e-13)
        assert np.allclose(cross_force(V, f)[i], -motion.T @ f[i], rtol=0, atol=1e-13)
    assert np.array_equal(cross_motion(V[0], A)[5], cross_motion(V[0], A[5]))
    assert np.array_equal(cross_force(V, f[0])[5], cross_force(V[5], f[0]))


def series(twist: np.ndarray) -> np.ndarray:
    """The matrix exponential of [[w]x, v; 0, 0] by its series, halved until it converges fast, then squared."""
    x = np.zeros((4, 4))
    x[:3, :3], x[:3, 3] = cross(twist[:3]), twist[3:]
    halvings = 10
    x = x / 2**halvings
    made, term = np.eye(4), np.eye(4)
    for n in range(1, 18):
        term = term @ x / n
        made = made + term
    for _ in range(halvings):
        made = made @ made
    return made


def test_exp_and_log_against_series() -> None:
    seed = 43
    print("seed", seed)
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(400, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    angles = np.concatenate([rng.uniform(0, math.pi - 1e-3, 200), 10.0 ** rng.uniform(-18, -1, 198), [0, math.pi - 1e-9]])
    twists = np.hstack([axes * angles[:, None], rng.normal(size=(400, 3))])
    poses = spatial.exp(twists)
    assert np.abs(poses - [series(twist) for twist in twists]).max() < 2e-13
    assert np.abs(spatial.log(poses) - twists)[:-1].max() < 1e-11
    assert np.abs(spatial.exp(spatial.log(poses)) - poses).max() < 1e-12
    assert np.array_equal(spatial.exp(twists[7]), poses[7]) and np.array_equal(spatial.log(poses[7]), spatial.log(poses)[7])
    beyond = np.array([0, 0, 7.0, 1, 2, 3])
    assert np.abs(spatial.exp(beyond) - series(beyond)).max() < 1e-12
    turned = spatial.log(spatial.exp(np.array([0, 0, math.pi, 1, 2, 3])))
    assert np.allclose(series(turned), series(np.array([0, 0, math.pi, 1, 2, 3])), rtol=0, atol=1e-12)


def test_log_is_the_difference_of_a_free_joint() -> None:
    rng = np.random.default_rng(44)
    body = soa.Model.open("satellite")
    base, free = body.body(1), slice(0, 6)
    for _ in range(20):
        q0, q1 = body.random(rng, 2)
        X0, X1 = body.pose(q0, base.link), body.pose(q1, base.link)
        step = spatial.log(spatial.inverse(X0) @ X1)
        assert np.abs(step - body.difference(q0, q1)[base.v][free]).max() < 1e-12
        dq = np.zeros(body.nv)
        dq[base.v] = step
        assert np.abs(X0 @ spatial.exp(step) - body.pose(body.integrate(q0, dq), base.link)).max() < 1e-12


def test_back_and_forth_with_batches() -> None:
    rng = np.random.default_rng(45)
    poses = spatial.exp(rng.normal(size=(9, 6)))
    V, f = rng.normal(size=(2, 9, 6))
    assert np.allclose(spatial.inverse(poses), np.linalg.inv(poses), rtol=0, atol=1e-13)
    for i, pose in enumerate(poses):
        assert np.allclose(spatial.motion_to_parent(pose, V)[i], np.linalg.inv(phi(pose)).T @ V[i], rtol=0, atol=1e-12)
        assert np.allclose(spatial.force_to_child(pose, f)[i], np.linalg.inv(phi(pose)) @ f[i], rtol=0, atol=1e-12)
        for function, x in ((spatial.motion_to_parent, V), (spatial.motion_to_child, V), (spatial.force_to_parent, f),
                            (spatial.force_to_child, f)):
            assert np.allclose(function(poses, x)[i], function(pose, x[i]), rtol=0, atol=1e-15)
            assert np.allclose(function(poses, x[0])[i], function(pose, x[0]), rtol=0, atol=1e-15)
    assert np.allclose(spatial.motion_to_parent(poses, spatial.motion_to_child(poses, V)), V, rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="as many poses as rows"):
        spatial.motion_to_parent(poses, V[:3])
    with pytest.raises(ValueError, match="as many poses as rows"):
        spatial.motion_to_child(poses, V[:3])
    with pytest.raises(ValueError, match="no rotation"):
        spatial.log(2 * np.eye(4) - np.diag([0, 0, 0, 1.0]))
    with pytest.raises(ValueError, match="finite"):
        spatial.exp([math.nan, 0, 0, 0, 0, 0])


def test_axis_angle() -> None:
    rng = np.random.default_rng(42)
    axis = rng.normal(size=3)
    half = axis_angle(axis, 0.4, [1, 2, 3])
    assert np.allclose(
        half[:3, :3] @ half[:3, :3], axis_angle(1e-200 * axis, 0.8)[:3, :3], rtol=0, atol=1e-14
    )
    assert np.allclose(half[:3, :3] @ axis, axis) and half[:3, 3].tolist() == [1, 2, 3]
    assert math.isclose(np.trace(half[:3, :3]), 1 + 2 * math.cos(0.4), rel_tol=1e-14)
    assert np.allclose(axis_angle([0, 0, 3], 0.7), soa.pose(rpy=[0, 0, 0.7]), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    "call, kind, said",
    [
        (lambda: axis_angle([0, 0, 0], 1.0), ValueError, "no direction"),
        (lambda: axis_angle([0, 0, math.nan], 1.0), ValueError, "finite"),
        (lambda: axis_angle([0, 0, 1], math.inf), ValueError, "finite"),
        (lambda: motion_to_child(np.eye(3), np.zeros(6)), ValueError, r"a pose has shape \(3, 3\)"),
        (
            lambda: motion_to_child(np.eye(4), np.zeros(5)),
            ValueError,
            r"V has shape \(5,\), expected \(6,\) or \(N, 6\)",
        ),
        (lambda: force_to_parent(np.eye(4), ["a"] * 6), TypeError, "f has dtype"),
        (
            lambda: cross_motion(np.zeros((2, 6)), np.zeros((3, 6))),
            ValueError,
            "expected as many rows",
        ),
    ],
)
def test_refused(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


# --- forces through joints ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arm7", "quadruped", "random-ideal:3"])
def test_joint_forces_by_newton_and_euler(name: str) -> None:
    """Tips to base: a joint carries what its body needs and what hangs on it."""
    model = soa.Model.open(name, ideal=True)
    rng = np.random.default_rng(43)
    q = model.random(rng)
    v, a = rng.normal(size=(2, model.nv))
    wrench = soa.Wrench(model.bodies[-1].link, rng.normal(size=6))
    found = model.joint_forces(q, v, a, [wrench])
    world: dict[int, np.ndarray] = {body.number: np.zeros(6) for body in model.bodies}
    world[model.body_count] = -np.asarray(
        wrench.value
    )  # moment about the body's origin, world axes
    for body in reversed(model.bodies):
        pose = model.pose(q, body.link)
        R, p = pose[:3, :3], pose[:3, 3]
        w = model.velocity(q, v, body.link)[:3]
        classical = model.acceleration(q, v, a, body.link)
        r, inertia = R @ body.com, R @ body.inertia @ R.T
        centre = classical[3:] + np.cross(classical[:3], r) + np.cross(w, np.cross(w, r))
        force = body.mass * (centre - model.gravity)
        moment = inertia @ classical[:3] + np.cross(w, inertia @ w) + np.cross(r, force)
        world[body.number] += np.concatenate([moment, force])
        inside = np.concatenate([R.T @ world[body.number][:3], R.T @ world[body.number][3:]])
        assert np.abs(found[body.number - 1] - inside).max() <= 1e-10 * (1 + np.abs(found).max())
        if body.parent:
            arm = p - model.pose(q, model.body(body.parent).link)[:3, 3]
            carried = world[body.number]
            world[body.parent] += np.concatenate(
                [carried[:3] + np.cross(arm, carried[3:]), carried[3:]]
            )


def test_joint_forces_of_many_states() -> None:
    model = soa.Model.open("quadruped")
    q = model.random(44, n=3)
    v, a = np.random.default_rng(44).normal(size=(2, 3, model.nv))
    many = model.joint_forces(q, v, a)
    assert many.shape == (3, model.body_count, 6)
    for i in range(3):
        assert np.array_equal(many[i], model.joint_forces(q[i], v[i], a[i]))
    assert np.array_equal(model.joint_forces(q)[1], model.joint_forces(q[1]))
    assert model.joint_forces(q[:0]).shape == (0, model.body_count, 6)
    with pytest.raises(ValueError, match=r"q has shape \(5,\)"):
        model.joint_forces(np.zeros((2, 5)))
    with pytest.raises(soa.InputError):
        model.joint_forces(np.full(model.nq, np.nan))


# --- random configurations ------------------------------------------------------------------------


def test_random_states() -> None:
    model = soa.Model.open("quadruped")
    many = model.random(5, n=4000)
    assert many.shape == (4000, model.nq) and np.array_equal(many, model.random(5, n=4000))
    assert np.array_equal(model.random(np.random.default_rng(5), n=4000), many)
    assert not np.array_equal(model.random(), model.random())
    assert model.random(1).shape == (model.nq,) and model.random(n=0).shape == (0, model.nq)
    four = many[:, 3:7]
    assert np.abs(np.linalg.norm(four, axis=1) - 1).max() < 1e-15 * 4
    second = (
        four.T @ four / len(four)
    )  # a quarter of the unit matrix, if all rotations are as likely
    assert np.abs(second - np.eye(4) / 4).max() < 0.02
    assert np.abs(many[:, :3]).max() <= 1
    for body in model.bodies[1:]:
        drawn = many[:, body.q]
        low = body.lower if math.isfinite(body.lower) else -math.pi
        high = body.upper if math.isfinite(body.upper) else math.pi
        assert (
            low <= drawn.min() < low + 0.02 * (high - low)
            and high - 0.02 * (high - low) < drawn.max() <= high
        )
    model.mass(many[:8])


def test_random_within_limits() -> None:
    robot = soa.ModelDefinition("limits")
    ball = soa.Inertia.sphere(1.0, 0.1)
    limits = {
        "both": (0.2, 0.3),
        "above": (5.0, math.inf),
        "below": (-math.inf, -5.0),
        "none": (-math.inf, math.inf),
    }
    last = "world"
    for name, (lower, upper) in limits.items():
        robot.add(name, last, soa.Joint("prismatic", lower=lower, upper=upper), inertia=ball)
        last = name
    robot.add("screw", last, soa.Joint("cylindrical"), inertia=ball)
    robot.add("leader", "screw", soa.Joint("revolute", lower=-1, upper=1), inertia=ball)
    robot.add(
        "follower",
        "leader",
        soa.Joint("revolute", lower=0, upper=1, mimic="leader", mimic_ratio=-2.0),
        inertia=ball,
    )
    q = robot.build().random(6, n=2000)
    expected = [(0.2, 0.3), (5, 7), (-7, -5), (-1, 1), (-math.pi, math.pi), (-1, 1), (-0.5, 0)]
    assert q.shape == (2000, 7)
    for column, (low, high) in zip(q.T, expected):
        wide = high - low
        assert low <= column.min() < low + 0.02 * wide and high - 0.02 * wide < column.max() <= high


def test_random_refuses() -> None:
    with pytest.raises(ValueError, match="n is -1"):
        soa.Model.open("arm7").random(n=-1)


# --- numbers with derivatives ---------------------------------------------------------------------


def test_affine() -> None:
    x = Taylor.variable(0.7, order=4)
    made, long = np.sin(x).affine(-2.5, 0.75), np.sin(x) * -2.5 + 0.75
    assert made.coefficients == pytest.approx(long.coefficients, rel=1e-15) and made.order == 4

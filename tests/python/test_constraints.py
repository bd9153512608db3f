"""Closed chains against dense systems that NumPy solves, and derivatives against differences."""

import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import soa
from soa.constraints import Constraints, Disc, Distance, Loop, Plane, Ratio, Rolling, Velocity

STEP = 1e-6


def closed_state(model, constraints, seed=2):
    rng = np.random.default_rng(seed)
    q = constraints.assemble(model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv), 1.0))
    v = constraints.project(q, rng.normal(size=model.nv)).v
    return q, v, rng.normal(size=model.nv)


def kkt(model, constraints, q, v, tau, t=0.0):
    """qdd and G' lambda from the whole system, by least squares where rows repeat each other."""
    e = constraints.evaluate(q, v, t)
    n, m = model.nv, len(e.g)
    system = np.block([[model.mass(q), -e.G.T], [e.G, np.zeros((m, m))]])
    right = np.concatenate([tau - model.rnea(q, v, None), -e.gamma])
    solution = np.linalg.lstsq(system, right, rcond=1e-12)[0]
    return solution[:n], e.G.T @ solution[n:]


def two_arms():
    model = soa.Model.open("two-puma")
    constraints = Constraints(model)
    return model, constraints, model.body(6).link, model.body(12).link


def check_derivatives(model, constraints, q, v, t=0.0):
    e = constraints.evaluate(q, v, t)

    def g(q, t):
        return constraints.evaluate(q, None, t).g

    forward, back = g(model.integrate(q, v, STEP), t + STEP), g(model.integrate(q, v, -STEP), t - STEP)
    holonomic = np.abs(forward - back) > 0
    assert np.allclose(((forward - back) / (2 * STEP))[holonomic], e.rate[holonomic], atol=1e-6, rtol=1e-6)
    rate = [constraints.evaluate(model.integrate(q, v, s), v, t + s).rate for s in (STEP, -STEP)]
    assert np.allclose((rate[0] - rate[1]) / (2 * STEP), e.gamma, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["four-bar", "andrews", "bricard"])
def test_shipped_loops(name):
    model = soa.Model.open(name)
    constraints = model.constraints
    q, v, tau = closed_state(model, constraints)
    assert np.abs(constraints.evaluate(q, v).g).max() < 1e-9 and np.abs(constraints.evaluate(q, v).rate).max() < 1e-8
    check_derivatives(model, constraints, q, v)
    qdd, forces = kkt(model, constraints, q, v, tau)
    scale = 1 + np.abs(qdd).max()
    G = constraints.evaluate(q, v).G
    for method in ("auto", "kkt", "forces", "null_space"):
        answer = constraints.fd(q, v, tau, method=method)
        assert np.allclose(answer.qdd, qdd, atol=1e-6 * scale)
        assert np.allclose(G.T @ answer.lambda_, forces, atol=1e-6 * (1 + np.abs(forces).max()))
        assert method == "auto" or answer.method == method
        assert answer.rank == np.linalg.matrix_rank(G, tol=1e-8) and answer.rows == len(G)
        assert answer.redundant_count == answer.rows - answer.rank
        assert bool(answer.text) == bool(answer.redundant_count)
        for constraint, row in answer.redundant:
            assert constraint in constraints.names and 0 <= row < 6
    torques = constraints.id(q, v, qdd)
    again = constraints.fd(q, v, torques.tau)
    assert np.allclose(again.qdd, qdd, atol=1e-6 * scale)


def test_motors():
    model = soa.Model.open("four-bar")
    constraints = model.constraints
    q, v, tau = closed_state(model, constraints)
    qdd = constraints.fd(q, v, tau).qdd
    motor = model.body(1).joint
    for motors in ([motor], motor, [0], np.array([True, False, False])):
        torques = constraints.id(q, v, qdd, motors=motors)
        assert np.all(torques.tau[1:] == 0) and np.allclose(constraints.fd(q, v, torques.tau).qdd, qdd, atol=1e-7)
    with pytest.raises(soa.SingularError):
        constraints.id(q, v, qdd, motors=[])
    with pytest.raises(soa.SingularError):
        constraints.id(q, v, qdd + [0, 1.0, 0])
    with pytest.raises(ValueError, match="numbers from 0 to 2"):
        constraints.id(q, v, qdd, motors=[3])


@pytest.mark.parametrize(
    "make",
    [
        lambda one, two: Distance(one, two, 0.9),
        lambda one, two: Loop(one, two, "spherical"),
        lambda one, two: Loop(one, two, "universal", axis=[0, 0, 1], axis2=[1, 0, 0]),
        lambda one, two: Loop(one, two, "prismatic", axis=[0, 1, 0], place1=soa.pose([0, 0, 0.1], rpy=[0.1, 0.2, 0.3])),
        lambda one, two: Plane(
            one, two, 0.2, drive=lambda t: (0.2 + 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t))
        ),
        lambda one, two: Velocity(one, two, [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 2, 0]], rows_in_frame2=True),
        lambda one, two: Rolling(one, two, 0.1),
        lambda one, two: Disc(one, two, 0.1),
    ],
)
def test_kinds_against_the_whole_system(make):
    model, constraints, one, two = two_arms()
    number = constraints.add(make(one, two))
    rng = np.random.default_rng(4)
    q, v, tau = model.random(rng), rng.normal(size=12), rng.normal(size=12)
    check_derivatives(model, constraints, q, v, 0.4)
    qdd, forces = kkt(model, constraints, q, v, tau, 0.4)
    answer = constraints.fd(q, v, tau, t=0.4, with_wrenches=True)
    e = constraints.evaluate(q, v, 0.4)
    assert np.allclose(answer.qdd, qdd, rtol=1e-7, atol=1e-7 * np.abs(qdd).max())
    assert np.allclose(e.G.T @ answer.lambda_, forces, atol=1e-7 * (1 + np.abs(forces).max()))
    on1, on2 = answer.wrenches[constraints.names[0]]
    through = model.jacobian(q, one, "world").T @ on1 + model.jacobian(q, two, "world").T @ on2
    assert np.allclose(through, forces, atol=1e-7 * (1 + np.abs(forces).max()))
    damped = constraints.fd(q, v, tau, t=0.4, baumgarte=(10.0, 25.0))
    assert np.allclose(
        e.G @ damped.qdd + e.gamma + 10 * e.rate + 25 * e.g, 0, atol=1e-6 * (1 + np.abs(damped.qdd).max())
    )
    extra = rng.normal(size=12)
    constraints.fd(q, v, tau, t=0.4)
    assert np.allclose(
        constraints.response(extra), constraints.fd(q, v, tau + extra, t=0.4).qdd - answer.qdd, atol=1e-6
    )
    assert constraints.row_strengths().shape == (len(e.g),)
    hit = constraints.impulse(q, v, 0.4)
    after = constraints.evaluate(q, hit.v, 0.4)
    assert np.allclose(after.rate, 0, atol=1e-9)
    assert np.allclose(model.mass(q) @ (hit.v - v), e.G.T @ hit.impulse, atol=1e-8)
    definition = constraints[number].definition
    again = Constraints(model)
    again.add(definition)
    assert np.allclose(again.evaluate(q, v, 0.4).G, e.G)


def test_ratio():
    model = soa.Model.open("arm7")
    first, second = model.body(1).joint, model.body(2).joint
    constraints = Constraints(model)
    constraints.add(Ratio([(first, 2.0), (second, -1.0)], value=0.1, name="gear"))
    q, v = model.random(np.random.default_rng(0)), np.ones(7)
    e = constraints.evaluate(q, v)
    assert e.G.tolist() == [[2, -1, 0, 0, 0, 0, 0]] and np.isclose(e.g[0], 2 * q[0] - q[1] - 0.1)
    assert np.allclose(constraints.fd(q, v, np.zeros(7)).qdd, kkt(model, constraints, q, v, np.zeros(7))[0])
    assert constraints["gear"].definition.terms == ((first, 2.0), (second, -1.0))
    with pytest.raises(soa.InputError, match="no joint and no loop"):
        constraints.add(Ratio([("nothing", 1.0)]))
    bar = soa.Model.open("four-bar")
    with_gear = bar.constraints
    with_gear.add(Ratio([(bar.body(1).joint, 1.0), (with_gear.names[0], -0.5)], name="gear"))
    q = bar.constraints.assemble(bar.neutral() + 0.3)
    coordinate = with_gear.joint_coordinates(0, q)
    assert np.isclose(with_gear.evaluate(q).g[with_gear["gear"].rows][0], q[0] - 0.5 * coordinate[0])
    assert with_gear["gear"].definition.terms[1][0] == with_gear.names[0]
    with pytest.raises(soa.SoaError):
        with_gear.remove(0)


def test_cut_joints_have_motors_springs_and_energy():
    bar = soa.Model.open("four-bar")
    loop = bar.constraints[0].definition
    constraints = Constraints(bar)
    constraints.add(replace(loop, stiffness=3.0, damping=0.5))
    plain = bar.constraints
    q = plain.assemble(bar.neutral() + 0.3)
    v = plain.project(q, np.ones(3)).v
    angle = constraints.joint_coordinates(0, q)[0]
    assert np.isclose(constraints.energy(q, v)[1] - plain.energy(q, v)[1], 0.5 * 3.0 * angle**2)
    answer = constraints.fd(q, v, None)
    assert answer.dissipated > 0
    constraints.set_effort(0, [2.0])
    assert not np.allclose(constraints.fd(q, v, None).qdd, answer.qdd)
    assert np.isclose(sum(plain.energy(q, v)), sum(bar.energy(q, v)))
    with pytest.raises(ValueError, match="effort has shape"):
        constraints.set_effort(0, [1.0, 2.0])


def test_names_switches_and_room():
    model, constraints, one, two = two_arms()
    small = Constraints(model, capacity=2)
    assert small.add(Distance(one, two, 0.9, name="rod")) == 0
    assert small.add(Loop(one, two, "spherical")) == 1
    assert small.names == ["rod", "constraint 2"] and len(small) == 2 and small.row_count == 4
    with pytest.raises(soa.OutOfMemoryError):
        small.add(Plane(one, two))
    small.switch("rod", False)
    assert small.row_count == 3 and not small["rod"].on and small["rod"].rows == slice(0, 0)
    assert [c.name for c in small if c.on] == ["constraint 2"] and "rod" in small and "x" not in small
    small.remove("rod")
    assert small.names == ["constraint 2"] and small.add(Plane(one, two)) == 0
    for call in (small.remove, lambda name: small.switch(name, True), lambda name: small[name]):
        with pytest.raises(KeyError, match="no constraint 'rod'"):
            call("rod")
    with pytest.raises(soa.InputError, match="no frame 'no'"):
        small.add(Plane("no", two))
    with pytest.raises(TypeError, match="is not a Loop"):
        small.add("rod")
    with pytest.raises(ValueError, match="rows has shape"):
        small.add(Velocity(one, two, [[1, 2]]))
    with pytest.raises(ValueError, match="method is"):
        small.fd(model.neutral(), method="dense")
    with pytest.raises(soa.SoaError):
        Constraints(model, capacity=-1)
    assert "two-puma" in repr(small)


def test_redundant_rows_are_named():
    model, constraints, one, two = two_arms()
    constraints.add(Loop(one, two, "spherical", name="first"))
    constraints.add(Loop(one, two, "spherical", name="second"))
    q = constraints.assemble(model.random(np.random.default_rng(1)))
    answer = constraints.fd(q)
    assert (
        answer.rank == 3
        and answer.redundant_count == 3
        and {name for name, _ in answer.redundant} <= {"first", "second"}
    )
    assert answer.text and np.allclose(answer.qdd, kkt(model, constraints, q, np.zeros(12), np.zeros(12))[0], atol=1e-6)


def test_projection_and_held_joints():
    model = soa.Model.open("four-bar")
    constraints = model.constraints
    q, v, _ = closed_state(model, constraints)
    near = constraints.project(q + 1e-3, v + 0.1)
    assert near.error[0] < 1e-9 and np.abs(constraints.evaluate(near.q, near.v).rate).max() < 1e-9
    assert constraints.project(q + 1e-3).v is None
    crank = model.body(1).joint
    closed = constraints.assemble(q + 0.05, held=[crank])
    assert closed[0] == q[0] + 0.05 and np.abs(constraints.evaluate(closed).g).max() < 1e-9
    rates = constraints.project_rates(q, np.ones(3), held=[crank])
    assert rates[0] == 1.0 and np.abs(constraints.evaluate(q, rates).rate).max() < 1e-9
    with pytest.raises(soa.ConvergenceError, match="assemble"):
        constraints.assemble(q + 1.0, held=np.array([True, True, True]))


def test_exceptions_come_out_of_drives():
    model, constraints, one, two = two_arms()

    def broken(t):
        raise KeyError(f"no value at {t}")

    constraints.add(Distance(one, two, drive=broken))
    q = model.random(np.random.default_rng(1))
    for call in (
        constraints.evaluate,
        constraints.fd,
        constraints.project,
        constraints.assemble,
        lambda q: constraints.impulse(q, None),
    ):
        with pytest.raises(KeyError, match="no value at"):
            call(q)
    constraints.remove(0)
    constraints.add(Distance(one, two, drive=lambda t: (1.0, 0.0)))
    with pytest.raises(ValueError, match="2 numbers, expected 3"):
        constraints.fd(q)
    constraints.remove(0)
    constraints.add(Distance(one, two, drive=lambda t: (constraints.row_strengths()[0], 0.0, 0.0)))
    with pytest.raises(RuntimeError, match="in use"):
        constraints.fd(q)
    constraints.remove(0)
    constraints.add(Distance(one, two, drive=lambda t: (float("nan"), 0.0, 0.0)))
    with pytest.raises(soa.InputError):
        constraints.fd(q)


def test_memory():
    for _ in range(50):
        constraints = soa.Model.open("four-bar").constraints
        constraints.add(Plane(0, constraints.model.body(1).link, drive=lambda t: (0, 0, 0)))
        gc.collect()
        assert constraints.evaluate(constraints.model.neutral()).G.shape[1] == 3
        del constraints


def test_threads_take_turns():
    model = soa.Model.open("four-bar")
    constraints = model.constraints
    constraints.add(Ratio([(model.body(1).joint, 1.0)], drive=lambda t: (t, 1.0, 0.0)))
    q = constraints.assemble(model.neutral() + 0.3, t=0.4)
    v = constraints.project(q, np.zeros(3), 0.4).v
    expected = constraints.fd(q, v, t=0.4).qdd
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: constraints.fd(q, v, t=0.4).qdd, range(200)))
    assert all(np.array_equal(answer, expected) for answer in answers)

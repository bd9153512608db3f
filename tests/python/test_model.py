"""The methods of Model against each other: many states against one by one, identities, finite differences."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import soa
from numpy.typing import NDArray

Array = NDArray[np.float64]

MODELS = ["puma560", "arm7", "quadruped", "humanoid", "chain:12", *(f"random:{seed}" for seed in range(1, 9)),
          *(f"random-ideal:{seed}" for seed in range(1, 5))]
IDEAL = ["arm7", "quadruped", "humanoid", *(f"random-ideal:{seed}" for seed in range(1, 7))]
MANY = 11  # not a multiple of the number of lanes


@dataclass
class States:
    """Random states, and what else calls take."""

    q: Array
    v: Array
    a: Array
    tau: Array
    x: Array
    f: Array
    frame: str
    wrenches: list[soa.Wrench]

    def one(self, i: int) -> States:
        return States(self.q[i], self.v[i], self.a[i], self.tau[i], self.x[i], self.f[i], self.frame, self.wrenches)


@functools.cache
def opened(spec: str, ideal: bool = False) -> soa.Model:
    return soa.Model.open(spec, ideal=ideal)


@functools.cache
def states(model: soa.Model, count: int = MANY) -> States:
    rng = np.random.default_rng(1)
    frame = model.frame_names[-1] if model.frame_names[-1] != "world" else model.frame_names[-2]
    wrenches = [soa.Wrench(frame, rng.normal(size=6), "world"), soa.Wrench(model.bodies[0].link, rng.normal(size=6), "body")]
    numbers = [rng.normal(size=(count, model.nv)) for _ in range(4)]
    low, high = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
    steps = low + rng.random((count, model.nv)) * (high - low)
    q = model.integrate(np.tile(model.neutral(), (count, 1)), np.where(np.isfinite(steps), steps, 0.5))
    return States(q, *numbers, rng.normal(size=(count, 6)), frame, wrenches)


CALLS: dict[str, Callable[[soa.Model, States], Any]] = {
    "aba": lambda m, s: m.aba(s.q, s.v, s.tau),
    "aba with wrenches": lambda m, s: m.aba(s.q, s.v, s.tau, s.wrenches),
    "rnea": lambda m, s: m.rnea(s.q, s.v, s.a),
    "rnea with wrenches": lambda m, s: m.rnea(s.q, s.v, s.a, s.wrenches),
    "mass": lambda m, s: m.mass(s.q),
    "mass_r87": lambda m, s: m.mass_r87(s.q),
    "minv": lambda m, s: m.minv(s.q),
    "mass_mul": lambda m, s: m.mass_mul(s.q, s.x),
    "minv_mul": lambda m, s: m.minv_mul(s.q, s.x),
    "bias_torque": lambda m, s: m.bias_torque(s.q, s.v),
    "gravity_torque": lambda m, s: m.gravity_torque(s.q),
    "coriolis_mul": lambda m, s: m.coriolis_mul(s.q, s.v, s.x),
    "aba_derivatives": lambda m, s: m.aba_derivatives(s.q, s.v, s.tau, s.wrenches),
    "rnea_derivatives": lambda m, s: m.rnea_derivatives(s.q, s.v, s.a, s.wrenches),
    "pose": lambda m, s: m.pose(s.q, s.frame),
    "velocity": lambda m, s: m.velocity(s.q, s.v, s.frame),
    "acceleration": lambda m, s: m.acceleration(s.q, s.v, s.a, s.frame),
    "acceleration_spatial": lambda m, s: m.acceleration_spatial(s.q, s.v, s.a, s.frame, "body"),
    "jacobian": lambda m, s: m.jacobian(s.q, s.frame),
    "jacobian_mul": lambda m, s: m.jacobian_mul(s.q, s.frame, s.x, "body"),
    "jacobian_transpose_mul": lambda m, s: m.jacobian_transpose_mul(s.q, s.frame, s.f),
    "jacobian_dot_v": lambda m, s: m.jacobian_dot_v(s.q, s.v, s.frame),
    "compliance": lambda m, s: m.compliance(s.q, [s.frame, m.bodies[0].link]),
    "jjt": lambda m, s: m.jjt(s.q, [s.frame, m.bodies[0].link], "body"),
    "energy": lambda m, s: m.energy(s.q, s.v),
    "centre_of_mass": lambda m, s: m.centre_of_mass(s.q, s.v),
    "momentum": lambda m, s: m.momentum(s.q, s.v),
    "centroidal_momentum_matrix": lambda m, s: m.centroidal_momentum_matrix(s.q),
    "regressor": lambda m, s: m.regressor(s.q, s.v, s.a),
    "integrate": lambda m, s: m.integrate(s.q, s.v, 0.1),
    "difference": lambda m, s: m.difference(s.q, m.integrate(s.q, s.v, 0.1)),
    "normalise": lambda m, s: m.normalise(s.q),
    "q_rate": lambda m, s: m.q_rate(s.q, s.v),
    "acceleration_parts": lambda m, s: m.acceleration_parts(s.q, s.v, s.tau, s.wrenches),
    "mass_factor_mul": lambda m, s: m.mass_factor_mul(s.q, "inv(root)*", s.x),
    "nu_from_v": lambda m, s: m.nu_from_v(s.q, s.v),
    "nu_to_v": lambda m, s: m.nu_to_v(s.q, s.x),
    "nu_bias": lambda m, s: m.nu_bias(s.q, s.x),
    "nu_force": lambda m, s: m.nu_force(s.q, s.v, s.tau, s.wrenches),
    "nu_rate": lambda m, s: m.nu_rate(s.q, s.x, s.tau, s.wrenches),
}


def close(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Equal to a tolerance relative to the largest number expected (at least 1)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    worst = float(np.abs(found - expected).max(initial=0.0)) / max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert worst <= tolerance, worst


def test_all_methods_are_here() -> None:
    from soa import _core

    methods = {n for n, f in vars(_core.Tree).items() if callable(f) and not n.startswith("_")}
    assert methods == {name.split()[0] for name in CALLS}


@pytest.mark.parametrize("spec", MODELS)
@pytest.mark.parametrize("name", CALLS)
def test_many_states_are_single_states(spec: str, name: str) -> None:
    model = opened(spec)
    given = states(model)
    call = CALLS[name]
    try:
        many = call(model, given)
    except soa.SoaError as error:  # what mimic joints do not allow, one state must refuse as well
        assert error.status == "SOA_E_MIMIC"
        with pytest.raises(soa.SoaError) as caught:
            call(model, given.one(0))
        assert caught.value.status == "SOA_E_MIMIC"
        return
    for i in range(MANY):
        single = call(model, given.one(i))
        if isinstance(many, tuple):
            for part, alone in zip(many, single, strict=True):
                close(part[i], alone)
        else:
            close(many[i], single)


@pytest.mark.parametrize("name", CALLS)
def test_no_states(name: str) -> None:
    model = opened("quadruped")
    given = states(model)
    result = CALLS[name](model, States(given.q[:0], given.v[:0], given.a[:0], given.tau[:0], given.x[:0], given.f[:0],
                                       given.frame, given.wrenches))
    for part in result if isinstance(result, tuple) else (result,):
        assert part.shape[0] == 0


@pytest.mark.parametrize("spec", MODELS)
def test_dynamics(spec: str) -> None:
    model = opened(spec)
    given = states(model, 3)
    for i in range(3):
        s = given.one(i)
        M, minv, bias = model.mass(s.q), model.minv(s.q), model.bias_torque(s.q, s.v)
        close(M, M.T)
        close(M, model.mass_r87(s.q))
        close(minv @ M, np.eye(model.nv), 1e-8)
        close(model.rnea(s.q, s.v), bias)
        close(model.rnea(s.q, s.v, s.a), M @ s.a + bias)
        close(M @ model.aba(s.q, s.v, s.tau) + bias, s.tau, 1e-8)
        close(model.rnea(s.q, s.v, model.aba(s.q, s.v, s.tau, s.wrenches), s.wrenches), s.tau, 1e-8)
        close(model.mass_mul(s.q, s.x), M @ s.x)
        close(model.minv_mul(s.q, s.x), minv @ s.x)
        pulls = sum(model.jacobian(s.q, w.frame, w.axes).T @ w.value for w in s.wrenches)
        close(model.rnea(s.q, s.v, s.a, s.wrenches), M @ s.a + bias - pulls)
        close(sum(model.acceleration_parts(s.q, s.v, s.tau, s.wrenches)), model.aba(s.q, s.v, s.tau, s.wrenches), 1e-9)
        assert model.energy(s.q, s.v)[0] == pytest.approx(s.v @ M @ s.v / 2, rel=1e-11)
        close(model.momentum(s.q, s.v), model.centroidal_momentum_matrix(s.q) @ s.v)


@pytest.mark.parametrize("spec", IDEAL)
def test_without_losses_and_rotors(spec: str) -> None:
    model = opened(spec, ideal=True)
    s = states(model, 1).one(0)
    close(model.gravity_torque(s.q), model.rnea(s.q))
    close(model.coriolis_mul(s.q, s.v, s.v) + model.gravity_torque(s.q), model.bias_torque(s.q, s.v))
    close(model.regressor(s.q, s.v, s.a) @ model.inertial_parameters(), model.rnea(s.q, s.v, s.a))
    # dM/dt - 2 C is skew: x'(dM/dt)x = 2 x'C x for every x
    h = 1e-5
    rate = (model.mass(model.integrate(s.q, s.v, h)) - model.mass(model.integrate(s.q, s.v, -h))) / (2 * h)
    assert s.x @ rate @ s.x == pytest.approx(2 * s.x @ model.coriolis_mul(s.q, s.v, s.x), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.parametrize("spec", MODELS)
def test_kinematics(spec: str, axes: soa.frames.Axes) -> None:
    model = opened(spec)
    s = states(model, 1).one(0)
    J = model.jacobian(s.q, s.frame, axes)
    V = model.velocity(s.q, s.v, s.frame, axes)
    close(J @ s.v, V)
    close(model.jacobian_mul(s.q, s.frame, s.x, axes), J @ s.x)
    close(model.jacobian_transpose_mul(s.q, s.frame, s.f, axes), J.T @ s.f)
    dot = model.jacobian_dot_v(s.q, s.v, s.frame, axes)
    close(model.acceleration(s.q, s.v, s.a, s.frame, axes), J @ s.a + dot)
    turning = np.concatenate([np.zeros(3), np.cross(V[:3], V[3:])])
    close(model.acceleration_spatial(s.q, s.v, s.a, s.frame, axes), J @ s.a + dot - turning)
    both = np.vstack([J, model.jacobian(s.q, model.bodies[0].link, axes)])
    frames = [s.frame, model.bodies[0].link]
    close(model.compliance(s.q, frames, axes), both @ model.minv(s.q) @ both.T, 1e-9)
    close(model.jjt(s.q, frames, axes), both @ both.T)


@pytest.mark.parametrize("spec", MODELS)
def test_motion_by_finite_differences(spec: str) -> None:
    model = opened(spec)
    s = states(model, 1).one(0)
    h = 1e-6
    ahead, behind = model.integrate(s.q, s.v, h), model.integrate(s.q, s.v, -h)
    V = model.velocity(s.q, s.v, s.frame)
    X, rate = model.pose(s.q, s.frame), (model.pose(ahead, s.frame) - model.pose(behind, s.frame)) / (2 * h)
    spin = rate[:3, :3] @ X[:3, :3].T
    close(V[3:], rate[:3, 3], 1e-7)
    close(V[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], 1e-7)
    close(model.q_rate(s.q, s.v), (ahead - behind) / (2 * h), 1e-7)
    close(model.centre_of_mass(s.q, s.v)[1], (model.centre_of_mass(ahead)[0] - model.centre_of_mass(behind)[0]) / (2 * h),
          1e-7)
    close(model.difference(s.q, model.integrate(s.q, s.v, 0.1)), 0.1 * s.v)
    close(model.normalise(s.q), s.q, 1e-15)
    # power of weight and springs
    power = (model.energy(ahead)[1] - model.energy(behind)[1]) / (2 * h)
    assert power == pytest.approx(s.v @ model.rnea(s.q), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("spec", MODELS)
def test_derivatives_by_finite_differences(spec: str) -> None:
    model = opened(spec)
    s = states(model, 1).one(0)
    h = 1e-6
    for call, third, derivatives in ((model.aba, s.tau, model.aba_derivatives), (model.rnea, s.a, model.rnea_derivatives)):
        exact = derivatives(s.q, s.v, third, s.wrenches)
        found = [np.zeros((model.nv, model.nv)) for _ in range(3)]
        for j, unit in enumerate(np.eye(model.nv)):
            up, down = model.integrate(s.q, unit, h), model.integrate(s.q, unit, -h)
            found[0][:, j] = (call(up, s.v, third, s.wrenches) - call(down, s.v, third, s.wrenches)) / (2 * h)
            found[1][:, j] = (call(s.q, s.v + h * unit, third, s.wrenches)
                              - call(s.q, s.v - h * unit, third, s.wrenches)) / (2 * h)
            found[2][:, j] = (call(s.q, s.v, third + unit, s.wrenches) - call(s.q, s.v, third - unit, s.wrenches)) / 2
        for one, other in zip(exact, found):
            close(one, other, 2e-6)


@pytest.mark.parametrize("spec", MODELS)
def test_diagonal_form(spec: str) -> None:
    model = opened(spec)
    s = states(model, 1).one(0)
    try:
        nu = model.nu_from_v(s.q, s.v)
    except soa.SoaError as error:
        assert error.status == "SOA_E_MIMIC"
        pytest.skip("the diagonal form does not know mimic joints")
    close(model.nu_to_v(s.q, nu), s.v)
    assert nu @ nu / 2 == pytest.approx(model.energy(s.q, s.v)[0])
    assert abs(nu @ model.nu_bias(s.q, nu)) < 1e-9 * max(1.0, float(np.linalg.norm(nu)) ** 3)
    v, rate = model.nu_rate(s.q, nu, s.tau, s.wrenches)
    close(v, s.v)
    close(rate, model.nu_force(s.q, s.v, s.tau, s.wrenches) - model.nu_bias(s.q, nu))
    product = s.x  # M = L D L*, D = root root*
    for factor in ("L*", "root*", "root", "L"):
        product = model.mass_factor_mul(s.q, factor, product)
    close(product, model.mass(s.q) @ s.x)
    close(model.mass_factor_mul(s.q, "root*", model.mass_factor_mul(s.q, "L*", s.v)), nu)
    for factor in ("L", "L*", "root", "root*"):
        close(model.mass_factor_mul(s.q, f"inv({factor.rstrip('*')}){'*' * factor.count('*')}",
                                    model.mass_factor_mul(s.q, factor, s.x)), s.x)


# --- kinds of arrays --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("spec", ["arm7", "quadruped", "random:2"])
def test_float32(spec: str) -> None:
    model = opened(spec)
    given = states(model)
    q, v, x = (array.astype(np.float32) for array in (given.q, given.v, given.x))
    for call in (lambda q, v, x: model.aba(q, v, x), lambda q, v, x: model.rnea(q, v, x), lambda q, v, x: model.mass(q)):
        exact = call(*(array.astype(np.float64) for array in (model.normalise(q.astype(np.float64)), v, x)))
        many = call(q, v, x)
        assert many.dtype == np.float32
        close(many, exact, 2e-3)
        for i in range(MANY):
            single = call(q[i], v[i], x[i])
            assert single.dtype == np.float32
            close(single, exact[i], 2e-3)


def test_strides_orders_and_lists() -> None:
    model = opened("humanoid")
    given = states(model)
    expected = model.rnea(given.q, given.v, given.a)

    def spread(array: Array) -> Array:
        wide = np.zeros((2 * len(array), 3 * array.shape[1]))
        wide[::2, 1::3] = array
        return wide[::2, 1::3]

    assert np.array_equal(model.rnea(spread(given.q), spread(given.v), spread(given.a)), expected)
    assert np.array_equal(model.rnea(*(np.asfortranarray(x) for x in (given.q, given.v, given.a))), expected)
    assert np.array_equal(model.rnea(given.q.tolist(), given.v.tolist(), given.a.tolist()), expected)
    backwards = model.rnea(given.q[::-1], given.v[::-1], given.a[::-1])
    close(backwards[::-1], expected)
    swapped = given.q.astype(given.q.dtype.newbyteorder())
    assert np.array_equal(model.rnea(swapped, given.v, given.a), expected)
    for array in (given.q, given.v, given.a):
        array.setflags(write=False)
    assert np.array_equal(model.rnea(given.q, given.v, given.a), expected)


def test_arguments_are_not_written() -> None:
    model = opened("quadruped")
    given = states(model)
    before = pickle.dumps(given)
    for call in CALLS.values():
        result = call(model, given)
        for part in result if isinstance(result, tuple) else (result,):
            assert part.flags.owndata and part.flags.writeable and part.flags.c_contiguous
    assert pickle.dumps(given) == before


def test_none_is_zero() -> None:
    model = opened("humanoid")
    given = states(model)
    zero = np.zeros_like(given.v)
    assert np.array_equal(model.aba(given.q, None, given.tau), model.aba(given.q, zero, given.tau))
    assert np.array_equal(model.rnea(given.q, a=given.a), model.rnea(given.q, zero, given.a))
    assert np.array_equal(model.aba(given.q), model.aba(given.q, zero, zero))


# --- threads ----------------------------------------------------------------------------------------------------------

def test_threads_do_not_change_results() -> None:
    model = opened("arm7")
    given = states(model, 9001)
    before = soa.get_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            soa.set_threads(threads)
            assert soa.get_threads() == threads
            results.append((model.aba(given.q, given.v, given.tau), model.minv_mul(given.q, given.x)))
        for aba, minv in results[1:]:
            assert np.array_equal(aba, results[0][0]) and np.array_equal(minv, results[0][1])
        with pytest.raises(ValueError, match="0 threads, expected 1 or more"):
            soa.set_threads(0)
    finally:
        soa.set_threads(before)


def test_many_python_threads_on_one_model() -> None:
    model = opened("humanoid")
    given = states(model, 64)
    names = [name for name in CALLS if "nu_" not in name]
    expected = {name: CALLS[name](model, given) for name in names}

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        for _ in range(60):
            name = names[rng.integers(len(names))]
            if rng.integers(2):
                found, right = CALLS[name](model, given), expected[name]
            else:
                i = int(rng.integers(64))
                found = CALLS[name](model, given.one(i))
                right = tuple(p[i] for p in expected[name]) if isinstance(expected[name], tuple) else expected[name][i]
            for one, other in zip(found, right) if isinstance(right, tuple) else [(found, right)]:
                close(one, other)
            with pytest.raises(soa.InputError):
                model.aba(np.full(model.nq, np.nan))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))


# --- models -----------------------------------------------------------------------------------------------------------

def test_copies_of_models() -> None:
    model = opened("random:5")
    s = states(model, 1).one(0)
    expected = model.aba(s.q, s.v, s.tau)
    for other in (pickle.loads(pickle.dumps(model)), soa.Model.from_bytes(model.to_bytes())):
        assert other.name == model.name and np.array_equal(other.aba(s.q, s.v, s.tau), expected)
    assert np.array_equal(model.with_gravity([0, 0, 0]).gravity, [0, 0, 0])
    assert np.allclose(model.with_gravity([0, 0, 0]).gravity_torque(s.q), 0)


def test_bodies_and_frames() -> None:
    model = opened("quadruped")
    assert [body.number for body in model.bodies] == list(range(1, model.body_count + 1))
    assert sum(body.mass for body in model.bodies) == pytest.approx(model.total_mass)
    covered = np.zeros(model.nv, dtype=int)
    for body in model.bodies:
        covered[body.v] += 1
        assert model.joint(body.joint).number == body.number
        assert model.frame(body.link).body == body.number
    assert (covered == 1).all()
    for number, name in enumerate(model.frame_names):
        assert model.find_frame(name) == number and model.frame(number).name == name
    q = model.random(np.random.default_rng(2))
    assert np.array_equal(model.pose(q, 0), np.eye(4))

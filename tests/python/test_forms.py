"""The papers' other forms against Model's methods and dense algebra."""

import concurrent.futures

import numpy as np
import pytest

import soa
from soa import forms
from soa.forms import Divide, Tip


def state_of(name, seed=0):
    model = soa.Model.open(name)
    rng = np.random.default_rng(seed)
    return model, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv), rng.normal(size=model.nv)


@pytest.mark.parametrize("name", ["arm7", "two-puma", "satellite", "random-ideal:3"])
def test_inverse_sums(name):
    model, q, v, a, _ = state_of(name)
    wrench = soa.Wrench(model.body(model.body_count).link, [1, 2, 3, 4, 5, 6.0])
    sums = forms.inverse_sums(model, q, v, a, [wrench])
    tau = model.rnea(q, v, a, [wrench])
    size = 1 + np.abs(tau).max()
    assert np.allclose(sums.tau, tau, atol=1e-9 * size)
    rotors = model.mass(q) - sums.mass
    assert np.allclose(rotors, np.diag(np.diag(rotors)), atol=1e-9 * size) and np.all(np.diag(rotors) > -1e-9 * size)
    ideal = model.without_losses(True, True)
    assert np.allclose(sums.bias, ideal.rnea(q, v, None, [wrench]), atol=1e-9 * size)
    assert sums.x.shape == sums.lambda_.shape == (model.body_count, 6)


def test_boundary_problem():
    model, q, v, a, tau = state_of("arm7")
    tip = model.body(7).link
    inverse = forms.boundary_problem(model, q, v, accelerations=a, tip=tip)
    assert np.allclose(inverse.torques, model.rnea(q, v, a)) and not inverse.base_acceleration.any()
    forward = forms.boundary_problem(model, q, v, torques=tau, tip=tip)
    assert np.allclose(forward.accelerations, model.aba(q, v, tau))
    assert forward.accelerations is not tau and np.array_equal(forward.torques, tau) and forward.x.shape == (7, 6)
    force = np.arange(6.0)
    pushed = forms.boundary_problem(model, q, v, torques=tau, tip=tip, tip_force=force)
    wrench = soa.Wrench(tip, force, "body")
    assert np.allclose(pushed.accelerations, model.aba(q, v, tau, [wrench]))
    again = forms.boundary_problem(model, q, v, torques=tau, tip=tip, tip_acceleration=pushed.tip_acceleration)
    assert np.allclose(again.accelerations, pushed.accelerations, atol=1e-6) and np.allclose(
        again.tip_force, force, atol=1e-6
    )
    carried = forms.boundary_problem(
        model,
        q,
        v,
        accelerations=a,
        tip=tip,
        base_acceleration=inverse.base_acceleration,
        base_force=inverse.base_force,
    )
    assert np.allclose(carried.torques, inverse.torques) and np.allclose(carried.tip_force, 0, atol=1e-9)
    floating = forms.boundary_problem(
        model, q, v, torques=tau, base_force=np.zeros(6), base_inertia=[5, 0, 0, 0, 1, 1, 1, 0, 0, 0]
    )
    assert not np.allclose(floating.base_acceleration, 0) and not floating.base_force.any()
    for wrong in (
        dict(),
        dict(torques=tau, accelerations=a),
        dict(torques=tau, base_force=force, tip_force=force, base_acceleration=force),
    ):
        with pytest.raises(ValueError):
            forms.boundary_problem(model, q, v, tip=tip, **wrong)
    with pytest.raises(soa.SoaError):
        forms.boundary_problem(model, q, v, accelerations=a, tip=tip, base_acceleration=force, tip_acceleration=force)


def test_articulated_inertia():
    model, q, *_ = state_of("satellite")
    P = model.smoother(q)[4].P_minus
    for update in forms.UPDATES[:8]:
        for storage in ("full", "symmetric"):
            assert np.allclose(forms.articulated_inertia(model, q, 5, update, storage), P, rtol=1e-9, atol=1e-9)
    composite = forms.articulated_inertia(model, q, 0, "composite_29")
    assert np.isclose(composite[3, 3], model.total_mass)
    assert np.allclose(composite, forms.articulated_inertia(model, q, 0, "composite_33"))
    for wrong, kind in (((5, "52"), ValueError), ((5, "43", "half"), ValueError), ((99,), IndexError)):
        with pytest.raises(kind):
            forms.articulated_inertia(model, q, *wrong)


def test_jtj():
    model, q, x, *_ = state_of("two-puma")
    one, two = model.body(6).link, model.body(12).link
    J = [model.jacobian(q, frame, "world") for frame in (one, two)]
    A = forms.jtj(model, q, [one, two])
    assert np.allclose(A, J[0].T @ J[0] + J[1].T @ J[1])
    assert np.allclose(forms.jtj_inverse_mul(model, q, [one, two], x), np.linalg.solve(A, x), rtol=1e-6)
    assert np.allclose(forms.jtj_inverse(model, q, [one, two]), np.linalg.inv(A), rtol=1e-6)
    weighted = forms.jtj(model, q, Tip(one, 0.0, 2.0), damping=0.5)
    assert np.allclose(weighted, 4 * J[0][3:].T @ J[0][3:] + 0.25 * np.eye(12))
    with pytest.raises(soa.SingularError):
        forms.jtj_inverse(model, q, one)
    assert np.allclose(forms.jtj_inverse(model, q, one, 0.5), np.linalg.inv(forms.jtj(model, q, one, 0.5)))


@pytest.mark.parametrize("name", ["arm7", "two-puma", "satellite"])
def test_constraint_forces(name):
    model, q, v, _, tau = state_of(name)
    wrench = soa.Wrench(model.body(3).link, [1, 2, 3, 4, 5, 6.0])
    expected = model.aba(q, v, tau, [wrench])
    calls = [forms.fd_constraint_forces] + ([forms.fd_tridiagonal] if name == "arm7" else [])
    filtered = model.smoother(q, v, tau, [wrench])
    for call in calls:
        answer = call(model, q, v, tau, [wrench])
        assert np.allclose(answer.qdd, expected, rtol=1e-7, atol=1e-7 * (1 + np.abs(expected).max()))
        for body, joint, force, beta, T in zip(model.bodies, filtered, answer.forces, answer.beta, answer.basis):
            assert T.shape == (6, 6 - (body.v.stop - body.v.start)) and np.allclose(T.T @ T, np.eye(T.shape[1]))
            assert np.allclose(joint.H @ T, 0) and np.allclose(T.T @ force, beta, atol=1e-7 * (1 + np.abs(force).max()))
            assert np.allclose(force, joint.x_minus, rtol=1e-6, atol=1e-6 * (1 + np.abs(force).max()))


def test_branches_are_refused():
    model, q, *_ = state_of("satellite")
    with pytest.raises(soa.SoaError) as caught:
        forms.fd_tridiagonal(model, q)
    assert caught.value.status == "SOA_E_BRANCHED" and caught.value.body > 0 and "joint" in str(caught.value)


def test_two_sweep():
    model, q, v, _, tau = state_of("arm7")
    tip = model.body(7).link
    wrench = soa.Wrench(tip, [1, 2, 3, 4, 5, 6.0])
    expected = model.aba(q, v, tau, [wrench])
    for axes in ("world", "body"):
        qdd, C = forms.fd_two_sweep(model, q, v, tau, [wrench], tip, axes)
        assert np.allclose(qdd, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
        Omega = model.compliance(q, [tip], axes)
        assert np.allclose(C, Omega, rtol=1e-8, atol=1e-8 * np.abs(Omega).max())
    qdd, C = forms.fd_two_sweep(model, q, v, tau, [wrench])
    assert C is None and np.allclose(qdd, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    with pytest.raises(soa.SoaError):
        forms.fd_two_sweep(model, q, frame=model.body(3).link)
    with pytest.raises(ValueError):
        forms.fd_two_sweep(model, q, frame=tip, axes="tool")
    model, q, *_ = state_of("satellite")
    with pytest.raises(soa.SoaError) as caught:
        forms.fd_two_sweep(model, q)
    assert caught.value.status == "SOA_E_BRANCHED" and caught.value.body > 0


def test_factored_inertias():
    model, q, v, _, tau = state_of("satellite")
    wrench = soa.Wrench(model.body(3).link, [1, 2, 3, 4, 5, 6.0], axes="body")
    expected = model.aba(q, v, tau, [wrench])
    scale = np.abs(expected).max()
    assert np.allclose(forms.fd_ud(model, q, v, tau, [wrench]), expected, rtol=1e-8, atol=1e-8 * scale)
    fext = np.zeros((model.body_count, 6))
    expected = model.aba(q, v, tau)
    single = forms.fd_ud_f(model, q, v, tau, fext)
    assert single.dtype == np.float32 and np.allclose(single, expected, atol=1e-3 * np.abs(expected).max())
    assert np.allclose(forms.fd_ud_f(model, q, v, tau), single)
    fext[2] = 1, 2, 3, 4, 5, 6
    assert not np.allclose(forms.fd_ud_f(model, q, v, tau, fext), single)
    with pytest.raises(ValueError):
        forms.fd_ud_f(model, q, v[1:])


def test_divide():
    model, q, v, _, tau = state_of("chain:60")
    expected = model.aba(q, v, tau)
    divide = Divide(model, grain=4)
    plain = divide.fd(q, v, tau)
    assert np.allclose(plain, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert np.array_equal(divide.fd(q, v, tau, executor="openmp"), plain)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert np.array_equal(divide.fd(q, v, tau, executor=pool), plain)
    with pytest.raises(RuntimeError, match="shutdown"):
        divide.fd(q, v, tau, executor=pool)
    assert np.array_equal(divide.fd(q, v, tau), plain)
    count = divide.count
    assert divide.level(0)[0] > 1 and count.critical < count.flops and count.levels > 2
    assert Divide(model, 1).count.levels > count.levels
    with pytest.raises(soa.SoaError):
        Divide(model, 0)
    with pytest.raises(soa.SoaError):
        divide.level(99)
    with pytest.raises(ValueError):
        divide.fd(q[1:])
    with concurrent.futures.ProcessPoolExecutor(1) as pool, pytest.raises(TypeError, match="threads"):
        divide.fd(q, executor=pool)

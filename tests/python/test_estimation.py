"""Estimates from noisy joint data against dense least squares in NumPy; observability against numpy.linalg.svd."""

import numpy as np
import pytest

import soa
from soa.estimation import UnknownWrench, estimate, observability, observability_gramians
from soa.forms import Tip


def state_of(name, seed=0):
    model = soa.Model.open(name)
    rng = np.random.default_rng(seed)
    return model, rng, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv), rng.normal(size=model.nv)


@pytest.mark.parametrize("name", ["arm7", "puma560", "satellite", "random-ideal:3"])
def test_estimate_is_dense_least_squares(name):
    model, rng, q, v, a, tau = state_of(name)
    link = model.body(model.body_count).link
    root = rng.normal(size=(6, 6))
    unknown = [UnknownWrench(link, root @ root.T, mean=rng.normal(size=6)), UnknownWrench(link, np.ones(6), axes="body")]
    R, A = rng.uniform(0.1, 1, model.nv), rng.uniform(0.1, 1, model.nv)
    known = soa.Wrench(link, [1, 2, 3, 4, 5, 6.0])
    found = model.estimate(q, v, tau, a, tau_variance=R, a_variance=A, unknown=unknown, wrenches=[known])
    J = np.vstack([model.jacobian(q, link), model.jacobian(q, link, "body")])
    h = np.hstack([model.mass(q), -J.T])
    mean = np.concatenate([a, unknown[0].mean, np.zeros(6)])
    prior = np.zeros((mean.size, mean.size))
    n = model.nv
    prior[:n, :n], prior[n:n + 6, n:n + 6], prior[n + 6:, n + 6:] = np.diag(A), unknown[0].covariance, np.eye(6)
    error = tau - (h @ mean + model.rnea(q, v, None, [known]))
    S = h @ prior @ h.T + np.diag(R)
    z = mean + prior @ h.T @ np.linalg.solve(S, error)
    C = prior - prior @ h.T @ np.linalg.solve(S, h @ prior)
    assert np.allclose(found.a, z[:n], atol=1e-9) and np.allclose(found.a_deviation, np.sqrt(np.diag(C)[:n]), atol=1e-9)
    for i, one in enumerate(found.wrenches):
        part = slice(n + 6 * i, n + 6 * i + 6)
        assert np.allclose(one.value, z[part], atol=1e-8) and np.allclose(one.covariance, C[part, part], atol=1e-8)
    assert np.isclose(found.chi_square, error @ np.linalg.solve(S, error)) and found.degrees == n
    assert np.allclose(found.tau, model.rnea(q, v, found.a, [known] + [
        soa.Wrench(link, one.value, u.axes) for one, u in zip(found.wrenches, unknown)]), atol=1e-7)


def test_limits():
    model, _, q, v, _, tau = state_of("puma560")
    assert np.allclose(model.estimate(q, v, tau).a, model.aba(q, v, tau))
    assert len(model.estimate(q, v, tau).bodies) == 6
    with pytest.raises(soa.InputError, match="variances"):
        model.estimate(q, tau_variance=-1)
    with pytest.raises(soa.InputError, match="fixed to the world"):
        model.estimate(q, unknown=[UnknownWrench(0, np.ones(6))])
    with pytest.raises(ValueError, match="shape"):
        model.estimate(q, unknown=[UnknownWrench(3, np.ones(5))])
    with pytest.raises(TypeError, match="UnknownWrench"):
        model.estimate(q, unknown=[soa.Wrench(3, np.ones(6))])
    with pytest.raises(ValueError, match="axes"):
        model.estimate(q, unknown=[UnknownWrench(3, np.ones(6), axes="tip")])
    with pytest.raises(soa.SingularError):
        model.estimate(q, tau=tau, a_variance=0)  # torques and accelerations both exact
    assert isinstance(estimate(model, q).chi_square, float)


@pytest.mark.parametrize("name", ["arm7", "puma560", "humanoid", "planar-chain:4", "chain:20"])
def test_observability_is_svd(name):
    model, _, q, _, _, _ = state_of(name)
    link = model.body(model.body_count).link
    J = model.jacobian(q, link)
    found = model.observability(q, link)
    s = np.linalg.svd(J, compute_uv=False)
    assert np.allclose(found.singular[:s.size], s, atol=1e-12 * s[0])
    assert found.rank == np.linalg.matrix_rank(J, tol=1e-10 * s[0])
    assert np.allclose(found.directions[:found.rank].T * found.singular[:found.rank] @ found.joints, J, atol=1e-12)
    assert found.redundant.shape == (model.nv - found.rank, model.nv)
    assert np.allclose(J @ found.redundant.T, 0, atol=1e-12) and np.allclose(found.lost @ J, 0, atol=1e-12)
    assert np.allclose(found.gramian, J @ J.T)
    only = observability(model, q, Tip(link, angular=0))
    assert np.allclose(only.singular[:3], np.linalg.svd(J[3:], compute_uv=False), atol=1e-12)
    with pytest.raises(ValueError, match="axes"):
        model.observability(q, link, "tip")


def test_gramians():
    model, _, q, _, _, _ = state_of("arm7")
    O, C = observability_gramians(model, q, "link7")
    J = model.jacobian(q, "link7")
    for k in range(7):
        s = np.linalg.svd(J[:, :k + 1], compute_uv=False)
        values = np.sort(np.linalg.eigvals(O[k] @ C[k]).real)[::-1][:min(k + 1, 6)]
        assert np.allclose(values, s[:6] ** 2, atol=1e-10)

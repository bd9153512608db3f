"""Embeddings against the closed tree, and against a four-bar's closed formulas by Taylor arithmetic."""

import numpy as np
import pytest

import soa
import soa.constraints
from soa.embedding import Embedding
from soa.taylor import Taylor

CRANK, COUPLER, ROCKER, BASE = 0.4, 0.9, 0.7, 1.0


def four_bar():
    bar = soa.Model.open("four-bar")
    loop = bar.constraints[0].definition
    angles = [np.arctan2(place[2, 3], place[0, 3]) for place in (loop.place1, loop.place2)]

    def U(q):
        crank = q[0] + np.pi / 2
        x, y = BASE - CRANK * np.cos(crank), -CRANK * np.sin(crank)
        r = np.hypot(x, y)
        coupler = np.arctan2(y, x) + np.arccos((r**2 + (COUPLER**2 - ROCKER**2)) / (2 * COUPLER * r))
        q[1] = coupler - q[0] - angles[0]
        q[2] = (
            np.arctan2(
                CRANK * np.sin(crank) + COUPLER * np.sin(coupler),
                CRANK * np.cos(crank) + COUPLER * np.cos(coupler) - BASE,
            )
            - angles[1]
        )

    return bar, U


@pytest.mark.parametrize("kind", ["constraints", "function", "both"])
def test_four_bar(kind):
    bar, U = four_bar()
    embedding = Embedding(
        bar, [bar.body(1).joint], None if kind == "function" else bar.constraints, None if kind == "constraints" else U
    )
    assert (embedding.nq, embedding.nv) == (1, 1)
    Q, Qd, Qdd = np.array([0.5]), np.array([1.3]), np.array([-0.7])
    state = embedding.state(Q, Qd, Qdd)
    closed = bar.constraints
    assert np.abs(closed.evaluate(state.q).g).max() < 1e-9 and state.q[0] == 0.5
    assert np.allclose(state.v, state.E @ Qd) and np.allclose(embedding.E(Q), state.E)
    step = 1e-6
    ahead, behind = embedding.U(Q + step), embedding.U(Q - step)
    assert np.allclose((ahead - behind) / (2 * step), state.E[:, 0], atol=1e-7)
    rates = [embedding.E(Q + s * Qd) @ (Qd + s * Qdd) for s in (step, -step)]
    assert np.allclose((rates[0] - rates[1]) / (2 * step), state.a, atol=1e-6)
    assert np.allclose(embedding.H(Q), state.E.T @ bar.mass(state.q) @ state.E)
    tau = embedding.id(Q, Qd, Qdd)
    assert np.allclose(tau, state.E.T @ bar.rnea(state.q, state.v, state.a))
    assert np.allclose(tau, embedding.H(Q) @ Qdd + embedding.C(Q, Qd) + embedding.G(Q))
    for method in ("columns", "sweeps"):
        assert np.allclose(embedding.fd(Q, Qd, tau, method=method), Qdd)
    assert np.allclose(closed.fd(state.q, state.v, [tau[0], 0, 0]).qdd, state.a, atol=1e-7)
    assert embedding.Q(state.q) == Q and embedding.Qd(state.v) == Qd


def test_several_primary_joints_and_wrenches():
    model = soa.Model.open("two-puma")
    closed = soa.constraints.Constraints(model)
    one, two = model.body(6).link, model.body(12).link
    closed.add(soa.constraints.Loop(one, two, "spherical"))
    q = closed.assemble(model.random(np.random.default_rng(3)))
    secondary = [6, 7, 8]
    primary = [i for i in range(12) if i not in secondary]
    embedding = Embedding(model, primary, closed, guess=q)
    rng = np.random.default_rng(1)
    Q, Qd, tau = q[primary], rng.normal(size=9), rng.normal(size=9)
    whole = np.zeros(12)
    whole[primary] = tau
    wrench = soa.Wrench(one, [0, 0, 0, 1.0, 2.0, 3.0])
    state = embedding.state(Q, Qd)
    expected = closed.fd(state.q, state.v, whole, wrenches=[wrench]).qdd[primary]
    for method in ("columns", "sweeps"):
        assert np.allclose(embedding.fd(Q, Qd, tau, wrenches=[wrench], method=method), expected, rtol=1e-6, atol=1e-6)
    assert np.allclose(
        embedding.H(Q) @ expected + embedding.C(Q, Qd) + embedding.G(Q, wrenches=[wrench]), tau, atol=1e-6
    )


def test_mistakes():
    bar, U = four_bar()
    with pytest.raises(soa.InputError):
        Embedding(bar, ["A"])
    with pytest.raises(ValueError, match="another model"):
        Embedding(bar, ["A"], soa.Model.open("four-bar").constraints)
    with pytest.raises(KeyError):
        Embedding(bar, ["crank"], bar.constraints)
    embedding = Embedding(bar, ["A"], bar.constraints)
    with pytest.raises(ValueError, match="Q has shape"):
        embedding.U([1.0, 2.0])
    with pytest.raises(ValueError, match="Qd has shape"):
        embedding.state([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="method is"):
        embedding.fd([1.0], method="rows")
    with pytest.raises(soa.SoaError):
        Embedding(bar, ["D"], bar.constraints).U([-1.78])

    def broken(q):
        raise LookupError("no U")

    for call in (Embedding(bar, ["A"], function=broken).U, Embedding(bar, ["A"], function=broken).H):
        with pytest.raises(LookupError, match="no U"):
            call([0.5])
    with pytest.raises(TypeError, match="expected a number or Taylor"):
        Embedding(bar, ["A"], function=lambda q: q.fill("x")).U([0.5])
    with pytest.raises(soa.SingularError):
        Embedding(bar, ["A"], function=lambda q: None).U([0.5])


def test_taylor():
    x = Taylor.variable(0.7, 2.0, order=3)
    one = Taylor([0.7, 2.0, 0, 0])
    assert x.coefficients == one.coefficients and x.order == 3
    assert np.allclose(np.exp(np.log(x)).coefficients, x.coefficients)
    assert np.allclose((np.sin(x) ** 2 + np.cos(x) ** 2).coefficients, [1, 0, 0, 0])
    assert np.allclose((2 / x * x - 1).coefficients, [1, 0, 0, 0])
    assert np.allclose(np.tan(np.arctan(x)).coefficients, x.coefficients)
    assert np.allclose((np.float64(3) * x - np.sqrt(x) * np.sqrt(x) * 3).coefficients, 0)
    assert np.allclose((-x + (1.0 - x)).coefficients, [-0.4, -4, 0, 0])
    assert np.allclose(np.sin(np.arcsin(x)).coefficients, np.cos(np.arccos(x)).coefficients)
    assert np.isclose(np.arctan2(x, 0.5).derivative(0), np.arctan2(0.7, 0.5))
    assert np.isclose(np.hypot(x, 1.0).derivative(1), 2 * 0.7 / np.hypot(0.7, 1))
    with pytest.raises(TypeError):
        x + "1"
    with pytest.raises(ValueError):
        Taylor([])

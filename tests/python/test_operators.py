"""Operators against NumPy products of dense matrices, and against the methods of Model."""

import gc
import subprocess
import threading

import numpy as np
import pytest

import soa
from soa import operators as op
from soa.operators import (
    B,
    D,
    G,
    H,
    I,
    J,
    K,
    M,
    Machine,
    Mass,
    P,
    T,
    b,
    f0,
    form,
    identity,
    parse,
    phi,
    psi,
    thdd,
    variable,
)

MODELS = ["arm7", "two-puma", "satellite", "random-ideal:5"]


@pytest.fixture(params=MODELS)
def machine(request):
    model = soa.Model.open(request.param, ideal=True)
    return Machine(model)


def state_of(model, seed=3):
    rng = np.random.default_rng(seed)
    return dict(
        q=model.random(rng), v=rng.normal(size=model.nv), a=rng.normal(size=model.nv), tau=rng.normal(size=model.nv)
    )


def test_expressions_match_products_of_matrices(machine):
    state = state_of(machine.model)
    leaf = {name: machine.dense(name, **state) for name in ("phi", "psi", "H", "M", "K", "D", "P")}
    n = machine.model.nv
    assert np.allclose(
        machine.evaluate(H @ phi @ M @ phi.T @ H.T, **state),
        leaf["H"] @ leaf["phi"] @ leaf["M"] @ leaf["phi"].T @ leaf["H"].T,
        rtol=1e-12,
        atol=1e-12,
    )
    factor = np.eye(n) - leaf["H"] @ leaf["psi"] @ leaf["K"]
    inverse = factor.T @ np.linalg.inv(leaf["D"]) @ factor
    assert np.allclose(
        machine.evaluate((I - H @ psi @ K).T @ D.inv() @ (I - H @ psi @ K), **state), inverse, rtol=1e-10, atol=1e-10
    )
    assert np.allclose(machine.evaluate((2.0 * P - M / 4).H, **state), (2 * leaf["P"] - leaf["M"] / 4).T, atol=1e-12)
    assert np.allclose(machine.evaluate(-(np.float64(3) * P), **state), -3 * leaf["P"])


def test_algorithms_match_the_model(machine):
    model = machine.model
    state = state_of(model)
    q, v, a, tau = (state[name] for name in ("q", "v", "a", "tau"))
    qdd = model.aba(q, v, tau)
    for name in ("FD1", "FD3", "FD4"):
        assert np.allclose(machine.evaluate(form(name), q=q, v=v, tau=tau), qdd, rtol=1e-9, atol=1e-9)
    assert np.allclose(machine.evaluate(form("ID"), **state), model.rnea(q, v, a), rtol=1e-10, atol=1e-10)
    assert np.allclose(machine.evaluate(Mass, **state), model.mass(q), atol=1e-10)
    assert np.allclose(
        machine.evaluate(Mass.inv() @ T, **state), np.linalg.solve(model.mass(q), tau), rtol=1e-9, atol=1e-9
    )
    assert np.allclose(
        machine.evaluate(form("FD3"), **state), machine.dense(form("FD3"), **state), rtol=1e-9, atol=1e-9
    )


def test_wrenches_and_tips():
    arm = soa.Model.open("arm7")
    rng = np.random.default_rng(1)
    q, tau = arm.random(rng), rng.normal(size=7)
    wrench = soa.Wrench(arm.body(7).link, rng.normal(size=6), "world")
    assert np.allclose(arm.op(form("FD3"), q=q, tau=tau, wrenches=[wrench]), arm.aba(q, None, tau, [wrench]), atol=1e-9)
    tips = [arm.body(4).link, arm.body(7).link]
    machine = Machine(arm, tips)
    assert machine.tips == tips and machine.size("tip") == 12
    jacobian = machine.evaluate(J, q=q)
    assert np.allclose(jacobian[6:], arm.jacobian(q, tips[1], "body"), atol=1e-12)
    f = rng.normal(size=(2, 6))
    assert np.allclose(machine.evaluate("J' f0", q=q, f0=f), jacobian.T @ f.ravel())
    assert np.allclose(
        machine.evaluate(J @ Mass.inv() @ J.T @ f0, q=q, f0=f),
        jacobian @ np.linalg.solve(arm.mass(q), jacobian.T @ f.ravel()),
        atol=1e-9,
    )
    assert machine.condition == 1
    task = Machine(arm, tips[1:])
    inverse = np.linalg.inv(jacobian[6:] @ np.linalg.solve(arm.mass(q), jacobian[6:].T))
    assert np.allclose(task.evaluate(form("task_force"), q=q, f0=f[1]), inverse @ f[1], rtol=1e-8)
    assert task.condition > 1


def test_variables():
    arm = soa.Model.open("arm7")
    q = arm.random(np.random.default_rng(0))
    x = np.arange(7.0)
    assert np.allclose(arm.op("Mass x", q=q, x=x), arm.mass(q) @ x)
    y = np.arange(42.0)
    machine = Machine(arm)
    dense = machine.evaluate(H @ phi, q=q)
    assert np.allclose(machine.evaluate("H phi y", q=q, y=y.reshape(7, 6)), dense @ y)
    assert np.allclose(machine.evaluate(H @ phi @ variable("y", "link"), q=q, y=y), dense @ y)
    A = np.random.default_rng(5).normal(size=(6, 6))
    shared = variable("A", "tip", "tip")
    assert shared.variables() == {"A": ("tip", "tip")}
    jacobian = machine.evaluate(J, q=q)
    assert np.allclose(machine.evaluate(J.T @ shared @ J @ T, q=q, tau=x, A=A), jacobian.T @ A @ jacobian @ x)
    assert np.allclose(machine.evaluate("J' A J", q=q, A=A), jacobian.T @ A @ jacobian)
    with pytest.raises(ValueError, match="no value for y"):
        machine.evaluate(H @ phi @ variable("y", "link"), q=q)
    with pytest.raises(ValueError, match="no variable z"):
        machine.evaluate(Mass, q=q, z=x)
    with pytest.raises(ValueError, match="no space"):
        machine.evaluate("Mass x", q=q, x=np.zeros(5))
    with pytest.raises(ValueError, match="expected"):
        machine.evaluate(Mass @ variable("x", "joint"), q=q, x=np.zeros(6))


def test_mistakes():
    with pytest.raises(soa.InputError, match="right factor gives joint"):
        H @ H
    with pytest.raises(soa.InputError, match="the first maps"):
        H + phi
    with pytest.raises(TypeError):
        H * "2"
    with pytest.raises(TypeError):
        op.Expr()
    with pytest.raises(ValueError, match="space is"):
        variable("x", "links")
    with pytest.raises(soa.InputError, match="variable 'phi'"):
        variable("phi", "joint")
    with pytest.raises(soa.SoaError, match="there are FD1"):
        form("FD9")
    arm = soa.Model.open("arm7")
    with pytest.raises(ValueError, match="q has shape"):
        arm.op(Mass, q=np.zeros(6))
    with pytest.raises(soa.SingularError, match="condition"):
        Machine(arm, [arm.body(3).link]).evaluate("inv(J J')", q=arm.neutral())


def test_looking_inside():
    assert str(parse("(I - H psi K)' inv(D)")) == "(I - H psi K)' inv(D)"
    assert (I - H @ psi @ K).T @ D.inv() == parse("(I - H psi K)' inv(D)")
    assert hash(parse("H phi")) == hash(H @ phi) and H @ phi != phi
    assert phi.domain == "link" and H.codomain == "joint" and B.domain == "tip" and b.is_vector
    assert phi.causality == "causal" and phi.T.causality == "anticausal"
    assert [str(part) for part in (H @ phi @ M).parts] == ["H", "phi", "M"]
    assert Mass.definition == parse("H phi M phi' H' + Jr") and phi.definition is None and "inward" in phi.meaning
    assert set(op.leaves()) >= {"phi", "psi", "H", "D"} and "FD1" in op.forms()
    assert op.identity_operator("joint").domain == "joint"


def test_latex():
    assert ((I - H @ psi @ K).T @ D.inv() @ T).latex() == r"\left(I - H \psi K\right)^* D^{-1} T"
    assert phi._repr_latex_() == r"$$\phi$$"
    assert (H @ phi.T).latex() == r"H \phi^*"
    assert (Mass @ thdd).latex() == r"\mathcal{M} \ddot\theta"
    assert (2 * P + M).latex() == "2 P + M" and (P - 0.5 * M).latex() == "P - 0.5 M" and (-P).latex() == "-P"
    assert (-(P + M)).latex() == r"-\left(P + M\right)"
    assert phi.inv().T.latex() == r"\phi^{-*}" and phi.T.inv().latex() == r"\left(\phi^*\right)^{-1}"
    assert (variable("tau_x", "joint") - T).latex() == r"\mathrm{tau\_x} - T"


def test_improve_explain_count_emit(tmp_path):
    slow = Mass.inv() @ (T - H @ phi @ (M @ phi.T @ op.a + b + B @ f0))
    steps = slow.derive()
    assert (
        steps[0][1] == str(slow) and steps[-1][1] == str(slow.improve()) and any("lemma 4" in rule for rule, _ in steps)
    )
    arm = soa.Model.open("arm7")
    assert "tips to base" in form("FD3").explain(arm) and "psi" in (J @ Mass.inv() @ J.T).explain(arm)
    count = form("FD3").count(arm)
    assert (count.additions, count.multiplications, count.divisions, count.sines) == (
        579,
        669,
        5,
        12,
    )  # docs/operators.md
    assert sum(body.multiplications for body in count.bodies) == count.multiplications
    assert sum(part.additions for part in count.parts.values()) == count.additions
    assert form("FD3").count(arm, by_matrix=False, axes="world").additions != count.additions
    source = tmp_path / "fd.c"
    main = """
#include <stdio.h>
int main(void) {
    double q[7] = {.1, .2, .3, .4, .5, .6, .7}, z[7] = {0}, f[6] = {0}, out[7];
    fd3(q, z, z, z, f, out);
    for (int i = 0; i < 7; ++i) printf("%.17g\\n", out[i]);
}
"""
    source.write_text(form("FD3").emit_c(arm, "fd3") + main)
    subprocess.run(["cc", "-o", tmp_path / "fd", source, "-lm"], check=True)
    out = subprocess.run([tmp_path / "fd"], check=True, capture_output=True, text=True).stdout
    assert np.allclose([float(x) for x in out.split()], arm.aba(np.arange(1, 8) / 10, None, None), rtol=1e-10)
    with pytest.raises(ValueError, match="name of a C function"):
        form("FD3").emit_c(arm, "a b")


def test_derivations_as_mathematics():
    x = variable("x_1", "joint")
    steps = (Mass.inv() @ x).derive()
    assert [str(form) for form in steps.forms] == [form for _, form in steps] and len(steps) > 1
    assert steps.forms[-1] == (Mass.inv() @ x).improve()
    shown = steps._repr_latex_()
    assert shown.startswith("$$") and shown.count(r"={} &") == shown.count(r"\\ ") == len(steps) - 1
    assert all(form.latex() in shown for form in steps.forms) and r"\text{RJK91 (13)" in shown
    assert str(steps).splitlines()[1].startswith("  = (I - H psi K)'")
    assert r"\mathcal{M} \ne H M H^* \qquad \text{false" in identity("Mass = H M H'", trials=2)._repr_latex_()
    true = identity("inv(I + H phi K) = I - H psi K", trials=2)._repr_latex_()
    assert r"^{-1} = I - H \psi K" in true and r"\text{true: proved" in true


def test_identities():
    good = identity("Mass = (I + H phi K) D (I + H phi K)'", trials=6)
    assert good and good.proved and good.steps and good.tried == 6 and good.residual < 1e-9 and "proved" in str(good)
    by_expressions = identity((phi, psi), trials=5)
    assert by_expressions.holds is False and not by_expressions.proved
    trial = by_expressions.counter_example
    machine = Machine(trial.model, trial.tips)
    assert np.allclose(machine.dense(phi, **trial.state), trial.left) and not np.allclose(trial.left, trial.right)
    assert (
        identity(
            "J inv(Mass) J' = B' psi' H' inv(D) H psi B", machines=["arm7", soa.Model.open("puma560", ideal=True)]
        ).tried
        == 2
    )
    undefined = identity("inv(J J') = inv(J J') ", machines=["planar-chain:3"])
    assert undefined.holds is None and undefined.skipped[0][0] == "planar-chain:3" and undefined.skipped[0][1]
    with pytest.raises(soa.SoaError):
        identity("H = phi")
    assert identity((G, P @ H.T @ D.inv()), machines=["arm7"]).holds


def test_memory_and_threads():
    arm = soa.Model.open("arm7")
    machine = Machine(arm)
    q = arm.neutral() + 0.1
    expected = machine.evaluate("inv(Mass) T", q=q, tau=np.ones(7))
    wrong = []

    def work():
        for i in range(60):
            made = parse("inv(Mass) (T - 0 T)") if i % 2 else Mass.inv() @ T
            if not np.allclose(machine.evaluate(made, q=q, tau=np.ones(7)), expected):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for i in range(100):
        machine.evaluate(T * float(i + 1), q=q)
    del machine, arm
    gc.collect()


def shows(line, step):
    left, _, right = line.partition("=")
    return left.strip() == step.left and step.right in right and step.remark in right


def test_sweeps_of_one_direction_share_a_pass():
    plan = soa.operators.parse("phi' psi' H' T").plan(soa.Model.open("arm7", ideal=True))
    assert (plan.sweep_count, plan.pass_count, plan.recursion_count) == (3, 2, 3)  # P; psi' and phi'


@pytest.mark.parametrize("name", sorted(soa.operators.forms()))
def test_plan_is_what_explain_prints(name):
    arm = soa.Model.open("arm7")
    expression = soa.operators.form(name)
    try:
        text = expression.explain(arm)
    except soa.SoaError as refused:  # a form without an O(n) plan
        with pytest.raises(type(refused)):
            expression.plan(arm)
        return
    plan = expression.plan(arm)
    lines = text.splitlines()
    assert lines[0].startswith(f"{plan.sweep_count} sweep")
    assert f", {plan.recursion_count} recursion" in lines[0]
    assert plan.pass_count <= plan.sweep_count
    assert lines[1].startswith(f"{plan.pass_count} pass") == (plan.pass_count < plan.sweep_count)
    assert max(step.sweep for step in plan.steps) == plan.sweep_count
    assert sum(step.recursion for step in plan.steps if step.sweep > 0) == plan.recursion_count
    at = 0
    for step in plan.steps:
        line = next(i for i in range(at, len(lines)) if shows(lines[i], step))
        at = line + 1 if step.sweep > 0 else at
    letters = {"e": "joint", "z": "link", "y": "edge", "t": "tip"}
    for step in plan.steps:
        if step.sweep > 0 and step.left[0] in letters:
            assert step.space == letters[step.left[0]]
        if step.recursion:
            assert step.runs == step.way
        if step.factor in ("H", "H'", "M", "D", "inv(D)", "G", "G'"):
            assert step.runs == "memoryless"


def test_operators_beyond_the_papers_letters():
    """Delta, roots of D, blocks between links, zero, inverses of least norm, own operators anywhere."""
    arm = soa.Model.open("arm7")
    machine = Machine(arm)
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7)
    jacobian = machine.evaluate(op.J, q=q)
    u = rng.uniform(-1, 1, 6)
    assert np.allclose(machine.evaluate(op.J.pinv() @ variable("u", "tip"), q=q, u=u), np.linalg.pinv(jacobian) @ u)
    assert machine.rank == 6
    assert np.allclose(machine.evaluate("pinv(J)", q=q), np.linalg.pinv(jacobian))
    machine.evaluate("T", q=q)
    assert machine.rank is None
    root = machine.evaluate("sqrt(D)", q=q)
    assert np.allclose(root @ root.T, machine.evaluate("D", q=q))
    block = machine.evaluate("phi(link2, link5)", q=q)
    whole = machine.evaluate(op.phi, q=q)
    assert np.array_equal(block[6:12, 24:30], whole[6:12, 24:30]) and np.count_nonzero(block) <= 36
    assert np.array_equal(block, machine.evaluate(op.at("link2") @ op.phi @ op.at("link5"), q=q))
    with pytest.raises(soa.SoaError, match="did you mean 'link5'"):
        machine.evaluate("at(lnik5) V", q=q)
    assert not machine.evaluate(op.zero("joint"), q=q).any()
    # blocks: lemma A.1 for any r
    r = rng.uniform(-1, 1, (7, 6, 6))
    expression = op.parse("phi (r - E_phi r E_phi') phi'", {"r": ("link", "link", "blocks")})
    assert expression.variables() == {"r": ("link", "link")}
    left = machine.dense(expression, q=q, r=r)
    assert np.allclose(left, machine.dense("r + phit r + r phit'", q=q, r=r))
    weights = variable("w", "joint", blocks=True)
    assert weights.causality == "memoryless"
    w = rng.uniform(-1, 1, 7)
    assert np.allclose(machine.evaluate(weights @ op.thd, q=q, v=v, w=w), w * v)
    gain = rng.uniform(-1, 1, (7, 42))
    assert np.allclose(
        machine.evaluate(variable("k", "joint", "link") @ op.V, q=q, v=v, k=gain), gain @ machine.evaluate("V", q=q, v=v)
    )
    with pytest.raises(ValueError, match="blocks of joint space"):
        machine.evaluate(weights @ op.thd, q=q, v=v, w=np.zeros(6))
    assert "const double *own" in (weights @ op.thd).emit_c(arm)
    assert 0 < op.parse("sqrt(D) T").count(arm).roots <= 7
    assert op.J.pinv().latex() == r"J^\dagger"
    assert identity("H Pplus = 0").proved


# --- derivatives ----------------------------------------------------------------------------------------------------

FORWARD = "inv(Mass) (T - H phi (M phi' a + b))"
INVERSE = "H phi (M phi' (H' thdd + a) + b) + Jr thdd"


def test_derivatives_by_columns_are_the_library_s(machine):
    model, state = machine.model, state_of(machine.model)
    q, v, a, tau = state["q"], state["v"], state["a"], state["tau"]
    by_q, by_v = model.aba_derivatives(q, v, tau)[:2]
    assert np.allclose(machine.jacobian(FORWARD, "q", **state), by_q, rtol=1e-9, atol=1e-9)
    assert np.allclose(machine.jacobian(FORWARD, "v", **state), by_v, rtol=1e-9, atol=1e-9)
    by_q, by_v = model.rnea_derivatives(q, v, a)[:2]
    assert np.allclose(machine.jacobian(INVERSE, "q", **state), by_q, rtol=1e-9, atol=1e-9)
    assert np.allclose(machine.jacobian(INVERSE, "v", **state), by_v, rtol=1e-9, atol=1e-9)
    assert np.allclose(machine.dense(parse(INVERSE).jacobian("q"), **state), by_q, rtol=1e-9, atol=1e-9)


def test_a_direction(machine):
    model, state = machine.model, state_of(machine.model)
    rng = np.random.default_rng(5)
    dq, dv, dtau = rng.normal(size=(3, model.nv))
    column = machine.evaluate(parse(FORWARD).d(), **state, dq=dq, dv=dv, dtau=dtau)
    whole = sum(machine.jacobian(FORWARD, part, **state) @ d for part, d in (("q", dq), ("v", dv), ("tau", dtau)))
    assert np.allclose(column, whole, rtol=1e-9, atol=1e-9)
    assert np.allclose(machine.dense(f"d({FORWARD})", **state, dq=dq, dv=dv, dtau=dtau), column, rtol=1e-9, atol=1e-9)
    h = 1e-6
    ahead = machine.evaluate("phi' H' thd", q=model.integrate(state["q"], h * dq), v=state["v"])
    behind = machine.evaluate("phi' H' thd", q=model.integrate(state["q"], -h * dq), v=state["v"])
    exact = machine.evaluate("d(phi' H' thd)", q=state["q"], v=state["v"], dq=dq)
    assert np.allclose((ahead - behind) / (2 * h), exact, rtol=1e-6, atol=1e-6)
    assert not machine.evaluate("dq").any()  # the direction of one call is not that of the next


def test_rules_and_refusals():
    rules = dict((rule, text) for text, rule in (phi @ M @ phi.T).differentiation())
    assert "d(phi) = phi E_phi Theta phi" in rules
    assert str(op.cross(op.V) @ op.V) == "cross(V) V"
    assert str(op.bar(M @ op.V)) == "bar(M V)"
    assert "cross" in op.cross(op.V).latex()
    assert str(op.V.jacobian("v")) == "phi' H'"
    with pytest.raises(soa.SoaError, match="second derivatives"):
        T.d().d()
    with pytest.raises(soa.SoaError, match="by columns"):
        (psi @ M @ op.V).jacobian("q")
    with pytest.raises(soa.SoaError, match="expected a vector"):
        phi.jacobian("q")
    with pytest.raises(ValueError, match="expected one of"):
        op.V.jacobian("x")
    with pytest.raises(soa.SoaError, match="link vector"):
        op.cross(T)


def test_derivations_between_forms():
    way = op.form("FD1").derive(to=op.form("FD4"))
    assert str(way.forms[0]) == str(op.form("FD1")) and str(way[-1][1]) == str(op.form("FD4"))
    for (_, before), (rule, after) in zip(way, way[1:]):
        assert op.identity(f"{before} = {after}", trials=1).proved, rule
    letters = op.parse("iOm: tip>tip, ap: tip; J' iOm ap")
    assert "definition of J" in str(letters.derive(to="H phi B iOm ap"))
    with pytest.raises(soa.SoaError, match="no derivation was found; there is no proof"):
        op.form("FD1").derive(to=op.parse("inv(Mass) T"))
    with pytest.raises(soa.SoaError, match="both have to map"):
        op.H.derive(to=op.phi)


def test_identities_by_name():
    known = op.identities()
    assert len(known) >= 112 and known["RK88-I (a.35)"] == "H psi = (I - H Psi L) H phi"
    assert op.identity("a.35", trials=2).proved
    assert op.identity("FD1 = FD4", trials=2).proved
    opaque = op.identity("A: tip>tip, C: tip>tip; inv(I + A C) A = A inv(I + C A)", trials=3)
    assert opaque.holds and not opaque.proved
    assert op.identity("A: tip>base, x: joint; A J x = 2 A J x", trials=3).holds is False
    for name, equation in op.rules():
        assert op.identity(equation, trials=1).proved, name


def test_closed_chains_as_operators():
    """Loops, a grasp's contacts and an embedding give the leaves of closed chains their numbers."""
    bar = soa.Model.open("four-bar")
    loops = soa.Constraints.of_model(bar)
    q = loops.assemble(bar.neutral())
    machine = Machine(bar, [])
    q, _ = machine.close(loops, q)
    rows = machine.size("constraint")
    assert rows == loops.row_count and machine.evaluate("Gc", q=q).shape == (rows, bar.nv)
    free = "inv(Mass) (T - H phi (M phi' a + b))"
    closed = machine.evaluate(f"{free} - inv(Mass) Gc' pinv(Gc inv(Mass) Gc') (Gc {free} + gammac)", q=q)
    assert np.allclose(closed, loops.fd(q).qdd)
    assert machine.rank == 2
    # WD89: H(Q) in the crank
    crank = soa.Embedding(bar, [0], constraints=loops)
    q, v = machine.close(crank, q[:1], [0.7])
    assert np.allclose(machine.evaluate("Eq' Mass Eq", q=q), crank.H(q[:1]))
    assert machine.evaluate("Gamma' T", q=q, v=v, tau=[1.0, 0.0, 0.0]).shape == (1,)
    # numbers of one's own
    arm = Machine(soa.Model.open("arm7"))
    assert arm.size("constraint") == 0
    with pytest.raises(soa.SoaError, match="has no value"):
        arm.evaluate("Gc thd", v=np.ones(7))
    arm.set_constraints(1, [(0, "link3", [0, 0, 0, 0, 0, 1.0])], gamma=[0.5])
    assert arm.evaluate("Gc thd + gammac", v=np.zeros(7)) == 0.5
    arm.set_objects(np.eye(6), 2 * np.eye(6), np.ones(6), np.ones((6, 1)))
    assert np.allclose(arm.evaluate("inv(Mo) Ao' Tc gammac + bo"), 1.25)
    arm.set_primary(np.ones((7, 2)))
    assert np.allclose(arm.evaluate("Eq' T", tau=np.arange(7.0)), 21)
    with pytest.raises(ValueError, match="another model"):
        arm.close(loops, q)

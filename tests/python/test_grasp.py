"""Grasps against the dense system of the closed machine, formed by NumPy from Jacobians of the frames."""

import gc

import numpy as np
import pytest

import soa
from soa.constraints import Constraints
from soa.grasp import METHODS, Contact, Grasp

BORNE = {
    "rigid": [0, 1, 2, 3, 4, 5],
    "line": [1, 2, 3, 4, 5],
    "soft_finger": [2, 3, 4, 5],
    "point": [3, 4, 5],
    "sliding_face": [0, 1, 5],
    "sliding_point": [5],
}
STEP = 1e-6


def cross(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def at_point(jacobian, shift):
    """Velocities at a point that is so far from the frame's origin."""
    return np.vstack([jacobian[:3], jacobian[3:] - cross(shift) @ jacobian[:3]])


class Held:
    """Two arms and an object, closed at q, with rows of every contact by hand."""

    def __init__(self, kinds, seed=0):
        self.model = model = soa.Model.open("two-puma-object")
        rng = np.random.default_rng(seed)
        self.q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv), 1.0)
        self.tau = rng.normal(size=model.nv) * 10
        self.object = model.body(18).link
        self.arms = [model.body(6).link, model.body(12).link]
        self.grasp = Grasp(model, 4)
        self.kinds, self.places = kinds, []
        for arm, kind in zip(self.arms, kinds):
            at_arm = soa.pose(rng.uniform(-0.1, 0.1, 3), rpy=rng.uniform(-1, 1, 3))
            at_object = np.linalg.solve(model.pose(self.q, self.object), model.pose(self.q, arm) @ at_arm)
            self.places.append((at_arm, at_object))
            self.grasp.add(Contact(kind, arm, self.object, at_arm, at_object))
        self.v = self.grasp.impulse(self.q, rng.normal(size=model.nv)).v

    def points(self, q):
        return [(self.model.pose(q, arm) @ at_arm)[:3, 3] for arm, (at_arm, _) in zip(self.arms, self.places)]

    def turns(self, q):
        """6 x rows for each contact: what it bears, in world axes."""
        made = []
        for kind, (_, at_object) in zip(self.kinds, self.places):
            R = (self.model.pose(q, self.object) @ at_object)[:3, :3]
            made.append(np.kron(np.eye(2), R)[:, BORNE[kind]])
        return made

    def relative(self, q):
        """Velocity of the object less that of the arm at each contact point, (6, nv) each."""
        model, made = self.model, []
        for arm, point in zip(self.arms, self.points(q)):
            made.append(
                at_point(model.jacobian(q, self.object, "world"), point - model.pose(q, self.object)[:3, 3])
                - at_point(model.jacobian(q, arm, "world"), point - model.pose(q, arm)[:3, 3])
            )
        return made

    def G(self, q):
        return np.vstack([T.T @ J for T, J in zip(self.turns(q), self.relative(q))])

    def solve(self):
        model, q, v, n = self.model, self.q, self.v, self.model.nv
        G = self.G(q)
        rates = [self.G(model.integrate(q, v, s)) @ v for s in (STEP, -STEP)]
        gamma = (rates[0] - rates[1]) / (2 * STEP)
        system = np.block([[model.mass(q), -G.T], [G, np.zeros((len(G), len(G)))]])
        solution = np.linalg.solve(system, np.concatenate([self.tau - model.rnea(q, v, None), -gamma]))
        forces, first = [], n
        for T in self.turns(q):
            forces.append(T @ solution[first : first + T.shape[1]])
            first += T.shape[1]
        return solution[:n], np.array(forces)


@pytest.mark.parametrize(
    "kinds",
    [
        ("rigid", "rigid"),
        ("rigid", "point"),
        ("line", "soft_finger"),
        ("point", "sliding_face"),
        ("rigid", "sliding_point"),
    ],
)
def test_forward_dynamics(kinds):
    held = Held(kinds)
    qdd, force = held.solve()
    for method in METHODS:
        answer = held.grasp.fd(held.q, held.v, held.tau, method=method)
        assert np.allclose(answer.qdd, qdd, rtol=1e-5, atol=1e-5 * np.abs(qdd).max()), method
        assert np.allclose(answer.force, force, rtol=1e-5, atol=1e-5 * np.abs(force).max()), method
        assert answer.rank == answer.rows == len(held.G(held.q)) and not answer.least_norm
        assert method == "auto" or answer.method == method
    assert answer.W_rate.shape == (held.grasp.free_count,) == (12 - answer.rows,)
    for number in (0, 1):
        now = held.grasp.motion(number, held.q, held.v)
        assert now.gap < 1e-9 and now.rate < 1e-9 and np.isclose(np.linalg.norm(now.theta), 1)
        ahead, behind = (
            held.grasp.motion(number, held.model.integrate(held.q, held.v + s / 2 * qdd, s), held.v + s * qdd)
            for s in (1e-5, -1e-5)
        )
        index, free = held.grasp.contact_range(number)
        assert index == number and np.allclose(
            (ahead.W - behind.W) / 2e-5, answer.W_rate[free], rtol=1e-4, atol=1e-4 * np.abs(qdd).max()
        )


def test_python_solver():
    held = Held(("rigid", "point"))
    expected = held.grasp.fd(held.q, held.v, held.tau)
    wrench = soa.Wrench(held.object, [0, 0, 0, 1, 2, 3.0])
    calls = []

    def solver(q, v, tau, wrenches):
        calls.append(len(wrenches))
        model = held.model
        return np.linalg.solve(model.mass(q), tau - model.rnea(q, v, None, wrenches))

    answer = held.grasp.fd(held.q, held.v, held.tau, method="general", solver=solver)
    assert np.allclose(answer.qdd, expected.qdd, atol=1e-6 * np.abs(expected.qdd).max()) and len(calls) > 6
    pushed = [
        held.grasp.fd(held.q, held.v, held.tau, method=m, wrenches=[wrench], solver=s).qdd
        for m, s in (("general", solver), ("auto", None))
    ]
    assert np.allclose(*pushed, atol=1e-6 * np.abs(pushed[0]).max()) and not np.allclose(pushed[1], expected.qdd)

    def broken(*_):
        raise ZeroDivisionError("stop")

    with pytest.raises(ZeroDivisionError, match="stop"):
        held.grasp.fd(held.q, method="general", solver=broken)
    with pytest.raises(ValueError, match="solver's qdd has shape"):
        held.grasp.fd(held.q, method="general", solver=lambda *_: np.zeros(3))
    with pytest.raises(ValueError, match="goes with the method"):
        held.grasp.fd(held.q, solver=solver)


def test_compliance_and_impulse():
    held = Held(("line", "point"), 1)
    J = np.vstack(held.relative(held.q))
    answer = held.grasp.compliance(held.q)
    assert np.allclose(answer.Omega, J @ np.linalg.solve(held.model.mass(held.q), J.T), rtol=1e-8)
    assert answer.reduced_rows == answer.reduced_rank == 8
    v = np.random.default_rng(2).normal(size=18)
    hit = held.grasp.impulse(held.q, v)
    assert np.allclose(held.G(held.q) @ hit.v, 0, atol=1e-9)
    assert np.allclose(held.model.mass(held.q) @ (hit.v - v), J.T @ hit.impulse.ravel(), atol=1e-8)


def test_loads():
    held = Held(("rigid", "point"), 2)
    grasp, q = held.grasp, held.q
    centre = held.model.pose(q, held.object)[:3, 3]
    A = np.hstack([np.block([[np.eye(3), cross(p - centre)], [np.zeros((3, 3)), np.eye(3)]]) for p in held.points(q)])
    assert np.allclose(grasp.map(q, held.object), A)
    T = np.zeros((12, 9))
    T[:6, :6], T[6:, 6:] = held.turns(q)
    internal = grasp.internal_basis(q, held.object)
    assert internal.basis.shape == (3, 2, 6) and internal.rank == 6 == np.linalg.matrix_rank(A @ T)
    flat = internal.basis.reshape(3, 12)
    assert np.allclose(flat @ flat.T, np.eye(3)) and np.allclose(A @ flat.T, 0, atol=1e-12)
    wrench = np.arange(1.0, 7.0)
    expected = T @ np.linalg.pinv(A @ T) @ wrench
    assert np.allclose(grasp.distribute(q, held.object, wrench).ravel(), expected)
    squeeze = np.random.default_rng(0).normal(size=(2, 6))
    inside = flat.T @ (flat @ squeeze.ravel())
    assert np.allclose(grasp.internal_force(q, held.object, squeeze).ravel(), inside)
    assert np.allclose(grasp.distribute(q, held.object, wrench, squeeze).ravel(), expected + inside)
    with pytest.raises(ValueError, match=r"squeeze has shape \(3, 6\)"):
        grasp.distribute(q, held.object, wrench, np.zeros((3, 6)))


def test_object_state():
    held = Held(("rigid", "rigid"), 3)
    answer = held.grasp.fd(held.q, held.v, held.tau)
    state = held.grasp.object_state(held.object, held.q, held.v, answer.qdd, answer.force)
    assert np.allclose(state.V, held.model.jacobian(held.q, held.object, "world") @ held.v, atol=1e-8)
    assert np.allclose(state.f, held.grasp.map(held.q, held.object) @ answer.force.ravel())
    ahead, behind = (
        held.model.jacobian(held.model.integrate(held.q, held.v, s), held.object, "world") @ held.v
        for s in (STEP, -STEP)
    )
    alpha = held.model.jacobian(held.q, held.object, "world") @ answer.qdd + (ahead - behind) / (2 * STEP)
    assert np.allclose(state.alpha, alpha, rtol=1e-5, atol=1e-5 * np.abs(alpha).max()) and state.alpha0.shape == (2, 6)


def test_friction_cones():
    model = soa.Model.open("two-puma-object")
    grasp = Grasp(model)
    q = model.neutral()
    grasp.add(Contact("point", model.body(6).link, model.body(18).link, one_sided=True, friction=0.5))
    R = model.pose(q, model.body(18).link)[:3, :3]
    for force, event in (([0.4, 0, 1], "holds"), ([0.6, 0, 1], "slips"), ([0, 0, -1], "breaks")):
        check = grasp.check(q, np.concatenate([np.zeros(3), R @ force]))[0]
        assert check.event == event and (check.margin > 0) == (event == "holds")
        assert np.isclose(check.normal, force[2]) and np.isclose(check.tangential, force[0])
    with pytest.raises(ValueError, match="force has shape"):
        grasp.check(q, np.zeros((2, 6)))


def test_contacts_come_and_go():
    model = soa.Model.open("two-puma-object")
    grasp = Grasp(model, 2)
    arm, other, object_ = model.body(6).link, model.body(12).link, model.body(18).link
    own = Contact("own", arm, object_, soa.pose([0, 0, 1]), free=[[0, 0, 1, 0, 0, 0.5]], friction=0.3, axes_on_arm=True)
    assert grasp.add(own) == 0 and grasp.add(Contact("soft_finger", other, object_)) == 1
    assert (grasp.contact_count, grasp.free_count, len(grasp)) == (2, 3, 2)
    assert (
        grasp[0].free.tolist() == [[0, 0, 1, 0, 0, 0.5]] and grasp[0].place_arm[2, 3] == 1 and grasp[0].friction == 0.3
    )
    assert grasp[0].axes_on_arm and grasp[0].arm == arm and not grasp[0].one_sided
    assert grasp[1].one_sided and grasp[1].free is None and grasp[1].type == "soft_finger"
    with pytest.raises(soa.OutOfMemoryError):
        grasp.add(own)
    grasp.switch(0, False)
    assert grasp.contact_count == 1 and grasp.contact_range(0)[0] == -1 and grasp.contact_range(1) == (0, slice(0, 2))
    grasp.remove(0)
    assert grasp.numbers == [1]
    with pytest.raises(IndexError, match="no contact 0"):
        grasp[0]
    for bad, kind in (
        (Contact("ball", arm, object_), ValueError),
        (Contact("own", arm, object_), ValueError),
        (Contact("rigid", arm, object_, free=[[1, 0, 0, 0, 0, 0]]), ValueError),
        (Contact("own", arm, object_, free=[[1, 0, 0, 0, 0, 0]] * 2), soa.SingularError),
        (Contact("own", arm, object_, free=[[1, 0]]), ValueError),
        (Contact("rigid", "x", object_), soa.InputError),
    ):
        with pytest.raises(kind):
            grasp.add(bad)
    with pytest.raises(soa.SoaError):
        grasp.remove(0)
    with pytest.raises(ValueError, match="method is"):
        grasp.fd(model.neutral(), method="dense")
    constraints = Constraints(model)
    assert grasp.constrain(constraints) and constraints.row_count == 4
    del grasp
    gc.collect()

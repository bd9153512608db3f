"""Pinocchio and MuJoCo against soa: random trees and loops, the shipped models, and the URDF files
of SOA_REFERENCE_DIR/models, at seeded random states.

    SOA_PEER_MODELS=400 python -m pytest tests/python/test_peers.py     # more random trees than 30

    python tests/python/test_peers.py       # prints the errors

Errors are max|difference| / max(max|reference|, 1e-3). The other programs:
pip install --require-hashes -r peers.txt
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import soa
from numpy.typing import NDArray
from peer_models import (
    MUJOCO_TYPES,
    PINOCCHIO_TYPES,
    ClosedState,
    MuJoCoTwin,
    PinocchioTwin,
    Tie,
    body_pose,
    mat_to_quaternion,
    random_closed,
    random_pose,
    random_tree,
    random_types,
)
from soa import convert
from soa.constraints import Constraints, Loop
from soa.grasp import METHODS as GRASP_METHODS
from soa.grasp import Contact, Grasp

Array = NDArray[np.float64]
TOLERANCE = 1e-9
WITHOUT_PINOCCHIO = (
    "Pinocchio is not installed: NOTHING was compared with it (tests/python/peers.txt)"
)
WITHOUT_MUJOCO = "MuJoCo is not installed: NOTHING was compared with it (tests/python/peers.txt)"
STATES = 10
AXES: tuple[Literal["world", "body"], ...] = ("world", "body")
MODELS = int(
    os.environ.get("SOA_PEER_MODELS", "30")
)  # random trees for each program; the seeds are 0 to MODELS - 1
DIRECTORY = os.environ.get("SOA_REFERENCE_DIR")
FILES = sorted((Path(DIRECTORY) / "models").glob("*.urdf")) if DIRECTORY else []
LEGGED = ("anymal_b", "romeo_small", "simple_humanoid", "solo12", "talos_reduced")
CASES = [
    (file, floating)
    for file in FILES
    for floating in ([False, True] if file.stem in LEGGED else [False])
]
NAMES = [file.stem + ", floating" * floating for file, floating in CASES]

# What MuJoCo refuses to load, and its message; inertias that no body can have, or of zero size.
IMPOSSIBLE = r"inertia must satisfy A \+ B >= C"
REFUSED = {
    "anymal_b": "inertia must have positive eigenvalues",
    "pr2": IMPOSSIBLE,
    "romeo_small": IMPOSSIBLE,
    "talos_reduced": IMPOSSIBLE,
}

# Possible, and not along the link's axes: MuJoCo compiles shortcuts for bodies whose inertia is.
GENERAL_INERTIA = {
    "ixx": "1.1",
    "iyy": "1.2",
    "izz": "1.5",
    "ixy": "0.1",
    "ixz": "0.2",
    "iyz": "0.15",
}


class Worst(dict[str, float]):
    """The worst error of each quantity."""

    def compare(self, name: str, found: Any, reference: Any) -> None:
        found, reference = np.asarray(found), np.asarray(reference)
        assert found.shape == reference.shape, name
        assert np.isfinite(found).all() and np.isfinite(reference).all(), name
        error = float(np.abs(found - reference).max()) / max(float(np.abs(reference).max()), 1e-3)
        self[name] = max(self.get(name, 0.0), error)


def states(model: soa.Model, name: str) -> list[tuple[Array, Array, Array, Array]]:
    """Random q, v, accelerations and torques, the same in each run.

    Limits are ignored: some files' are 0 to 0.
    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [
        (
            model.integrate(model.neutral(), rng.uniform(-2, 2, model.nv)),
            *rng.normal(size=(3, model.nv)),
        )
        for _ in range(STATES)
    ]


def both_triangles(matrix: Array) -> Array:
    """A symmetric matrix of which only the upper triangle is given."""
    return np.triu(matrix) + np.triu(matrix, 1).T


def compare_pinocchio(file: Path, floating: bool) -> Worst:
    import pinocchio as pin

    model = soa.Model.open(file, floating=floating, ideal=True)
    peer = (
        pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
        if floating
        else pin.buildModelFromUrdf(str(file))
    )
    data = peer.createData()
    there = convert.Pinocchio(model, peer)
    links = [frame.name for frame in map(model.frame, range(1, model.frame_count)) if frame.is_link]
    assert len(links) >= model.body_count
    worst = Worst()
    for q, v, a, tau in states(model, file.stem):
        pq, pv, pa, ptau = there.q_to(q), there.v_to(v), there.v_to(a), there.v_to(tau)
        worst.compare(
            "mass", there.matrix_to(model.mass(q)), both_triangles(pin.crba(peer, data, pq))
        )
        worst.compare(
            "minv",
            there.matrix_to(model.minv(q)),
            both_triangles(pin.computeMinverse(peer, data, pq)),
        )
        worst.compare(
            "bias", there.v_to(model.bias_torque(q, v)), pin.nonLinearEffects(peer, data, pq, pv)
        )
        worst.compare(
            "gravity",
            there.v_to(model.gravity_torque(q)),
            pin.computeGeneralizedGravity(peer, data, pq),
        )
        worst.compare("rnea", there.v_to(model.rnea(q, v, a)), pin.rnea(peer, data, pq, pv, pa))
        worst.compare("aba", there.v_to(model.aba(q, v, tau)), pin.aba(peer, data, pq, pv, ptau))
        for name, ours, reference in zip(
            ("aba_dq", "aba_dv", "aba_dtau"),
            model.aba_derivatives(q, v, tau),
            pin.computeABADerivatives(peer, data, pq, pv, ptau),
            strict=True,
        ):
            symmetric = name == "aba_dtau"
            worst.compare(
                name, there.matrix_to(ours), both_triangles(reference) if symmetric else reference
            )
        for name, ours, reference in zip(
            ("rnea_dq", "rnea_dv", "rnea_da"),
            model.rnea_derivatives(q, v, a),
            pin.computeRNEADerivatives(peer, data, pq, pv, pa),
            strict=True,
        ):
            symmetric = name == "rnea_da"
            worst.compare(
                name, there.matrix_to(ours), both_triangles(reference) if symmetric else reference
            )
        for name in links:
            number = peer.getFrameId(name, pin.BODY)  # a joint may have the same name
            for axes, reference in zip(AXES, (pin.LOCAL_WORLD_ALIGNED, pin.LOCAL), strict=True):
                worst.compare(
                    f"jacobian {axes}",
                    there.jacobian_to(model.jacobian(q, name, axes)),
                    pin.computeFrameJacobian(peer, data, pq, number, reference),
                )
        worst.compare(
            "integrate", there.q_to(model.integrate(q, 0.1 * v)), pin.integrate(peer, pq, 0.1 * pv)
        )
    return worst


def mujoco_urdf(file: Path, floating: bool) -> ElementTree.Element:
    """The URDF without shapes, whose meshes are not here.

    floating: with a free joint named root under "world", as MuJoCo wants it.
    """
    robot = ElementTree.parse(file).getroot()
    for link in robot.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for joint in robot.iter("joint"):
        if joint.get("type") == "revolute":
            joint.set(
                "type", "continuous"
            )  # limits are not compared; MuJoCo writes a log file about those of 0 to 0
    if floating:
        children = {child.get("link") for child in robot.iterfind("joint/child")}
        root = next(
            link.get("name", "")
            for link in robot.findall("link")
            if link.get("name") not in children
        )
        ElementTree.SubElement(robot, "link", name="world")
        joint = ElementTree.SubElement(robot, "joint", name="root", type="floating")
        ElementTree.SubElement(joint, "parent", link="world")
        ElementTree.SubElement(joint, "child", link=root)
    return robot


def load_mujoco(robot: ElementTree.Element) -> Any:
    """MuJoCo's model without friction, damping, springs, rotors, limits and contacts."""
    import mujoco

    peer = mujoco.MjModel.from_xml_string(ElementTree.tostring(robot, encoding="unicode"))
    for values in (peer.dof_damping, peer.dof_frictionloss, peer.dof_armature, peer.jnt_stiffness):
        values[:] = 0
    peer.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    )
    return peer


def load_mujoco_anyway(robot: ElementTree.Element) -> Any:
    """A model that MuJoCo refuses: loaded with other inertias, and then given those of the file."""
    import mujoco

    inertias = {}  # of links, in link axes
    for link in robot.iter("link"):
        inertia = link.find("inertial/inertia")
        if inertia is not None:
            xx, xy, xz, yy, yz, zz = (
                float(inertia.get(name, "0")) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            )
            origin = link.find("inertial/origin")
            rpy = [
                float(angle)
                for angle in (origin.get("rpy", "0 0 0") if origin is not None else "0 0 0").split()
            ]
            R = soa.pose(rpy=rpy)[:3, :3]
            inertias[link.get("name", "")] = (
                R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
            )
            inertia.attrib.update(GENERAL_INERTIA)
    settings = ElementTree.SubElement(robot, "mujoco")
    ElementTree.SubElement(settings, "compiler", fusestatic="false")  # each link is a body
    peer = load_mujoco(robot)
    for body in range(1, peer.nbody):
        name = peer.body(body).name
        if name in inertias:
            values, axes = np.linalg.eigh(inertias[name])
            axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, axes.ravel())
            peer.body_inertia[body], peer.body_iquat[body] = values, quaternion
    mujoco.mj_setConst(peer, mujoco.MjData(peer))
    return peer


def compare_mujoco(file: Path, floating: bool) -> Worst:
    import mujoco

    model = soa.Model.open(file, floating=floating, ideal=True)
    robot = mujoco_urdf(file, floating)
    peer = load_mujoco_anyway(robot) if file.stem in REFUSED else load_mujoco(robot)
    data = mujoco.MjData(peer)
    there = convert.MuJoCo(model, peer)
    mass = np.zeros((peer.nv, peer.nv))
    worst = Worst()
    for q, v, _, tau in states(model, file.stem):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = (
            there.q_to(q),
            there.v_to(q, v),
            there.tau_to(q, tau),
        )
        mujoco.mj_forward(peer, data)
        mujoco.mj_fullM(peer, data, mass)
        worst.compare("mass", there.matrix_to(q, model.mass(q)), mass)
        worst.compare("bias", there.bias_to(q, v), data.qfrc_bias)
        worst.compare("aba", there.a_to(q, v, model.aba(q, v, tau)), data.qacc)
    return worst


# --- random trees and the shipped models, built joint by joint ------------------------------------


def relative(found: Array, reference: Array) -> float:
    """max|difference| / max|reference|; infinite for numbers that are not finite."""
    error = float(np.abs(found - reference).max() / np.abs(reference).max())
    return error if np.isfinite(error) else np.inf


def forward_derivatives(
    twin: PinocchioTwin, q: Array, v: Array, tau: Array
) -> tuple[list[Array], list[Array]]:
    """Pinocchio's derivatives of forward dynamics, in soa's coordinates, in two ways.

    First what it computes directly, then -M^-1 dtau from its derivatives of inverse dynamics at its
    accelerations, refined in extended precision.
    """
    import pinocchio as pin

    peer, data = twin.model, twin.data
    dq, dv, minv = (matrix.copy() for matrix in pin.computeABADerivatives(peer, data, q, v, tau))
    acceleration = pin.aba(peer, data, q, v, tau).copy()
    torque_dq, torque_dv, mass = (
        matrix.copy() for matrix in pin.computeRNEADerivatives(peer, data, q, v, acceleration)
    )
    refined = solve_refined(
        both_triangles(mass), np.hstack([-torque_dq, -torque_dv, np.eye(peer.nv)])
    )
    return (
        [twin.rates.permuted_from(matrix) for matrix in (dq, dv, both_triangles(minv))],
        [twin.rates.permuted_from(matrix) for matrix in np.split(refined, 3, axis=1)],
    )


def solve_refined(matrix: Array, right: Array) -> Array:
    """matrix^-1 right, residuals taken in extended precision."""
    wide, x = matrix.astype(np.longdouble), np.zeros_like(right, dtype=np.longdouble)
    for _ in range(5):
        x = x + np.linalg.solve(matrix, np.asarray(right - wide @ x, dtype=np.float64))
    return np.asarray(x, dtype=np.float64)


def compare_pinocchio_tree(model: soa.Model, rng: np.random.Generator, count: int = 3) -> Worst:
    """Everything that both compute, at random states.

    Derivatives are compared with joints split; docs/peers.md says why.
    """
    import pinocchio as pin

    twin, parts = PinocchioTwin(model), PinocchioTwin(model, split=True)
    peer, data, rates = twin.model, twin.data, twin.rates
    worst = Worst()
    for _ in range(count):
        q = model.integrate(model.neutral(), rng.uniform(-2, 2, model.nv))
        v, a, tau = rng.normal(size=(3, model.nv))
        pq, pv, pa, ptau = twin.q_to(q), rates.B @ v, rates.B @ a, rates.force_to(tau)
        worst.compare(
            "mass", model.mass(q), rates.mass_from(both_triangles(pin.crba(peer, data, pq)))
        )
        worst.compare(
            "minv",
            model.minv(q),
            rates.mass_from(both_triangles(pin.computeMinverse(peer, data, pq))),
        )
        worst.compare(
            "bias",
            model.bias_torque(q, v),
            rates.force_from(pin.nonLinearEffects(peer, data, pq, pv)),
        )
        gravity = pin.computeGeneralizedGravity(peer, data, pq)
        worst.compare("gravity", model.gravity_torque(q), rates.force_from(gravity))
        worst.compare(
            "rnea", model.rnea(q, v, a), rates.force_from(pin.rnea(peer, data, pq, pv, pa))
        )
        worst.compare("aba", model.aba(q, v, tau), rates.a_from(pin.aba(peer, data, pq, pv, ptau)))
        for body in model.bodies:
            frame = peer.getFrameId(body.link, pin.OP_FRAME)
            for axes, reference in zip(AXES, (pin.LOCAL_WORLD_ALIGNED, pin.LOCAL), strict=True):
                theirs = pin.computeFrameJacobian(peer, data, pq, frame, reference)
                worst.compare(
                    f"jacobian {axes}",
                    model.jacobian(q, body.link, axes),
                    twin.jacobian_from(theirs),
                )
        pq, pv, pa, ptau = (
            parts.q_to(q),
            parts.rates.B @ v,
            parts.rates.B @ a,
            parts.rates.force_to(tau),
        )
        for name, ours, direct, refined in zip(
            ("aba_dq", "aba_dv", "aba_dtau"),
            model.aba_derivatives(q, v, tau),
            *forward_derivatives(parts, pq, pv, ptau),
            strict=True,
        ):
            worst.compare(name, ours, refined)
            if relative(direct, refined) <= TOLERANCE:  # see docs/peers.md
                worst.compare(f"{name} direct", ours, direct)
        theirs = pin.computeRNEADerivatives(parts.model, parts.data, pq, pv, pa)
        theirs = *theirs[:2], both_triangles(theirs[2])
        for name, ours, matrix in zip(
            ("rnea_dq", "rnea_dv", "rnea_da"), model.rnea_derivatives(q, v, a), theirs, strict=True
        ):
            worst.compare(name, ours, parts.rates.permuted_from(matrix))
    return worst


def compare_mujoco_tree(model: soa.Model, rng: np.random.Generator, count: int = 3) -> Worst:
    """Everything that both compute, at random states.

    MuJoCo's derivatives are finite differences and left out.
    """
    import mujoco

    twin = MuJoCoTwin(model)
    peer, data = twin.model, twin.data
    mass, moving, turning = (
        np.zeros((model.nv, model.nv)),
        np.zeros((3, model.nv)),
        np.zeros((3, model.nv)),
    )
    worst = Worst()
    for _ in range(count):
        q = model.integrate(model.neutral(), rng.uniform(-2, 2, model.nv))
        v, a, tau = rng.normal(size=(3, model.nv))
        rates = twin.set_state(q, v, tau)
        mujoco.mj_forward(peer, data)
        mujoco.mj_fullM(peer, data, mass)
        worst.compare("mass", model.mass(q), rates.mass_from(mass))
        bias = rates.force_from(data.qfrc_bias + mass @ rates.c)
        worst.compare("bias", model.bias_torque(q, v), bias)
        worst.compare("aba", model.aba(q, v, tau), rates.a_from(data.qacc))
        for body in model.bodies:
            mujoco.mj_jacBody(peer, data, moving, turning, peer.body(body.link).id)
            worst.compare(
                "jacobian world",
                model.jacobian(q, body.link),
                np.vstack([turning, moving]) @ rates.B,
            )
        data.qacc[:] = rates.B @ a + rates.c
        mujoco.mj_inverse(peer, data)
        worst.compare("rnea", model.rnea(q, v, a), rates.force_from(data.qfrc_inverse))
    return worst


def tree_of(seed: int, peer: str) -> tuple[soa.Model, np.random.Generator]:
    """The random tree of a seed: each type of joint that both programs have."""
    rng = np.random.default_rng([seed, len(peer)])
    count = int(rng.integers(1, 16))
    if peer == "pinocchio":
        types = random_types(rng, PINOCCHIO_TYPES, count)
        return random_tree(rng, types, free_root=bool(rng.integers(2)), branching=rng.random()), rng
    return random_tree(
        rng, random_types(rng, MUJOCO_TYPES, count), bool(rng.integers(2)), rng.random()
    ), rng


@pytest.mark.parametrize("seed", range(MODELS))
def test_pinocchio_random(seed: int) -> None:
    pytest.importorskip("pinocchio", reason=WITHOUT_PINOCCHIO)
    worst = compare_pinocchio_tree(*tree_of(seed, "pinocchio"))
    assert max(worst.values()) <= TOLERANCE, (seed, worst)


@pytest.mark.parametrize("seed", range(MODELS))
def test_mujoco_random(seed: int) -> None:
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    worst = compare_mujoco_tree(*tree_of(seed, "mujoco"))
    assert max(worst.values()) <= TOLERANCE, (seed, worst)


@pytest.mark.parametrize("kind", ["universal", "planar"])
def test_pinocchio_derivatives_of_joints_in_parts(kind: str) -> None:
    """Why joints are split: Pinocchio's derivatives are others where an axis depends on q."""
    pin = pytest.importorskip("pinocchio", reason=WITHOUT_PINOCCHIO)
    rng = np.random.default_rng(5)
    model = random_tree(rng, ["revolute", kind, "revolute"])
    q = model.integrate(model.neutral(), rng.uniform(-2, 2, model.nv))
    v, a = rng.normal(size=(2, model.nv))
    torques, derivatives = [], []
    for split in (False, True):
        twin = PinocchioTwin(model, split)
        state = twin.model, twin.data, twin.q_to(q), twin.rates.B @ v, twin.rates.B @ a
        torques.append(twin.rates.force_from(pin.rnea(*state)))
        derivatives.append(twin.rates.permuted_from(pin.computeRNEADerivatives(*state)[0]))
    worst = Worst()
    worst.compare("torques", *torques)
    worst.compare("derivatives of the parts", derivatives[1], model.rnea_derivatives(q, v, a)[0])
    assert max(worst.values()) <= TOLERANCE, worst
    worst.compare("derivatives", *derivatives)
    assert worst["derivatives"] > 1e-3, (
        "Pinocchio has mended this: compare derivatives without splitting"
    )


SHIPPED = [name.replace(":N", ":6").replace(":SEED", ":7") for name in soa.stock_models()]


def shipped(name: str) -> soa.Model:
    """A shipped model as a tree, without friction, springs, rotors and mimic joints."""
    return soa.Model.open(name, ideal=True)


@pytest.mark.parametrize("name", SHIPPED)
def test_pinocchio_shipped(name: str) -> None:
    pytest.importorskip("pinocchio", reason=WITHOUT_PINOCCHIO)
    worst = compare_pinocchio_tree(shipped(name), np.random.default_rng(zlib.crc32(name.encode())))
    assert max(worst.values()) <= TOLERANCE, worst


@pytest.mark.parametrize("name", SHIPPED)
def test_mujoco_shipped(name: str) -> None:
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    model = shipped(name)
    for body in model.bodies:
        if body.type == "helical":
            pytest.skip(f"{body.joint} of {name} is helical: MuJoCo has no such joint")
        if body.type == "free" and (
            body.parent != 0 or not np.array_equal(body.placement, np.eye(4))
        ):
            pytest.skip(
                f"{body.joint} of {name} is a free joint with a placement or a moving parent: "
                "MuJoCo has none"
            )
    worst = compare_mujoco_tree(model, np.random.default_rng(zlib.crc32(name.encode())))
    assert max(worst.values()) <= TOLERANCE, worst


# --- closed chains --------------------------------------------------------------------------------


def closed_of(seed: int, of: tuple[str, ...]) -> ClosedState:
    return random_closed(np.random.default_rng([seed, len(of), 99]), of)


def pinocchio_closed(case: ClosedState) -> tuple[Array, list[Array]]:
    """Pinocchio's accelerations under rigid constraints, CONTACT_6D and CONTACT_3D, and wrenches.

    Accelerations are in soa's coordinates, wrenches on body 1 at its origin, world axes.
    """
    import pinocchio as pin

    twin = PinocchioTwin(case.model)
    constraints, found = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for tie in case.ties:
        kind = pin.ContactType.CONTACT_6D if tie.kind == "fixed" else pin.ContactType.CONTACT_3D
        first = twin.joints[tie.body1], pin.SE3(tie.place1)
        second = twin.joints[tie.body2], pin.SE3(tie.place2)
        constraints.append(pin.RigidConstraintModel(kind, twin.model, *first, *second, pin.LOCAL))
    for constraint in constraints:
        found.append(constraint.createData())
    pin.initConstraintDynamics(twin.model, twin.data, constraints, found)
    state = twin.q_to(case.q), twin.rates.B @ case.v, twin.rates.force_to(case.tau)
    settings = pin.ProximalSettings(1e-14, 1e-14, 0.0, 10)
    qdd = pin.constraintDynamics(twin.model, twin.data, *state, constraints, found, settings)
    wrenches = []
    for tie, answer in zip(case.ties, found, strict=True):  # theirs is at place1, in its axes
        body = body_pose(case.model, case.q, tie.body1)
        axes = (body @ tie.place1)[:3, :3]
        force, moment = axes @ answer.contact_force.linear, axes @ answer.contact_force.angular
        arm = body[:3, :3] @ tie.place1[:3, 3]
        wrenches.append(np.concatenate([moment + np.cross(arm, force), force]))
    return twin.rates.a_from(qdd), wrenches


def compare_pinocchio_closed(case: ClosedState) -> Worst:
    """Accelerations and constraint forces."""
    ours = case.constraints.fd(case.q, case.v, case.tau, with_wrenches=True)
    qdd, wrenches = pinocchio_closed(case)
    worst = Worst()
    worst.compare("qdd", ours.qdd, qdd)
    for number, wrench in enumerate(wrenches):
        worst.compare("wrench", ours.wrenches[f"tie{number}"][0], wrench)
    return worst


def grasp_of(seed: int) -> ClosedState:
    """Two arms hold an object, each welded to it or at a point; neither arm is near a singularity.

    There the method "woodbury", which needs the inverse of each hand's compliance, gives up.
    """
    rng = np.random.default_rng([seed, 77])
    model = soa.Model.open("two-puma-object", ideal=True)
    numbers = {body.link: body.number for body in model.bodies}
    carried = numbers["object"]
    for _ in range(50):
        q = model.integrate(model.neutral(), rng.uniform(-2, 2, model.nv))
        v, tau = rng.normal(size=(2, model.nv))
        hands = "left_link6", "right_link6"
        if max(np.linalg.cond(model.compliance(q, hand)) for hand in hands) > 1e8:
            continue
        constraints, ties = Constraints(model), []
        for hand in (numbers["left_link6"], numbers["right_link6"]):
            kind: Literal["fixed", "spherical"] = "fixed" if rng.integers(2) else "spherical"
            place1 = random_pose(rng)
            in_world = body_pose(model, q, hand) @ place1
            place2 = np.linalg.inv(body_pose(model, q, carried)) @ in_world
            link = model.body(hand).link
            constraints.add(Loop(link, "object", kind, place1=place1, place2=place2, name=link))
            ties.append(Tie(kind, hand, carried, place1, np.asarray(place2, dtype=np.float64)))
        G = constraints.evaluate(q, v).G
        push = np.linalg.solve(model.mass(q), G.T)
        if np.linalg.cond(G @ push) <= 1e6:
            v = v - push @ np.linalg.solve(G @ push, G @ v)
            return ClosedState(model, constraints, ties, q, v, tau)
    raise AssertionError("no grasp with independent rows in 50 trials")


def compare_pinocchio_grasp(case: ClosedState) -> Worst:
    """Each method of `Grasp.fd` against rigid constraints."""
    reference, _ = pinocchio_closed(case)
    grasp = Grasp(case.model)
    for tie in case.ties:
        hand = case.model.body(tie.body1).link
        kind: Literal["rigid", "point"] = "rigid" if tie.kind == "fixed" else "point"
        grasp.add(Contact(kind, hand, "object", tie.place1, tie.place2, one_sided=False))
    worst = Worst()
    for method in GRASP_METHODS:
        worst.compare(method, grasp.fd(case.q, case.v, case.tau, method=method).qdd, reference)
    return worst


@pytest.mark.parametrize("seed", range(MODELS))
def test_pinocchio_grasp(seed: int) -> None:
    pytest.importorskip("pinocchio", reason=WITHOUT_PINOCCHIO)
    worst = compare_pinocchio_grasp(grasp_of(seed))
    assert max(worst.values()) <= TOLERANCE, (seed, worst)


def mujoco_closed(case: ClosedState) -> MuJoCoTwin:
    """The ties as "weld" and "connect", as stiff as MuJoCo allows, without spring and damper."""
    names = ["world", *(body.link for body in case.model.bodies)]
    twin = MuJoCoTwin(
        case.model,
        "".join(
            f'<{"weld" if tie.kind == "fixed" else "connect"} body1="{names[tie.body1]}" '
            f'body2="{names[tie.body2]}" anchor="0 0 0"/>'
            for tie in case.ties
        ),
    )
    peer = twin.model
    for number, tie in enumerate(case.ties):  # MuJoCo's compiler ties what coincides at q = 0
        if tie.kind == "spherical":
            peer.eq_data[number, :6] = np.concatenate([tie.place1[:3, 3], tie.place2[:3, 3]])
        else:
            relative_pose = tie.place1 @ np.linalg.inv(tie.place2)
            peer.eq_data[number, :3] = 0
            peer.eq_data[number, 3:6] = relative_pose[:3, 3]
            peer.eq_data[number, 6:10] = mat_to_quaternion(relative_pose[:3, :3])
    peer.eq_solref[:] = 0
    peer.eq_solimp[:] = [0.9999, 0.9999, 1, 0.5, 2]
    peer.opt.jacobian, peer.opt.tolerance, peer.opt.iterations = 0, 0, 100  # dense
    return twin


def compare_mujoco_closed(case: ClosedState) -> Worst:
    """MuJoCo's constraints give way by R times their force.

    Its answer follows from our G, gamma and M^-1 and from its R.  With T between its rows and ours,
    J = T G: f = -(T G M^-1 G' T' + R)^-1 T (G a0 + gamma).  With R = 0 the same formula is our
    closed dynamics.
    """
    import mujoco

    model, q, v = case.model, case.q, case.v
    twin = mujoco_closed(case)
    peer, data = twin.model, twin.data
    rates = twin.set_state(q, v, case.tau)
    mujoco.mj_forward(peer, data)
    equations, ours = case.constraints.evaluate(q, v), case.constraints.fd(q, v, case.tau)
    J = data.efc_J.reshape(-1, model.nv)[: data.nefc] @ rates.B
    T = J @ np.linalg.pinv(equations.G)
    free = model.aba(q, v, case.tau)
    rows = T @ equations.G
    push = np.linalg.solve(model.mass(q), rows.T)
    miss = T @ (equations.G @ free + equations.gamma)
    worst = Worst()
    worst.compare("rows", rows, J)
    force = -np.linalg.solve(rows @ push + np.diag(data.efc_R[: data.nefc]), miss)
    worst.compare("force", force, data.efc_force[: data.nefc])
    worst.compare("qdd", free + push @ force, rates.a_from(data.qacc))
    worst.compare("rigid qdd", free - push @ np.linalg.solve(rows @ push, miss), ours.qdd)
    return worst


@pytest.mark.parametrize("seed", range(MODELS))
def test_pinocchio_closed(seed: int) -> None:
    pytest.importorskip("pinocchio", reason=WITHOUT_PINOCCHIO)
    worst = compare_pinocchio_closed(closed_of(seed, PINOCCHIO_TYPES))
    assert max(worst.values()) <= TOLERANCE, (seed, worst)


@pytest.mark.parametrize("seed", range(MODELS))
def test_mujoco_closed(seed: int) -> None:
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    worst = compare_mujoco_closed(closed_of(seed, MUJOCO_TYPES))
    assert max(worst.values()) <= TOLERANCE, (seed, worst)


def test_reference_directory_is_given() -> None:
    if not DIRECTORY:
        pytest.skip("SOA_REFERENCE_DIR is not set: NOTHING was compared with Pinocchio and MuJoCo")
    assert len(FILES) >= 14


@pytest.mark.parametrize(("file", "floating"), CASES, ids=NAMES)
def test_pinocchio(file: Path, floating: bool) -> None:
    pytest.importorskip("pinocchio", reason=WITHOUT_PINOCCHIO)
    worst = compare_pinocchio(file, floating)
    assert max(worst.values()) <= TOLERANCE, worst


@pytest.mark.parametrize(("file", "floating"), CASES, ids=NAMES)
def test_mujoco(file: Path, floating: bool) -> None:
    pytest.importorskip("mujoco", reason=WITHOUT_MUJOCO)
    if file.stem in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[file.stem]):
            load_mujoco(mujoco_urdf(file, floating))
    worst = compare_mujoco(file, floating)
    assert max(worst.values()) <= TOLERANCE, worst


def show() -> None:
    """Prints the worst errors of random trees and loops, then one table of the files each."""
    compared: tuple[tuple[str, Callable[[int], Worst]], ...] = (
        ("Pinocchio, trees", lambda seed: compare_pinocchio_tree(*tree_of(seed, "pinocchio"))),
        ("MuJoCo, trees", lambda seed: compare_mujoco_tree(*tree_of(seed, "mujoco"))),
        (
            "Pinocchio, loops",
            lambda seed: compare_pinocchio_closed(closed_of(seed, PINOCCHIO_TYPES)),
        ),
        ("Pinocchio, grasps", lambda seed: compare_pinocchio_grasp(grasp_of(seed))),
        ("MuJoCo, loops", lambda seed: compare_mujoco_closed(closed_of(seed, MUJOCO_TYPES))),
    )
    for title, compare_seed in compared:
        worst = Worst()
        for seed in range(MODELS):
            for quantity, error in compare_seed(seed).items():
                worst[quantity] = max(worst.get(quantity, 0.0), error)
        errors = ", ".join(f"{quantity} {error:.0e}" for quantity, error in worst.items())
        print(f"\n{title}, seeds 0 to {MODELS - 1}: {errors}")
    for compare in (compare_pinocchio, compare_mujoco):
        for (file, floating), name in zip(CASES, NAMES, strict=True):
            worst = compare(file, floating)
            if name == NAMES[0]:
                print("\n| model |", " | ".join(worst), "|\n|---" + "|---" * len(worst) + "|")
            print(f"| {name} |", " | ".join(f"{value:.0e}" for value in worst.values()), "|")


if __name__ == "__main__":
    show()

"""Models of soa in Pinocchio and in MuJoCo, built through their interfaces; random trees.

Used by test_peers.py and by bench/python.py. Trees are built body by body, with the same
coordinates in all three programs apart from order, quaternions and the rates of free joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, byref
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import soa
from numpy.typing import NDArray
from soa import _c, convert
from soa._call import check, new_report
from soa.constraints import Constraints, Loop
from soa.frames import frame_struct
from soa.model import JOINT_TYPES

Array = NDArray[np.float64]
PINOCCHIO_TYPES = (
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "free",
)
MUJOCO_TYPES = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
)  # free: only at the root


# --- random trees ---------------------------------------------------------------------------------


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation matrix, uniformly distributed."""
    w, x, y, z = unit(rng.normal(size=4))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_pose(rng: np.random.Generator, size: float = 0.5) -> Array:
    """A pose (4, 4) whose translation is at most `size` along each axis."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = random_rotation(rng), rng.uniform(-size, size, 3)
    return pose


def random_inertia(rng: np.random.Generator) -> tuple[float, Array, Array]:
    """Mass, centre of mass and inertia about it of eight points, so that they are possible."""
    points, masses = rng.uniform(-0.3, 0.3, (8, 3)), rng.uniform(0.1, 1.0, 8)
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True)
    )
    return float(masses.sum()), com, np.asarray(inertia)


def unit(x: Array) -> Array:
    """The vector at length 1."""
    return x / np.linalg.norm(x)


def random_tree(
    rng: np.random.Generator, types: Sequence[str], free_root: bool = False, branching: float = 0.4
) -> soa.Model:
    """A tree with these types of joints, in that order; body i is "b<i>", its joint "j<i>".

    Gravity, axes, placements and inertias are random. `branching` is the probability that a body
    hangs on any of those before it, not on the last. free_root: a free joint without a placement
    comes first, the one kind that MuJoCo has.
    """
    kinds = ["free"] * free_root + list(types)
    names = [(f"b{i}".encode(), f"j{i}".encode()) for i in range(1, len(kinds) + 1)]
    bodies = (_c.soa_body_def * len(kinds))()
    for i, kind in enumerate(kinds):
        root = free_root and i == 0
        parent = int(rng.integers(free_root, i + 1)) if not root and rng.random() < branching else i
        bodies[i] = _c.soa_body_default(names[i][0], parent, JOINT_TYPES.index(kind))
        body = bodies[i]
        body.joint_name = names[i][1]
        body.placement = frame_struct(np.eye(4) if root else random_pose(rng))
        axis = unit(rng.normal(size=3))
        second = unit(rng.normal(size=3))
        if (
            kind == "planar" or abs(axis @ second) > 0.9
        ):  # a universal joint only must not have parallel axes
            second = unit(np.cross(axis, second))
        body.joint.axis[:], body.joint.axis2[:] = axis, second
        body.joint.pitch = rng.uniform(-0.3, 0.3)
        mass, com, inertia = random_inertia(rng)
        body.mass, body.com[:] = mass, com
        body.inertia[:] = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    definition = _c.soa_model_default(b"random", bodies, len(kinds))
    definition.gravity[:] = rng.normal(size=3) * 6
    pointer, report = POINTER(_c.soa_model)(), new_report()
    check(_c.soa_model_create(byref(definition), byref(pointer), byref(report)), report)
    return soa.Model._adopt(pointer, "random")


def random_types(rng: np.random.Generator, of: Sequence[str], count: int) -> list[str]:
    """Types of joints in random order: each of them once, the others chosen at random."""
    kinds = [*of, *rng.choice(of, max(0, count - len(of)))][: max(count, len(of))]
    return [str(kind) for kind in rng.permutation(kinds)]


# --- random loops ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tie:
    """Two places in two bodies joined, "fixed" (6 rows) or "spherical" (3); body 0: the world."""

    kind: str
    body1: int
    body2: int
    place1: Array
    place2: Array


@dataclass(frozen=True)
class ClosedState:
    """A tree with ties that are closed at q, at a velocity that keeps them closed."""

    model: soa.Model
    constraints: Constraints
    ties: list[Tie]
    q: Array
    v: Array
    tau: Array


def body_pose(model: soa.Model, q: Array, body: int) -> Array:
    """The pose of a body in the world; of the world, body 0, the identity."""
    return np.eye(4) if body == 0 else model.pose(q, model.body(body).link)


def random_closed(
    rng: np.random.Generator, of: Sequence[str], most_condition: float = 1e6
) -> ClosedState:
    """A random tree with one to three ties; the condition of G M^-1 G' is limited."""
    for _ in range(50):
        model = random_tree(
            rng,
            random_types(rng, of, int(rng.integers(8, 14))),
            bool(rng.integers(2)),
            rng.random(),
        )
        q = model.integrate(model.neutral(), rng.uniform(-2, 2, model.nv))
        v, tau = rng.normal(size=(2, model.nv))
        constraints, ties = Constraints(model), []
        for number in range(int(rng.integers(1, 4))):
            body1, body2 = (
                int(body) for body in rng.choice(model.body_count + 1, 2, replace=False)
            )
            kind: Literal["fixed", "spherical"] = "fixed" if rng.integers(2) else "spherical"
            place1 = random_pose(rng)
            place2 = np.linalg.solve(
                body_pose(model, q, body2), body_pose(model, q, body1) @ place1
            )
            frames = [0 if body == 0 else model.body(body).link for body in (body1, body2)]
            constraints.add(
                Loop(frames[0], frames[1], kind, place1=place1, place2=place2, name=f"tie{number}")
            )
            ties.append(Tie(kind, body1, body2, place1, np.asarray(place2, dtype=np.float64)))
        G = constraints.evaluate(q, v).G
        if len(G) > model.nv:
            continue
        push = np.linalg.solve(model.mass(q), G.T)
        if np.linalg.cond(G @ push) <= most_condition:
            return ClosedState(
                model, constraints, ties, q, v - push @ np.linalg.solve(G @ push, G @ v), tau
            )
    raise AssertionError("no tree with independent ties in 50 trials")


# --- conversion of states -------------------------------------------------------------------------


@dataclass(frozen=True)
class Rates:
    """Rates of both programs at one state: velocities theirs = B ours, accelerations B ours + c."""

    B: Array
    c: Array

    def force_from(self, theirs: Array) -> Array:
        """Torques in soa's coordinates."""
        return self.B.T @ theirs

    def force_to(self, ours: Array) -> Array:
        """Torques in the other program's coordinates."""
        return np.asarray(np.linalg.solve(self.B.T, ours), dtype=np.float64)

    def a_from(self, theirs: Array) -> Array:
        """Accelerations in soa's coordinates."""
        return np.asarray(np.linalg.solve(self.B, theirs - self.c), dtype=np.float64)

    def mass_from(self, theirs: Array) -> Array:
        """A mass matrix in soa's coordinates."""
        return self.B.T @ theirs @ self.B

    def permuted_from(self, theirs: Array) -> Array:
        """A matrix nv x nv of which rows and columns are only in another order."""
        return self.B.T @ theirs @ self.B


def joint_infos(model: soa.Model) -> list[Any]:
    """The soa_body_info of each body."""
    infos = []
    for number in range(1, model.body_count + 1):
        info = _c.soa_body_info()
        check(_c.soa_model_body(model._pointer, number, byref(info)))
        infos.append(info)
    return infos


def depth_first(bodies: Sequence[soa.Body]) -> list[int]:
    """Numbers of the bodies so that those of a branch follow each other, as both peers need it."""
    children: dict[int, list[int]] = {}
    for body in bodies:
        children.setdefault(body.parent, []).append(body.number)

    order, waiting = [], children.get(0, [])[::-1]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting += children.get(number, [])[::-1]
    return order


# --- Pinocchio ------------------------------------------------------------------------------------


def pinocchio_joints(kind: str, info: Any) -> list[Any]:
    """Pinocchio's joints that together are one of soa's."""
    import pinocchio as pin

    axis, second = np.array(info.axis[:]), np.array(info.axis2[:])
    if kind == "revolute":
        return [
            pin.JointModelRZ()
            if (axis == [0, 0, 1]).all()
            else pin.JointModelRevoluteUnaligned(axis)
        ]
    if kind == "prismatic":
        return [pin.JointModelPrismaticUnaligned(axis)]
    if kind == "helical":
        return [pin.JointModelHelicalUnaligned(axis, info.pitch)]
    if kind == "spherical":
        return [pin.JointModelSpherical()]
    if kind == "free":
        return [pin.JointModelFreeFlyer()]
    if kind == "universal":
        return [pin.JointModelRevoluteUnaligned(axis), pin.JointModelRevoluteUnaligned(second)]
    if kind == "cylindrical":
        return [pin.JointModelRevoluteUnaligned(axis), pin.JointModelPrismaticUnaligned(axis)]
    assert kind == "planar", kind  # Pinocchio's own has rates in the axes of the body
    return [
        pin.JointModelPrismaticUnaligned(second),
        pin.JointModelPrismaticUnaligned(np.cross(axis, second)),
        pin.JointModelRevoluteUnaligned(axis),
    ]


def pinocchio_whole(kind: str, info: Any, parts: list[Any]) -> Any:
    """The same as one joint."""
    import pinocchio as pin

    if kind == "universal":
        return pin.JointModelUniversal(np.array(info.axis[:]), np.array(info.axis2[:]))
    composite = pin.JointModelComposite()
    for part in parts:
        composite.addJoint(part)
    return composite


class PinocchioTwin:
    """A Pinocchio model of the same tree; a frame for each body has the name of its link.

    split: universal, cylindrical and planar joints become revolute and prismatic ones with links of
    no mass between them; otherwise they are one joint of Pinocchio's. The coordinates are the same.
    """

    def __init__(self, model: soa.Model, split: bool = False) -> None:
        import pinocchio as pin

        self.model = pin.Model()
        self.model.gravity.linear = model.gravity
        self._bodies = model.bodies
        self.joints = [0] * (model.body_count + 1)  # that carries the body
        self._first = self.joints.copy()  # that has the body's first coordinate
        infos = joint_infos(model)
        for number in depth_first(self._bodies):
            body = self._bodies[number - 1]
            parts = pinocchio_joints(body.type, infos[number - 1])
            if not split and len(parts) > 1:
                parts = [pinocchio_whole(body.type, infos[number - 1], parts)]
            joint, place = self.joints[body.parent], pin.SE3(body.placement)
            for i, part in enumerate(parts):
                joint = self.model.addJoint(joint, part, place, body.joint + "_" * i)
                place = pin.SE3.Identity()
                self._first[number] = self._first[number] or joint
            self.model.appendBodyToJoint(
                joint, pin.Inertia(body.mass, body.com, body.inertia), place
            )
            self.model.addFrame(pin.Frame(body.link, joint, 0, pin.SE3.Identity(), pin.OP_FRAME))
            self.joints[number] = joint
        assert (self.model.nq, self.model.nv) == (model.nq, model.nv)
        self.data = self.model.createData()
        B = np.zeros((model.nv, model.nv))
        for body in self._bodies:
            at, size = self.model.joints[self._first[body.number]].idx_v, body.v.stop - body.v.start
            B[at : at + size, body.v] = (
                np.roll(np.eye(size), 3, axis=1) if body.type == "free" else np.eye(size)
            )
        self.rates = Rates(B, np.zeros(model.nv))

    def q_to(self, q: Array) -> Array:
        """A configuration for Pinocchio."""
        result = np.empty_like(q)
        for body in self._bodies:
            at, mine = self.model.joints[self._first[body.number]].idx_q, q[body.q].copy()
            if body.type in ("free", "spherical"):
                mine[-4:] = convert.xyzw(mine[-4:])
            result[at : at + len(mine)] = mine
        return result

    def jacobian_from(self, theirs: Array) -> Array:
        """A Jacobian of soa's."""
        return np.asarray(convert.swap_six(theirs, axis=0) @ self.rates.B)


# --- MuJoCo ---------------------------------------------------------------------------------------


def _text(x: Any) -> str:
    return " ".join(repr(float(number)) for number in np.ravel(x))


def mat_to_quaternion(R: Array) -> Array:
    """The quaternion w x y z of a rotation matrix, by MuJoCo."""
    import mujoco

    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return quaternion


def principal(inertia: Array) -> tuple[Array, Array]:
    """Moments and a rotation whose columns are their axes."""
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return moments, axes


def possible(body: soa.Body) -> bool:
    """Does MuJoCo accept this mass and inertia?"""
    moments, _ = principal(body.inertia)
    return bool(
        body.mass > 1e-9 and moments[0] > 1e-9 and moments[0] + moments[1] > moments[2] * (1 + 1e-9)
    )


class MuJoCoTwin:
    """A MuJoCo model of the same tree, written as MJCF; bodies have the names of soa's links.

    equalities: XML elements of the section <equality>. Nothing passive, no limits, no contacts.
    """

    def __init__(self, model: soa.Model, equalities: str = "") -> None:
        import mujoco

        self._bodies = model.bodies
        self._infos = joint_infos(model)
        self._impossible = [body.link for body in self._bodies if not possible(body)]
        tree = "".join(
            self._body(number) for number, body in enumerate(self._bodies, 1) if body.parent == 0
        )
        self.model = mujoco.MjModel.from_xml_string(
            '<mujoco><compiler angle="radian" autolimits="false"/>'
            f'<option gravity="{_text(model.gravity)}"/>'
            f"<worldbody>{tree}</worldbody><equality>{equalities}</equality></mujoco>"
        )
        disabled = mujoco.mjtDisableBit
        if self._impossible:
            self._set_inertias()
        self.model.opt.disableflags |= (
            disabled.mjDSBL_CONTACT | disabled.mjDSBL_LIMIT | disabled.mjDSBL_WARMSTART
        )
        assert (self.model.nq, self.model.nv) == (model.nq, model.nv)
        self.data = mujoco.MjData(self.model)
        joints = [self.model.joint(body.joint) for body in self._bodies]
        self._q = np.concatenate(
            [
                np.arange(body.q.stop - body.q.start) + joint.qposadr[0]
                for body, joint in zip(self._bodies, joints, strict=True)
            ]
        )
        self._v = np.concatenate(
            [
                np.arange(body.v.stop - body.v.start) + joint.dofadr[0]
                for body, joint in zip(self._bodies, joints, strict=True)
            ]
        )

    def _body(self, number: int) -> str:
        body, info = self._bodies[number - 1], self._infos[number - 1]
        moments, axes = principal(body.inertia)
        mass = body.mass
        if body.link in self._impossible:
            mass, moments = 1.0, np.array([1.1, 1.2, 1.5])
        children = [
            self._body(other)
            for other, child in enumerate(self._bodies, 1)
            if child.parent == number
        ]
        return (
            f'<body name="{body.link}" pos="{_text(body.placement[:3, 3])}" '
            f'quat="{_text(mat_to_quaternion(body.placement[:3, :3]))}">'
            f'<inertial mass="{mass!r}" pos="{_text(body.com)}" '
            f'quat="{_text(mat_to_quaternion(axes))}" diaginertia="{_text(moments)}"/>'
            f"{self._joints(body, info)}{''.join(children)}</body>"
        )

    def _set_inertias(self) -> None:
        """The inertias that MuJoCo refuses to read: of no mass, of no thickness, or of no body."""
        import mujoco

        for body in self._bodies:
            if body.link in self._impossible:
                moments, axes = principal(body.inertia)
                number = self.model.body(body.link).id
                self.model.body_mass[number] = body.mass
                self.model.body_inertia[number], self.model.body_iquat[number] = (
                    moments,
                    mat_to_quaternion(axes),
                )
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))

    @staticmethod
    def _joints(body: Any, info: Any) -> str:
        axis, second = np.array(info.axis[:]), np.array(info.axis2[:])
        if body.type == "free":
            assert body.parent == 0 and (body.placement == np.eye(4)).all()
            return f'<freejoint name="{body.joint}"/>'
        parts = {
            "revolute": [("hinge", axis)],
            "prismatic": [("slide", axis)],
            "spherical": [("ball", axis)],
            "cylindrical": [("hinge", axis), ("slide", axis)],
            "universal": [("hinge", axis), ("hinge", second)],
            "planar": [("slide", second), ("slide", np.cross(axis, second)), ("hinge", axis)],
        }[body.type]
        return "".join(
            f'<joint name="{body.joint}{"_" * i}" type="{kind}" axis="{_text(direction)}"/>'
            for i, (kind, direction) in enumerate(parts)
        )

    def rates(self, q: Array, v: Array) -> Rates:
        """Of a free joint MuJoCo has the linear velocity first, in world axes."""
        B, c = np.zeros((len(v), len(v))), np.zeros(len(v))
        B[self._v, np.arange(len(v))] = 1
        for body in self._bodies:
            if body.type == "free":
                mine, linear, angular = body.v.start, self._v[body.v][:3], self._v[body.v][3:]
                R = convert._rotation(q[body.q][3:])
                B[:, body.v] = 0
                B[linear, mine + 3 : mine + 6] = R
                B[angular, mine : mine + 3] = np.eye(3)
                c[linear] = R @ np.cross(v[body.v][:3], v[body.v][3:])
        return Rates(B, c)

    def set_state(self, q: Array, v: Array, tau: Array | None = None) -> Rates:
        """Gives MuJoCo the state and the torques."""
        rates = self.rates(q, v)
        self.data.qpos[self._q], self.data.qvel[:] = q, rates.B @ v
        self.data.qfrc_applied[:] = 0 if tau is None else rates.force_to(tau)
        return rates

"""Machines written in Python against their files, 4 x 4 matrices and plain sums."""

from __future__ import annotations

import math
import pickle
import xml.etree.ElementTree as xml
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soa
from soa.definitions import DHRow, Inertia, Joint, Link, ModelDefinition, NamedFrame, joint_turns
from soa.model import JOINT_TYPES

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus" / "urdf"
MOVING = [kind for kind in JOINT_TYPES if kind != "fixed"]
INERTIA = Inertia(1.5, [0.02, -0.03, 0.1], [0.02, 0.03, 0.025, 0.001, -0.002, 0.003])


def near(found: Any, expected: Any, tolerance: float = 1e-12) -> bool:
    """Equal to a tolerance relative to the largest number; false for NaN."""
    expected = np.asarray(expected, dtype=float)
    scale = 1 + np.abs(expected).max(initial=0)
    return bool(
        np.shape(found) == expected.shape
        and np.abs(np.asarray(found) - expected).max(initial=0) <= tolerance * scale
    )


def rotation(axis: Any, angle: float) -> np.ndarray:
    """Rodrigues' formula as a 4 x 4 matrix."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
    return T


def shift(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def same_machine(one: soa.Model, two: soa.Model, seed: int, tolerance: float = 1e-11) -> None:
    """Names, limits and dynamics are equal."""
    print("seed", seed)
    assert (one.nq, one.nv, one.joint_names) == (two.nq, two.nv, two.joint_names)
    assert sorted(one.frame_names) == sorted(two.frame_names)
    for field in ("lower", "upper", "max_speed", "max_effort"):
        assert np.array_equal(getattr(one, field), getattr(two, field))
    rng = np.random.default_rng(seed)
    q = two.random(rng, n=5)
    v, a = rng.normal(size=(2, 5, two.nv))
    assert near(one.mass(q), two.mass(q), tolerance)
    assert near(one.rnea(q, v, a), two.rnea(q, v, a), tolerance)
    assert near(one.energy(q, v)[1], two.energy(q, v)[1], tolerance)
    for name in two.frame_names:
        assert near(one.pose(q, name), two.pose(q, name), tolerance)


# --- the same machine from its file ---------------------------------------------------------------


def read_urdf(path: Path) -> ModelDefinition:
    """A URDF read by Python's own XML parser, without the library."""

    def three(element: Any, key: str, default: str) -> list[float]:
        return [
            float(n) for n in (default if element is None else element.get(key, default)).split()
        ]

    def pose(element: Any) -> np.ndarray:
        roll, pitch, yaw = three(element, "rpy", "0 0 0")
        turn = rotation([0, 0, 1], yaw) @ rotation([0, 1, 0], pitch) @ rotation([1, 0, 0], roll)
        return shift(*three(element, "xyz", "0 0 0")) @ turn

    robot = xml.parse(path).getroot()
    inertias = {}
    for link in robot.iter("link"):
        given = link.find("inertial")
        if given is not None:
            six = [
                float(given.find("inertia").get(key))
                for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
            ]
            inertias[link.get("name")] = Inertia(
                float(given.find("mass").get("value")), inertia=six
            ).placed(pose(given.find("origin")))
    names = [link.get("name") for link in robot.iter("link")]
    joints = list(robot.findall("joint"))
    children = {joint.find("child").get("link") for joint in joints}
    root = next(name for name in names if name not in children)
    made = ModelDefinition(robot.get("name"))
    made.add(root, "world", "fixed", inertia=inertias.get(root))
    kinds = {"continuous": "revolute", "floating": "free"}
    pending = [root]
    while pending:
        parent = pending.pop(0)
        for joint in joints:
            if joint.find("parent").get("link") != parent:
                continue
            kind = kinds.get(joint.get("type"), joint.get("type"))
            limit, losses, more, mimic = (
                joint.find(tag) for tag in ("limit", "dynamics", "soa", "mimic")
            )
            given: dict[str, Any] = {}
            if kind not in ("fixed", "spherical", "free"):
                given["axis"] = three(joint.find("axis"), "xyz", "1 0 0")
            if limit is not None:
                given |= {
                    "max_effort": float(limit.get("effort")),
                    "max_speed": float(limit.get("velocity")),
                }
                if kind in ("revolute", "prismatic") and joint.get("type") != "continuous":
                    given |= {
                        "lower": float(limit.get("lower")),
                        "upper": float(limit.get("upper")),
                    }
            if losses is not None:
                given |= {
                    "damping": float(losses.get("damping")),
                    "friction": float(losses.get("friction")),
                }
            if kind == "universal":
                given["axis2"] = three(more, "axis2", "")
            if kind == "helical":
                given["pitch"] = float(more.get("pitch"))
            if kind == "planar":
                given["axis2"] = [1, -1, 0]  # any direction in the plane
            if mimic is not None:
                given |= {
                    "mimic": mimic.get("joint"),
                    "mimic_ratio": float(mimic.get("multiplier", 1)),
                    "mimic_offset": float(mimic.get("offset", 0)),
                }
            child = joint.find("child").get("link")
            made.add(
                child,
                parent,
                Joint(kind, **given),
                pose(joint.find("origin")),
                inertias.get(child),
                joint.get("name"),
            )
            pending.append(child)
    return made


@pytest.mark.parametrize(
    "path",
    [ROOT / "examples" / "arm.urdf", CORPUS / "mimic.urdf", CORPUS / "fixed_tree.urdf"],
    ids=lambda path: path.stem,
)
def test_equals_its_file(path: Path) -> None:
    same_machine(read_urdf(path).build(), soa.Model.open(path), 11)


def test_arm_is_the_same_bytes() -> None:
    path = ROOT / "examples" / "arm.urdf"
    assert read_urdf(path).build().to_bytes() == soa.Model.open(path).to_bytes()


def test_all_types_equal_their_file() -> None:
    path = CORPUS / "all_types.urdf"
    there = soa.Model.open(path)
    made = read_urdf(path)
    for body in there.bodies:  # the second axis of a planar joint is the library's choice
        if body.type == "planar":
            at = [link.name for link in made.links].index(body.link)
            info = soa._c.soa_body_info()
            soa._c.soa_model_body(there._pointer, body.number, info)
            made.links[at] = replace(
                made.links[at], joint=replace(made.links[at].joint, axis2=info.axis2[:])
            )
    same_machine(made.build(), there, 12)


@pytest.mark.parametrize(
    "name", ["puma560", "satellite", "humanoid", "two-puma", *(f"random:{i}" for i in range(12))]
)
def test_shipped_machines_again(name: str) -> None:
    """Each body as a link: every number goes into the struct of a definition and comes back."""
    shipped = soa.Model.open(name)
    robot = ModelDefinition("again", gravity=shipped.gravity)
    infos = []
    for number in range(1, shipped.body_count + 1):
        info = soa._c.soa_body_info()
        assert soa._c.soa_model_body(shipped._pointer, number, info) == soa._c.SOA_OK
        infos.append(info)
    for body, info in zip(shipped.bodies, infos):
        exact = info.rotor_model == soa._c.SOA_ROTOR_EXACT
        given: dict[str, Any] = {
            key: getattr(info, key)
            for key in (
                *("damping", "stiffness", "rest", "lower", "upper", "max_speed", "max_effort"),
                *("rotor_inertia", "gear_ratio"),
            )
        }
        if body.type == "helical":
            given["pitch"] = info.pitch
        if body.type in ("universal", "planar"):
            given["axis2"] = info.axis2[:]
        if exact:
            given |= {"exact_rotor": True, "rotor_axis": info.rotor_axis[:]}
        if info.mimic >= 0:
            given["mimic"] = shipped.body(info.mimic).joint
            given |= {"mimic_ratio": info.mimic_ratio, "mimic_offset": info.mimic_offset}
        axis = None if body.type in ("spherical", "free") else info.axis[:]
        friction = (info.friction_positive, info.friction_negative)
        parent = shipped.body(body.parent).link if body.parent else "world"
        inertia = Inertia(body.mass, body.com, body.inertia)
        joint = Joint(body.type, axis, friction=friction, **given)  # type: ignore[arg-type]
        robot.add(body.link, parent, joint, body.placement, inertia, body.joint)
    for number in range(1, shipped.frame_count):
        frame = shipped.frame(number)
        if frame.body == 0 or frame.name != shipped.body(frame.body).link:
            carrier = shipped.body(frame.body).link if frame.body else "world"
            robot.add_frame(frame.name, carrier, frame.placement)
    same_machine(robot.build(), shipped, 13)


def test_gravity_ideal_and_build() -> None:
    rod = Link(
        "rod",
        "world",
        Joint("revolute", [0, 1, 0], damping=2.0, stiffness=3.0, rotor_inertia=1.0, gear_ratio=5.0),
        inertia=Inertia(1.0, [0, 0, -0.5]),
    )
    real = soa.Model.build(
        "pendulum", [rod], [NamedFrame("end", "rod", shift(0, 0, -1))], gravity=[1, 2, 3]
    )
    ideal = soa.Model.build("pendulum", [rod], gravity=[1, 2, 3], ideal=True)
    assert real.name == "pendulum" and np.array_equal(real.gravity, [1, 2, 3])
    assert near(real.mass([0.3]), [[0.25 + 25]]) and near(ideal.mass([0.3]), [[0.25]])
    falls = -(rotation([0, 1, 0], 0.3)[:3, :3] @ [0, 0, -0.5]) @ np.array([1, 2, 3])
    slope = (
        -(rotation([0, 1, 0], 0.3 + 1e-6)[:3, :3] @ [0, 0, -0.5]) @ np.array([1, 2, 3]) - falls
    ) / 1e-6
    assert near(ideal.gravity_torque([0.3]), [slope], 1e-5)
    assert near(real.rnea([0.3], [0.7]), ideal.rnea([0.3], [0.7]) + 2.0 * 0.7 + 3.0 * 0.3)
    assert near(real.pose([0.3], "end")[:3, 3], rotation([0, 1, 0], 0.3)[:3, :3] @ [0, 0, -1])
    again = pickle.loads(pickle.dumps(real))
    assert again.to_bytes() == real.to_bytes()


def test_fixed_links_merge() -> None:
    robot = ModelDefinition("merged")
    robot.add("arm", "world", Joint("revolute", [0, 1, 0]), inertia=INERTIA)
    robot.add("tool", "arm", "fixed", shift(0.1, 0, 0.2) @ rotation([1, 2, 3], 0.7), INERTIA)
    apart = robot.build()
    assert apart.body_count == 1 and apart.frame("tool").is_link
    sum_ = INERTIA + INERTIA.placed(shift(0.1, 0, 0.2) @ rotation([1, 2, 3], 0.7))
    body = apart.bodies[0]
    assert (
        near(body.mass, sum_.mass) and near(body.com, sum_.com) and near(body.inertia, sum_.matrix)
    )


def test_parent_may_be_a_frame() -> None:
    robot = ModelDefinition("tool")
    robot.add("arm", "world", Joint("revolute", [0, 1, 0]), inertia=INERTIA)
    robot.add_frame("flange", "arm", shift(0, 0, 0.5) @ rotation([1, 0, 0], 0.4))
    robot.add("hand", "flange", "prismatic", shift(0.1, 0.3, 0), INERTIA)
    q = [0.3, 0.2]
    expected = (
        rotation([0, 1, 0], 0.3)
        @ shift(0, 0, 0.5)
        @ rotation([1, 0, 0], 0.4)
        @ shift(0.1, 0.3, 0.2)
    )
    assert near(robot.build().pose(q, "hand"), expected)


def test_long_chain() -> None:
    robot = ModelDefinition("chain")
    for i in range(3000):
        robot.add(
            f"link{i}", f"link{i - 1}" if i else "world", "revolute", shift(0.1, 0, 0), INERTIA
        )
    model = robot.build()
    assert model.nv == 3000 and near(model.pose(model.neutral(), "link2999")[:3, 3], [300, 0, 0])


# --- joints by themselves -------------------------------------------------------------------------


def one_joint(joint: Joint) -> soa.Model:
    return soa.Model.build("one", [Link("body", "world", joint, inertia=INERTIA)])


def some(kind: Any) -> Joint:
    more = {
        "helical": {"pitch": 0.3},
        "universal": {"axis2": [0.2, 1, 0]},
        "planar": {"axis2": [2, -1, 0]},
    }.get(kind, {})
    axis = (
        None if kind in ("spherical", "free") else [1, 2, 0] if kind == "planar" else [0.5, -1, 2]
    )
    return Joint(kind, axis, **more)


@pytest.mark.parametrize("kind", MOVING)
def test_joint_sizes_and_turns(kind: Any) -> None:
    joint = some(kind)
    model = one_joint(joint)
    assert (joint.nq, joint.nv) == (model.nq, model.nv)
    assert len(joint.turns) == joint.nq and joint.turns == joint_turns(kind)
    q = model.random(3)
    for i, turns in enumerate(joint.turns):
        round_ = q.copy()
        round_[i] += 2 * np.pi
        same = False
        if kind != "helical" and not (kind in ("spherical", "free") and i >= joint.nq - 4):
            same = near(model.pose(round_, "body"), model.pose(q, "body"), 1e-9)
        assert turns == (same or kind == "helical")


@pytest.mark.parametrize("kind", MOVING)
def test_joint_coordinates(kind: Any) -> None:
    joint = some(kind)
    model = one_joint(joint)
    rng = np.random.default_rng(5)
    for _ in range(10):
        q, v, a = model.random(rng), *rng.normal(size=(2, model.nv))
        if kind in ("spherical", "free"):
            q[-4:] *= np.sign(q[-4])
        pose = model.pose(q, "body")
        V = model.jacobian(q, "body", "body") @ v
        h = 1e-5  # the rate of V along the motion
        ends = [
            model.jacobian(model.integrate(q, v + s * h / 2 * a, s * h), "body", "body")
            @ (v + s * h * a)
            for s in (1, -1)
        ]
        found = joint.coordinates(pose, V, (ends[0] - ends[1]) / (2 * h))
        assert near(found[0], q, 1e-9) and near(found[1], v, 1e-9) and near(found[2], a, 1e-6)
    assert joint.coordinates(pose)[1:] == (None, None) and joint.coordinates(pose, V)[2] is None


@pytest.mark.parametrize("kind", MOVING)
def test_reversed_joint(kind: Any) -> None:
    joint = some(kind)
    back = joint.reversed()
    model, reverse = one_joint(joint), one_joint(back)
    q = model.random(7)
    pose = np.linalg.inv(model.pose(q, "body"))
    there = back.coordinates(pose)[0]
    assert near(reverse.pose(there, "body"), pose, 1e-9)
    if kind in ("revolute", "prismatic", "helical", "cylindrical"):
        assert near(there, q, 1e-9)
    if kind == "universal":
        assert near(there, q[::-1], 1e-9)


def test_reversed_keeps_what_acts() -> None:
    joint = Joint(
        "revolute",
        [0, 0, 1],
        damping=0.1,
        friction=(0.2, 0.3),
        stiffness=4.0,
        rest=0.5,
        lower=-1,
        upper=2,
        rotor_inertia=1e-3,
        gear_ratio=50.0,
        max_speed=7,
        max_effort=8,
    )
    back = joint.reversed()
    assert replace(back, axis=None) == replace(joint, axis=None) and near(back.axis, [0, 0, -1])
    for refused in (
        Joint("spherical", friction=0.1),
        Joint("free", damping=1.0),
        Joint("revolute", rotor_inertia=1e-3, exact_rotor=True),
    ):
        with pytest.raises(
            soa.InputError, match=f"a {refused.type} joint with these forces cannot be reversed"
        ):
            refused.reversed()


def test_everything_arrives() -> None:
    joint = Joint(
        "revolute",
        [0, 3, 4],
        damping=0.1,
        friction=(0.2, 0.3),
        stiffness=4.0,
        rest=0.5,
        lower=-1,
        upper=2,
        max_speed=7,
        max_effort=8,
        rotor_inertia=1e-3,
        gear_ratio=50.0,
    )
    body = one_joint(joint).bodies[0]
    assert near(body.axis, [0, 0.6, 0.8])
    for name in (
        "damping",
        "friction",
        "stiffness",
        "rest",
        "lower",
        "upper",
        "max_speed",
        "max_effort",
        "rotor_inertia",
        "gear_ratio",
    ):
        assert getattr(body, name) == getattr(joint, name), name
    assert (
        near(body.com, INERTIA.com)
        and near(body.inertia, INERTIA.matrix)
        and body.mass == INERTIA.mass
    )
    exact = Joint(
        "revolute", rotor_inertia=1e-3, gear_ratio=3.0, exact_rotor=True, rotor_axis=[2, 0, 0]
    )
    info = soa._c.soa_body_info()
    model = one_joint(exact)  # a name keeps it: the pointer alone does not
    soa._c.soa_model_body(model._pointer, 1, info)
    assert info.rotor_model == soa._c.SOA_ROTOR_EXACT and near(info.rotor_axis[:], [1, 0, 0])


# --- inertias -------------------------------------------------------------------------------------


def points(inertia: Inertia, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Six point masses with the same mass, centre and inertia: pairs along the principal axes."""
    values, vectors = np.linalg.eigh(inertia.matrix)
    second = values.sum() / 2 - values  # integral of x^2 dm along each principal axis
    assert (second > 0).all()
    reach = np.sqrt(second / (inertia.mass / 3))
    places = [
        np.asarray(inertia.com) + s * r * axis for axis, r in zip(vectors.T, reach) for s in (1, -1)
    ]
    return np.full(6, inertia.mass / 6), np.array(places)


def of_points(masses: np.ndarray, places: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    com = masses @ places / masses.sum()
    r = places - com
    second = np.einsum("i,ij,ik->jk", masses, r, r)
    return masses.sum(), com, np.trace(second) * np.eye(3) - second


def test_inertia_as_point_masses() -> None:
    rng = np.random.default_rng(8)
    other = Inertia(0.7, [0.3, 0.2, -0.1], np.diag([0.004, 0.005, 0.003]))
    pose = shift(0.3, -0.2, 0.5) @ rotation(rng.normal(size=3), 1.1)
    one, two = points(INERTIA, rng), points(other, rng)
    moved = one[0], one[1] @ pose[:3, :3].T + pose[:3, 3]
    sum_ = INERTIA.placed(pose) + other
    expected = of_points(np.concatenate([moved[0], two[0]]), np.concatenate([moved[1], two[1]]))
    assert (
        near(sum_.mass, expected[0])
        and near(sum_.com, expected[1])
        and near(sum_.matrix, expected[2])
    )


def test_solids_by_sums() -> None:
    """Solids cut into small boxes, taken as points; a small box's own inertia is added."""
    n = 30
    grid = (np.arange(n) + 0.5) / n - 0.5
    x, y, z = (axis.ravel() for axis in np.meshgrid(grid, grid, grid))
    size = np.array([0.3, 0.5, 0.8])
    places = np.column_stack([x, y, z]) * size
    _, _, sum_ = of_points(np.full(n**3, 2.0 / n**3), places)
    small = np.sum((size / n) ** 2) - (size / n) ** 2
    assert near(Inertia.box(2.0, size).matrix, sum_ + np.diag(small) * 2.0 / 12)
    inside = np.hypot(x, y) < 0.5
    cylinder = np.column_stack([x, y, z])[inside] * [0.4, 0.4, 0.9]
    assert near(
        Inertia.cylinder(2.0, 0.2, 0.9).matrix,
        of_points(np.full(len(cylinder), 2 / len(cylinder)), cylinder)[2],
        4e-3,
    )
    ball = np.column_stack([x, y, z])[x * x + y * y + z * z < 0.25] * 0.4
    assert near(
        Inertia.sphere(2.0, 0.2).matrix, of_points(np.full(len(ball), 2 / len(ball)), ball)[2], 4e-3
    )
    assert near(
        Inertia.cylinder(3.0, 0.2, 0.9).six[:3], [3 * (3 * 0.04 + 0.81) / 12] * 2 + [3 * 0.04 / 2]
    )
    assert near(Inertia.sphere(3.0, 0.2, [1, 2, 3]).six[:3], [0.4 * 3 * 0.04] * 3)
    assert near(Inertia.sphere(3.0, 0.2, [1, 2, 3]).com, [1, 2, 3])


def test_inertia_forms() -> None:
    assert (
        Inertia(1, inertia=[1, 2, 3]).six
        == Inertia(1, inertia=np.diag([1, 2, 3])).six
        == (1, 2, 3, 0, 0, 0)
    )
    assert Inertia(1, inertia=INERTIA.matrix).six == INERTIA.six
    nothing = Inertia() + Inertia()
    assert nothing.mass == 0 and nothing.six == (0,) * 6


# --- Denavit-Hartenberg ---------------------------------------------------------------------------

PUMA = [  # Corke and Armstrong-Helouvry 1994: d, a, alpha, mass, com, inertia, motor
    (0, 0, 90, 0, [0, 0, 0], [0, 0.35, 0]),
    (0, 0.4318, 0, 17.4, [-0.3638, 0.006, 0.2275], [0.13, 0.524, 0.539]),
    (0.15005, 0.0203, -90, 4.8, [-0.0203, -0.0141, 0.070], [0.066, 0.086, 0.0125]),
    (0.4318, 0, 90, 0.82, [0, 0.019, 0], [1.8e-3, 1.3e-3, 1.8e-3]),
    (0, 0, -90, 0.34, [0, 0, 0], [0.3e-3, 0.4e-3, 0.3e-3]),
    (0, 0, 0, 0.09, [0, 0, 0.032], [0.15e-3, 0.15e-3, 0.04e-3]),
]


def test_puma_equals_the_shipped_one() -> None:
    shipped = soa.Model.open("puma560", ideal=True)
    robot = ModelDefinition("puma560", ideal=True)
    robot.add_dh(
        [
            DHRow(d=d, a=a, alpha=math.radians(alpha), inertia=Inertia(m, com, inertia))
            for d, a, alpha, m, com, inertia in PUMA
        ]
    )
    model = robot.build()
    rng = np.random.default_rng(9)
    q, v, a = rng.normal(size=(3, 5, 6))
    assert near(model.mass(q), shipped.mass(q)) and near(model.rnea(q, v, a), shipped.rnea(q, v, a))
    assert near(model.pose(q, "link6_dh"), shipped.pose(q, "link6_dh"))


def textbook(form: str, rows: list[DHRow], q: np.ndarray, base: np.ndarray) -> list[np.ndarray]:
    """Poses of the DH frames 0 to n as products of 4 x 4 matrices."""
    poses, moving = [base], iter(q)
    for row in rows:
        theta, d = row.theta, row.d
        if row.joint.type == "revolute":
            theta += next(moving)
        elif row.joint.type == "prismatic":
            d += next(moving)
        z = rotation([0, 0, 1], theta) @ shift(0, 0, d)
        x = shift(row.a, 0, 0) @ rotation([1, 0, 0], row.alpha)
        poses.append(poses[-1] @ (z @ x if form == "standard" else x @ z))
    return poses


@pytest.mark.parametrize("form", ["standard", "modified"])
def test_dh_against_matrices(form: Any) -> None:
    rng = np.random.default_rng(10)
    kinds = ["revolute", "prismatic", "fixed", "revolute", "revolute", "prismatic"]
    rows = []
    for kind in kinds:
        theta, d, a, alpha = rng.normal(size=4)
        root = rng.normal(size=(3, 3))
        rows.append(
            DHRow(
                theta,
                d,
                a,
                alpha,
                joint=Joint(kind),
                inertia=Inertia(
                    rng.uniform(0.5, 2), rng.normal(size=3), root @ root.T + 2 * np.eye(3)
                ),
            )
        )
    base = shift(0.1, 0.2, 0.3) @ rotation(rng.normal(size=3), 0.8)
    robot = ModelDefinition("dh")
    robot.add_dh(rows, form, "part", base=base)
    model = robot.build()
    assert model.nv == 5 and "part3" in model.frame_names
    q = rng.normal(size=5)
    poses = textbook(form, rows, q, base)
    for i, pose in enumerate(poses[1:], 1):
        assert near(model.pose(q, f"part{i}_dh"), pose)
    # mass matrix and potential energy from the textbook's geometric Jacobians
    M, potential, columns = np.zeros((5, 5)), 0.0, []
    for i, row in enumerate(rows):
        axis_frame = poses[i] if form == "standard" else poses[i + 1]
        if row.joint.type != "fixed":
            columns.append((row.joint.type, axis_frame[:3, 2], axis_frame[:3, 3]))
        place = poses[i + 1][:3, :3] @ row.inertia.com + poses[i + 1][:3, 3]
        J = np.zeros((6, 5))
        for k, (kind, z, p) in enumerate(columns):
            J[:, k] = np.concatenate(
                [z, np.cross(z, place - p)] if kind == "revolute" else [np.zeros(3), z]
            )
        turned = poses[i + 1][:3, :3] @ row.inertia.matrix @ poses[i + 1][:3, :3].T
        M += J[:3].T @ turned @ J[:3] + row.inertia.mass * J[3:].T @ J[3:]
        potential += 9.81 * row.inertia.mass * place[2]
    assert near(model.mass(q), M, 1e-11) and near(model.energy(q)[1], potential, 1e-11)


def test_dh_on_a_dh_frame() -> None:
    rows = [DHRow(d=0.3, a=0.2, alpha=0.4), DHRow(d=0.1, a=0.3, alpha=-0.7)]
    apart, whole = ModelDefinition("a"), ModelDefinition("b")
    apart.add_dh(rows[:1], prefix="first")
    apart.add_dh(rows[1:], prefix="second", parent="first1_dh")
    whole.add_dh(rows)
    q = [0.4, -0.9]
    assert near(apart.build().pose(q, "second1_dh"), whole.build().pose(q, "link2_dh"))


def test_dh_keeps_the_joint() -> None:
    robot = ModelDefinition("dh")
    robot.add_dh(
        [DHRow(joint=Joint("prismatic", damping=2.0, lower=0.0, upper=0.5), inertia=INERTIA)]
    )
    body = robot.build().bodies[0]
    assert (body.type, body.damping, body.lower, body.upper) == ("prismatic", 2.0, 0.0, 0.5)


# --- what is refused ------------------------------------------------------------------------------


def robot_with(*links: Link, frames: Any = (), **more: Any) -> Any:
    return lambda: ModelDefinition("r", links, frames, **more).build()


def link(name: str, parent: str = "world", joint: Any = None, **more: Any) -> Link:
    return Link(name, parent, joint or Joint("revolute"), **{"inertia": INERTIA, **more})


@pytest.mark.parametrize(
    "make, kind, said",
    [
        (
            robot_with(link("a"), link("b", "c")),
            soa.InputError,
            r"link 'b': the definition has no link or frame 'c'",
        ),
        (robot_with(link("upper"), link("b", "uper")), soa.InputError, "did you mean 'upper'"),
        (
            robot_with(link("a", "b"), link("b")),
            soa.InputError,
            "link 'a': its parent 'b' is defined later",
        ),
        (robot_with(link("a", "a")), soa.InputError, "link 'a': its parent 'a' is itself"),
        (robot_with(link("a"), link("a")), soa.InputError, '"a"'),
        (robot_with(link("a", inertia=Inertia(-1.0))), soa.InputError, '"a"'),
        (robot_with(link("a", inertia=Inertia(1.0, inertia=[1, 1, -3]))), soa.InputError, '"a"'),
        (
            robot_with(link("a", inertia=Inertia(1.0, inertia=[1, 1]))),
            ValueError,
            r"link 'a': inertia has shape \(2,\)",
        ),
        (
            robot_with(link("a", inertia=Inertia(1.0, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]))),
            ValueError,
            "not symmetric",
        ),
        (
            robot_with(link("a", inertia=Inertia(1.0, com=[0, 0]))),
            ValueError,
            r"link 'a': com has shape \(2,\)",
        ),
        (
            robot_with(link("a", inertia=Inertia("heavy"))),
            TypeError,
            "link 'a': mass is 'heavy', expected a number",
        ),
        (
            robot_with(link("a", placement=np.eye(3))),
            ValueError,
            r"link 'a': a pose has shape \(3, 3\)",
        ),
        (robot_with(link("a", placement=2 * np.eye(4))), ValueError, "link 'a': the last row"),
        (
            robot_with(link("a", placement=np.diag([2.0, 1, 1, 1]))),
            soa.InputError,
            "link 'a': .* is no rotation",
        ),
        (robot_with(link("a", joint=Joint("revolute", [0, 0, 0]))), soa.InputError, '"a"'),
        (robot_with(link("a", joint=Joint("revolute", damping=-1))), soa.InputError, '"a"'),
        (
            robot_with(link("a", joint=Joint("revolute", friction=(1, 2, 3)))),
            ValueError,
            "link 'a': friction has 3 numbers",
        ),
        (robot_with(link("a", joint=Joint("revolute", lower=math.nan))), soa.InputError, '"a"'),
        (
            robot_with(link("a", joint="revolute")),
            TypeError,
            "link 'a': its joint is 'revolute', expected a soa.Joint",
        ),
        (
            robot_with(link("a"), link("b", joint=Joint("revolute", mimic="c"))),
            soa.InputError,
            "link 'b': .* no joint 'c'",
        ),
        (
            robot_with(link("a"), link("b", joint=Joint("spherical", mimic="a"))),
            soa.InputError,
            "cannot mimic",
        ),
        (robot_with(link("")), soa.InputError, "name"),
        (robot_with(link("a\0b")), soa.InputError, "zero byte"),
        (robot_with(link(5)), TypeError, "the name of a link is 5"),  # type: ignore[arg-type]
        (
            robot_with(link("a"), frames=[NamedFrame("f", "b")]),
            soa.InputError,
            "frame 'f': the definition has no link 'b'",
        ),
        (robot_with(link("a"), gravity=[0, 0]), ValueError, r"gravity has shape \(2,\)"),
        (robot_with(link("a"), gravity=[0, 0, math.inf]), soa.InputError, "gravity"),
        (
            lambda: Joint("hinge"),
            ValueError,
            "type of a joint is 'hinge', expected one of fixed, revolute",
        ),
        (lambda: Joint("revolute", axis2=[1, 0, 0]), ValueError, "revolute does not use axis2"),
        (lambda: Joint("revolute", pitch=0.1), ValueError, "revolute does not use pitch"),
        (lambda: Joint("free", [0, 0, 1]), ValueError, "free does not use axis"),
        (
            lambda: Joint("fixed", damping=1.0, lower=0.0),
            ValueError,
            "fixed does not use damping and lower",
        ),
        (
            lambda: Joint("revolute", rotor_axis=[0, 0, 1]),
            ValueError,
            "rotor_axis is for exact_rotor",
        ),
        (lambda: Joint("revolute", mimic_ratio=2.0), ValueError, "need mimic"),
        (lambda: joint_turns("hinge"), ValueError, "'hinge'"),
        (
            lambda: Joint("revolute").coordinates(np.eye(4), A=np.zeros(6)),
            ValueError,
            "A is given without V",
        ),
        (
            lambda: Joint("revolute").coordinates(np.eye(4), np.zeros(5)),
            ValueError,
            r"V has shape \(5,\)",
        ),
        (
            lambda: Joint("revolute", [0, 0, 0]).coordinates(np.eye(4)),
            soa.InputError,
            "coordinates of a revolute joint",
        ),
        (
            lambda: Joint("revolute").coordinates(np.diag([2.0, 1, 1, 1])),
            soa.InputError,
            "is no rotation",
        ),
        (
            lambda: Inertia.box(1.0, [1, -1, 1]),
            ValueError,
            "size is 1, -1, 1, expected finite lengths",
        ),
        (lambda: Inertia.sphere(1.0, math.nan), ValueError, "radius is nan"),
        (
            lambda: ModelDefinition("r").add_dh([DHRow()], "classic"),
            ValueError,
            "form is 'classic'",
        ),
        (
            lambda: ModelDefinition("r").add_dh([DHRow()], prefix="a_very_long_prefix"),
            soa.InputError,
            "longer than 12 bytes",
        ),
        (
            lambda: ModelDefinition("r").add_dh([DHRow()], parent="no"),
            soa.InputError,
            "chain 'link': .* no link or frame 'no'",
        ),
        (
            lambda: ModelDefinition("r").add_dh([DHRow(), DHRow(joint=Joint("free"))]),
            ValueError,
            "row 2: its joint is free",
        ),
        (
            lambda: ModelDefinition("r").add_dh([DHRow(joint=Joint("revolute", [0, 1, 0]))]),
            ValueError,
            "row 1: .* about z",
        ),
        (
            lambda: ModelDefinition("r").add_dh([DHRow(alpha=math.inf)]),
            ValueError,
            "row 1: alpha is inf",
        ),
        (
            lambda: ModelDefinition("r").add_dh([(0, 0, 0, 0)]),
            TypeError,
            "row 1 is .*, expected a DHRow",
        ),
    ],
)
def test_refused(make: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        make()


def test_a_failed_chain_adds_nothing() -> None:
    robot = ModelDefinition("r")
    with pytest.raises(ValueError):
        robot.add_dh([DHRow(), DHRow(joint=Joint("free"))])
    assert not robot.links and not robot.frames

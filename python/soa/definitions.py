"""Machines written in Python: links, joints, frames, and Denavit-Hartenberg tables.

A `ModelDefinition` lists links, each with the joint that carries it; `build` makes the model:

>>> import numpy as np, soa
>>> robot = soa.ModelDefinition("two-link")
>>> upper = soa.Inertia.box(2.0, [0.05, 0.05, 0.4], com=[0, 0, -0.2])
>>> fore = soa.Inertia.cylinder(1.0, radius=0.02, length=0.3, com=[0, 0, -0.15])
>>> robot.add("upper", "world", soa.Joint("revolute", [0, 1, 0], damping=0.1), inertia=upper)
>>> robot.add("fore", "upper", soa.Joint("revolute", [0, 1, 0], lower=-2, upper=2),
...           placement=soa.pose([0, 0, -0.4]), inertia=fore)
>>> robot.add_frame("hand", "fore", soa.pose([0, 0, -0.3]))
>>> model = robot.build()
>>> model.joint_names, float(model.pose(model.neutral(), "hand")[2, 3])
(['upper', 'fore'], -0.7)

Units are m, rad, kg, s.  A pose is a 4 x 4 matrix (`soa.pose`).  The i-th link of the definition is
frame i + 1 of the model.  Links on fixed joints are merged into the body that carries them; their
frames remain.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from ctypes import POINTER, byref, create_string_buffer
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array, check, new_report, numbers, text, vector
from ._errors import InputError
from ._own import C as _c
from ._own import needed
from .frames import frame_matrix, frame_struct
from .model import JOINT_TYPES, JointType, Model

DHForm = Literal["standard", "modified"]
DH_FORMS: tuple[DHForm, ...] = ("standard", "modified")
WORLD = "world"
# Numbers in q and in v of each type of joint.
_SIZES = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "helical": (1, 1),
    "cylindrical": (2, 2),
    "universal": (2, 2),
    "planar": (3, 3),
    "spherical": (4, 3),
    "free": (7, 6),
}
_WITHOUT_AXIS = ("fixed", "spherical", "free")
_WITH_AXIS2 = ("universal", "planar")
_PREFIX_MOST = 12  # letters of the prefix of a Denavit-Hartenberg chain


# --- joints ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Joint:
    """A joint of a definition; all its degrees of freedom share the numbers below.

    type: "fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar",
        "spherical" or "free"; docs/notation.md, section "Joints", defines their coordinates.
    axis: direction in the frame of the joint, of any length; None: z.
    axis2: universal: second axis; planar: first direction in the plane; None: x.
    pitch: helical, m/rad.
    damping: viscous friction, N m s/rad or N s/m.
    friction: Coulomb friction, N m or N; a pair: against positive and against negative speeds.
    stiffness, rest: spring with torque -stiffness (q - rest).
    lower, upper, max_speed, max_effort: limits, for control; no algorithm enforces them.
    rotor_inertia (kg m^2), gear_ratio: the motor. With `exact_rotor` it is a spinning body about
        `rotor_axis` (None: the axis of the joint); otherwise its inertia is reflected.
    mimic: name of a joint that this one follows: q = mimic_ratio * q(mimic) + mimic_offset.

    A number that the type of joint does not use is refused.

    >>> import soa
    >>> soa.Joint("revolute", [0, 1, 0], lower=-1.5, upper=1.5).nv
    1
    """

    type: JointType
    axis: ArrayLike | None = None
    _: KW_ONLY
    axis2: ArrayLike | None = None
    pitch: float = 0.0
    damping: float = 0.0
    friction: float | tuple[float, float] = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    max_speed: float = math.inf
    max_effort: float = math.inf
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    exact_rotor: bool = False
    rotor_axis: ArrayLike | None = None
    mimic: str | None = None
    mimic_ratio: float = 1.0
    mimic_offset: float = 0.0

    def __post_init__(self) -> None:
        if self.type not in JOINT_TYPES:
            raise ValueError(
                f"type of a joint is {self.type!r}, expected one of {', '.join(JOINT_TYPES)}"
            )
        if self.type == "fixed":
            given = [
                f.name for f in fields(self)[1:] if not _same(getattr(self, f.name), f.default)
            ]
            self._refuse(bool(given), " and ".join(given))
        self._refuse(self.axis is not None and self.type in _WITHOUT_AXIS, "axis")
        self._refuse(self.axis2 is not None and self.type not in _WITH_AXIS2, "axis2")
        self._refuse(self.pitch != 0 and self.type != "helical", "pitch")
        if self.rotor_axis is not None and not self.exact_rotor:
            raise ValueError("rotor_axis is for exact_rotor=True; a reflected rotor has no axis")
        if self.mimic is None and (self.mimic_ratio != 1 or self.mimic_offset != 0):
            raise ValueError(
                "mimic_ratio and mimic_offset need mimic, the name of the joint to follow"
            )

    def _refuse(self, given: bool, name: str) -> None:
        if given:
            raise ValueError(f"a joint of type {self.type} does not use {name}")

    @property
    def nq(self) -> int:
        """How many numbers it has in q."""
        return _SIZES[self.type][0]

    @property
    def nv(self) -> int:
        """How many numbers it has in v: its degrees of freedom."""
        return _SIZES[self.type][1]

    @property
    def turns(self) -> tuple[bool, ...]:
        """For each of its numbers in q, whether it is an angle.

        >>> import soa
        >>> soa.Joint("planar").turns
        (False, False, True)
        """
        return joint_turns(self.type)

    def reversed(self) -> Joint:
        """The same joint seen from its child: its map is the inverse one.

        Axes are reversed, those of a universal joint (and so its two coordinates) exchanged.
        Coordinates of joints with one degree of freedom and of cylindrical ones stay the same.

        Raises InputError where the reversed joint cannot have the same forces: an exact rotor;
        Coulomb friction of a spherical joint; friction, springs or rotors of a planar or free one.

        >>> import soa
        >>> soa.Joint("revolute", [0, 1, 0], damping=0.2).reversed().axis
        (0.0, -1.0, 0.0)
        """
        there, back = joint_struct(self), _c.soa_joint_def()
        status = _c.soa_joint_reverse(byref(there), byref(back))
        check(status, None, f"a {self.type} joint with these forces cannot be reversed")
        return joint_from_struct(back, self.mimic)

    def coordinates(
        self, pose: ArrayLike, V: ArrayLike | None = None, A: ArrayLike | None = None
    ) -> tuple[Array, Array | None, Array | None]:
        """The inverse of the joint map: q, v and dv/dt of a child at `pose` that moves with V.

        pose: of the child in the frame of the joint, 4 x 4.
        V: its velocity, angular part first, axes of the child, (6,).
        A: the rate of these six numbers; it needs V.
        Returns (nq,), (nv,) and (nv,); None where V or A is None.

        Motions that the joint does not allow are ignored.  Angles are in (-pi, pi].

        >>> import numpy as np, soa
        >>> pose = soa.pose([0, 0, 0.5], rpy=[0, 0, 0.3])
        >>> q, v, _ = soa.Joint("cylindrical").coordinates(pose, [0, 0, 2, 0, 0, 1])
        >>> np.allclose(q, [0.3, 0.5]), np.allclose(v, [2, 1])
        (True, True)
        """
        if A is not None and V is None:
            raise ValueError("A is given without V, which it needs")
        struct, frame = joint_struct(self), frame_struct(pose)
        motion, rate = vector("V", V, 6), vector("A", A, 6)
        q = np.zeros(self.nq)
        v = None if motion is None else np.zeros(self.nv)
        a = None if rate is None else np.zeros(self.nv)
        status = _c.soa_joint_coordinates(
            byref(struct),
            byref(frame),
            numbers(motion),
            numbers(rate),
            numbers(q),
            numbers(v),
            numbers(a),
        )
        check(status, None, f"coordinates of a {self.type} joint")
        return q, v, a


def _same(value: object, default: object) -> bool:
    return value is default or (isinstance(value, (int, float, bool)) and value == default)


def joint_turns(type: JointType) -> tuple[bool, ...]:
    """For each number that a joint of this type has in q, whether it is an angle.

    >>> from soa.definitions import joint_turns
    >>> joint_turns("cylindrical")
    (True, False)
    """
    if type not in JOINT_TYPES:
        raise ValueError(f"type of a joint is {type!r}, expected one of {', '.join(JOINT_TYPES)}")
    number = JOINT_TYPES.index(type)
    return tuple(bool(_c.soa_joint_type_turns(number, i)) for i in range(_SIZES[type][0]))


def _number(value: object, name: str) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{name} is {value!r}, expected a number")
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}, expected a number") from None


def _pair(value: float | tuple[float, float], name: str) -> tuple[float, float]:
    if isinstance(value, (tuple, list, np.ndarray)):
        if len(value) != 2:
            raise ValueError(
                f"{name} has {len(value)} numbers, expected one, or two: against v > 0 and v < 0"
            )
        return _number(value[0], name), _number(value[1], name)
    one = _number(value, name)
    return one, one


_COPIED = (
    "pitch",
    "damping",
    "stiffness",
    "rest",
    "lower",
    "upper",
    "max_speed",
    "max_effort",
    "rotor_inertia",
    "gear_ratio",
    "mimic_ratio",
    "mimic_offset",
)


def joint_struct(joint: Joint, mimic: int = -1) -> Any:
    """A soa_joint_def; mimic: the number of what `joint.mimic` names."""
    struct = _c.soa_joint_default(JOINT_TYPES.index(joint.type))
    for name in ("axis", "axis2", "rotor_axis"):
        given = getattr(joint, name)
        if given is not None:
            getattr(struct, name)[:] = needed(vector(name, given, 3)).tolist()
    for name in _COPIED:
        setattr(struct, name, _number(getattr(joint, name), name))
    struct.friction_positive, struct.friction_negative = _pair(joint.friction, "friction")
    struct.rotor_model = _c.SOA_ROTOR_EXACT if joint.exact_rotor else _c.SOA_ROTOR_REFLECTED
    struct.mimic = mimic
    return struct


def _three(vector: Any) -> tuple[float, ...]:
    return tuple(number + 0.0 for number in vector)  # no -0


def joint_from_struct(struct: Any, mimic: str | None = None) -> Joint:
    """The Joint of a soa_joint_def."""
    kind: JointType = JOINT_TYPES[struct.type]  # type: ignore[assignment]
    given: dict[str, Any] = {name: getattr(struct, name) for name in _COPIED}
    if mimic is None:
        del given["mimic_ratio"], given["mimic_offset"]
    exact = struct.rotor_model == _c.SOA_ROTOR_EXACT
    pair = struct.friction_positive, struct.friction_negative
    return Joint(
        kind,
        None if kind in _WITHOUT_AXIS else _three(struct.axis),
        axis2=_three(struct.axis2) if kind in _WITH_AXIS2 else None,
        friction=pair if pair[0] != pair[1] else pair[0],
        exact_rotor=exact,
        rotor_axis=_three(struct.rotor_axis) if exact else None,
        mimic=mimic,
        **given,
    )


# --- inertias -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inertia:
    """Mass (kg), centre of mass (m, in the link's frame), and the inertia about it (kg m^2).

    inertia: in the link's axes: (3,) on the diagonal; (6,) xx yy zz xy xz yz; or a symmetric
        (3, 3) matrix.

    >>> import soa
    >>> soa.Inertia(2.0, com=[0, 0, 0.1], inertia=[0.02, 0.02, 0.01]).matrix.shape
    (3, 3)
    >>> knob = soa.Inertia.sphere(1.0, 0.05, com=[0, 0, 0.2])
    >>> (soa.Inertia.box(3.0, [0.3, 0.2, 0.1]) + knob).mass
    4.0
    """

    mass: float = 0.0
    com: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @classmethod
    def box(cls, mass: float, size: ArrayLike, com: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid box; size: its full lengths along x, y, z, m.

        >>> import numpy as np, soa
        >>> np.allclose(soa.Inertia.box(12.0, [1, 2, 3]).six, [13, 10, 5, 0, 0, 0])
        True
        """
        edges = needed(vector("size", size, 3))
        return cls._solid(mass, com, _c.soa_body_box, "size", *edges.tolist())

    @classmethod
    def cylinder(
        cls, mass: float, radius: float, length: float, com: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Inertia:
        """A solid cylinder along z; length: the full one, m.

        >>> import soa
        >>> soa.Inertia.cylinder(2.0, radius=1.0, length=3.0).six[2]
        1.0
        """
        return cls._solid(mass, com, _c.soa_body_cylinder_z, "radius or length", radius, length)

    @classmethod
    def sphere(cls, mass: float, radius: float, com: ArrayLike = (0.0, 0.0, 0.0)) -> Inertia:
        """A solid sphere; radius in m.

        >>> import soa
        >>> soa.Inertia.sphere(5.0, 1.0).six[:3]
        (2.0, 2.0, 2.0)
        """
        return cls._solid(mass, com, _c.soa_body_sphere, "radius", radius)

    @classmethod
    def _solid(
        cls, mass: float, com: ArrayLike, function: Any, what: str, *sizes: float
    ) -> Inertia:
        given = [_number(size, what) for size in sizes]
        if not all(math.isfinite(size) and size >= 0 for size in given):
            shown = ", ".join(f"{size:g}" for size in given)
            raise ValueError(f"{what} is {shown}, expected finite lengths of 0 or more, m")
        struct = _c.soa_body_default(None, 0, _c.SOA_FIXED)
        function(byref(struct), _number(mass, "mass"), *given)
        return cls(struct.mass, com, tuple(struct.inertia[:]))

    @property
    def six(self) -> tuple[float, ...]:
        """The inertia as xx yy zz xy xz yz."""
        array = np.asarray(self.inertia, dtype=np.float64)
        if array.shape == (3,):
            return (*array.tolist(), 0.0, 0.0, 0.0)
        if array.shape == (6,):
            return tuple(array.tolist())
        if array.shape != (3, 3):
            raise ValueError(f"inertia has shape {array.shape}, expected (3,), (6,) or (3, 3)")
        if not np.array_equal(array, array.T, equal_nan=True):
            raise ValueError(f"inertia is not symmetric: {array.tolist()}")
        return tuple(array[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist())

    @property
    def matrix(self) -> Array:
        """The inertia about the centre of mass, link axes, (3, 3)."""
        xx, yy, zz, xy, xz, yz = self.six
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def placed(self, pose: ArrayLike) -> Inertia:
        """The same body where it sits at a 4 x 4 pose: a cylinder along x, for instance.

        >>> import numpy as np, soa
        >>> along_x = soa.pose([0.3, 0, 0], rpy=[0, np.pi / 2, 0])
        >>> rod = soa.Inertia.cylinder(1.0, 0.01, 0.6).placed(along_x)
        >>> np.round(rod.six, 6)[:3].tolist(), rod.com.tolist()
        ([5e-05, 0.030025, 0.030025], [0.3, 0.0, 0.0])
        """
        frame = frame_matrix(frame_struct(pose))
        rotation = frame[:3, :3]
        turned = rotation @ self.matrix @ rotation.T
        com = rotation @ needed(vector("com", self.com, 3)) + frame[:3, 3]
        return Inertia(self.mass, com, (turned + turned.T) / 2)

    def __add__(self, other: Inertia) -> Inertia:
        if not isinstance(other, Inertia):
            return NotImplemented
        mass = self.mass + other.mass
        centres = [needed(vector("com", one.com, 3)) for one in (self, other)]
        if mass == 0:
            return Inertia(0.0, (0.0, 0.0, 0.0), self.matrix + other.matrix)
        com = (self.mass * centres[0] + other.mass * centres[1]) / mass
        matrix = np.zeros((3, 3))
        for one, centre in zip((self, other), centres):
            r = centre - com
            matrix += one.matrix + one.mass * (r @ r * np.eye(3) - np.outer(r, r))
        return Inertia(mass, com, matrix)

    def fill(self, struct: Any, what: str) -> None:
        """Writes mass, com and inertia of a soa_body_def, soa_link_def or soa_dh_row."""
        try:
            struct.mass = _number(self.mass, "mass")
            struct.com[:] = needed(vector("com", self.com, 3)).tolist()
            struct.inertia[:] = self.six
        except (TypeError, ValueError) as problem:
            raise type(problem)(f"{what}: {problem}") from None


# --- trees ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    """A link of a `ModelDefinition` with the joint that carries it.

    name: of the link. joint: a `Joint`. inertia: an `Inertia` in the frame of the link; none:
    massless.

    parent: name of a link that comes before, "world", or a named frame (on such a link).
    placement: frame of the joint in the frame of the parent, 4 x 4; at q = 0 it is the frame of the
        link; None: the parent's own frame.
    joint_name: None: the name of the link.
    """

    name: str
    parent: str
    joint: Joint
    placement: ArrayLike | None = None
    inertia: Inertia = field(default_factory=Inertia)
    joint_name: str | None = None


@dataclass(frozen=True)
class NamedFrame:
    """A named frame of a definition, fixed to a link, or to "world".

    name: of the frame. link: that of the link.

    placement: its pose in the frame of the link, 4 x 4; None: the same.
    """

    name: str
    link: str
    placement: ArrayLike | None = None


@dataclass(frozen=True)
class DHRow:
    """A row of a Denavit-Hartenberg table: angles in rad, lengths in m.

    theta: constant part of the joint variable of a revolute joint; d: that of a prismatic one.
    joint: "revolute", "prismatic" or "fixed" (a connector link of WD89) with its transmission,
        friction and limits; the axis is z.
    inertia: of the link, in its DH frame, which is at the far end of the link in the standard form.

    >>> import math
    >>> from soa.definitions import DHRow
    >>> DHRow(d=0.67, alpha=math.pi / 2).joint.type
    'revolute'
    """

    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    _: KW_ONLY
    joint: Joint = field(default_factory=lambda: Joint("revolute"))
    inertia: Inertia = field(default_factory=Inertia)


class Kept:
    """What C structs point to, and which must therefore live as long as they are used."""

    def __init__(self) -> None:
        self._kept: list[object] = []

    def name(self, what: str, name: object) -> bytes:
        """The bytes of a name."""
        if not isinstance(name, str):
            raise TypeError(f"the name of {what} is {name!r}, expected a string")
        if "\0" in name:
            raise InputError(
                f"the name of {what} is {name!r}: a name cannot contain a zero byte", "SOA_E_NAME"
            )
        data = name.encode()
        self._kept.append(data)
        return data

    def array(self, kind: Any, count: int) -> Any:
        """An array of C structs, zeros at first."""
        made = (kind * max(1, count))()
        self._kept.append(made)
        return made


def not_found(what: str, kind: str, name: object, known: Iterable[str]) -> InputError:
    """The exception for a name that a definition does not have."""
    near = difflib.get_close_matches(str(name), list(known), 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return InputError(f"{what}: the definition has no {kind} {name!r}{hint}", "SOA_E_NAME")


class ModelDefinition:
    """A machine as data: links in a tree, named frames, gravity (m/s^2); `build` makes the model.

    ideal: no friction, springs or rotors; mimic joints move independently.

    `links` and `frames` are lists that may be changed until `build` is called, and after it, for
    another model.

    >>> import soa
    >>> from soa.definitions import Link
    >>> ball = Link("ball", "world", soa.Joint("free"), inertia=soa.Inertia.sphere(1.0, 0.1))
    >>> soa.ModelDefinition("ball", [ball], gravity=[0, 0, 0]).build().nv
    6
    """

    def __init__(
        self,
        name: str,
        links: Iterable[Link] = (),
        frames: Iterable[NamedFrame] = (),
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        ideal: bool = False,
    ) -> None:
        self.name = name
        self.links = list(links)
        self.frames = list(frames)
        self.gravity = gravity
        self.ideal = ideal

    def add(
        self,
        name: str,
        parent: str,
        joint: Joint | JointType,
        placement: ArrayLike | None = None,
        inertia: Inertia | None = None,
        joint_name: str | None = None,
    ) -> None:
        """Adds a link with the joint that carries it; the arguments are the fields of `Link`.

        joint: a `Joint`, or the type of one with nothing but its default axis.

        >>> import soa
        >>> slider = soa.ModelDefinition("slider")
        >>> slider.add("cart", "world", "prismatic", inertia=soa.Inertia.box(1.0, [0.1, 0.1, 0.1]))
        >>> slider.build().bodies[0].axis.tolist()
        [0.0, 0.0, 1.0]
        """
        made = joint if isinstance(joint, Joint) else Joint(joint)
        self.links.append(Link(name, parent, made, placement, inertia or Inertia(), joint_name))

    def add_frame(self, name: str, link: str, placement: ArrayLike | None = None) -> None:
        """Adds a named frame, fixed to a link or to "world" at a 4 x 4 pose."""
        self.frames.append(NamedFrame(name, link, placement))

    def add_dh(
        self,
        rows: Sequence[DHRow],
        form: DHForm = "standard",
        prefix: str = "link",
        parent: str = WORLD,
        base: ArrayLike | None = None,
    ) -> None:
        """Adds a chain from a Denavit-Hartenberg table.

        Its links are `prefix`1, `prefix`2, ...; their DH frames are named frames: `prefix`1_dh, ...

        form: "standard", DH frame i at the far end of link i: A = Rz(theta) Tz(d) Tx(a) Rx(alpha);
            "modified", at its joint: A = Rx(alpha) Tx(a) Rz(theta) Tz(d), with a and alpha of the
            row itself.
        prefix: at most 12 letters.
        parent: a link, "world", or a named frame, such as the last DH frame of another chain.
        base: pose of the first DH frame, number 0, in `parent`, 4 x 4; None: the identity.

        >>> import math, soa
        >>> from soa.definitions import DHRow
        >>> robot = soa.ModelDefinition("scara")
        >>> robot.add_dh([DHRow(a=0.3), DHRow(a=0.2), DHRow(d=0.1, joint=soa.Joint("prismatic"))])
        >>> model = robot.build()
        >>> [round(float(x), 12) for x in model.pose([0.0, math.pi / 2, 0.05], "link3_dh")[:3, 3]]
        [0.3, 0.2, 0.15]
        """
        if form not in DH_FORMS:
            raise ValueError(f"form is {form!r}, expected 'standard' or 'modified'")
        what = f"chain '{prefix}'"
        kept = Kept()
        table = kept.array(_c.soa_dh_row, len(rows))
        for i, row in enumerate(rows):
            table[i] = _dh_struct(row, f"{what}, row {i + 1}")
        at = len(self.links)
        bodies = kept.array(_c.soa_body_def, at + len(rows))
        frames = kept.array(_c.soa_frame_def, len(rows))
        names = create_string_buffer(_c.SOA_DH_NAME * max(1, len(rows)))
        link, pose = self._attached(parent, base, what)
        first = frame_struct(pose)
        chain = _c.soa_dh_chain_def(
            DH_FORMS.index(form),
            table,
            len(rows),
            kept.name(what, prefix),
            link_number(self._numbers(), link, what),
            _pointer_to(first),
        )
        status = _c.soa_dh_chain_append(byref(chain), bodies, at, frames, 0, names)
        if status == _c.SOA_E_NAME:
            said = f"the prefix '{prefix}' is longer than {_PREFIX_MOST} bytes"
            raise InputError(said, "SOA_E_NAME")
        check(status, None, what)
        for i, row in enumerate(rows):
            body = bodies[at + i]
            moved = Inertia(body.mass, np.array(body.com[:]), tuple(body.inertia[:]))
            last = link if i == 0 else self.links[-1].name
            self.links.append(
                Link(text(body.name), last, row.joint, frame_matrix(body.placement), moved)
            )
            self.frames.append(
                NamedFrame(text(frames[i].name), text(body.name), frame_matrix(frames[i].placement))
            )

    def _numbers(self) -> dict[str, int]:
        """The numbers of links by name; of a name used twice, which C refuses, the first."""
        return {link.name: i for i, link in reversed(list(enumerate(self.links, 1)))}

    def _attached(
        self, parent: str, pose: ArrayLike | None, what: str
    ) -> tuple[str, ArrayLike | None]:
        """The link behind a parent that may be a named frame, and the pose in this link."""
        if parent == WORLD or any(link.name == parent for link in self.links):
            return parent, pose
        for frame in self.frames:
            if frame.name == parent:
                return frame.link, _composed(frame, pose, what)
        raise not_found(what, "link or frame", parent, self._parents())

    def _parents(self) -> list[str]:
        return [*(link.name for link in self.links), WORLD, *(frame.name for frame in self.frames)]

    def build(self) -> Model:
        """The model.  Raises InputError with the name of what cannot be used, and why; O(links).

        >>> import soa
        >>> soa.ModelDefinition("loose").build().nv
        0
        """
        kept = Kept()
        names = self._numbers()
        joints: dict[str, int] = {}
        for i, link in reversed(list(enumerate(self.links, 1))):
            joints[link.name if link.joint_name is None else link.joint_name] = i
        bodies = kept.array(_c.soa_body_def, len(self.links))
        for i, link in enumerate(self.links, 1):
            bodies[i - 1] = self._body(link, i, names, joints, kept)
        frames = kept.array(_c.soa_frame_def, len(self.frames))
        for slot, frame in zip(frames, self.frames):
            what = f"frame '{frame.name}'"
            slot.name = kept.name("a frame", frame.name)
            slot.link = link_number(names, frame.link, what)
            slot.placement = placed(frame.placement, what)
        struct = _c.soa_model_default(kept.name("a model", self.name), bodies, len(self.links))
        struct.gravity[:] = needed(vector("gravity", self.gravity, 3)).tolist()
        struct.frame_count, struct.frames, struct.ideal = len(self.frames), frames, bool(self.ideal)
        return create_model(struct)

    def _body(
        self, link: Link, number: int, names: dict[str, int], joints: dict[str, int], kept: Kept
    ) -> Any:
        what = f"link '{link.name}'"
        parent, pose = link.parent, link.placement
        if parent not in names:
            parent, pose = self._attached(parent, pose, what)
        if not isinstance(link.joint, Joint):
            raise TypeError(f"{what}: its joint is {link.joint!r}, expected a soa.Joint")
        struct = _c.soa_body_default(
            kept.name("a link", link.name),
            link_number(names, parent, what, number),
            JOINT_TYPES.index(link.joint.type),
        )
        if link.joint_name is not None:
            struct.joint_name = kept.name("a joint", link.joint_name)
        leader = -1
        if link.joint.mimic is not None:
            if link.joint.mimic not in joints:
                raise not_found(what, "joint", link.joint.mimic, joints)
            leader = joints[link.joint.mimic]
        struct.joint = filled_joint(link.joint, leader, what)
        struct.placement = placed(pose, what)
        link.inertia.fill(struct, what)
        return struct

    def __repr__(self) -> str:
        sizes = f"{len(self.links)} links, {len(self.frames)} frames"
        return f"<soa.ModelDefinition '{self.name}': {sizes}>"


def create_model(struct: Any) -> Model:
    """The model of a soa_model_def."""
    pointer, report = POINTER(_c.soa_model)(), new_report()
    check(_c.soa_model_create(byref(struct), byref(pointer), byref(report)), report)
    return Model._adopt(pointer)


def _pointer_to(struct: Any) -> Any:
    return POINTER(type(struct))(struct)


def link_number(names: dict[str, int], name: object, what: str, before: int | None = None) -> int:
    """The number of a link by name, 0 for the world; `before`: it must come before this number."""
    number = names.get(name) if isinstance(name, str) else None
    if number is None:
        if name == WORLD:
            return 0
        raise not_found(what, "link", name, [*names, WORLD])
    if before is not None and number >= before:
        why = "itself" if number == before else "defined later: parents come before children"
        raise InputError(f"{what}: its parent '{name}' is {why}", "SOA_E_TREE", before)
    return number


def _composed(frame: NamedFrame, pose: ArrayLike | None, what: str) -> Array:
    outer, inner = (frame_matrix(placed(one, what)) for one in (frame.placement, pose))
    return outer @ inner


def placed(placement: ArrayLike | None, what: str) -> Any:
    """A soa_frame; `what` has this placement."""
    try:
        return frame_struct(placement)
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"{what}: {problem}") from None


def filled_joint(joint: object, mimic: int, what: str) -> Any:
    """A soa_joint_def; `what` has this joint."""
    if not isinstance(joint, Joint):
        raise TypeError(f"{what}: its joint is {joint!r}, expected a soa.Joint")
    try:
        return joint_struct(joint, mimic)
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"{what}: {problem}") from None


def _dh_struct(row: DHRow, what: str) -> Any:
    if not isinstance(row, DHRow):
        raise TypeError(f"{what} is {row!r}, expected a DHRow")
    if row.joint.type not in ("revolute", "prismatic", "fixed"):
        raise ValueError(
            f"{what}: its joint is {row.joint.type}, expected revolute, prismatic or fixed"
        )
    if row.joint.axis is not None:
        raise ValueError(
            f"{what}: its joint has an axis, but joints of Denavit-Hartenberg rows turn about z"
        )
    struct = _c.soa_dh_row_default(
        *(_number(getattr(row, name), f"{what}: {name}") for name in ("d", "a", "alpha"))
    )
    struct.theta = _number(row.theta, f"{what}: theta")
    for name in ("theta", "d", "a", "alpha"):
        if not math.isfinite(getattr(struct, name)):
            raise ValueError(f"{what}: {name} is {getattr(struct, name)}, expected a finite number")
    struct.prismatic = row.joint.type == "prismatic"
    struct.joint = filled_joint(row.joint, -1, what)
    row.inertia.fill(struct, what)
    return struct


__all__ = [
    "DHForm",
    "DHRow",
    "Inertia",
    "Joint",
    "Link",
    "ModelDefinition",
    "NamedFrame",
    "joint_turns",
]

"""Machines: trees of bodies, and everything that is computed on them."""

from __future__ import annotations

import difflib
import os
import warnings
import weakref
from collections.abc import Iterable, Sequence
from ctypes import POINTER, byref, c_int, c_void_p, cast, create_string_buffer, memmove, string_at
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike

from . import _c, _core
from ._call import Array, check, from_pointer, new_report, numbers, read_only, text, vector
from ._errors import (
    FileError,
    InputError,
    LoopWarning,
    SingularError,
    bad_wrenches,
    loop_words,
    unknown_frame,
    unknown_joint,
    warn_loops,
)
from .frames import Axes, Wrench, frame_matrix, frame_struct

if TYPE_CHECKING:
    from ._random import Sampler
    from .constraints import Constraints
    from .definitions import Link, NamedFrame
    from .estimation import Estimate, Observability, UnknownWrench
    from .forms import Tip
    from .operators import Expr

JOINT_TYPES = ("fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free")
JointType = Literal["fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free"]
Factor = Literal["L", "L*", "inv(L)", "inv(L)*", "root", "root*", "inv(root)", "inv(root)*"]
_SINGULAR = 1e-12  # tasks whose scaled compliance has a smaller reciprocal condition are singular
_MOST_DAMPING = 1e300
_FREE_COORDINATES = (".x", ".y", ".z", ".qw", ".qx", ".qy", ".qz")
_FREE_RATES = (".wx", ".wy", ".wz", ".vx", ".vy", ".vz")
FACTORS: tuple[Factor, ...] = ("L", "L*", "inv(L)", "inv(L)*", "root", "root*", "inv(root)", "inv(root)*")


@dataclass(frozen=True)
class Body:
    """A moving body of a model, with the joint that carries it; from `Model.body`. Units: m, rad, kg, s, N.

    Arrays are read-only.

    number: 1 to `Model.body_count`, parents first.
    link, joint: names of its link and its joint.
    type: of the joint, one of "revolute", "prismatic", "helical", "cylindrical", "universal",
        "planar", "spherical", "free".
    parent: number of the body that carries it; 0: the world.
    q, v: where its coordinates are in q and in v, slices. Empty for a mimic joint, which has none:
        set the coordinate of its leader.
    placement: pose of the joint in the parent body's frame, 4 x 4; at q = 0 it is the body's frame.
    axis: unit vector in the body's frame (3,); what it means depends on the type.
    mass: kg, with the links that are fixed to it. com: centre of mass in the body's frame (3,), m.
    inertia: about the centre of mass, in the body's axes, (3, 3), kg m^2.
    lower, upper: limits of the coordinate, rad or m; infinite: none.
    max_speed: rad/s or m/s. max_effort: N m or N. Infinite: none.
    damping: N m s/rad or N s/m.
    friction: Coulomb friction for positive and for negative speed, N m or N.
    stiffness, rest: spring, N m/rad or N/m, and the coordinate at which it is slack, rad or m.
    rotor_inertia: of the motor about its own axis, kg m^2. gear_ratio: turns of the motor for one
        of the joint; the joint feels rotor_inertia * gear_ratio^2.
    mimic: number of the body whose joint leads, or -1: no mimic joint. leader: the name of that
        joint, or None. mimic_ratio, mimic_offset: q = mimic_ratio * q of the leader + mimic_offset
        (rad or m).
    """

    number: int
    link: str
    joint: str
    type: str
    parent: int
    q: slice
    v: slice
    placement: Array
    axis: Array
    mass: float
    com: Array
    inertia: Array
    lower: float
    upper: float
    max_speed: float
    max_effort: float
    damping: float
    friction: tuple[float, float]
    stiffness: float
    rest: float
    rotor_inertia: float
    gear_ratio: float
    mimic: int
    leader: str | None = None
    mimic_ratio: float = 1.0
    mimic_offset: float = 0.0


@dataclass(frozen=True)
class Frame:
    """A named frame of a model; from `Model.frame`.

    number: 0 (the world) to `Model.frame_count` - 1.
    name: its name; of the link, for the frame of a link.
    body: number of the body that it is fixed to; 0: the world.
    is_link: whether it is the frame of a link.
    placement: pose in the body's frame, 4 x 4, m.
    """

    number: int
    name: str
    body: int
    is_link: bool
    placement: Array


@dataclass(frozen=True)
class Task:
    """A frame and those of its six directions that are controlled, for `Model.operational_space`.

    `rows` are numbers from 0 to 5: moments or turning about x, y, z, then forces or motion along x, y, z; `axes`: of the
    world or of the frame ("body").
    """

    frame: str | int
    axes: Axes = "world"
    rows: Sequence[int] = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class OperationalSpace:
    """What `Model.operational_space` returns, r being the number of rows of all tasks together.

    `force = inertia @ a + bias + gravity` gives the tasks the acceleration a; `tau = jacobian.T @ force + null @ tau0`.
    jacobian (r, nv); inertia Lambda (r, r); bias, gravity (r,); consistent_inverse, of the Jacobian, weighted by M, (nv, r);
    null (nv, nv). Friction and springs are in none of them: add what overcomes them to tau. `rcond` is the reciprocal condition number of
    the compliance, 1 at best; below 1e-12 a task counts as singular.
    """

    jacobian: Array
    inertia: Array
    bias: Array
    gravity: Array
    consistent_inverse: Array
    null: Array
    rcond: float


@dataclass(frozen=True)
class InverseKinematics:
    """An answer of `Model.inverse_kinematics`.

    q (nq,); `residual` is the root of the sum of squares of errors, rad and m; `steps`: how many were made; `converged`:
    whether the residual is within the tolerance.
    """

    q: Array
    residual: float
    steps: int
    converged: bool


def _no_model(spec: str, report: Any) -> NoReturn:
    """Raises the exception for a model that is neither there nor shipped."""
    names = stock_models()
    stem = os.path.splitext(os.path.basename(spec))[0]
    near = difflib.get_close_matches(stem, names, 3) or [name for name in names if stem and (stem in name or name in stem)]
    hint = f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    if report.status == _c.SOA_E_NAME:
        raise InputError(f"'{spec}' is neither a file (in {os.getcwd()}) nor a shipped model{hint} "
                         f"(soa.stock_models() lists these: {', '.join(names)})", "SOA_E_NAME")
    raise FileError(f"{text(report.text)}{hint}" + ("" if os.path.isabs(spec) else f" (in {os.getcwd()})")
                    + "; shipped models have names without folder and extension (soa.stock_models())", "SOA_E_FILE")


def _read_options(floating: bool, ideal: bool) -> Any:
    return _c.soa_read_options(bool(floating), bool(ideal))


def _inertia(numbers6: Sequence[float]) -> Array:
    xx, yy, zz, xy, xz, yz = numbers6
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


class Model(_core.Tree):
    """A machine: bodies joined by joints to a tree, and the loops it brings along (`constraints`).

    Models are immutable and may be used by any number of threads at once. Open one by name or from a file:

    >>> import soa
    >>> arm = soa.Model.open("arm7")
    >>> arm.nq, arm.nv
    (7, 7)
    >>> qdd = arm.aba(arm.neutral(), None, None)   # falls under its weight
    >>> qdd.shape
    (7,)

    Methods take and return float64 arrays: one state, shape `(nq,)`, or many, `(N, nq)`. Arrays that are C-contiguous are
    used without a copy. `aba`, `rnea` and `mass` take float32 as well. Six-vectors are angular part first.
    """

    _keep: object
    _loops: Any
    _made: Constraints | None
    _sampler: Sampler | None = None
    _opened: tuple[str, bool] | None = None  # name and `floating` of `open`, if these say all of the model
    spec: str

    # --- making models ------------------------------------------------------------------------------------------------

    @classmethod
    def _adopt(cls, pointer: Any, spec: str = "", loops: Any = None) -> Model:
        address = cast(pointer, c_void_p).value
        assert address is not None
        model = cls(address, True)
        model.spec = spec
        model._keep = None
        model._loops = loops
        model._made = None
        model._says_loops = model.loop_count > 0
        if loops is not None:
            weakref.finalize(model, _c.soa_constraint_list_free, byref(loops))
        return model

    @classmethod
    def open(cls, spec: str | os.PathLike[str], floating: bool = False, ideal: bool = False) -> Model:
        """Opens a URDF file, a saved model, or a shipped model by name (`soa.stock_models()` lists them).

        floating: put a free joint named "root" under the root link.
        ideal: no friction, springs or rotors; mimic joints move independently.

        >>> import soa
        >>> soa.Model.open("puma560").nv
        6
        """
        if os.fsdecode(spec).lstrip().startswith("<"):
            raise InputError("open: this is the text of a URDF, expected a file or a name; Model.from_urdf(text) reads texts",
                             "SOA_E_FILE")
        pointer = POINTER(_c.soa_model)()
        loops = _c.soa_constraint_list()
        report = new_report()
        options = _read_options(floating, ideal)
        status = _c.soa_model_open(os.fsencode(spec), byref(options), byref(pointer), byref(loops), byref(report))
        if status in (_c.SOA_E_NAME, _c.SOA_E_FILE) and not os.path.exists(spec):
            _no_model(os.fspath(spec), report)
        check(status, report)
        model = cls._adopt(pointer, os.fspath(spec), loops)
        if not ideal:
            model._opened = (os.path.abspath(spec) if os.path.exists(spec) else os.fspath(spec)), bool(floating)
        return model

    @classmethod
    def from_urdf(cls, urdf: str, floating: bool = False, ideal: bool = False, directory: str | None = None) -> Model:
        """Reads a URDF from a string. Relative names of meshes start from `directory`."""
        if "<" not in urdf:
            raise InputError(f"from_urdf: '{urdf[:60]}' is no text of a URDF, which begins with '<'; Model.open(file) reads files",
                             "SOA_E_FORMAT")
        data = urdf.encode()
        source = _c.soa_urdf_source(data, len(data), b"(string)", os.fsencode(directory) if directory else None)
        pointer = POINTER(_c.soa_model)()
        loops = _c.soa_constraint_list()
        report = new_report()
        options = _read_options(floating, ideal)
        check(_c.soa_urdf_parse(byref(source), byref(options), byref(pointer), byref(loops), byref(report)), report)
        return cls._adopt(pointer, "", loops)

    @classmethod
    def build(cls, name: str, links: Iterable[Link], frames: Iterable[NamedFrame] = (), *,
              gravity: ArrayLike = (0.0, 0.0, -9.81), ideal: bool = False) -> Model:
        """A model from links written in Python: `soa.ModelDefinition(...).build()`.

        >>> import soa
        >>> from soa.definitions import Link
        >>> rod = soa.Inertia.cylinder(1.0, radius=0.01, length=1.0, com=[0, 0, -0.5])
        >>> link = Link("rod", "world", soa.Joint("revolute", [0, 1, 0]), inertia=rod)
        >>> soa.Model.build("pendulum", [link]).nv
        1
        """
        from .definitions import ModelDefinition

        return ModelDefinition(name, links, frames, gravity=gravity, ideal=ideal).build()

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The model of `to_bytes`."""
        room = (len(data) + 63) // 64 * 64
        buffer = create_string_buffer(room + 64)
        start = -(-cast(buffer, c_void_p).value // 64) * 64  # type: ignore[operator]
        memmove(start, data, len(data))
        pointer = POINTER(_c.soa_model)()
        report = new_report()
        check(_c.soa_model_from_bytes(c_void_p(start), len(data), byref(pointer), byref(report)), report)
        model = cls(start, False)
        model.spec = ""
        model._loops = None
        model._made = None
        model._keep = buffer
        return model

    def to_bytes(self, *, tree_only: bool = False) -> bytes:
        """The whole model as bytes, to be stored or sent; `Model.from_bytes` reads them.

        The format has no loops: a model with loops or other constraints (`constraints`, also those that were added to it)
        is refused, unless tree_only=True leaves them out.

        >>> import soa
        >>> soa.Model.from_bytes(soa.Model.open("arm7").to_bytes()).nv
        7
        """
        self._refuse_loops("to_bytes", tree_only)
        return string_at(self._address, _c.soa_model_bytes(self._pointer))

    def save(self, path: str | os.PathLike[str], *, tree_only: bool = False) -> None:
        """Saves the model as a file (.soam) that `Model.open` reads. Loops are refused or left out: see `to_bytes`."""
        self._refuse_loops("save", tree_only)
        report = new_report()
        check(_c.soa_model_save(self._pointer, os.fsencode(path), byref(report)), report)

    def __reduce__(self) -> Any:
        count = self._bound_count
        if count:
            raise TypeError(f"'{self.name}' has {loop_words(count)}, which pickling would lose: send the name or the file, "
                            "and open it there")
        return Model.from_bytes, (self.to_bytes(),)

    @property
    def _bound_count(self) -> int:
        """Number of loops and other constraints, with those that were added to `constraints`."""
        return self.loop_count if self._made is None else len(self._made)

    def _refuse_loops(self, method: str, tree_only: bool) -> None:
        count = self._bound_count
        if count and not tree_only:
            raise InputError(f"{method}: '{self.name}' has {loop_words(count)}, which saved models cannot hold: keep the file "
                             f"or the code it came from, give the loops as `constraints:` of a scenario, or {method}(..., "
                             "tree_only=True) for the spanning tree without them")

    def _copy(self, pointer: Any) -> Model:
        """A model of the same bodies, with the same loops."""
        if self._made is not None and not self._made._as_brought:
            _c.soa_model_free(pointer)
            raise InputError(f"the constraints of '{self.name}' were changed after it was made, and a copy has those that it "
                             "brought along: copy first, then add or remove constraints (Model.constraints) of the copy")
        model = Model._adopt(pointer, self.spec)
        model._loops = self._loops
        model._says_loops = model.loop_count > 0
        model._keep = self  # it owns the list of loops
        return model

    @property
    def loop_count(self) -> int:
        """Number of loops and other constraints that the model brings along. Methods of Model compute with the tree alone;
        `constraints` has the closed machine. A method whose result loops would change says so once, with a `LoopWarning`,
        unless `constraints` was used before."""
        return 0 if self._loops is None else int(self._loops.count)

    def with_gravity(self, gravity: ArrayLike) -> Model:
        """The same model with another gravity, m/s^2."""
        g = vector("gravity", gravity, 3)
        if g is None or not np.isfinite(g).all():
            raise InputError(f"with_gravity: gravity is {g}, expected three finite numbers, m/s^2")
        pointer = POINTER(_c.soa_model)()
        check(_c.soa_model_with_gravity(self._pointer, numbers(g), byref(pointer)))
        return self._copy(pointer)

    def without_losses(self, friction: bool = True, springs: bool = False) -> Model:
        """The same model without friction (default), springs, or both; rotors and mimic joints stay."""
        bits = friction * _c.SOA_FRICTION + springs * _c.SOA_SPRINGS
        pointer = POINTER(_c.soa_model)()
        check(_c.soa_model_without_losses(self._pointer, bits, byref(pointer)))
        return self._copy(pointer)

    # --- what is in a model -------------------------------------------------------------------------------------------

    @property
    def _pointer(self) -> Any:
        return cast(c_void_p(self._address), POINTER(_c.soa_model))

    @property
    def name(self) -> str:
        """Name of the model."""
        return text(_c.soa_model_name(self._pointer))

    @property
    def gravity(self) -> Array:
        """Gravity, m/s^2, read-only; `with_gravity` makes a model with another."""
        g = np.zeros(3)
        _c.soa_model_gravity(self._pointer, numbers(g))
        return read_only(g)

    @gravity.setter
    def gravity(self, _value: object) -> NoReturn:
        raise AttributeError("a model never changes: model.with_gravity(g) is the same one with another gravity")

    @property
    def total_mass(self) -> float:
        """Mass of the moving bodies, kg."""
        return float(_c.soa_model_mass(self._pointer))

    def body(self, number: int | str) -> Body:
        """A body by number, 1 to `body_count`, parents first, or by the name of its link or of another frame on it."""
        if isinstance(number, str):
            name, number = number, self.frame(number).body
            if number == 0:
                raise IndexError(f"frame '{name}' is fixed to the world, on no moving body")
        info = _c.soa_body_info()
        if _c.soa_model_body(self._pointer, number, byref(info)) != _c.SOA_OK:
            raise IndexError(f"body {number}: the model has bodies 1 to {self.body_count}")
        return Body(
            number=number, link=text(info.link), joint=text(info.joint), type=JOINT_TYPES[info.type], parent=info.parent,
            q=slice(info.q_index, info.q_index + info.nq) if info.nq else slice(0, 0),
            v=slice(info.v_index, info.v_index + info.nv) if info.nv else slice(0, 0),
            placement=read_only(frame_matrix(info.placement)), axis=read_only(np.array(info.axis[:])), mass=info.mass,
            com=read_only(np.array(info.com[:])),
            inertia=read_only(_inertia(info.inertia[:])), lower=info.lower, upper=info.upper, max_speed=info.max_speed,
            max_effort=info.max_effort, damping=info.damping, friction=(info.friction_positive, info.friction_negative),
            stiffness=info.stiffness, rest=info.rest, rotor_inertia=info.rotor_inertia, gear_ratio=info.gear_ratio,
            mimic=info.mimic, leader=self.body(info.mimic).joint if info.mimic > 0 else None,
            mimic_ratio=info.mimic_ratio, mimic_offset=info.mimic_offset)

    @property
    def bodies(self) -> list[Body]:
        """All bodies, parents first."""
        return [self.body(i) for i in range(1, self.body_count + 1)]

    def joint(self, name: str) -> Body:
        """The body whose joint has that name.

        A joint that moves; fixed joints are part of the body that carries them. `q[model.joint(name).q]` and
        `v[model.joint(name).v]` are its coordinates. Those of a mimic joint are empty slices, so that an assignment to
        them changes nothing: `leader` names the joint to set.

        >>> import soa
        >>> soa.Model.open("puma560").joint("joint2").v
        slice(1, 2, None)
        """
        if not isinstance(name, str):
            raise TypeError(f"joint is given by a {type(name).__name__} ({name!r}), expected its name; Model.body(number) takes "
                            "numbers")
        number = _c.soa_model_find_joint(self._pointer, name.encode())
        if number < 0:
            unknown_joint(self, name)
        return self.body(number)

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints that move, in the order of the bodies: `body_count` of them, mimic joints among them.

        A joint may have several coordinates or, as a mimic joint, none; `q_names` and `v_names` have one name for each
        number of q and of v.
        """
        return [body.joint for body in self.bodies]

    @property
    def q_names(self) -> list[str]:
        """A name for each number of q, (nq): the joint's, and with several coordinates a suffix, as in records.

        "root.x", ".y", ".z", ".qw", ".qx", ".qy", ".qz" for a free joint called root, "joint.0", "joint.1", ... for others.

        >>> import soa
        >>> soa.Model.open("satellite").q_names[2:4]
        ['root.z', 'root.qw']
        """
        return self._coordinate_names(False)

    @property
    def v_names(self) -> list[str]:
        """A name for each number of v, of accelerations and of torques, (nv), as `q_names`; "root.wx" to "root.vz" for a
        free joint.

        >>> import soa
        >>> soa.Model.open("satellite").v_names[2:4]
        ['root.wz', 'root.vx']
        """
        return self._coordinate_names(True)

    def _coordinate_names(self, rates: bool) -> list[str]:
        names = [""] * (self.nv if rates else self.nq)
        for body in self.bodies:
            where = body.v if rates else body.q
            count = where.stop - where.start
            suffixes = [f".{number}" for number in range(count)]
            if body.type == "free":
                suffixes = list(_FREE_RATES if rates else _FREE_COORDINATES)
            elif count == 1:
                suffixes = [""]
            names[where] = [body.joint + suffix for suffix in suffixes]
        return names

    @property
    def frame_count(self) -> int:
        """Number of frames: the world, links, extra frames."""
        return int(_c.soa_model_frame_count(self._pointer))

    def frame(self, frame: str | int) -> Frame:
        """A frame by name or number; 0 is the world."""
        number = self.find_frame(frame)
        info = _c.soa_frame_info()
        check(_c.soa_model_frame(self._pointer, number, byref(info)), None, f"frame {frame}")
        return Frame(number, text(info.name), info.body, bool(info.is_link), read_only(frame_matrix(info.placement)))

    @property
    def frame_names(self) -> list[str]:
        """Names of all frames, by number; 0 is the world.

        A root link that is called "world" has a frame of its own, so that the name is there twice; in calls it then
        means the link, and the number 0 the world. Both are the same place unless the link is on a free joint.
        """
        info = _c.soa_frame_info()
        names = []
        for number in range(self.frame_count):
            _c.soa_model_frame(self._pointer, number, byref(info))
            names.append(text(info.name))
        return names

    def find_frame(self, frame: str | int) -> int:
        """The number of a frame given by name or number."""
        if isinstance(frame, str):
            number = int(_c.soa_model_find_frame(self._pointer, frame.encode()))
            if number < 0:
                unknown_frame(self, frame)
            return number
        if not 0 <= frame < self.frame_count:
            raise IndexError(f"frame {frame}: the model has frames 0 (the world) to {self.frame_count - 1}")
        return int(frame)

    def _by_coordinate(self, field: str) -> Array:
        values = np.zeros(self.nv)
        for body in self.bodies:
            values[body.v] = getattr(body, field)
        return read_only(values)

    @property
    def lower(self) -> Array:
        """Lower position limits, rad or m, one number for each degree of freedom, read-only; -inf: none."""
        return self._by_coordinate("lower")

    @property
    def upper(self) -> Array:
        """Upper position limits, rad or m, (nv,), read-only; inf: none."""
        return self._by_coordinate("upper")

    @property
    def max_speed(self) -> Array:
        """Speed limits, rad/s or m/s, (nv,), read-only; inf: none."""
        return self._by_coordinate("max_speed")

    @property
    def max_effort(self) -> Array:
        """Effort limits, N m or N, (nv,), read-only; inf: none."""
        return self._by_coordinate("max_effort")

    def inertial_parameters(self) -> Array:
        """The parameters pi of the regressor, 10 for each body: m, m c (3), inertia about the body's origin xx yy zz xy xz yz."""
        pi = np.zeros(10 * self.body_count)
        check(_c.soa_model_inertial_parameters(self._pointer, numbers(pi)))
        return pi

    def neutral(self) -> Array:
        """The neutral configuration: zeros and unit quaternions."""
        q = np.zeros(self.nq)
        _c.soa_q_neutral(self._pointer, numbers(q))
        return q

    def random(self, rng: np.random.Generator | int | None = None, n: int | None = None) -> Array:
        """Random configurations, for tests and first guesses.

        Uniform within limits; without limits angles up to pi, lengths up to 1 m; with one limit
        within twice that of it. Rotations of spherical and free joints are uniform, too. Joints
        that mimic stay within their limits where their leader can.

        rng: a generator, the seed of one, or None: another answer each time.
        n: None: one configuration, (nq,); else (n, nq).
        Cost: O(n nq); the first call looks at all bodies.

        >>> import soa
        >>> dog = soa.Model.open("quadruped")
        >>> dog.random(1).shape, dog.random(1, n=1000).shape
        ((19,), (1000, 19))
        """
        if self._sampler is None:
            from ._random import Sampler

            self._sampler = Sampler(self)
        if n is not None and n < 0:
            raise InputError(f"random: n is {n}, expected 0 or more")
        q = self._sampler.draw(np.random.default_rng(rng), 1 if n is None else n)
        return q[0] if n is None else q

    def joint_forces(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None,
                     wrenches: Sequence[Wrench] = ()) -> Array:
        """What the parent exerts on each body through its joint: [moment; force].

        They are in the body's axes, at its origin.

        q: configuration, (nq,) or (N, nq).
        v, a: speeds and accelerations of the joints, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns N m, then N, (body_count, 6) or (N, body_count, 6), in the order of the bodies. What
        `rnea` returns are the parts of these along the joint axes, and rotors, friction, springs.
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> held = arm.joint_forces(arm.neutral())[0]     # through the first joint, at rest
        >>> bool(abs(held[5] - 9.81 * arm.total_mass) < 1e-9)
        True
        """
        self._note_loops("joint_forces")
        if np.ndim(q) == 2:
            qs = np.asarray(q)
            shape = (len(qs), self.nv)
            vs, as_ = (np.broadcast_to(0.0 if x is None else np.asarray(x), shape) for x in (v, a))
            made = [self.joint_forces(*state, wrenches) for state in zip(qs, vs, as_)]
            return np.array(made).reshape(len(qs), self.body_count, 6)
        qv, vv, av = vector("q", q, self.nq), vector("v", v, self.nv), vector("a", a, self.nv)
        array = wrench_array(self, wrenches)
        tau, forces = np.zeros(self.nv), np.zeros((self.body_count, 6))
        with self._work() as work:
            status = _c.soa_rnea(self._pointer, work, numbers(qv), numbers(vv), numbers(av), array,
                                 len(wrenches), numbers(tau))
            check(status, None, "joint_forces")
            for body, force in enumerate(forces, 1):
                status = _c.soa_joint_force(self._pointer, work, body, numbers(force))
                check(status, None, "joint_forces")
        return forces

    @overload
    def generate_c(self, path: None = None, prefix: str | None = None) -> str: ...

    @overload
    def generate_c(self, path: str | os.PathLike[str], prefix: str | None = None) -> None: ...

    def generate_c(self, path: str | os.PathLike[str] | None = None,
                   prefix: str | None = None) -> str | None:
        """Self-contained C with the dynamics of this one model, as text or written to a file.

        path: of the file, an older one is replaced; None: the text is returned.
        prefix: beginning of the names of its functions: letters, digits and _; None: the name of
            the model.
        A comment at its beginning says what it contains and how to compile it. At most 1,000
        bodies.

        >>> import soa
        >>> "int arm_fd(" in soa.Model.open("arm7").generate_c(prefix="arm")
        True
        """
        from .files import generate_c

        if self._bound_count:  # every time: the code outlives this object
            warnings.warn(f"generate_c: '{self.name}' has {loop_words(self._bound_count)}, which the code leaves out: it is "
                          "that of the spanning tree", LoopWarning, stacklevel=2)
        return generate_c(self, path, prefix)

    @property
    def constraints(self) -> Constraints:
        """The loops and other constraints that the model brings along, ready to be used: always the same object.

        >>> import soa
        >>> [c.name for c in soa.Model.open("four-bar").constraints]
        ['C']
        """
        from .constraints import Constraints

        self._says_loops = False  # who has the closed machine knows of it
        if self._made is None:
            self._made = Constraints._of_model(self)
        return self._made

    def _note_loops(self, method: str) -> None:
        """Says once that the loops are not in a result; the caller's caller is at fault."""
        if self._says_loops:
            self._says_loops = False
            warn_loops(self, method, stacklevel=3)

    def view(self, q: ArrayLike | None = None) -> object:
        """Shows the machine at q: inline in a notebook, in a browser elsewhere."""
        from ._view import view_model

        return view_model(self, q)

    def __repr__(self) -> str:
        return f"<soa.Model '{self.name}': {self.body_count} bodies, nq {self.nq}, nv {self.nv}>"

    # --- operational space, inverse kinematics ------------------------------------------------------------------------

    def operational_space(self, q: ArrayLike, v: ArrayLike | None, tasks: str | int | Task | Sequence[str | int | Task],
                          damping: float = 0.0) -> OperationalSpace:
        """Khatib's operational space of one or several tasks, without forming M or its inverse: O(n) a row.

        damping > 0 gives an answer near singular tasks too: it is added to the compliance, whose rows are scaled to a
        diagonal of 1, so that 1e-6 is little. 0 refuses singular tasks with a `SingularError` that names them.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> arm.operational_space(arm.neutral() + 0.3, None, "link7").inertia.shape
        (6, 6)
        """
        self._note_loops("operational_space")
        if isinstance(tasks, (str, int, Task)):
            tasks = [tasks]
        if not tasks:
            raise InputError("operational_space: there are no tasks, expected one or more")
        if not 0 <= damping <= _MOST_DAMPING:
            raise InputError(f"operational_space: damping is {damping}, expected 0 or more")
        made = [task if isinstance(task, Task) else Task(task) for task in tasks]
        array = (_c.soa_task * len(made))()
        rows = 0
        for slot, task in zip(array, made):
            bits = sum(1 << row for row in set(task.rows))
            if not task.rows or min(task.rows) < 0 or max(task.rows) > 5:
                raise ValueError(f"rows of a task are {tuple(task.rows)}, expected numbers from 0 to 5")
            slot.frame, slot.axes, slot.rows = self.find_frame(task.frame), _axes(task.axes), bits
            rows += len(set(task.rows))
        qv, vv = vector("q", q, self.nq), vector("v", v, self.nv)
        nv = self.nv
        out = {"jacobian": np.zeros((rows, nv)), "lambda": np.zeros((rows, rows)), "mu": np.zeros(rows),
               "p": np.zeros(rows), "jbar": np.zeros((nv, rows)), "null": np.zeros((nv, nv))}
        results = _c.soa_operational(**{name: numbers(array) for name, array in out.items()})
        given = _c.soa_operational_input(numbers(qv), numbers(vv), array, len(made), damping)
        size = _c.soa_operational_space_size(self._pointer, len(made))
        memory = create_string_buffer(size + 64)
        start = -(-cast(memory, c_void_p).value // 64) * 64  # type: ignore[operator]
        rcond = np.zeros(1)
        with self._work() as work:
            status = _c.soa_operational_space(self._pointer, work, byref(given), c_void_p(start), size, byref(results),
                                              numbers(rcond))
        if status == _c.SOA_E_SINGULAR:
            raise SingularError(f"operational_space: {self._singular_tasks(np.asarray(qv), made, float(rcond[0]))}",
                                "SOA_E_SINGULAR")
        check(status, None, "operational_space")
        return OperationalSpace(out["jacobian"], out["lambda"], out["mu"], out["p"], out["jbar"], out["null"],
                                float(rcond[0]))

    def _singular_tasks(self, q: Array, tasks: Sequence[Task], rcond: float) -> str:
        """Which tasks cannot be met, by dense matrices: the slow way, for a message."""
        inverse = self.minv(q)
        blocks = [self.jacobian(q, task.frame, task.axes)[sorted(set(task.rows))] for task in tasks]

        def rank(J: Array) -> int:
            compliance = J @ inverse @ J.T
            scale = np.sqrt(np.diagonal(compliance))
            scale[scale == 0] = 1.0
            return int(np.linalg.matrix_rank(compliance / np.outer(scale, scale), tol=_SINGULAR, hermitian=True))

        said = []
        for task, J in zip(tasks, blocks):
            if rank(J) < len(J):
                said.append(f"task '{self.frame(task.frame).name}' has {len(J)} rows, of which the joints can move "
                            f"{rank(J)} independently at this q")
        whole = np.vstack(blocks)
        if not said:
            names = ", ".join(f"'{self.frame(task.frame).name}'" for task in tasks)
            said = [f"the tasks {names} have {len(whole)} rows together, of which the joints can move {rank(whole)} "
                    "independently at this q"]
        return (f"{'; '.join(said)} (reciprocal condition {rcond:.1e}, expected {_SINGULAR:g} or more). Take fewer rows "
                "(Task.rows), another q, or damping > 0, for example damping=1e-6")

    def inverse_kinematics(self, frame: str | int, target: ArrayLike, q0: ArrayLike | None = None, *,
                           position_only: bool = False, tolerance: float = 1e-9, most_steps: int = 200,
                           ignore_limits: bool = False) -> InverseKinematics:
        """A configuration that places `frame` at `target`, a 4 x 4 pose in the world, starting from `q0`.

        Levenberg-Marquardt steps by O(n) recursions. Within joint limits. `converged` is False where no configuration was
        found from this start: another start may help. All joints move, a free joint too: the base of a floating machine
        does not stay where q0 has it. To hold some of them, `soa.Constraints` has `assemble(q, held=[...])`.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> goal = arm.pose(arm.neutral() + 0.4, "link7")
        >>> arm.inverse_kinematics("link7", goal).converged
        True
        """
        if most_steps < 0:
            raise InputError(f"inverse_kinematics: most_steps is {most_steps}, expected 0 or more (0: the default, 200)")
        if not tolerance >= 0:
            raise InputError(f"inverse_kinematics: tolerance is {tolerance}, expected 0 or more (0: the default, 1e-9)")
        if self.frame(frame).body == 0:
            raise InputError(f"inverse_kinematics: frame {frame!r} is fixed to the world, no joint moves it")
        self._note_loops("inverse_kinematics")
        q = self.neutral() if q0 is None else np.array(vector("q0", q0, self.nq))
        goal = _c.soa_ik_target()
        goal.tip.frame = self.find_frame(frame)
        goal.tip.angular = 0.0 if position_only else 1.0
        goal.tip.linear = 1.0
        goal.pose = frame_struct(target)
        options = _c.soa_ik_options(most_steps, tolerance, bool(ignore_limits))
        result = _c.soa_ik_result()
        work = POINTER(_c.soa_tip_work)()
        check(_c.soa_tip_work_create(self._pointer, byref(work)))
        try:
            status = _c.soa_inverse_kinematics(self._pointer, work, byref(goal), 1, byref(options), numbers(q), byref(result))
        finally:
            _c.soa_tip_work_free(work)
        if status != _c.SOA_E_NO_CONVERGENCE:
            check(status, None, "inverse_kinematics")
        return InverseKinematics(q, result.residual, result.steps, status == _c.SOA_OK)

    def mass_factor_mul(self, q: ArrayLike, factor: Factor, x: ArrayLike) -> Array:  # type: ignore[override]
        """A factor of the mass matrix M = L D L* (RJK91 (11) to (13)) times a vector: `"L"` is I + H phi K, `"root"` D^1/2.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> arm.mass_factor_mul(arm.neutral(), "inv(root)", [1.0] * 7).shape
        (7,)
        """
        if factor not in FACTORS:
            raise ValueError(f"factor is {factor!r}, expected one of {', '.join(FACTORS)}")
        return super().mass_factor_mul(q, FACTORS.index(factor), x)

    # --- the papers' other forms --------------------------------------------------------------------------------------

    def smoother(self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None,
                 wrenches: Sequence[Wrench] = ()) -> list[Smoothed]:
        """R87's filter and smoother, (35) to (47): what it knows at the joint of each body, in the order of the bodies.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> joints = arm.smoother(arm.neutral())
        >>> joints[6].gain.shape   # Kalman gain G of the last joint
        (6, 1)
        """
        self._note_loops("smoother")
        qv, vv, tv = vector("q", q, self.nq), vector("v", v, self.nv), vector("tau", tau, self.nv)
        array = wrench_array(self, wrenches)
        results = []
        with self._work() as work:
            check(_c.soa_smoother(self._pointer, work, numbers(qv), numbers(vv), numbers(tv), array, len(wrenches)), None,
                  "smoother")
            for number in range(1, self.body_count + 1):
                out = _c.soa_smoothed()
                check(_c.soa_smoother_read(self._pointer, work, number, byref(out)))
                plus, minus, smoothed = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
                check(_c.soa_smoother_covariance(self._pointer, work, number, numbers(plus), numbers(minus),
                                                 numbers(smoothed)))
                results.append(_smoothed(self.body(number), out, plus, minus, smoothed))
        return results

    def estimate(self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, a: ArrayLike | None = None,
                 tau_variance: ArrayLike | None = None, a_variance: ArrayLike | None = None,
                 unknown: Sequence[UnknownWrench] = (), wrenches: Sequence[Wrench] = ()) -> Estimate:
        """Forces, wrenches and accelerations from noisy joint data, with covariances, by R87's filter and smoother, O(n).

        tau, a: measured torques and joint accelerations, (nv,); None: zero.
        tau_variance, a_variance: of their errors, (nv,) or one number for all, 0 (exact) to inf (not measured). None:
            torques exact, accelerations not measured, which is forward dynamics.
        unknown: external wrenches of which a mean and a covariance are known. wrenches: known ones.
        The estimate is that of least weighted squares: the conditional mean if all errors are normal and independent.

        >>> import numpy as np, soa
        >>> from soa.estimation import UnknownWrench
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.4
        >>> found = arm.estimate(q, tau=np.ones(7))              # no noise: forward dynamics
        >>> bool(np.allclose(found.a, arm.aba(q, None, np.ones(7))))
        True
        >>> found = arm.estimate(q, tau=np.ones(7), a_variance=0.01, tau_variance=0.1,
        ...                      unknown=[UnknownWrench("link7", np.ones(6))])
        >>> found.wrenches[0].covariance.shape, found.degrees
        ((6, 6), 7)
        """
        from .estimation import estimate

        self._note_loops("estimate")
        return estimate(self, q, v, tau, a, tau_variance, a_variance, unknown, wrenches)

    def observability(self, q: ArrayLike, frame: str | int | Tip, axes: Axes = "world") -> Observability:
        """What a frame can do at a pose: singular values, directions that are lost, joint rates that are redundant.

        frame: name or number, or a `soa.forms.Tip` with weights for turning and motion. axes: of the directions.
        R87's redundancy as observability: a force at the tip that the torques do not show is one against a direction in
        which the tip cannot move.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> arm.observability(arm.neutral() + 0.4, "link7").redundant.shape    # seven joints, six directions
        (1, 7)
        >>> arm.observability(arm.neutral(), "link7").rank                     # stretched out
        3
        """
        from .estimation import observability

        self._note_loops("observability")
        return observability(self, q, frame, axes)

    def op(self, expr: str | Expr, q: ArrayLike | None = None, v: ArrayLike | None = None, tau: ArrayLike | None = None,
           a: ArrayLike | None = None, tips: Sequence[str | int] | None = None, f0: ArrayLike | None = None,
           wrenches: Sequence[Wrench] = (), **values: ArrayLike) -> Array:
        """The value of an operator expression at a state: a vector by O(n) sweeps, an operator as its dense matrix.

        expr: text or an expression of `soa.operators`, or the name of one of the papers' algorithms.
        q: (nq,), None: neutral. v, a, tau: (nv,), None: zero.
        tips: frames at which B and f0 are; None: the last leaf of the tree alone, not all of them.
        f0: forces of the tips on what they touch, (6 tips,), moment before force, N m and N, in the axes of each tip
            frame, at its origin; None: zero. Vectors of the space "tip" are in the same axes.
        wrenches: from outside, on any frames; they are part of b.
        Vectors of links have six numbers a body, in the body's axes, about its origin. Joints are in the order of v.

        `v` is the papers' thd, `a` thdd, `tau` T. Other names in the expression are keyword arguments, vectors of joints.
        The algebra is that of ideal trees: friction and springs are not part of it (take them off `tau` first), and loops
        are left out with a `LoopWarning`. The name of one of the papers' algorithms (`soa.operators.forms()`) will do, too.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.2
        >>> bool(abs(arm.op("H phi M phi' H'", q=q) - arm.mass(q)).max() < 1e-12)
        True
        >>> bool(abs(arm.op("FD3", q=q) - arm.aba(q)).max() < 1e-9)
        True
        """
        from .operators import Machine

        self._note_loops("op")
        return Machine(self, tips).evaluate(expr, q=q, v=v, a=a, tau=tau, f0=f0, wrenches=wrenches, **values)

    # --- work spaces for calls through ctypes -------------------------------------------------------------------------

    def _work(self) -> _Work:
        return _Work(self)


class _Work:
    """A work space for one call."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._pointer = POINTER(_c.soa_work)()

    def __enter__(self) -> Any:
        check(_c.soa_work_create(self._model._pointer, byref(self._pointer)))
        return self._pointer

    def __exit__(self, *_: object) -> None:
        _c.soa_work_free(self._pointer)


def _axes(axes: str) -> int:
    if axes not in ("world", "body"):
        raise ValueError(f"axes is {axes!r}, expected 'world' or 'body'")
    return int(_c.SOA_AXES_WORLD if axes == "world" else _c.SOA_AXES_BODY)


def wrench_array(model: Model, wrenches: Sequence[Wrench]) -> Any:
    """The wrenches as an array of soa_wrench."""
    if not isinstance(wrenches, Sequence) or isinstance(wrenches, str):
        bad_wrenches(wrenches)
    array = (_c.soa_wrench * max(1, len(wrenches)))()
    for slot, wrench in zip(array, wrenches):
        if not isinstance(wrench, Wrench):
            raise TypeError(f"a wrench is a {type(wrench)}, expected a soa.Wrench")
        value = vector("value of a wrench", wrench.value, 6)
        assert value is not None
        slot.frame, slot.axes, slot.value[:] = model.find_frame(wrench.frame), _axes(wrench.axes), value.tolist()
    return array


@dataclass(frozen=True)
class Smoothed:
    """R87's filter and smoother at the joint of one body; from `Model.smoother`.

    Six-vectors and matrices are in the body's axes, about its origin: accelerations rad/s^2 and m/s^2, forces N m and N.
    "minus" is the body's own side of the joint, "plus" the parent's. nv is that of the joint. Numbers in brackets are
    R87's equations.

    joint: name of the joint.
    H: state-to-output map (20), (nv, 6).
    b: bias force less wrenches (7). n: bias acceleration (15). (6,) each.
    z_minus: predicted state (36), (6,).
    P_minus: articulated inertia, covariance of the predicted error (37), (6, 6).
    D: inertia of the joint axis, innovation covariance (38), (nv, nv), with the rotor (57).
    gain: Kalman gain G (39), (6, nv).
    tau: measurement (20), (nv,): the torque less friction and springs, N m or N.
    innovation: e- (40), (nv,), N m or N.
    z_plus: filtered state (41), (6,).
    residual: e+ = D^-1 e- (42), (nv,), rad/s^2 or m/s^2.
    P_plus: covariance of the filtered error (43), (6, 6).
    lambda_plus: costate (45), the spatial acceleration on the parent's side, (6,); of a root body -g.
    acceleration: a of the joint (46), (nv,).
    lambda_minus: costate (47), the spatial acceleration of the body, (6,).
    x_minus: state (34), the force through the joint, z- + P- lambda-, (6,).
    x_plus: the same on the parent's side, z+ + P+ lambda+ (34), (17), (6,); other than x_minus only with an exact rotor.
    delta_plus, delta_minus: covariances of the costates (81), (82), (6, 6); delta_minus is the compliance J M^-1 J' of
        the body in the whole machine.
    S: covariance of the error of the smoothed state, P - P Delta P (65), (6, 6).
    """

    joint: str
    H: Array
    b: Array
    n: Array
    z_minus: Array
    P_minus: Array
    D: Array
    gain: Array
    tau: Array
    innovation: Array
    z_plus: Array
    residual: Array
    P_plus: Array
    lambda_plus: Array
    acceleration: Array
    lambda_minus: Array
    x_minus: Array
    x_plus: Array
    delta_plus: Array
    delta_minus: Array
    S: Array


def _smoothed(body: Body, out: Any, plus: Array, minus: Array, smoothed: Array) -> Smoothed:
    n = out.nv

    def take(field: str, *shape: int) -> Array:
        return np.array(getattr(out, field)[:int(np.prod(shape))]).reshape(shape)

    return Smoothed(
        joint=body.joint, H=take("H", n, 6), b=take("b", 6), n=take("n", 6), z_minus=take("z_minus", 6),
        P_minus=take("P_minus", 6, 6), D=take("D", n, n), gain=take("gain", 6, n), tau=take("tau", n),
        innovation=take("innovation", n), z_plus=take("z_plus", 6), residual=take("residual", n),
        P_plus=take("P_plus", 6, 6), lambda_plus=take("lambda_plus", 6), acceleration=take("acceleration", n),
        lambda_minus=take("lambda_minus", 6), x_minus=take("x_minus", 6), x_plus=take("x_plus", 6), delta_plus=plus,
        delta_minus=minus, S=smoothed)


def stock_models() -> dict[str, str]:
    """Names of the shipped models, and what they are.

    >>> import soa
    >>> "arm7" in soa.stock_models()
    True
    """
    found = {}
    index = 0
    while (name := _c.soa_stock_model_name(index)) is not None:
        found[text(name)] = text(_c.soa_stock_model_text(index))
        index += 1
    return found


__all__ = ["Body", "Frame", "InverseKinematics", "Model", "OperationalSpace", "Smoothed", "Task", "stock_models",
           "wrench_array", "c_int", "from_pointer"]

"""Closed chains: loops and other constraints beside an immutable model.

The machine obeys `M vdot + bias = tau + G.T @ lambda_`, `G @ vdot + gamma = 0`, with one row of G for each equation of
the constraints.  Rows measure frame 1 relative to frame 2, in the axes of frame 1: lambda_ is the wrench *on the body
of frame 1*.

>>> import numpy as np, soa
>>> loop = soa.Model.open("four-bar")
>>> closed = loop.constraints
>>> q = closed.assemble(loop.neutral())
>>> answer = closed.fd(q)
>>> equations = closed.evaluate(q)
>>> np.allclose(equations.G @ answer.qdd + equations.gamma, 0, atol=1e-8)
True
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from ctypes import POINTER, byref, c_int
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array, check, new_report, numbers, text, vector
from ._errors import InputError
from ._own import C as _c
from ._own import Guard, State, bytes_pointer, chosen, needed, new_work, release
from .frames import Wrench, frame_matrix, frame_struct

if TYPE_CHECKING:
    from .model import JointType, Model

Drive = Callable[[float], Sequence[float]]
"""The right side of a constraint as a function of time: value, rate, second rate."""
Method = Literal["auto", "kkt", "forces", "null_space"]
METHODS: tuple[Method, ...] = ("auto", "kkt", "forces", "null_space")


@dataclass(frozen=True)
class Loop:
    """Two frames joined by a joint of any type: 6 - nv rows.

    frame1, frame2: names or numbers. joint: its type. pitch: of a helical joint, m/rad.
    damping: N m s/rad or N s/m; friction: N m or N; stiffness: N m/rad or N/m, rest: rad or m.
    rotor_inertia, kg m^2, and gear_ratio: of its motor; exact_rotor: the rotor also turns with
    frame 1, about rotor_axis (in the frame of the joint; zeros: axis), instead of adding its
    inertia to the joint alone. name: None: one is made.

    The joint sits at `place1` in frame 1 and `place2` in frame 2, 4 x 4 poses; None: at their origins.  `axis` is in
    place1, `axis2` of a universal joint in place2.  Damping, Coulomb friction, spring (`stiffness`, `rest`) and motor
    act in the cut joint as in a joint of the tree.
    """

    frame1: str | int
    frame2: str | int
    joint: JointType = "revolute"
    axis: ArrayLike = (0.0, 0.0, 1.0)
    axis2: ArrayLike = (1.0, 0.0, 0.0)
    pitch: float = 0.0
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    exact_rotor: bool = False
    rotor_axis: ArrayLike = (0.0, 0.0, 0.0)
    name: str | None = None


@dataclass(frozen=True)
class Distance:
    """The origins of two frames (or of places in them) keep a distance, m, or one that `drive` gives: 1 row.

    frame1, frame2: names or numbers. value: the distance, m. place1, place2: 4 x 4 poses in the
    frames; None: their origins. name: None: one is made.
    """

    frame1: str | int
    frame2: str | int
    value: float = 0.0
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None
    drive: Drive | None = None
    name: str | None = None


@dataclass(frozen=True)
class Ratio:
    """Gears and driven joints: the sum of coefficient times joint coordinate is `value`, or what `drive` gives: 1 row.

    terms: up to four pairs of a joint's name (or the name of a loop, for its cut joint) and a coefficient.
    """

    terms: Sequence[tuple[str, float]]
    value: float = 0.0
    drive: Drive | None = None
    name: str | None = None


@dataclass(frozen=True)
class Rolling:
    """A ball of a radius, m, about frame 2 rolls on the plane z = 0 of frame 1: 1 row on the position, 2 on the
    velocity.

    plane, ball: frames 1 and 2. radius: m. place1, place2: 4 x 4 poses of the plane and of the
    ball's centre in them; None: at their origins. name: None: one is made.
    """

    plane: str | int
    ball: str | int
    radius: float
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None
    name: str | None = None


@dataclass(frozen=True)
class Velocity:
    """`rows @ [w; v] = 0` for the velocity of frame 2 relative to frame 1: nonholonomic, 1 to 6 rows of 6 numbers.

    frame1, frame2: names or numbers. place1, place2: 4 x 4 poses in the frames; None: their
    origins. name: None: one is made.

    Rows are in the axes of frame 1, or of frame 2 (a skate) with `rows_in_frame2`.
    """

    frame1: str | int
    frame2: str | int
    rows: ArrayLike
    rows_in_frame2: bool = False
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None
    name: str | None = None


@dataclass(frozen=True)
class Plane:
    """The origin of frame 2 stays in the plane z = value of frame 1, or at the z that `drive` gives: 1 row.

    frame1, frame2: names or numbers. value: m. place1, place2: 4 x 4 poses of the plane and of
    the point in them; None: at their origins. name: None: one is made.
    """

    frame1: str | int
    frame2: str | int
    value: float = 0.0
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None
    drive: Drive | None = None
    name: str | None = None


@dataclass(frozen=True)
class Disc:
    """A thin disc of a radius, m, about the z axis of frame 2 rolls on its rim on the plane z = 0 of frame 1.

    plane, disc: frames 1 and 2. radius: m. place1, place2: 4 x 4 poses of the plane and of the
    disc in them; None: at their origins. name: None: one is made.

    1 row on the position, 2 on the velocity.  It may lean, but not lie flat.
    """

    plane: str | int
    disc: str | int
    radius: float
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None
    name: str | None = None


Definition = Loop | Distance | Ratio | Rolling | Velocity | Plane | Disc
_KINDS: dict[type[Any], int] = {
    Loop: _c.SOA_LOOP,
    Distance: _c.SOA_DISTANCE,
    Ratio: _c.SOA_RATIO,
    Rolling: _c.SOA_ROLLING,
    Velocity: _c.SOA_VELOCITY,
    Plane: _c.SOA_PLANE,
    Disc: _c.SOA_DISC,
}


@dataclass(frozen=True)
class Constraint:
    """One constraint of a `Constraints`; `rows` are its rows in g, G, gamma and lambda_, empty while it is off.

    number: for `remove` and `switch`. name: of the constraint. on: whether it is switched on.
    definition: what was added.
    """

    number: int
    name: str
    on: bool
    rows: slice
    definition: Definition


@dataclass(frozen=True)
class ConstraintEquations:
    """Residuals g, their rates, the matrix G (rows, nv) and gamma of `G @ vdot + gamma = 0`.

    g (rows,): m or rad, 0 where they hold; rate (rows,): their rates, m/s or rad/s.
    """

    g: Array
    rate: Array
    G: Array
    gamma: Array


@dataclass(frozen=True)
class ClosedDynamics:
    """What `Constraints.fd` returns.

    qdd (nv,): accelerations of the tree. rows, rank: of all rows and of the independent ones.
    condition: an estimate, 1 / least pivot of the scaled G M^-1 G' (method "kkt": of G G') on
    the independent rows. residual: the largest disagreement of a redundant row, relative.
    method: the one that was used.

    `lambda_` are multipliers, one for each row, of least norm where rows are redundant; `redundant` names those, as
    pairs of a constraint and a row in it (the first 16; `redundant_count` all); `text` says what the first of them
    repeats.  `strength` is
    that of the weakest independent row, 1 or less, in constraint `weakest`; it falls to 0 where a row is lost.
    `supplied` and `dissipated` are the power, W, of drives and cut joints.

    `wrenches`, with `fd(..., with_wrenches=True)`: for each constraint but ratios, by name, a pair: the wrench [n; f] on
    the body of frame 1 and that on the body of frame 2, each at the origin of its frame (not at `place1`, `place2`), in
    world axes, N m and N; forces of spring, damper, friction and motor of a cut joint are in them.  `lambda_` of a `Loop`
    is along the directions that its joint locks, in the axes of `place1` at its origin: N m, then N; of a `Distance` the
    force that pulls the two points together, N.  The joints feel `G.T @ lambda_`.
    """

    qdd: Array
    lambda_: Array
    rows: int
    rank: int
    condition: float
    redundant: tuple[tuple[str, int], ...]
    redundant_count: int
    text: str
    strength: float
    weakest: str | None
    residual: float
    method: Method
    supplied: float
    dissipated: float
    wrenches: dict[str, tuple[Array, Array]] = field(default_factory=dict)


@dataclass(frozen=True)
class ClosedTorques:
    """Joint torques and multipliers, from `Constraints.id`.

    tau (nv,): N m or N, 0 where there is no motor. lambda_ (rows,): multipliers.
    """

    tau: Array
    lambda_: Array


@dataclass(frozen=True)
class Projected:
    """A state on the constraints, from `Constraints.project`; `error` is what is left: largest |g| and largest |rate|.

    q (nq,); v (nv,) or None, as it was given.
    """

    q: Array
    v: Array | None
    error: tuple[float, float]


@dataclass(frozen=True)
class ClosedImpulse:
    """Velocities after a collision, and the impulses of the rows, from `Constraints.impulse`.

    v (nv,): after it. impulse (rows,): N s or N m s.
    """

    v: Array
    impulse: Array


class Constraints:
    """Constraints over one model; they may be added, removed and switched while the machine moves.

    capacity: how many there may be at once; rows: how many equations in all, None: six each; dense: room for the
    methods "kkt" and "null_space", and for `id`.  One thread at a time uses it: others wait.

    >>> import soa
    >>> from soa.constraints import Constraints, Distance
    >>> arm = soa.Model.open("two-puma")
    >>> held = Constraints(arm)
    >>> held.add(Distance(arm.body(6).link, arm.body(12).link, value=0.5, name="rod"))
    0
    >>> held.names, held.row_count
    (['rod'], 1)
    """

    def __init__(self, model: Model, capacity: int = 16, rows: int | None = None, dense: bool = True) -> None:
        room = _c.soa_constraint_capacity(capacity, 6 * capacity if rows is None else rows, bool(dense))
        pointer = POINTER(_c.soa_constraints)()
        check(
            _c.soa_constraints_create(model._pointer, byref(room), byref(pointer)),
            None,
            f"room for {room.constraints} constraints and {room.rows} rows",
        )
        self._own(model, pointer, capacity)

    @classmethod
    def _of_model(cls, model: Model) -> Constraints:
        """The constraints that came with a model, and room for 16 more."""
        definitions = [] if model._loops is None else [model._loops.defs[i] for i in range(model._loops.count)]
        rows = sum(max(0, _c.soa_constraint_def_row_count(byref(one))) for one in definitions)
        made = cls(model, len(definitions) + 16, rows + 6 * 16)
        for one in definitions:
            made._add_struct(one)
        made._as_brought = True
        return made

    @classmethod
    def of_model(cls, model: Model, dense: bool = True) -> Constraints:
        """The constraints that came with a model, in a set of their own, without room for more.

        `model.constraints` is one set, which one thread at a time uses; this is another one, for
        another thread.

        dense: room for the methods "kkt" and "null_space", and for `id`.

        >>> import soa
        >>> soa.Constraints.of_model(soa.Model.open("four-bar")).names
        ['C']
        """
        loops = _c.soa_constraint_list(0, None) if model._loops is None else model._loops
        pointer, report = POINTER(_c.soa_constraints)(), new_report()
        status = _c.soa_constraints_from_list(
            byref(loops), model._pointer, bool(dense), byref(pointer), byref(report)
        )
        check(status, report, f"constraints of '{model.name}'")
        made = cls.__new__(cls)
        made._own(model, pointer, int(loops.count))
        return made

    def _own(self, model: Model, pointer: Any, capacity: int) -> None:
        self.model = model
        self._guard = Guard("Constraints")
        self._drives: dict[int, tuple[Drive, Any]] = {}
        self._capacity = capacity
        self._as_brought = False  # True: the model's own, none added or removed since
        self._pointer = pointer
        self._work = new_work(model)
        weakref.finalize(self, _release, pointer, self._work, model, self._drives).atexit = False

    # --- what there is ----------------------------------------------------------------------------------------------

    def add(self, definition: Definition) -> int:
        """Adds a constraint, switched on, and returns its number; on a fault nothing changes."""
        return self._add_struct(self._struct(definition), getattr(definition, "drive", None))

    def _add_struct(self, struct: Any, drive: Drive | None = None) -> int:
        callback = None
        if drive is not None:
            callback = _c.soa_drive_fn(_Driven(drive, self._guard))
            struct.drive = callback
        number = c_int(-1)
        report = new_report()
        with self._guard:
            self._guard.check(
                _c.soa_constraints_add(self._pointer, byref(struct), byref(number), byref(report)), report
            )
        if drive is not None:
            self._drives[number.value] = drive, callback
        self._as_brought = False
        return number.value

    def _struct(self, definition: Definition) -> Any:
        kind = _KINDS.get(type(definition))
        if kind is None:
            raise TypeError(f"{definition!r} is not a Loop, Distance, Ratio, Rolling, Velocity, Plane or Disc")
        one, two = _frames(definition)
        struct = _c.soa_constraint_default(kind, self.model.find_frame(one), self.model.find_frame(two))
        struct.name = None if definition.name is None else definition.name.encode()
        if not isinstance(definition, Ratio):
            struct.place1, struct.place2 = frame_struct(definition.place1), frame_struct(definition.place2)
        if isinstance(definition, Loop):
            self._fill_loop(struct, definition)
        elif isinstance(definition, (Rolling, Disc)):
            struct.value = float(definition.radius)
        elif isinstance(definition, Velocity):
            rows = np.atleast_2d(np.asarray(definition.rows, dtype=np.float64))
            if rows.ndim != 2 or rows.shape[1] != 6 or not 1 <= rows.shape[0] <= 6:
                raise ValueError(f"rows has shape {rows.shape}, expected 1 to 6 rows of 6 numbers")
            struct.row_count, struct.rows_in_frame2 = rows.shape[0], bool(definition.rows_in_frame2)
            for row, values in zip(struct.rows, rows.tolist()):
                row[:] = values
        else:
            struct.value = float(definition.value)
            if isinstance(definition, Ratio):
                self._fill_ratio(struct, definition)
        return struct

    def _fill_loop(self, struct: Any, loop: Loop) -> None:
        from .model import JOINT_TYPES

        if loop.joint not in JOINT_TYPES:
            raise ValueError(f"joint is {loop.joint!r}, expected one of {', '.join(JOINT_TYPES)}")
        struct.joint = JOINT_TYPES.index(loop.joint)
        for name in ("axis", "axis2", "rotor_axis"):
            getattr(struct, name)[:] = needed(vector(name, getattr(loop, name), 3)).tolist()
        for name in ("pitch", "damping", "friction", "stiffness", "rest", "rotor_inertia", "gear_ratio"):
            setattr(struct, name, float(getattr(loop, name)))
        struct.rotor_model = _c.SOA_ROTOR_EXACT if loop.exact_rotor else _c.SOA_ROTOR_REFLECTED

    def _fill_ratio(self, struct: Any, ratio: Ratio) -> None:
        most = len(struct.coordinate)
        if not 1 <= len(ratio.terms) <= most:
            raise ValueError(f"a ratio has {len(ratio.terms)} terms, expected 1 to {most}")
        names = {one: number for number, one in self._numbered()}
        for slot, (joint, coefficient) in enumerate(ratio.terms):
            body = _c.soa_model_find_joint(self.model._pointer, joint.encode())
            if body < 0 and joint not in names:
                raise InputError(f"a ratio counts '{joint}': there is no joint and no loop of that name", "SOA_E_NAME")
            struct.coordinate[slot] = body if body >= 0 else ~names[joint]
            struct.coefficient[slot] = float(coefficient)

    def _numbered(self) -> Iterator[tuple[int, str]]:
        for number in range(self._capacity):
            name = _c.soa_constraints_name(self._pointer, number)
            if name is not None:
                yield number, text(name)

    def find(self, constraint: str | int) -> int:
        """The number of a constraint given by name or number."""
        for number, name in self._numbered():
            if constraint in (name, number):
                return number
        raise KeyError(f"there is no constraint {constraint!r}; there are {', '.join(self.names) or 'none'}")

    def remove(self, constraint: str | int) -> None:
        """Removes a constraint; one whose cut joint a ratio counts cannot go before the ratio."""
        number = self.find(constraint)
        with self._guard:
            check(_c.soa_constraints_remove(self._pointer, number), None, f"remove {constraint}")
        self._drives.pop(number, None)
        self._as_brought = False

    def switch(self, constraint: str | int, on: bool) -> None:
        """Switches a constraint on or off; off it has no rows, and its cut joint no forces."""
        with self._guard:
            check(
                _c.soa_constraints_switch(self._pointer, self.find(constraint), bool(on)), None, f"switch {constraint}"
            )

    @property
    def names(self) -> list[str]:
        """Names of all constraints, those switched off included."""
        return [name for _, name in self._numbered()]

    @property
    def row_count(self) -> int:
        """Rows of the constraints that are on."""
        return int(_c.soa_constraints_row_count(self._pointer))

    def __len__(self) -> int:
        return int(_c.soa_constraints_count(self._pointer))

    def __iter__(self) -> Iterator[Constraint]:
        for number, _ in list(self._numbered()):
            yield self[number]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, constraint: str | int) -> Constraint:
        number = self.find(constraint)
        first, count = c_int(), c_int()
        struct = _c.soa_constraint_def()
        check(_c.soa_constraints_row_range(self._pointer, number, byref(first), byref(count)))
        check(_c.soa_constraints_get_def(self._pointer, number, byref(struct)))
        rows = slice(first.value, first.value + count.value) if count.value else slice(0, 0)
        on = count.value > 0 or _c.soa_constraint_def_row_count(byref(struct)) == 0
        return Constraint(
            number, text(_c.soa_constraints_name(self._pointer, number)), on, rows, self._definition(number, struct)
        )

    def _definition(self, number: int, struct: Any) -> Definition:
        one, two = self.model.frame(struct.frame1).name, self.model.frame(struct.frame2).name
        drive = self._drives[number][0] if number in self._drives else None
        name = text(_c.soa_constraints_name(self._pointer, number))
        places: dict[str, Any] = {
            "place1": frame_matrix(struct.place1),
            "place2": frame_matrix(struct.place2),
            "name": name,
        }
        if struct.kind == _c.SOA_LOOP:
            return loop_from_struct(struct, one, two, name)
        if struct.kind == _c.SOA_RATIO:
            used = [i for i, coordinate in enumerate(struct.coordinate) if coordinate]
            return Ratio(
                tuple((self._counted(struct.coordinate[i]), struct.coefficient[i]) for i in used),
                struct.value,
                drive,
                name,
            )
        if struct.kind == _c.SOA_VELOCITY:
            rows = np.array([row[:] for row in struct.rows[: struct.row_count]])
            return Velocity(one, two, rows, bool(struct.rows_in_frame2), **places)
        if struct.kind in (_c.SOA_ROLLING, _c.SOA_DISC):
            return (Rolling if struct.kind == _c.SOA_ROLLING else Disc)(one, two, struct.value, **places)
        return (Distance if struct.kind == _c.SOA_DISTANCE else Plane)(one, two, struct.value, drive=drive, **places)

    def _counted(self, coordinate: int) -> str:
        return self.model.body(coordinate).joint if coordinate > 0 else dict(self._numbered())[~coordinate]

    def __repr__(self) -> str:
        return f"<soa.Constraints of '{self.model.name}': {', '.join(self.names) or 'none'}; {self.row_count} rows>"

    # --- cut joints -------------------------------------------------------------------------------------------------

    def _cut(self, constraint: str | int) -> tuple[int, int, int]:
        """Number, nq and nv of a loop."""
        number = self.find(constraint)
        struct = _c.soa_constraint_def()
        check(_c.soa_constraints_get_def(self._pointer, number, byref(struct)))
        if struct.kind != _c.SOA_LOOP:
            raise ValueError(f"{constraint} is not a loop and has no cut joint")
        nv = 6 - int(_c.soa_constraint_def_row_count(byref(struct)))
        more = struct.joint in (_c.SOA_SPHERICAL, _c.SOA_FREE)
        return number, nv + 1 if more else nv, nv

    def set_effort(self, loop: str | int, effort: ArrayLike) -> None:
        """Torques and forces of a motor on the free coordinates of a cut joint, until they are set again."""
        number, _, nv = self._cut(loop)
        array = needed(vector("effort", np.atleast_1d(np.asarray(effort)), nv))
        with self._guard:
            check(_c.soa_constraints_set_effort(self._pointer, number, numbers(array)), None, f"effort of {loop}")

    def set_friction(self, loop: str | int, friction: float) -> None:
        """Another Coulomb friction of a cut joint."""
        with self._guard:
            check(
                _c.soa_constraints_set_friction(self._pointer, self.find(loop), float(friction)),
                None,
                f"friction of {loop}",
            )

    def joint_coordinates(self, loop: str | int, q: ArrayLike) -> Array:
        """The coordinates of a cut joint at q, as a tree would have them; angles nearest to those at the last step."""
        number, nq, _ = self._cut(loop)
        result = np.zeros(nq)
        qv = vector("q", q, self.model.nq)
        with self._guard:
            check(_c.soa_kinematics(self.model._pointer, self._work, numbers(qv), None, None))
            check(
                _c.soa_constraints_joint_coordinates(self._pointer, self._work, number, numbers(result)),
                None,
                f"coordinates of {loop}",
            )
        return result

    def set_turns(self, loop: str | int, near: ArrayLike) -> None:
        """Which whole turns the angles of a cut joint have: those nearest to these."""
        number, _, nv = self._cut(loop)
        array = needed(vector("near", np.atleast_1d(np.asarray(near)), nv))
        with self._guard:
            check(_c.soa_constraints_set_turns(self._pointer, number, numbers(array)), None, f"turns of {loop}")

    def follow_turns(self, q: ArrayLike) -> None:
        """Counts whole turns of cut joints from their angles at q, where a spring or ratio uses them.

        `soa.simulate_closed` does this after each step; a loop of yours does it after its own.
        """
        qv, what = vector("q", q, self.model.nq), "follow_turns"
        model, work = self.model._pointer, self._work
        with self._guard:
            check(_c.soa_kinematics(model, work, numbers(qv), None, None), None, what)
            check(_c.soa_constraints_follow_turns(self._pointer, work), None, what)

    def joint_row(
        self, loop: str | int, q: ArrayLike, v: ArrayLike | None = None, coordinate: int = 0
    ) -> tuple[Array, float]:
        """One free coordinate of a cut joint as a function of the tree's speeds, at q and v.

        coordinate: from 0 to its degrees of freedom - 1.
        Returns a row (nv,) and a number: the rate of the coordinate is `row @ v`, its second rate
        `row @ vdot + rest`, and a torque on it acts on the tree as this torque times `row`.

        >>> import soa
        >>> model = soa.Model.open("four-bar")
        >>> q = model.constraints.assemble(model.neutral())
        >>> model.constraints.joint_row("C", q)[0].shape
        (3,)
        """
        number, _, nv = self._cut(loop)
        if not 0 <= coordinate < nv:
            raise ValueError(
                f"coordinate is {coordinate}: the cut joint of {loop} has {nv}, from 0"
            )
        qv = vector("q", q, self.model.nq)
        vv = np.zeros(self.model.nv) if v is None else vector("v", v, self.model.nv)
        row, rest = np.zeros(self.model.nv), np.zeros(1)
        model, work, what = self.model._pointer, self._work, f"joint_row of {loop}"
        with self._guard:
            check(_c.soa_kinematics(model, work, numbers(qv), numbers(vv), None), None, what)
            status = _c.soa_constraints_joint_row(
                self._pointer, work, number, int(coordinate), numbers(row), numbers(rest)
            )
            check(status, None, what)
        return row, float(rest[0])

    def joint_rates(self, loop: str | int) -> Array:
        """Rates of the free coordinates of a cut joint, rad/s or m/s.

        They are those of the last state with speeds that a method was given while the constraint
        was on.
        """
        number, _, _ = self._cut(loop)
        rates, count = np.zeros(6), c_int()
        with self._guard:
            status = _c.soa_constraints_joint_rates(
                self._pointer, number, numbers(rates), byref(count)
            )
            check(status, None, f"rates of {loop}")
        return rates[: count.value].copy()

    # --- equations --------------------------------------------------------------------------------------------------

    def evaluate(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> ConstraintEquations:
        """g, its rate, G and gamma at a state; velocity rows have g = 0."""
        state = State(self.model, q, v, t=t)
        with self._guard:
            rows = self.row_count
            made = [np.zeros(rows), np.zeros(rows), np.zeros((rows, self.model.nv)), np.zeros(rows)]
            status = _c.soa_constraints_evaluate(
                self._pointer, self._work, state.pointer, *(numbers(one) for one in made)
            )
            self._guard.check(status, None, "evaluate")
        return ConstraintEquations(*made)

    def fd(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        t: float = 0.0,
        wrenches: Sequence[Wrench] = (),
        method: Method = "auto",
        baumgarte: tuple[float, float] = (0.0, 0.0),
        damping: float = 0.0,
        rank_tolerance: float | None = None,
        most_condition: float | None = None,
        consistency: float | None = None,
        rank_most: int = 0,
        with_wrenches: bool = False,
    ) -> ClosedDynamics:
        """Forward dynamics of the closed machine.

        method: "kkt" solves the whole system, FO00 (20); "forces" finds the constraint forces through O(n) solves,
        (21); "null_space" the independent motions, (22); "auto" chooses by sizes.  baumgarte: gamma += b[0] rate + b[1]
        g. damping > 0 (with "forces"): a damped answer in place of redundant rows.  with_wrenches: fills `wrenches`, the
        constraint forces as wrenches on both bodies, at the origins of the frames, world axes (`ClosedDynamics`).
        rank_tolerance (1e-12), most_condition (1e11) and consistency (1e-7) are the limits of include/soa/constraint.h.
        Raises SingularError where M or G M^-1 G' has no usable inverse, or redundant rows contradict each other.
        """
        if method not in METHODS:
            raise ValueError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
        state = State(self.model, q, v, None, tau, wrenches, t)
        options = _c.soa_closed_options_default()
        options.method, options.damping, options.rank_most = METHODS.index(method), float(damping), int(rank_most)
        options.baumgarte[:] = [float(number) for number in baumgarte]
        for name, given in (
            ("rank_tolerance", rank_tolerance),
            ("most_condition", most_condition),
            ("consistency", consistency),
        ):
            if given is not None:
                setattr(options, name, float(given))
        report = _c.soa_closed_report()
        report.weakest = -1
        supplied, dissipated = np.zeros(1), np.zeros(1)
        with self._guard:
            qdd, lambda_ = np.zeros(self.model.nv), np.zeros(self.row_count)
            status = _c.soa_closed_fd(
                self._pointer, self._work, byref(options), state.pointer, numbers(qdd), numbers(lambda_), byref(report)
            )
            said = text(report.text)
            self._guard.check(status, None, f"fd ({said})" if said else "fd")
            check(_c.soa_closed_power(self._pointer, numbers(supplied), numbers(dissipated)))
            made = self._wrenches(lambda_) if with_wrenches else {}
        names = dict(self._numbered())
        listed = min(report.redundant, len(report.redundant_row))
        return ClosedDynamics(
            qdd,
            lambda_,
            report.rows,
            report.rank,
            report.condition,
            tuple((names[report.redundant_constraint[i]], int(report.redundant_row[i])) for i in range(listed)),
            report.redundant,
            said if report.redundant < 2 else f"{said} (the first of {report.redundant} redundant rows)",
            report.strength,
            names.get(report.weakest),
            report.residual,
            METHODS[report.method],
            float(supplied[0]),
            float(dissipated[0]),
            made,
        )

    def _wrenches(self, lambda_: Array) -> dict[str, tuple[Array, Array]]:
        found = {}
        struct = _c.soa_constraint_def()
        for number, name in self._numbered():
            check(_c.soa_constraints_get_def(self._pointer, number, byref(struct)))
            if struct.kind != _c.SOA_RATIO:
                one, two = np.zeros(6), np.zeros(6)
                check(_c.soa_constraints_wrench(self._pointer, number, numbers(lambda_), numbers(one), numbers(two)))
                found[name] = one, two
        return found

    def response(self, force: ArrayLike) -> Array:
        """What a further force on the joints, (nv,), would add to the qdd of the last call, which must have been `fd`.
        """
        given = needed(vector("force", force, self.model.nv))
        qdd = np.zeros(self.model.nv)
        with self._guard:
            check(
                _c.soa_closed_response(self._pointer, self._work, numbers(given), numbers(qdd)),
                None,
                "response (the last call must be fd)",
            )
        return qdd

    def row_strengths(self) -> Array:
        """How strong each row is as of the last call, 0 to 1; it falls to 0 where the row is lost."""
        with self._guard:
            result = np.zeros(self.row_count)
            check(_c.soa_constraints_row_strengths(self._pointer, numbers(result)), None, "row_strengths")
        return result

    def energy(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[float, float]:
        """Kinetic and potential energy, J, with springs and rotors of cut joints."""
        qv, vv = vector("q", q, self.model.nq), vector("v", v, self.model.nv)
        kinetic, potential = np.zeros(1), np.zeros(1)
        with self._guard:
            check(
                _c.soa_closed_energy(
                    self._pointer, self._work, numbers(qv), numbers(vv), numbers(kinetic), numbers(potential)
                ),
                None,
                "energy",
            )
        return float(kinetic[0]), float(potential[0])

    def id(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        motors: Sequence[str | int] | ArrayLike | None = None,
        *,
        t: float = 0.0,
        wrenches: Sequence[Wrench] = (),
    ) -> ClosedTorques:
        """Joint torques, of least norm, that give the acceleration a, which must obey the constraints.

        motors: names of the joints that have one (or numbers of degrees of freedom, or nv truth values); None: all.
        """
        state = State(self.model, q, v, a, None, wrenches, t)
        flags = chosen(self.model, "motors", motors)
        with self._guard:
            tau, lambda_ = np.zeros(self.model.nv), np.zeros(self.row_count)
            status = _c.soa_closed_id(
                self._pointer, self._work, state.pointer, bytes_pointer(flags), numbers(tau), numbers(lambda_)
            )
            self._guard.check(status, None, "id")
        return ClosedTorques(tau, lambda_)

    # --- states on the constraints ----------------------------------------------------------------------------------

    def project(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> Projected:
        """q moved onto the constraints by the least mass-weighted step, and v likewise."""
        qv = needed(vector("q", q, self.model.nq)).copy()
        given = vector("v", v, self.model.nv)
        vv = None if given is None else given.copy()
        error = np.zeros(2)
        with self._guard:
            status = _c.soa_closed_project(
                self._pointer, self._work, float(t), numbers(qv), numbers(vv), numbers(error)
            )
            self._guard.check(status, None, f"project (largest |g| {error[0]:.2g}, largest rate {error[1]:.2g})")
        return Projected(qv, vv, (float(error[0]), float(error[1])))

    @property
    def drift(self) -> float:
        """The largest |g| that the last `project` found before it moved anything."""
        return float(_c.soa_closed_drift(self._pointer))

    def project_rates(
        self, q: ArrayLike, v: ArrayLike, held: Sequence[str | int] | ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """v moved by the least change to obey the constraints, while the joints that are `held` keep theirs."""
        qv = needed(vector("q", q, self.model.nq))
        vv = needed(vector("v", v, self.model.nv)).copy()
        left = np.zeros(1)
        with self._guard:
            status = _c.soa_closed_project_rates(
                self._pointer,
                self._work,
                float(t),
                numbers(qv),
                bytes_pointer(chosen(self.model, "held", held)),
                numbers(vv),
                numbers(left),
            )
            self._guard.check(status, None, "project_rates")
        return vv

    def assemble(self, q: ArrayLike, held: Sequence[str | int] | ArrayLike | None = None, t: float = 0.0) -> Array:
        """Closes the loops from a guess by damped Gauss-Newton steps; joints that are `held` do not move."""
        qv = needed(vector("q", q, self.model.nq)).copy()
        report = new_report()
        with self._guard:
            status = _c.soa_closed_assemble(
                self._pointer,
                self._work,
                float(t),
                bytes_pointer(chosen(self.model, "held", held)),
                numbers(qv),
                byref(report),
            )
            self._guard.check(status, report, "assemble")
        return qv

    def impulse(self, q: ArrayLike, v: ArrayLike | None, t: float = 0.0) -> ClosedImpulse:
        """Velocities just after the constraints that are on have closed at q, and the impulses of their rows."""
        qv, vv = vector("q", q, self.model.nq), vector("v", v, self.model.nv)
        after = np.zeros(self.model.nv)
        with self._guard:
            impulse = np.zeros(self.row_count)
            status = _c.soa_closed_impulse(
                self._pointer, self._work, float(t), numbers(qv), numbers(vv), numbers(after), numbers(impulse)
            )
            self._guard.check(status, None, "impulse")
        return ClosedImpulse(after, impulse)


class _Driven:
    """A Python drive as C calls it: an exception becomes numbers that are not finite, which C refuses."""

    def __init__(self, drive: Drive, guard: Guard) -> None:
        self._drive = drive
        self._guard = guard

    def __call__(self, _user: object, t: float, out: Any) -> None:
        for i in range(3):
            out[i] = np.nan
        if self._guard.failed is not None:
            return
        try:
            given = [float(number) for number in self._drive(t)]
            if len(given) != 3:
                raise ValueError(f"a drive returned {len(given)} numbers, expected 3: value, rate, second rate")
            for i in range(3):
                out[i] = given[i]
        except BaseException as problem:  # carried out of C
            self._guard.failed = problem


def loop_from_struct(struct: Any, one: str, two: str, name: str) -> Loop:
    """The Loop of a soa_constraint_def between two frames."""
    from .model import JOINT_TYPES

    joint: Any = JOINT_TYPES[struct.joint]
    return Loop(
        one,
        two,
        joint,
        np.array(struct.axis[:]),
        np.array(struct.axis2[:]),
        struct.pitch,
        frame_matrix(struct.place1),
        frame_matrix(struct.place2),
        struct.damping,
        struct.friction,
        struct.stiffness,
        struct.rest,
        struct.rotor_inertia,
        struct.gear_ratio,
        struct.rotor_model == _c.SOA_ROTOR_EXACT,
        np.array(struct.rotor_axis[:]),
        name,
    )


def _frames(definition: Definition) -> tuple[str | int, str | int]:
    if isinstance(definition, Ratio):
        return 0, 0
    if isinstance(definition, Rolling):
        return definition.plane, definition.ball
    if isinstance(definition, Disc):
        return definition.plane, definition.disc
    return definition.frame1, definition.frame2


def _release(constraints: Any, work: Any, *_kept: object) -> None:
    release((_c.soa_constraints_free, constraints), (_c.soa_work_free, work))


__all__ = [
    "ClosedDynamics",
    "ClosedImpulse",
    "ClosedTorques",
    "Constraint",
    "ConstraintEquations",
    "Constraints",
    "Definition",
    "Disc",
    "Distance",
    "Drive",
    "Loop",
    "Plane",
    "Projected",
    "Ratio",
    "Rolling",
    "Velocity",
]

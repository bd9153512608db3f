"""Several arms holding one object: contacts beside a model that has the arms and the object as trees.

Contact axes: z is the normal, into the object.  Forces are wrenches [n; f] of the arm *on the object* at the contact
point, in world axes; arrays of forces have shape (contacts that are on, 6), in order of their numbers.

>>> import numpy as np, soa
>>> from soa.grasp import Contact, Grasp
>>> both = soa.Model.open("two-puma-object")
>>> held = Grasp(both)
>>> object_ = both.body(18).link
>>> [held.add(Contact("rigid", both.body(number).link, object_)) for number in (6, 12)]
[0, 1]
>>> held.contact_count, held.free_count
(2, 0)
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_int
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array, check, from_pointer, new_report, numbers, vector
from ._errors import InputError, no_mimic
from ._own import C as _c
from ._own import Guard, State, needed, new_work, release
from .frames import Wrench, frame_matrix, frame_struct

if TYPE_CHECKING:
    from .constraints import Constraints
    from .model import Model

ContactType = Literal["rigid", "line", "soft_finger", "point", "sliding_face", "sliding_point", "own"]
CONTACT_TYPES: tuple[ContactType, ...] = (
    "rigid",
    "line",
    "soft_finger",
    "point",
    "sliding_face",
    "sliding_point",
    "own",
)
GraspMethod = Literal["auto", "general", "rccfd1", "rccfd2", "rccfd3", "loose", "woodbury"]
_MOST_OPEN = 1e-3  # m, rad and per s: contacts that are further open are warned of
METHODS: tuple[GraspMethod, ...] = ("auto", "general", "rccfd1", "rccfd2", "rccfd3", "loose", "woodbury")
Event = Literal["holds", "breaks", "slips", "tips"]
EVENTS: tuple[Event, ...] = ("holds", "breaks", "slips", "tips")
Solver = Callable[[Array, Array, Array, list[Wrench]], ArrayLike]
"""Open-chain forward dynamics, from q, v, tau and wrenches, for the method "general"."""


@dataclass(frozen=True)
class Contact:
    """A contact between a frame of an arm and a frame of the object.

    type: what is free: "rigid" nothing; "line" turning about x; "soft_finger" about x and y, one-sided; "point" about
    x, y, z; "sliding_face" turning about z, sliding along x and y; "sliding_point" all but along z; "own" the rows of
    `free`, up to six directions [w; v].  place_arm, place_object: the contact in the frames, 4 x 4 poses; None: at
    their origins.

    one_sided (None: as the type has it): it holds only while pressed together.  Limits, infinite if not given:
    tangential force <= friction * normal force, moment about the normal <= torsion (m) * normal force, moments across
    it <= patch (m) * normal force.  Contact axes turn with the object, the point is that of the arm; with axes_on_arm
    the other way round.
    """

    type: ContactType
    arm: str | int
    object: str | int
    place_arm: ArrayLike | None = None
    place_object: ArrayLike | None = None
    one_sided: bool | None = None
    friction: float = np.inf
    torsion: float = np.inf
    patch: float = np.inf
    axes_on_arm: bool = False
    free: ArrayLike | None = None


@dataclass(frozen=True)
class ContactMotion:
    """Contact coordinates: the turn from the arm's place to the object's as a quaternion w x y z, the shift, rates, and
    W.

    theta: the quaternion; theta_rate: its rate. shift, shift_rate: from the place on the object to that on the arm, in the
    axes of the former, m and m/s. W: rates of the free directions, rad/s and m/s. `gap` and `rate` should be zero: what
    is left in position (m and rad) and in velocity (m/s and rad/s).
    """

    theta: Array
    theta_rate: Array
    shift: Array
    shift_rate: Array
    W: Array
    gap: float
    rate: float


@dataclass(frozen=True)
class GraspDynamics:
    """What `Grasp.fd` returns: accelerations, contact forces (contacts, 6), rates of the free directions W.

    qdd (nv,). force: of the arm on the object at each contact that is on, N m and N, world axes. W_rate (free_count,).
    method: the one that was used. rows, rank: of T' Omega T. `least_norm`: rank < rows, so that the forces are those of
    least norm; the accelerations are unique. condition: estimated, of the scaled T' Omega T on its independent rows.
    residual: relative part of the right side of (4.9d) that no contact force can make; 0 at best.

    gap, rate: the largest of all contacts that are on, as in `ContactMotion`; 0 where the grasp is closed.
    """

    qdd: Array
    force: Array
    W_rate: Array
    method: GraspMethod
    rows: int
    rank: int
    least_norm: bool
    condition: float
    residual: float
    gap: float = 0.0
    rate: float = 0.0


@dataclass(frozen=True)
class Compliance:
    """Omega of RK88-II (3.1), from `Grasp.compliance`: how the contact points accelerate under contact forces.

    Omega: (6 contacts, 6 contacts) in world axes, [angular; linear] over [moment; force] for each contact. rank,
    condition: of Omega scaled to a diagonal of 1; `reduced_rows`, `reduced_rank`, `reduced_condition`: of T' Omega T, on
    the directions in which contacts bear force, which decides.
    """

    Omega: Array
    rank: int
    condition: float
    reduced_rows: int
    reduced_rank: int
    reduced_condition: float


@dataclass(frozen=True)
class ObjectState:
    """What the arms' ends say of the object at a frame of it; from `Grasp.object_state`. World axes, angular part first.

    V (6,): velocity, rad/s and m/s. alpha (6,): classical acceleration, rad/s^2 and m/s^2. f (6,): what the contact forces
    make together at the frame's origin, N m and N. alpha0 (contacts, 6): accelerations of the contact points on the arms.
    """

    V: Array
    alpha: Array
    f: Array
    alpha0: Array


@dataclass(frozen=True)
class GraspImpulse:
    """From `Grasp.impulse`: v (nv,), velocities after the contacts have closed, and `impulse`, of each contact on the
    object, (contacts, 6), world axes, N m s and N s.
    """

    v: Array
    impulse: Array


@dataclass(frozen=True)
class ContactCheck:
    """A contact against its friction limits; from `Grasp.check`.

    event: "holds", or how it would be lost. normal: force along the normal, N, > 0 pressed together; tangential: size of
    the force across it, N; torsion: moment about it, tilt: size of the moment across it, N m. `margin` > 0: it holds, N;
    infinite for two-sided contacts.
    """

    event: Event
    normal: float
    tangential: float
    torsion: float
    tilt: float
    margin: float


@dataclass(frozen=True)
class InternalForces:
    """An orthonormal basis of contact forces that leave the object alone, (count, contacts, 6).

    `rank` is that of what the contacts can do to the object; 6: any wrench can be borne.
    """

    basis: Array
    rank: int


class GraspWarning(UserWarning):
    """A grasp was used at a state in which its contacts are not closed."""


class Grasp:
    """A list of contacts beside a model; they may be added, removed and switched while the machine moves.

    capacity: how many there may be at once.  One thread at a time uses it: others wait.
    """

    def __init__(self, model: Model, capacity: int = 16) -> None:
        self.model = model
        self._guard = Guard("Grasp")
        self._capacity = capacity
        self._pointer = POINTER(_c.soa_grasp)()
        check(
            _c.soa_grasp_create(model._pointer, capacity, byref(self._pointer)), None, f"room for {capacity} contacts"
        )
        self._work = new_work(model)
        weakref.finalize(self, _release, self._pointer, self._work, model).atexit = False

    # --- contacts ---------------------------------------------------------------------------------------------------

    def add(self, contact: Contact) -> int:
        """Adds a contact, switched on, and returns its number; on a fault nothing changes."""
        if contact.type not in CONTACT_TYPES:
            raise ValueError(f"type is {contact.type!r}, expected one of {', '.join(CONTACT_TYPES)}")
        if (contact.free is not None) != (contact.type == "own"):
            raise ValueError(f"free directions go with the type 'own' and no other, here it is {contact.type!r}")
        struct = _c.soa_contact_default(
            CONTACT_TYPES.index(contact.type), self.model.find_frame(contact.arm), self.model.find_frame(contact.object)
        )
        struct.place_arm, struct.place_object = frame_struct(contact.place_arm), frame_struct(contact.place_object)
        if contact.one_sided is not None:
            struct.one_sided = bool(contact.one_sided)
        struct.axes_on_arm = bool(contact.axes_on_arm)
        struct.friction, struct.torsion, struct.patch = contact.friction, contact.torsion, contact.patch
        if contact.free is not None:
            rows = (
                np.asarray(contact.free, dtype=np.float64).reshape(-1, 6)
                if np.size(contact.free) == 0
                else np.atleast_2d(np.asarray(contact.free, dtype=np.float64))
            )
            if rows.ndim != 2 or rows.shape[1] != 6 or rows.shape[0] > 6:
                raise ValueError(f"free has shape {rows.shape}, expected up to 6 rows of 6 numbers")
            struct.free_count = rows.shape[0]
            for row, values in zip(struct.free, rows.tolist()):
                row[:] = values
        number = c_int(-1)
        report = new_report()
        with self._guard:
            check(_c.soa_grasp_add(self._pointer, byref(struct), byref(number), byref(report)), report)
        return number.value

    def remove(self, number: int) -> None:
        """Removes a contact; its number may be given again."""
        self._check_number(number)
        with self._guard:
            check(_c.soa_grasp_remove(self._pointer, number), None, f"contact {number}")

    def switch(self, number: int, on: bool) -> None:
        """Switches a contact on or off."""
        self._check_number(number)
        with self._guard:
            check(_c.soa_grasp_switch(self._pointer, number, bool(on)), None, f"contact {number}")

    def _check_number(self, number: int) -> None:
        if number not in self.numbers:
            raise InputError(f"there is no contact {number}; there are {self.numbers}")

    def __getitem__(self, number: int) -> Contact:
        struct = _c.soa_contact_def()
        if _c.soa_grasp_get_contact(self._pointer, number, byref(struct)) != _c.SOA_OK:
            raise IndexError(f"there is no contact {number}; there are {self.numbers}")
        free = np.array([row[:] for row in struct.free[: struct.free_count]]).reshape(-1, 6)
        kind = CONTACT_TYPES[struct.type]
        return Contact(
            kind,
            self.model.frame(struct.arm).name,
            self.model.frame(struct.object).name,
            frame_matrix(struct.place_arm),
            frame_matrix(struct.place_object),
            bool(struct.one_sided),
            struct.friction,
            struct.torsion,
            struct.patch,
            bool(struct.axes_on_arm),
            free if kind == "own" else None,
        )

    @property
    def numbers(self) -> list[int]:
        """Numbers of all contacts, those switched off included."""
        return [i for i in range(self._capacity) if _c.soa_grasp_get_contact(self._pointer, i, None) == _c.SOA_OK]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def contact_count(self) -> int:
        """Contacts that are on."""
        return int(_c.soa_grasp_contact_count(self._pointer, None))

    @property
    def free_count(self) -> int:
        """Free directions of the contacts that are on."""
        free = c_int()
        _c.soa_grasp_contact_count(self._pointer, byref(free))
        return free.value

    def contact_range(self, number: int) -> tuple[int, slice]:
        """Where a contact is among those that are on (-1: off), and its numbers in W."""
        index, first, free = c_int(), c_int(), c_int()
        check(
            _c.soa_grasp_contact_range(self._pointer, number, byref(index), byref(first), byref(free)),
            None,
            f"contact {number}",
        )
        return index.value, slice(first.value, first.value + free.value) if free.value else slice(0, 0)

    def constrain(self, constraints: Constraints, number: int | None = None) -> list[int]:
        """Adds the same contact (None: all) to a `Constraints`, for assembly and projection; returns the new numbers
        there.
        """
        made = []
        for contact in self.numbers if number is None else [number]:
            defs = (_c.soa_constraint_def * 2)()
            count = c_int()
            check(
                _c.soa_grasp_contact_constraints(self._pointer, contact, defs, byref(count)), None, f"contact {contact}"
            )
            made += [constraints._add_struct(defs[i]) for i in range(count.value)]
        return made

    # --- calls ------------------------------------------------------------------------------------------------------

    def _force(self, name: str, force: ArrayLike | None) -> Array | None:
        n = self.contact_count
        if force is None:
            return None
        if np.shape(force) not in ((n, 6), (6 * n,)):
            raise ValueError(f"{name} has shape {np.shape(force)}, expected ({n}, 6): contacts that are on")
        return vector(name, np.ravel(force), 6 * n)

    def motion(self, number: int, q: ArrayLike, v: ArrayLike | None = None) -> ContactMotion:
        """Contact coordinates and rates of a contact, on or off."""
        qv, vv = vector("q", q, self.model.nq), vector("v", v, self.model.nv)
        out = _c.soa_contact_motion()
        with self._guard:
            check(
                _c.soa_grasp_contact_motion(self._pointer, self._work, numbers(qv), numbers(vv), number, byref(out)),
                None,
                f"contact {number}",
            )
        return ContactMotion(
            np.array(out.theta[:]),
            np.array(out.theta_rate[:]),
            np.array(out.shift[:]),
            np.array(out.shift_rate[:]),
            np.array(out.W[: out.free]),
            out.gap,
            out.rate,
        )

    def fd(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        wrenches: Sequence[Wrench] = (),
        method: GraspMethod = "auto",
        rank_tolerance: float | None = None,
        most_condition: float | None = None,
        consistency: float | None = None,
        solver: Solver | None = None,
    ) -> GraspDynamics:
        """Forward dynamics of the arms with the object.

        The contacts must be closed: q and v such that the places of each contact coincide and keep together. This is not
        repaired. The result's `gap` and `rate` are what is left, and beyond 1e-3 (m, rad; m/s, rad/s) a `GraspWarning`
        says so. `constrain` with `Constraints.assemble` and `project` closes them.

        method: "general", four steps over any open-chain `solver` (None: `Model.aba`), RK88-II (4.9); "rccfd1" (6.11),
        "rccfd2" (6.18), "rccfd3" (6.22), "loose" (b.9): O(n) and O(contacts^3); "woodbury": forces in O(contacts).
        Limits: rank_tolerance (1e-12), most_condition (1e11), consistency (1e-7) as in include/soa/grasp.h.
        """
        if method not in METHODS:
            raise ValueError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
        if solver is not None and method != "general":
            raise ValueError(f"a solver goes with the method 'general', here it is {method!r}")
        state = State(self.model, q, v, None, tau, wrenches)
        options = _c.soa_grasp_options_default()
        options.method = METHODS.index(method)
        for name, given in (
            ("rank_tolerance", rank_tolerance),
            ("most_condition", most_condition),
            ("consistency", consistency),
        ):
            if given is not None:
                setattr(options, name, float(given))
        callback = None
        if solver is not None:
            callback = _c.soa_forward_fn(_Solver(solver, self.model, self._guard))
            options.solver = callback
        report = _c.soa_grasp_report()
        with self._guard:
            qdd, force, W_rate = np.zeros(self.model.nv), np.zeros((self.contact_count, 6)), np.zeros(self.free_count)
            status = _c.soa_grasp_fd(
                self._pointer,
                self._work,
                byref(options),
                state.pointer,
                numbers(qdd),
                numbers(force),
                numbers(W_rate),
                byref(report),
            )
            said = f"fd by {method}"
            if status == _c.SOA_E_MIMIC:
                said += f" (not by 'general' and 'loose'): {no_mimic(self.model)}"
            self._guard.check(status, None, said)
        gap, rate = self._openness(needed(state.q), state.v)
        return GraspDynamics(
            qdd,
            force,
            W_rate,
            METHODS[report.method],
            report.rows,
            report.rank,
            bool(report.least_norm),
            report.condition,
            report.residual,
            gap,
            rate,
        )

    def _openness(self, q: Array, v: Array | None) -> tuple[float, float]:
        """The largest gap and rate of the contacts that are on, with a warning where they are not closed."""
        found = [(0.0, 0.0, -1)]
        for number in self.numbers:
            if self.contact_range(number)[0] >= 0:
                motion = self.motion(number, q, v)
                found.append((motion.gap, motion.rate, number))
        gap, _, open_one = max(found, key=lambda one: one[0])
        _, rate, moving = max(found, key=lambda one: one[1])
        close = "grasp.constrain(c := soa.Constraints(grasp.model))"
        if gap > _MOST_OPEN:
            warnings.warn(
                f"Grasp.fd: contact {self._between(open_one)} is open by {gap:.3g} (m or rad), expected at most "
                f"{_MOST_OPEN:g}: the accelerations are those of arms and object rigidly joined across the gap. Put the "
                f"object in place: {close}; q = c.assemble(q, held=[...])",
                GraspWarning,
                stacklevel=3,
            )
        if rate > _MOST_OPEN:
            warnings.warn(
                f"Grasp.fd: contact {self._between(moving)} comes apart at {rate:.3g} (m/s or rad/s), expected at most "
                f"{_MOST_OPEN:g}: v moves against the contacts. Project it: {close}; state = c.project(q, v); or see "
                "Grasp.impulse",
                GraspWarning,
                stacklevel=3,
            )
        return gap, rate

    def _between(self, number: int) -> str:
        contact = self[number]
        return f"{number} ('{contact.arm}' with '{contact.object}')"

    def _object_frame(self, frame: str | int) -> int:
        """The number of a frame that must be on the object of the contacts that are on."""
        number = self.model.find_frame(frame)
        body = self.model.frame(number).body
        objects = {self.model.frame(self[i].object).body for i in self.numbers if self.contact_range(i)[0] >= 0}
        if objects and objects != {body}:
            names = " and ".join(f"'{self.model.body(i).link}'" if i else "the world" for i in sorted(objects))
            raise InputError(
                f"frame {frame!r} is on "
                + (f"'{self.model.body(body).link}'" if body else "the world")
                + f", expected a frame of the object that all contacts hold, which is {names}"
            )
        return number

    def compliance(self, q: ArrayLike) -> Compliance:
        """How the contact points accelerate under contact forces, RK88-II (3.1)."""
        qv = vector("q", q, self.model.nq)
        full, reduced = _c.soa_grasp_rank(), _c.soa_grasp_rank()
        with self._guard:
            n = 6 * self.contact_count
            Omega = np.zeros((n, n))
            check(
                _c.soa_grasp_compliance(
                    self._pointer, self._work, numbers(qv), numbers(Omega), byref(full), byref(reduced)
                ),
                None,
                "compliance",
            )
        return Compliance(Omega, full.rank, full.condition, reduced.rows, reduced.rank, reduced.condition)

    def object_state(
        self,
        frame: str | int,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        force: ArrayLike | None = None,
    ) -> ObjectState:
        """What the arms' ends say of the object at a frame of it, from q, v, accelerations and contact forces; world
        axes.
        """
        state, out = State(self.model, q, v, a), _c.soa_grasp_object()
        with self._guard:
            f, alpha0 = self._force("force", force), np.zeros((self.contact_count, 6))
            check(
                _c.soa_grasp_object_state(
                    self._pointer,
                    self._work,
                    state.pointer,
                    numbers(f),
                    self._object_frame(frame),
                    byref(out),
                    numbers(alpha0),
                ),
                None,
                "object_state",
            )
        return ObjectState(np.array(out.V[:]), np.array(out.alpha[:]), np.array(out.f[:]), alpha0)

    def impulse(self, q: ArrayLike, v: ArrayLike | None) -> GraspImpulse:
        """Velocities just after the contacts that are on have closed."""
        qv, vv, after = vector("q", q, self.model.nq), vector("v", v, self.model.nv), np.zeros(self.model.nv)
        with self._guard:
            impulse = np.zeros((self.contact_count, 6))
            check(
                _c.soa_grasp_impulse(
                    self._pointer, self._work, numbers(qv), numbers(vv), numbers(after), numbers(impulse)
                ),
                None,
                "impulse",
            )
        return GraspImpulse(after, impulse)

    # --- loads ------------------------------------------------------------------------------------------------------

    def map(self, q: ArrayLike, frame: str | int) -> Array:
        """A*, (6, 6 contacts): the wrench on the object at the origin of a frame of it is A* times the contact forces.
        """
        qv = vector("q", q, self.model.nq)
        with self._guard:
            result = np.zeros((6, 6 * self.contact_count))
            check(
                _c.soa_grasp_map(self._pointer, self._work, numbers(qv), self._object_frame(frame), numbers(result)),
                None,
                "map",
            )
        return result

    def internal_basis(self, q: ArrayLike, frame: str | int) -> InternalForces:
        """Contact forces that the contacts bear and that leave the object alone.

        frame: of the object. The basis is orthonormal in the plain sense, which adds squares of N and of N m, so that it
        depends on the unit of length.
        """
        qv = vector("q", q, self.model.nq)
        count, rank = c_int(), c_int()
        with self._guard:
            n = self.contact_count
            basis = np.zeros((6 * n, n, 6))
            check(
                _c.soa_grasp_internal_basis(
                    self._pointer,
                    self._work,
                    numbers(qv),
                    self._object_frame(frame),
                    numbers(basis),
                    byref(count),
                    byref(rank),
                ),
                None,
                "internal_basis",
            )
        return InternalForces(basis[: count.value].copy(), rank.value)

    def distribute(self, q: ArrayLike, frame: str | int, wrench: ArrayLike, squeeze: ArrayLike | None = None) -> Array:
        """Contact forces of least norm that give the object this wrench, plus the internal part of `squeeze`.

        frame: of the object. wrench (6,): [n; f] at the frame's origin, world axes, N m and N. Returns (contacts, 6).
        The norm is the root of the sum of squares of all numbers, N and N m alike, as if a lever arm of 1 m joined them:
        in millimetres the forces would be shared otherwise. For another share add a `squeeze`.
        """
        qv, wv = vector("q", q, self.model.nq), vector("wrench", wrench, 6)
        with self._guard:
            s, force = self._force("squeeze", squeeze), np.zeros((self.contact_count, 6))
            check(
                _c.soa_grasp_distribute(
                    self._pointer,
                    self._work,
                    numbers(qv),
                    self._object_frame(frame),
                    numbers(wv),
                    numbers(s),
                    numbers(force),
                ),
                None,
                "distribute",
            )
        return force

    def internal_force(self, q: ArrayLike, frame: str | int, force: ArrayLike) -> Array:
        """The part of contact forces that squeezes the object and does not move it, (contacts, 6), N m and N.

        frame: of the object. The part is the orthogonal projection in the plain sense, which adds squares of N and of
        N m, so that it depends on the unit of length; of contacts that bear forces alone ("point") it does not.
        """
        qv = vector("q", q, self.model.nq)
        with self._guard:
            f, squeeze = needed(self._force("force", force)), np.zeros((self.contact_count, 6))
            check(
                _c.soa_grasp_internal_force(
                    self._pointer, self._work, numbers(qv), self._object_frame(frame), numbers(f), numbers(squeeze)
                ),
                None,
                "internal_force",
            )
        return squeeze

    def check(self, q: ArrayLike, force: ArrayLike) -> list[ContactCheck]:
        """Friction limits of the contacts that are on, RK88-II appendix A, for contact forces."""
        qv = vector("q", q, self.model.nq)
        with self._guard:
            f, n = needed(self._force("force", force)), self.contact_count
            checks = (_c.soa_contact_check * max(1, n))()
            check(
                _c.soa_grasp_check_contacts(self._pointer, self._work, numbers(qv), numbers(f), checks, None),
                None,
                "check",
            )
        return [
            ContactCheck(EVENTS[one.event], one.normal, one.tangential, one.torsion, one.tilt, one.margin)
            for one in checks[:n]
        ]

    def __repr__(self) -> str:
        return f"<soa.Grasp of '{self.model.name}': {self.contact_count} of {len(self)} contacts on>"


class _Solver:
    """A Python forward dynamics as C calls it; an exception stops the C call and is raised after it."""

    def __init__(self, solver: Solver, model: Model, guard: Guard) -> None:
        self._solver = solver
        self._model = model
        self._guard = guard

    def __call__(self, _user: object, _pointer: Any, _work: Any, given: Any, qdd: Any) -> int:
        try:
            model, state = self._model, given.contents
            q = from_pointer(state.q, model.nq) if state.q else model.neutral()
            v, tau = from_pointer(state.v, model.nv), from_pointer(state.tau, model.nv)
            wrenches = [_wrench(state.wrenches[i]) for i in range(state.wrench_count)]
            found = needed(vector("the solver's qdd", self._solver(q, v, tau, wrenches), model.nv))
            for i, number in enumerate(found.tolist()):
                qdd[i] = number
        except BaseException as problem:  # carried out of C
            self._guard.failed = self._guard.failed or problem
            return int(_c.SOA_E_ARGUMENT)
        return int(_c.SOA_OK)


def _wrench(struct: Any) -> Wrench:
    return Wrench(struct.frame, np.array(struct.value[:]), "world" if struct.axes == _c.SOA_AXES_WORLD else "body")


def _release(grasp: Any, work: Any, *_kept: object) -> None:
    release((_c.soa_grasp_free, grasp), (_c.soa_work_free, work))


__all__ = [
    "Compliance",
    "Contact",
    "ContactCheck",
    "ContactMotion",
    "Grasp",
    "GraspDynamics",
    "GraspImpulse",
    "GraspWarning",
    "InternalForces",
    "ObjectState",
]

"""Worlds: scenarios that move, tick by tick."""

from __future__ import annotations

import math
import operator
import os
import re
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p, cast, create_string_buffer, memmove, sizeof
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from . import _c
from ._call import Array, check, new_report, numbers, text, vector
from ._callbacks import Carrier, copied, write_torque
from ._errors import InputError, SoaError, status_name
from ._summary import number, summary_dict
from ._tables import (
    Gap,
    Move,
    PartInfo,
    ShapePair,
    WorldWarning,
    world_assembly,
    world_gaps,
    world_loops,
    world_pairs,
    world_parts,
    world_warnings,
)
from .collision import Shape
from .frames import frame_matrix
from .model import Model
from .records import Event

if TYPE_CHECKING:
    from .constraints import Constraints
    from .scenarios import Scenario

Controller = Callable[[float, Array, Array], ArrayLike]
_SAME_TICK = 1e-6  # part of a tick by which times of the same tick may differ; soai_last_tick has the same
_CALLBACK_FAILED = _c.SOA_E_ARGUMENT  # any status ends the call; the exception says what happened


@dataclass(frozen=True)
class Touch:
    """A point where two shapes touch; from `World.contacts`. World axes; the normal points from b to a.

    shape_a, shape_b: names. point (3,): m. normal (3,): unit. sliding: whether they slide; else
    they stick.

    `distance` in m, `pressure` (along the normal) in N, `tangential`: friction on a, N. `force`: the whole force on a, N;
    that on b is the opposite.
    """

    shape_a: str
    shape_b: str
    point: Array
    normal: Array
    distance: float
    pressure: float
    tangential: Array
    sliding: bool

    @property
    def force(self) -> Array:
        """The force on a at the point, N, world axes."""
        total: Array = self.pressure * self.normal + self.tangential
        return total


@dataclass(frozen=True)
class Energy:
    """Energies (J) and works since the start (J); from `World.energy`. Signs are those of `World.summary`.

    `kinetic`, `potential` (gravity and springs) and `stored` (springs of contacts) are there now. `supplied` (by motors),
    `contact` and `disturbance` (disturbances, pulls and holds) are works done on the machine; `viscous`, `coulomb`
    (friction of joints) and `stops` are losses, positive where energy goes. So

        kinetic + potential = at the start + supplied + contact + disturbance - viscous - coulomb - stops

    `error_rel` is the largest error of this balance so far over the largest energy or work in play. `contact` includes
    what contacts store: their loss is `-contact - stored`.
    """

    kinetic: float
    potential: float
    stored: float
    supplied: float
    viscous: float
    coulomb: float
    stops: float
    contact: float
    disturbance: float
    error_rel: float


@dataclass(frozen=True)
class Pull:
    """A force on a body, and a damped spring from a point of it to a point in the world, for `World.set_pulls`.

    `body`: number of the body (`Body.number`) or name of a frame on it. `at`: the point in the body's axes, m. `force`:
    N, world axes. `to`: the spring's other end, m, world axes. `stiffness`, N/m, and `damping`, N s/m, of the spring;
    `most`: bound of its force, N, 0: none.
    """

    body: int | str
    at: ArrayLike = (0.0, 0.0, 0.0)
    force: ArrayLike = (0.0, 0.0, 0.0)
    to: ArrayLike = (0.0, 0.0, 0.0)
    stiffness: float = 0.0
    damping: float = 0.0
    most: float = 0.0


@dataclass(frozen=True)
class Hold:
    """A damped spring at one coordinate of a joint, to position `to` (rad or m), for `World.set_pulls`.

    `v`: number of the velocity coordinate, or name of a joint with one. `stiffness`, `damping`: N m/rad and N m s/rad, or
    N/m and N s/m; `most`: bound, N m or N, 0: none.
    """

    v: int | str
    to: float
    stiffness: float
    damping: float = 0.0
    most: float = 0.0


@dataclass(frozen=True)
class WorldShape:
    """A shape in a world, on a body (0: the world) at a pose in the body's frame; `shape` is for `soa.collision`.

    name: of the shape. group: of shapes, or the shape's own name.

    With `B = world.model.pose(q, link)` of the body's link (the identity for body 0) it is at `B @ pose` in the world.
    """

    name: str
    group: str
    body: int
    pose: Array
    shape: Shape


class ScenarioWarning(UserWarning):
    """A warning of a run; all of them are in `record.summary["warnings"]`, and in docs/worlds.md."""


def warning_text(code: str, name: str, value: float | None, remedy: str) -> str:
    """A warning of the C library in a line: the value, if there is one, with three digits and its unit."""
    if value is None:
        return f"{code}: {name}: {remedy}"
    shown = f"{value:.3g}"
    unit = _UNITS.get(code)
    if unit is None:  # it depends on the joint or frame; some remedies say it
        found = re.search(rf"(?<![\d.]){re.escape(shown)}\d* (N m|N|rad or m|rad|m)\b", remedy)
        unit = found[1] if found else _EITHER.get(code, "")
    return f"{code}: {name}: {shown} {unit}".rstrip() + f"; {remedy}"


_UNITS = {"overlap-left-out": "m", "falls-forever": "m", "fixed-step-unstable": "rad", "disturbance-late": "s", "step-cut": "s",
          "rate-unused": "Hz", "recording-rate": "Hz", "saturated": "of the time", "energy-balance": "of the largest energy",
          "mesh-missing": "shapes", "sampled-gain": "", "sampled-spring": "", "singular": ""}
_EITHER = {"chatter": "N m or N", "effort-unused": "N m or N", "out-of-reach": "rad or m", "goal-follows": "rad or m",
           "limits-exclude": "rad or m", "start-outside-limits": "rad or m"}


def _check_gains(what: str, given: Pull | Hold) -> None:
    for name in ("stiffness", "damping", "most"):
        value = getattr(given, name)
        if not 0 <= value < math.inf:
            raise InputError(f"{name} of {what} is {value}, expected a finite number, 0 or more")


def _fixed(pointer: Any, count: int) -> Array:
    """A copy that refuses to be written to: a change of it would not be one of the world."""
    result = copied(pointer, count)
    result.flags.writeable = False
    return result


def _free_world(pointer: Any, *keep: object) -> None:
    """Frees a world; what it needs lives until then because it is an argument."""
    _c.soa_world_free(pointer)


class WorldMemory:
    """Frees a C world when neither its `World` nor what shares its memory (models, shapes) is needed any more.

    It is not the World itself, which knows its controller: a `soa.Control` of the world's model, kept by that controller,
    would keep all of them for ever.
    """

    def __init__(self, pointer: Any, scenario: Scenario) -> None:
        weakref.finalize(self, _free_world, pointer, scenario)


def start_world(scenario: Any, *keep: object) -> Any:
    """A pointer to a new world."""
    pointer = POINTER(_c.soa_world)()
    report = new_report()
    check(_c.soa_world_create(byref(scenario), byref(pointer), byref(report)), report)
    return pointer


class World:
    """A scenario that moves: all parts as one model, contacts, sensors, supervisor and control laws.

    Units are SI; q and v are those of `World.model`.

    >>> import soa.scenarios
    >>> world = soa.scenarios.World("slope")
    >>> world.run_until(0.05)
    >>> round(world.t, 6)
    0.05

    Time goes in ticks, the periods of the controller (without one, of the record); torques are held within a tick.

    controller: a Python function `(t, q, v) -> tau`, asked at the start of every tick: q and v as the sensors give
    them, tau `(nv,)`, N m and N. Torques of joints without motors are ignored, the others bounded by `max_effort` if the
    scenario says so. The scenario's `control: {rate: ...}` is the rate. If it has phases, the function is asked only in
    those with an action `{law: external, part: PART}`, and only the torques of these actions' joints are taken. A
    callable object with a method `start(world)` gets the world once, before the first tick, and can then read its phase
    and signals. What the function remembers is not part of the world's state.

    A world belongs to one thread at a time.
    """

    def __init__(self, scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
                 controller: Controller | None = None) -> None:
        from .scenarios import Scenario

        if controller is not None and not callable(controller):
            raise TypeError(f"controller is a {type(controller).__name__}, expected a function (t, q, v) -> tau")
        if isinstance(controller, type):
            raise TypeError(f"controller is the class {controller.__name__}, expected one of its objects, callable with "
                            "(t, q, v), or a function")
        if isinstance(scenario, Mapping):
            scenario = Scenario.from_dict(scenario)
        given = scenario if isinstance(scenario, Scenario) else Scenario.open(scenario)
        self._scenario = given if controller is None else given._externally_controlled()
        self._carrier = Carrier()
        self._controller: Any = None
        self._warned = 0
        try:
            self._pointer = start_world(self._scenario._struct)
        except SoaError as fault:
            if fault.status in ("SOA_E_FILE", "SOA_E_NAME") and " file" in fault.args[0]:
                folder = self._scenario._folder or os.path.dirname(os.path.abspath(self._scenario.file))
                fault.args = (f"{fault.args[0]} (relative names of files start from {folder})",)
            raise
        self._memory = WorldMemory(self._pointer, self._scenario)
        if controller is not None:
            self._set_controller(controller)

    def _set_controller(self, controller: Controller) -> None:
        model = _c.soa_world_model(self._pointer)
        nq, nv = int(_c.soa_model_nq(model)), int(_c.soa_model_nv(model))
        carrier = self._carrier  # not self: the world would wait for the garbage collector

        def ask(_user: object, _world: object, t: float, q: Any, v: Any, tau: Any) -> int:
            def call() -> int:
                carrier.in_tick = True
                try:
                    given = controller(t, copied(q, nq), copied(v, nv))
                finally:
                    carrier.in_tick = False
                write_torque("the controller", given, tau, nv)
                return int(_c.SOA_OK)

            return int(carrier.run(call, _CALLBACK_FAILED))

        self._controller = _c.soa_world_torque_fn(ask)
        check(_c.soa_world_set_torque(self._pointer, self._controller, None), None, "the controller")
        start = getattr(controller, "start", None)
        if callable(start):
            start(self)

    def _refuse_in_tick(self, what: str) -> None:
        if self._carrier.in_tick:
            raise InputError(f"{what} was called by the controller, within a tick: the controller may read the world, and "
                             "returns torques; a progress function may change it between ticks")

    # --- motion -------------------------------------------------------------------------------------------------------

    def step(self, ticks: int = 1) -> None:
        """Goes on by one tick, or several. A tick that fails leaves the world within it: only `restore` helps then.

        >>> import soa.scenarios
        >>> world = soa.scenarios.World("slope")
        >>> world.step(3)
        >>> round(world.t / world.tick_length)
        3
        """
        self._refuse_in_tick("step")
        count = operator.index(ticks)
        if count < 0:
            raise InputError(f"ticks is {count}, expected 0 or more: time does not go back; World.restore goes back to a "
                             "state of World.save")
        for _ in range(count):
            report = new_report()
            with self._carrier:
                status = _c.soa_world_tick(self._pointer, byref(report))
            check(status, report, f"t = {self.t:g} s")
        self._say_warnings()

    def run_until(self, t: float, progress: Callable[[World], object] | None = None) -> None:
        """Goes on until time t, s. progress: called after every tick; an answer that is true stops there.

        Ticks are not divided: it stops at the last tick that is not later than t, so that `World.t` is up to one
        `tick_length` less than t where t lies between ticks. (A tick that is later by a millionth of a tick counts as
        not later: 0.3 is 3 ticks of 0.1.) A t before the present tick is refused.

        >>> import soa.scenarios
        >>> world = soa.scenarios.World("slope")
        >>> world.run_until(2.5 * world.tick_length)
        >>> round(world.t / world.tick_length, 9)
        2.0
        """
        self._refuse_in_tick("run_until")
        if not math.isfinite(t):
            raise ValueError(f"t is {t}, expected a time in s")
        if t < self.t - _SAME_TICK * self.tick_length:
            raise InputError(f"t is {t:.12g} s, but the world is at {self.t:.12g} s already: time does not go back; "
                             "World.restore goes back to a state of World.save")
        if t > self.t:
            self._run(None, t, progress)
        self._say_warnings()

    def _say_warnings(self) -> None:
        """Gives those warnings of the C library as Python warnings that were not given yet."""
        count = c_int()
        found = _c.soa_world_warnings(self._pointer, byref(count))
        while self._warned < count.value:
            one = found[self._warned]
            self._warned += 1
            warnings.warn(warning_text(text(one.code), text(one.name), number(one.value), text(one.remedy)), ScenarioWarning,
                          stacklevel=3)

    def _run(self, journal: Any, until: float, progress: Callable[[World], object] | None) -> bool:
        """True: `progress` stopped it."""
        stopped = False

        def ask(_user: object, _world: object) -> int:
            def call() -> int:
                nonlocal stopped
                stopped = progress is not None and bool(progress(self))
                return int(stopped)

            return int(self._carrier.run(call, 1))

        function = _c.soa_run_progress_fn(ask)  # always there, so that Ctrl-C is seen
        options = _c.soa_run_options(until=until, progress=function)
        report = new_report()
        with self._carrier:
            status = _c.soa_world_run(self._pointer, journal, byref(options), byref(report))
        check(status, report)
        return stopped

    def save(self) -> bytes:
        """The state, all that changes. `restore` continues from it to the same bits.

        Not in it: the pulls and holds of `set_pulls`, and what a Python controller remembers. Set them again after
        `restore`, which leaves those in place that are set now.
        """
        size = _c.soa_world_state_size(self._pointer)
        memory = create_string_buffer(size)
        _c.soa_world_save_state(self._pointer, memory)
        return memory.raw

    def restore(self, state: bytes) -> None:
        """Goes back to a state of `save`, of a world of the same kind: the same text of the scenario (also duration and
        rates), seed, models and version, and both or neither with a controller in Python.

        Pulls and holds stay as they are now: `set_pulls` those of then, or none.
        """
        self._refuse_in_tick("restore")
        if not isinstance(state, bytes):
            raise TypeError(f"state is a {type(state).__name__}, expected the bytes of World.save")
        status = _c.soa_world_restore_state(self._pointer, cast(c_char_p(state), c_void_p), len(state))
        if status in (_c.SOA_E_FORMAT, _c.SOA_E_CHECKSUM):  # of bytes, not of a file
            why = ("it is damaged" if status == _c.SOA_E_CHECKSUM else "both worlds must have the same scenario (its whole "
                   "text: duration and rates too), seed and case, models, version of this package, and both or neither a "
                   "controller in Python")
            raise InputError(f"restore: the state ({len(state)} bytes) does not fit this world, whose states have "
                             f"{_c.soa_world_state_size(self._pointer)}: {why}; nothing was changed", status_name(status))
        check(status, None, "restore")
        count = c_int()
        _c.soa_world_warnings(self._pointer, byref(count))
        self._warned = min(self._warned, count.value)

    def set_state(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Puts the world at (q, v), at its present time; None: at rest. Loops are closed from there."""
        self._refuse_in_tick("set_state")
        qv, vv = vector("q", q, self.nq), vector("v", v, self.nv)
        report = new_report()
        status = _c.soa_world_set_state(self._pointer, numbers(qv), numbers(vv), byref(report))
        hint = "; World.model.normalise(q) makes it so" if status == _c.SOA_E_QUATERNION else ""
        if hint:
            raise InputError(f"set_state: {text(report.text) or text(_c.soa_status_text(status))}{hint}", "SOA_E_QUATERNION")
        check(status, report, "set_state")

    def set_pulls(self, pulls: Sequence[Pull] = (), holds: Sequence[Hold] = ()) -> None:
        """Forces and springs that act in all coming ticks; they replace those there were. At most 16 of each.

        None given: lets go. They are not part of the state that `save` returns. Their work is the energy balance's
        `disturbance`.
        """
        for what, given in (("pulls", pulls), ("holds", holds)):
            if isinstance(given, Pull | Hold):
                raise TypeError(f"{what} is a single {type(given).__name__}, expected a sequence: [{what[:-1]}]")
        for what, count in (("pulls", len(pulls)), ("holds", len(holds))):
            if count > _c.SOA_WORLD_PULLS:
                raise InputError(f"set_pulls: there are {count} {what}, expected {_c.SOA_WORLD_PULLS} at most")
        array = (_c.soa_world_pull * max(1, len(pulls)))()
        for index, (slot, pull) in enumerate(zip(array, pulls)):
            _check_gains(f"pull {index}", pull)
            slot.body = self._pulled_body(index, pull.body)
            slot.stiffness, slot.damping, slot.most = pull.stiffness, pull.damping, pull.most
            for name, place in (("at", pull.at), ("force", pull.force), ("to", pull.to)):
                value = vector(f"{name} of pull {index}", place, 3)
                assert value is not None
                if not np.isfinite(value).all():
                    raise InputError(f"{name} of pull {index} is {value}, expected finite numbers")
                getattr(slot, name)[:] = value.tolist()
        springs = (_c.soa_world_hold * max(1, len(holds)))()
        for index, (slot, hold) in enumerate(zip(springs, holds)):
            _check_gains(f"hold {index}", hold)
            if not math.isfinite(hold.to):
                raise InputError(f"to of hold {index} is {hold.to}, expected a finite number")
            slot.v = self._held_coordinate(index, hold.v)
            slot.to, slot.stiffness, slot.damping, slot.most = hold.to, hold.stiffness, hold.damping, hold.most
        check(_c.soa_world_set_pulls(self._pointer, array, len(pulls), springs, len(holds)), None, "set_pulls")

    def _pulled_body(self, index: int, body: int | str) -> int:
        model = self.model
        number = model.frame(body).body if isinstance(body, str) else operator.index(body)
        if not 1 <= number <= model.body_count:
            shown = f"frame '{body}', which is fixed to the world" if isinstance(body, str) else str(body)
            raise InputError(f"body of pull {index} is {shown}, expected a moving body, 1 to {model.body_count}, or the name "
                             "of a frame on one (World.model.bodies, World.model.frame_names)")
        return number

    def _held_coordinate(self, index: int, v: int | str) -> int:
        model = self.model
        if isinstance(v, str):
            joint = model.joint(v)
        else:
            number = operator.index(v)
            if not 0 <= number < model.nv:
                raise InputError(f"v of hold {index} is {number}, expected a velocity coordinate, 0 to {model.nv - 1}, or the "
                                 "name of a joint (World.model.joint_names)")
            joint = next(body for body in model.bodies if body.v.start <= number < body.v.stop)
        count = joint.v.stop - joint.v.start
        if joint.q.stop - joint.q.start != count or (isinstance(v, str) and count != 1):
            raise InputError(f"v of hold {index} is {v!r}, at the {joint.type} joint '{joint.joint}': expected a coordinate "
                             "whose position is one number, not part of a free or spherical joint; of joints with several "
                             "give the number")
        return joint.v.start if isinstance(v, str) else operator.index(v)

    # --- what is there now --------------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario of this world."""
        return self._scenario

    @property
    def model(self) -> Model:
        """All parts as one model: frames are named "part.frame". Each call makes an object: keep it."""
        address = cast(_c.soa_world_model(self._pointer), c_void_p).value
        assert address is not None
        model = Model(address, False)
        model.spec, model._loops, model._keep, model._made = "", world_loops(self._pointer), self._memory, None
        return model

    @property
    def constraints(self) -> Constraints:
        """The loops and other constraints of all parts, then those of the scenario, over `model` (`constraints.model`).

        A copy for computing: it does not change the world. Each call makes one: keep it. Angles of cut joints are those
        nearest to zero (`Constraints.set_turns`).

        >>> import soa
        >>> [c.name for c in soa.World(soa.Scenario.from_dict({"parts": [
        ...     {"name": "bar", "model": "four-bar", "limits": False}]})).constraints]
        ['bar.C']
        """
        return self.model.constraints

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(_c.soa_model_nq(_c.soa_world_model(self._pointer)))

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return int(_c.soa_model_nv(_c.soa_world_model(self._pointer)))

    @property
    def t(self) -> float:
        """Time, s."""
        return float(_c.soa_world_time(self._pointer))

    @property
    def tick_length(self) -> float:
        """Length of a tick, s."""
        return float(_c.soa_world_tick_length(self._pointer))

    @property
    def q(self) -> Array:
        """Positions, shape (nq,): a copy that cannot be written to. `set_state` puts the world elsewhere."""
        return _fixed(_c.soa_world_q(self._pointer), self.nq)

    @property
    def v(self) -> Array:
        """Velocities, shape (nv,): a copy that cannot be written to. `set_state` gives it others."""
        return _fixed(_c.soa_world_v(self._pointer), self.nv)

    @property
    def tau(self) -> Array:
        """What the motors did in the last tick, the one that ended at `t`, N m and N, shape (nv,); before the first: 0.

        A copy that cannot be written to: torques come from the controller, forces from `set_pulls`.
        """
        return _fixed(_c.soa_world_tau(self._pointer), self.nv)

    @property
    def phase(self) -> str:
        """The supervisor's phase; "" without one."""
        return text(_c.soa_world_phase(self._pointer))

    @property
    def contacts(self) -> list[Touch]:
        """Points where shapes touch now."""
        count = int(_c.soa_world_contacts(self._pointer, None, 0))
        array = (_c.soa_world_contact * max(1, count))()
        count = min(count, int(_c.soa_world_contacts(self._pointer, array, count)))
        return [Touch(text(c.shape_a), text(c.shape_b), np.array(c.point[:]), np.array(c.normal[:]), c.distance,
                      c.pressure, np.array(c.tangential[:]), bool(c.sliding)) for c in array[:count]]

    @property
    def events(self) -> list[Event]:
        """What happened in the last tick."""
        count = c_int()
        events = _c.soa_world_events(self._pointer, byref(count))
        return [Event(events[i].t, text(events[i].kind), text(events[i].text)) for i in range(count.value)]

    @property
    def shapes(self) -> list[WorldShape]:
        """The shapes that can touch something."""
        found = []
        shape = _c.soa_world_shape()
        for index in range(int(_c.soa_world_shape_count(self._pointer))):
            check(_c.soa_world_get_shape(self._pointer, index, byref(shape)))
            copy = _c.soa_shape()
            memmove(byref(copy), shape.shape, sizeof(copy))
            found.append(WorldShape(text(shape.name), text(shape.group), shape.body, frame_matrix(shape.place),
                                    Shape(copy, self._memory)))  # vertices of hulls are the world's
        return found

    @property
    def pairs(self) -> list[ShapePair]:
        """Pairs of shapes that may touch.

        >>> import soa
        >>> pair = soa.World("slope").pairs[0]
        >>> bool(pair.margin > 0), pair.a != pair.b
        (True, True)
        """
        return world_pairs(self._pointer)

    @property
    def parts(self) -> list[PartInfo]:
        """Limits, stops and shapes of each part, in the order of the scenario.

        >>> import soa
        >>> world = soa.World("slope")
        >>> [part.name for part in world.parts] == world.scenario.parts
        True
        """
        return world_parts(self._pointer)

    @property
    def gaps(self) -> list[Gap]:
        """Collision shapes that cannot be used, and why."""
        return world_gaps(self._pointer)

    @property
    def assembly(self) -> list[Move]:
        """Coordinates that moved when the loops were closed at the start."""
        return world_assembly(self._pointer)

    @property
    def warnings(self) -> list[WorldWarning]:
        """Remarks of the run up to now, one for each code and name."""
        return world_warnings(self._pointer)

    @property
    def units(self) -> dict[str, str]:
        """Names of all signals that are measured, with their units."""
        found = {}
        unit = c_char_p()
        for index in range(int(_c.soa_world_signal_count(self._pointer))):
            name = text(_c.soa_world_signal_name(self._pointer, index, byref(unit)))
            found[name] = text(unit.value)
        return found

    @property
    def signals(self) -> dict[str, float]:
        """All signals as they are now, as a record would have them. NaN: not measured yet, or nothing there."""
        names = list(self.units)
        values = np.zeros(len(names))
        check(_c.soa_world_signal_values(self._pointer, numbers(values)))
        return dict(zip(names, values.tolist()))

    def _summarise(self) -> Any:
        summary = _c.soa_world_summary()
        check(_c.soa_world_summarise(self._pointer, byref(summary)))
        return summary

    @property
    def energy(self) -> Energy:
        """Energies, and works since the start; signs as in `summary`."""
        s = self._summarise()
        return Energy(s.kinetic, s.potential, s.stored, s.supplied, s.viscous, 0 - s.rubbed, 0 - s.stopped, s.contact,
                      s.disturbed, s.energy_error_rel)

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the run up to now, as `Record.summary`."""
        return self._summary(None)

    def _summary(self, fault: str | None) -> dict[str, Any]:
        struct = self._scenario._struct
        return summary_dict(self._summarise(), text(struct.name), int(struct.seed), fault, self._scenario.drawn)

    def diagram(self) -> str:
        """The supervisor's phases as Graphviz text."""
        length = c_size_t()
        check(_c.soa_world_diagram(self._pointer, None, 0, byref(length)), None, "the scenario has no phases to draw")
        memory = create_string_buffer(length.value + 1)
        check(_c.soa_world_diagram(self._pointer, memory, length.value + 1, None))
        return text(memory.value)

    def view(self) -> object:
        """Shows the world as it is now: in a Jupyter notebook in the page, elsewhere in the web browser."""
        from ._view import show, snapshot

        return show(snapshot(self))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a World cannot be pickled: make it there from its scenario, and send the bytes of World.save to "
                        "World.restore")

    def __repr__(self) -> str:
        return f"<soa.World '{self._scenario.name}': t {self.t:g} s, nq {self.nq}, nv {self.nv}>"


__all__ = ["Controller", "Energy", "Gap", "Hold", "Move", "PartInfo", "Pull", "ScenarioWarning", "ShapePair", "Touch",
           "World", "WorldMemory", "WorldShape", "WorldWarning", "start_world", "warning_text"]

"""Motion of one machine under torques of a Python function: free, with loops, or held in grasps.

Scenarios (`soa.Scenario`) are for machines with contacts, sensors and controllers.
"""

from __future__ import annotations

import contextlib
import csv
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from ctypes import POINTER, byref, c_void_p, cast
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from . import _c
from ._call import Array, check, new_report, numbers, text, vector
from ._callbacks import Carrier, copied, write_torque
from ._errors import LimitWarning, loop_words
from .model import Model
from .records import draw, matches, optional

Torque = Callable[[float, Array, Array], ArrayLike]
Stop = Callable[[float, Array, Array], object]
Answer = Literal["stop", "release", "ignore"]
_ANSWERS = {"stop": _c.SOA_GRASP_STOP, "release": _c.SOA_GRASP_RELEASE, "ignore": _c.SOA_GRASP_IGNORE}
_CONTACT_EVENTS = ("holds", "breaks", "slips", "tips")
_LIMIT_ROUNDING = 1e-9  # rad or m by which a limit may be passed without a warning
METHODS = ("auto", "kkt", "forces", "null_space")


@dataclass(frozen=True, repr=False)
class Motion:
    """A motion: N samples. Energies in J; works since the start.

    t: s. kinetic, potential: J, (N,) each. dissipated: by friction; supplied: by torques.

    `t` (N,), `q` (N, nq), `v` (N, nv). `balance` is kinetic + potential + dissipated - supplied, less its first value:
    zero but for the error of the integration. `result`: the C library's figures of the whole run (steps, wall_time,
    ...). `signals`: names and units of the columns of q, then of v, as records have them.
    """

    t: Array
    q: Array
    v: Array
    kinetic: Array
    potential: Array
    dissipated: Array
    supplied: Array
    balance: Array
    result: dict[str, Any]
    signals: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

    def _table(self, patterns: tuple[str, ...]) -> tuple[dict[str, Array], dict[str, str]]:
        """Columns by name, and their units."""
        nq = self.q.shape[1]
        columns = {name: self.q[:, i] if i < nq else self.v[:, i - nq] for i, (name, _) in enumerate(self.signals)}
        units = dict(self.signals)
        for name in ("kinetic", "potential", "dissipated", "supplied", "balance"):
            columns[name], units[name] = getattr(self, name), "J"
        for pattern in patterns:
            if not any(matches(name, pattern) for name in columns):
                raise KeyError(f"the motion has no signal '{pattern}': it has {', '.join(columns)}")
        chosen = [name for name in columns if not patterns or any(matches(name, pattern) for pattern in patterns)]
        return {name: columns[name] for name in chosen}, {name: units[name] for name in chosen}

    def to_pandas(self, *patterns: str) -> Any:
        """A pandas DataFrame: index t (s), a column for each coordinate and energy; units in `attrs["units"]`.

        patterns: names of columns ("q.joint1", "v.joint1", "kinetic", ...), `*` and `?` allowed; none given: all.
        """
        pd = optional("pandas", "Motion.to_pandas")
        columns, units = self._table(patterns)
        frame = pd.DataFrame(columns, index=pd.Index(self.t, name="t"))
        frame.attrs["units"] = {"t": "s", **units}
        return frame

    def to_csv(self, path: str | os.PathLike[str], *patterns: str) -> None:
        """Writes a CSV file: a line "t [s],name [unit],...", then numbers that read back to the same bits.

        >>> import os, tempfile, soa
        >>> arm = soa.Model.open("arm7")
        >>> file = os.path.join(tempfile.mkdtemp(), "arm.csv")
        >>> soa.simulate(arm, arm.neutral() + 0.3, duration=0.01).to_csv(file, "q.joint1")
        >>> open(file).readline().strip()
        't [s],q.joint1 [rad]'
        """
        columns, units = self._table(patterns)
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["t [s]", *(f"{name} [{unit}]" if unit else name for name, unit in units.items())])
            writer.writerows(zip(self.t.tolist(), *(column.tolist() for column in columns.values())))

    def plot(self, *patterns: str, axes: Any = None) -> Any:
        """Draws columns over time with matplotlib, as `Record.plot` does: a picture for each unit. Returns the figure."""
        columns, units = self._table(patterns)
        return draw(self.t, columns, units, axes)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "empty"
        return f"<soa.{type(self).__name__}: {len(self.t)} samples, {span}, nq {self.q.shape[1]}, nv {self.v.shape[1]}>"


@dataclass(frozen=True, repr=False)
class ClosedMotion(Motion):
    """A motion with constraints; largest errors of them after projection, m or rad (`rate_error`: per s), (N,) each.

    position_error: the largest residual of a constraint at each sample; rate_error: that of a
    rate.
    """

    position_error: Array
    rate_error: Array


@dataclass(frozen=True)
class GraspEvent:
    """A one-sided contact that would break, slip or tip, given to the `event` function of `simulate_grasp`.

    t: s. normal: along the normal, > 0 pressed together; tangential: size of the force across
    it. torsion: moment about the normal; tilt: size of the moment across it. margin: N, < 0
    where it would be lost. q (nq,), v (nv,): the state.

    `contact`: its number. `event`: "breaks", "slips", "tips" or "holds". Forces in N, moments in N m.
    """

    t: float
    contact: int
    event: str
    normal: float
    tangential: float
    torsion: float
    tilt: float
    margin: float
    q: Array
    v: Array


@dataclass(frozen=True, repr=False)
class GraspMotion(ClosedMotion):
    """A motion of a grasp. `forces`: for each sample the contact wrenches, (contacts that are on, 6), moment first.

    `margins`: for each sample the margins of the contacts, N, infinite for two-sided ones. `events`: what was asked.
    """

    forces: list[Array]
    margins: list[Array]
    events: list[GraspEvent]


_FREE = (("x", "m"), ("y", "m"), ("z", "m"), ("qw", ""), ("qx", ""), ("qy", ""), ("qz", "")), (
    ("wx", "rad/s"), ("wy", "rad/s"), ("wz", "rad/s"), ("vx", "m/s"), ("vy", "m/s"), ("vz", "m/s"))


def _signals(model: Model) -> tuple[tuple[str, str], ...]:
    """Names and units of the coordinates, then of the velocities."""
    found: list[tuple[str, str]] = []
    for letter, per, which in (("q", "", 0), ("v", "/s", 1)):
        for body in model.bodies:
            own = body.v if which else body.q
            count = own.stop - own.start
            unit = {"revolute": "rad", "prismatic": "m"}.get(body.type)
            if body.type == "free":
                found += [(f"{letter}.{body.joint}.{name}", one) for name, one in _FREE[which]]
            elif count == 1:
                found.append((f"{letter}.{body.joint}", unit + per if unit else ""))
            else:
                found += [(f"{letter}.{body.joint}.{k}", "") for k in range(count)]
    return tuple(found)


def _say_limits(model: Model, what: str, q: Array) -> None:
    """Warns, once for a motion, if samples are beyond joint limits, which nothing keeps here."""
    worst, said, count = 0.0, "", 0
    for body in model.bodies:
        if body.q.stop - body.q.start != 1 or not len(q):
            continue
        column = q[:, body.q.start]
        beyond = np.maximum(column - body.upper, body.lower - column)
        at = int(np.argmax(beyond))
        if beyond[at] > _LIMIT_ROUNDING:
            count += 1
            if beyond[at] > worst:
                unit = "m" if body.type == "prismatic" else "rad"
                worst = float(beyond[at])
                said = f"joint '{body.joint}' was at {column[at]:.3g} {unit}, its limits are {body.lower:.3g} to {body.upper:.3g}"
    if count:
        more = "" if count == 1 else f", and {count - 1} more passed theirs"
        warnings.warn(f"{what} does not stop joints at their limits: {said}{more}; soa.World of a scenario has stops: "
                      "Scenario.from_dict({'parts': [{'name': 'm', 'model': model}]})", LimitWarning, stacklevel=4)


def _figures(struct: Any) -> dict[str, Any]:
    """The numbers and texts of a struct."""
    found: dict[str, Any] = {}
    for name, *_ in struct._fields_:
        value = getattr(struct, name)
        if isinstance(value, bytes):
            found[name] = text(value)
        elif isinstance(value, bool | int | float):
            found[name] = value
    return found


class _Samples:
    """The functions that C calls, and what they collect."""

    def __init__(self, nq: int, nv: int, torque: Torque | None, stop: Stop | None) -> None:
        for name, function in (("torque", torque), ("stop", stop)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} is a {type(function).__name__}, expected a function (t, q, v) or None")
        self.nq, self.nv, self.torque, self.stop = nq, nv, torque, stop
        self.carrier = Carrier()
        self.rows: dict[str, list[Any]] = {}

    def ask_torque(self, _user: object, t: float, q: Any, v: Any, tau: Any) -> int:
        def call() -> int:
            assert self.torque is not None
            write_torque("torque", self.torque(t, copied(q, self.nq), copied(v, self.nv)), tau, self.nv)
            return int(_c.SOA_OK)

        return int(self.carrier.run(call, _c.SOA_E_ARGUMENT))

    def keep(self, _user: object, pointer: Any) -> int:
        return int(self.carrier.run(lambda: self._keep(pointer.contents), 1))

    def _keep(self, sample: Any) -> int:
        q, v = copied(sample.q, self.nq), copied(sample.v, self.nv)
        for name, value in (("q", q), ("v", v)):
            self.rows.setdefault(name, []).append(value)
        for name, *_ in sample._fields_:
            value = getattr(sample, name)
            if isinstance(value, float):
                self.rows.setdefault(name, []).append(value)
        if hasattr(sample, "checks"):
            count = sample.contacts
            self.rows.setdefault("forces", []).append(copied(sample.force, 6 * count).reshape(count, 6))
            self.rows.setdefault("margins", []).append(np.array([sample.checks[i].margin for i in range(count)]))
        return int(self.stop is not None and bool(self.stop(sample.t, q, v)))

    def prepare(self, options: Any, given: dict[str, Any]) -> None:
        """Sets the options and the functions."""
        for name, value in given.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name} is {value}, expected a number")
            try:
                setattr(options, name, value)
            except TypeError as fault:
                raise TypeError(f"{name} is {value!r}: {fault}") from None
        if self.torque is not None:
            options.torque = _c.soa_sim_torque_fn(self.ask_torque)
        options.sample = type(options.sample)(self.keep)

    def columns(self, wanted: Sequence[str]) -> dict[str, Any]:
        sizes = {"q": (self.nq,), "v": (self.nv,)}
        found = {}
        for name in wanted:
            rows = self.rows.get(name, [])
            found[name] = np.array(rows, dtype=np.float64).reshape(len(rows), *sizes.get(name, ()))
        return found


def _checked(name: str, given: Any, kind: type[Any], remedy: str) -> Any:
    """The C object of constraints or of a grasp."""
    pointer = getattr(given, "_pointer", None)
    if pointer is None or isinstance(given, Model):
        raise TypeError(f"{name}: the first argument is a {type(given).__name__}, expected {kind.__name__}: {remedy}")
    return pointer


_COMMON = ("t", "q", "v", "kinetic", "potential", "dissipated", "supplied", "balance")
_CLOSED = (*_COMMON, "position_error", "rate_error")


Moved = TypeVar("Moved", bound=Motion)


def _finish(status: int, report: Any, what: str, motion: Moved, model: Model) -> Moved:
    """The motion, or the exception of a status with the motion as far as it went."""
    with _keeping(lambda: motion):
        check(status, report, what)
        _say_limits(model, what, motion.q)
    return motion


@contextlib.contextmanager
def _keeping(made: Callable[[], Motion]) -> Iterator[None]:
    """Gives exceptions the motion as far as it went as their attribute `motion`."""
    try:
        yield
    except BaseException as fault:
        with contextlib.suppress(AttributeError):  # of exceptions with __slots__
            setattr(fault, "motion", made())
        raise


def simulate(model: Model, q: ArrayLike, v: ArrayLike | None = None, duration: float = 2.0,
             torque: Torque | None = None, *, sample_time: float = 0.005, relative_tolerance: float = 1e-8,
             absolute_tolerance: float = 1e-10, order: int = 5, max_steps: int = 10_000_000,
             stop: Stop | None = None) -> Motion:
    """Moves a machine from (q, v) for `duration` seconds under gravity, springs, friction and torques, with error
    control.

    torque: a function `(t, q, v) -> tau` (nv,), N m and N, zeros for none; smooth between samples. stop: a function
    `(t, q, v)` called with each sample; an answer that is true ends the motion. v None: at rest. Joint limits do not
    stop joints: a `LimitWarning` says so, once, if a sample is beyond one; a `World` has stops. If the integration fails, or torque or stop raises, the exception has the motion as far as it went as its
    attribute `motion`.

    >>> import soa, soa.motion
    >>> arm = soa.Model.open("arm7")
    >>> motion = soa.motion.simulate(arm, arm.neutral() + 0.3, duration=0.1, torque=lambda t, q, v: -2.0 * v)
    >>> motion.q.shape
    (21, 7)
    """
    if not isinstance(model, Model):
        raise TypeError(f"simulate: the first argument is a {type(model).__name__}, expected a Model; constraints and grasps "
                        "are moved by simulate_closed and simulate_grasp")
    if model._bound_count:
        raise ValueError(f"'{model.name}' has {loop_words(model._bound_count)}, which simulate does not keep: use "
                         "simulate_closed(model.constraints, ...)")
    qv, vv = _states(q, v, model.nq, model.nv)
    samples = _Samples(model.nq, model.nv, torque, stop)
    options, result, report = _c.soa_sim_options_default(), _c.soa_sim_result(), new_report()
    samples.prepare(options, {"duration": duration, "sample_time": sample_time, "order": order, "max_steps": max_steps,
                              "relative_tolerance": relative_tolerance, "absolute_tolerance": absolute_tolerance})

    def made() -> Motion:
        return Motion(**samples.columns(_COMMON), result=_figures(result), signals=_signals(model))

    with _keeping(made), samples.carrier:
        status = _c.soa_simulate(model._pointer, numbers(qv), numbers(vv), byref(options), byref(result), byref(report))
    return _finish(status, report, "simulate", made(), model)


def simulate_closed(constraints: Any, q: ArrayLike, v: ArrayLike | None = None, duration: float = 1.0,
                    torque: Torque | None = None, *, start: float = 0.0, sample_time: float = 0.0,
                    relative_tolerance: float = 1e-8, absolute_tolerance: float = 1e-10, order: int = 5,
                    max_step: float = 0.0, max_steps: int = 10_000_000, method: str = "auto", projection: bool = True,
                    stop: Stop | None = None) -> ClosedMotion:
    """Moves a machine with its constraints (`Model.constraints`) from (q, v); see `simulate`.

    The start is projected; one that is open by more than 1e-3 is refused. After every step q and v are projected back.
    v None: at rest, or for drives the least motion that follows them. sample_time 0: every step is a sample. start:
    time at the start, for drives. method: "auto", "kkt", "forces" or "null_space".

    >>> import soa, soa.motion
    >>> machine = soa.Model.open("four-bar")
    >>> motion = soa.motion.simulate_closed(machine.constraints, machine.neutral(), duration=0.1, sample_time=0.01)
    >>> bool(motion.position_error.max() < 1e-9)
    True
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    from .constraints import Constraints

    pointer = _checked("simulate_closed", constraints, Constraints, "model.constraints has those of a model's file")
    model = _model_of(_c.soa_constraints_model(pointer), constraints)
    nq, nv = model.nq, model.nv
    qv, vv = _states(q, v, nq, nv)
    samples = _Samples(nq, nv, torque, stop)
    options, result, report = _c.soa_closed_sim_options_default(), _c.soa_closed_sim_result(), new_report()
    samples.prepare(options, {"start": start, "duration": duration, "sample_time": sample_time, "order": order,
                              "relative_tolerance": relative_tolerance, "absolute_tolerance": absolute_tolerance,
                              "max_step": max_step, "max_steps": max_steps, "no_projection": int(not projection)})
    options.closed.method = METHODS.index(method)

    def made() -> ClosedMotion:
        return ClosedMotion(**samples.columns(_CLOSED), result=_figures(result), signals=_signals(model))

    with _keeping(made), _in_use(constraints), samples.carrier:
        status = _c.soa_closed_simulate(pointer, numbers(qv), numbers(vv), byref(options), byref(result), byref(report))
    return _finish(status, report, "simulate_closed", made(), model)


def simulate_grasp(grasp: Any, q: ArrayLike, v: ArrayLike | None = None, duration: float = 1.0,
                   torque: Torque | None = None, *, event: Callable[[GraspEvent], Answer] | None = None,
                   changes: Sequence[tuple[float, int, bool]] = (), start: float = 0.0, sample_time: float = 0.0,
                   relative_tolerance: float = 1e-8, absolute_tolerance: float = 1e-10, order: int = 5,
                   max_step: float = 0.0, max_steps: int = 10_000_000, stop: Stop | None = None) -> GraspMotion:
    """Moves arms and object, held by the contacts of a grasp that are on, from (q, v); see `simulate_closed`.

    event: asked when a one-sided contact would break, slip or tip: "stop" (default) ends the motion, "release" switches
    the contact off, "ignore" keeps it as if it were two-sided. changes: `(t, contact, on)` in order of time. The grasp
    is left as the motion left it.
    """
    from .grasp import Grasp

    pointer = _checked("simulate_grasp", grasp, Grasp, "soa.Grasp(model), with contacts added")
    model = _model_of(_c.soa_grasp_model(pointer), grasp)
    nq, nv = model.nq, model.nv
    qv, vv = _states(q, v, nq, nv)
    samples = _Samples(nq, nv, torque, stop)
    options, result, report = _c.soa_grasp_sim_options_default(), _c.soa_grasp_sim_result(), new_report()
    samples.prepare(options, {"start": start, "duration": duration, "sample_time": sample_time, "order": order,
                              "relative_tolerance": relative_tolerance, "absolute_tolerance": absolute_tolerance,
                              "max_step": max_step, "max_steps": max_steps})
    events: list[GraspEvent] = []

    def ask(_user: object, given: Any) -> int:
        def call() -> int:
            e = given.contents
            c = e.check.contents
            events.append(GraspEvent(e.t, e.contact, _CONTACT_EVENTS[c.event], c.normal, c.tangential, c.torsion,
                                     c.tilt, c.margin, copied(e.q, nq), copied(e.v, nv)))
            answer = "stop" if event is None else event(events[-1])
            if answer not in _ANSWERS:
                raise ValueError(f"event returned {answer!r}, expected 'stop', 'release' or 'ignore'")
            return int(_ANSWERS[answer])

        return int(samples.carrier.run(call, _c.SOA_GRASP_STOP))

    options.event = _c.soa_grasp_event_fn(ask)
    array = (_c.soa_grasp_change * max(1, len(changes)))(*((t, number, int(on)) for t, number, on in changes))
    options.changes, options.change_count = cast(array, POINTER(_c.soa_grasp_change)), len(changes)

    def made() -> GraspMotion:
        return GraspMotion(**samples.columns(_CLOSED), result=_figures(result), forces=samples.rows.get("forces", []),
                           margins=samples.rows.get("margins", []), events=events, signals=_signals(model))

    with _keeping(made), _in_use(grasp), samples.carrier:
        status = _c.soa_grasp_simulate(pointer, numbers(qv), numbers(vv), byref(options), byref(result), byref(report))
    return _finish(status, report, "simulate_grasp", made(), model)


@contextlib.contextmanager
def _in_use(held: Any) -> Iterator[None]:
    """Keeps other users of constraints or of a grasp out, and raises what a drive of theirs raised."""
    guard = getattr(held, "_guard", None)
    if guard is None:
        yield
        return
    with guard:
        yield
        failed, guard.failed = guard.failed, None
        if failed is not None:
            raise failed


def _model_of(pointer: Any, keep: object) -> Model:
    """The model of constraints or of a grasp, which own it."""
    address = cast(pointer, c_void_p).value
    assert address is not None
    model = Model(address, False)
    model.spec, model._loops, model._keep, model._made = "", None, keep, None
    return model


def _states(q: ArrayLike, v: ArrayLike | None, nq: int, nv: int) -> tuple[Array, Array | None]:
    """Copies, which C changes."""
    qv, vv = vector("q", q, nq), vector("v", v, nv)
    if qv is None:
        raise TypeError(f"q is None, expected a configuration, ({nq},)")
    return qv.copy(), None if vv is None else vv.copy()


__all__ = ["METHODS", "ClosedMotion", "GraspEvent", "GraspMotion", "Motion", "simulate", "simulate_closed",
           "simulate_grasp"]

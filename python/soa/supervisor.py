"""The supervisor that switches control laws: phases, and transitions on measured signals.

>>> from soa.supervisor import Condition, Phase, Supervisor, Transition
>>> supervisor = Supervisor([
...     Phase("approach", [Transition("grip", [Condition("distance", below=0.01, hold=0.1)])]),
...     Phase("grip", [Transition("approach", [Condition("phase_time", above=2.0)])], blend=0.2)])
>>> supervisor.tick({"distance": 0.005}, dt=0.1), supervisor.phase
(False, 'approach')
>>> supervisor.tick({"distance": 0.004}, dt=0.1), supervisor.phase
(True, 'grip')

In a control loop: `tick` with what was measured, the torques of the law of `phase`, then `blend`:

>>> laws = {"approach": lambda q, v: -1.0 * q, "grip": lambda q, v: -10.0 * q}
>>> def controller(t, q, v):
...     supervisor.tick({"distance": abs(q[0])}, dt=0.002)
...     return supervisor.blend(laws[supervisor.phase](q, v))
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from ctypes import (
    POINTER,
    Array as CArray,
    byref,
    c_bool,
    c_char_p,
    c_size_t,
    cast,
    create_string_buffer,
    memmove,
)
from ctypes import sizeof, string_at
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _c as _module
from ._call import Array, check, new_report, numbers, text, vector
from ._errors import InputError, error

_c: Any = _module
PHASE_TIME = "phase_time"
"""The signal that is always there: s since the phase began."""
_MAGIC = b"soasuper"  # how a state of `Supervisor.save` begins
_HEADER = struct.Struct("<8sqqq")  # magic, phases, size of the C state, number of torques


@dataclass(frozen=True)
class Condition:
    """True while a signal has been below or above a value for `hold` s without a break; NaN is
    neither.

    signal: a name, or "phase_time": s since the phase began. Give one of below and above, in the
    signal's unit.

    >>> from soa.supervisor import Condition
    >>> Condition("force", above=20.0, hold=0.05).above
    20.0
    """

    signal: str
    below: float | None = None
    above: float | None = None
    hold: float = 0.0

    def __post_init__(self) -> None:
        if (self.below is None) == (self.above is None):
            raise ValueError(
                f"a condition on '{self.signal}' has below={self.below} and above={self.above}, "
                "expected one of them"
            )
        if not self.signal:
            raise ValueError("a condition has an empty signal name")


@dataclass(frozen=True)
class Transition:
    """Leads to the phase `to` when all conditions hold; without conditions: at once."""

    to: str
    conditions: Sequence[Condition] = ()


@dataclass(frozen=True)
class Phase:
    """A phase: of its transitions the first whose conditions all hold is taken.

    name: of the phase.

    blend, s: time in which torques change from those of the phase before (`Supervisor.blend`); 0:
    they jump.
    """

    name: str
    transitions: Sequence[Transition] = ()
    blend: float = 0.0


class Supervisor:
    """A state machine on measured signals; the first phase is the start.

    A phase has at most 64 conditions in all. One thread at a time uses a supervisor.
    """

    def __init__(self, phases: Sequence[Phase]) -> None:
        self.phases: tuple[Phase, ...] = tuple(phases)
        self._names = [phase.name for phase in self.phases]
        self._signals = self._used_signals()
        self._keep: list[Any] = []
        self._struct = self._build()
        report = new_report()
        check(_c.soa_supervisor_check(byref(self._struct), byref(report)), report)
        self._state = _c.soa_supervisor_state()
        self._changed = False
        self._blended = True
        self._last: Array | None = None
        self._offset: Array | None = None
        self.reset()

    def _used_signals(self) -> list[str]:
        found: dict[str, None] = {}
        for phase in self.phases:
            for way in phase.transitions:
                for condition in way.conditions:
                    found[condition.signal] = None
        found.pop(PHASE_TIME, None)
        return list(found)

    def _array(self, kind: Any, items: Sequence[Any]) -> CArray[Any]:
        array: CArray[Any] = (kind * max(1, len(items)))(*items)
        self._keep.append(array)
        return array

    def _build(self) -> Any:
        rows = []
        for phase in self.phases:
            ways = []
            for way in phase.transitions:
                if way.to not in self._names:
                    raise InputError(
                        f"phase '{phase.name}': a transition leads to '{way.to}', but the phases "
                        f"are {', '.join(self._names)}",
                        "SOA_E_NAME",
                    )
                conditions = self._array(
                    _c.soa_supervisor_condition, [self._condition(one) for one in way.conditions]
                )
                ways.append(
                    _c.soa_supervisor_transition(
                        self._names.index(way.to),
                        len(way.conditions),
                        cast(conditions, POINTER(_c.soa_supervisor_condition)),
                    )
                )
            array = self._array(_c.soa_supervisor_transition, ways)
            rows.append(
                _c.soa_supervisor_phase(
                    phase.name.encode(),
                    float(phase.blend),
                    len(ways),
                    cast(array, POINTER(_c.soa_supervisor_transition)),
                )
            )
        table = self._array(_c.soa_supervisor_phase, rows)
        names = self._array(c_char_p, [name.encode() for name in self._signals])
        return _c.soa_supervisor(
            len(rows),
            cast(table, POINTER(_c.soa_supervisor_phase)),
            len(self._signals),
            cast(names, POINTER(c_char_p)),
        )

    def _condition(self, one: Condition) -> Any:
        number = (
            _c.SOA_SIGNAL_PHASE_TIME
            if one.signal == PHASE_TIME
            else self._signals.index(one.signal)
        )
        above = one.above is not None
        value = one.above if above else one.below
        assert value is not None
        return _c.soa_supervisor_condition(number, above, float(value), float(one.hold))

    # --- what there is ----------------------------------------------------------------------------

    @property
    def signals(self) -> list[str]:
        """Names of the signals that `tick` needs, without "phase_time"."""
        return list(self._signals)

    @property
    def phase(self) -> str:
        """Name of the present phase."""
        return self._names[int(self._state.phase)]

    @property
    def before(self) -> str | None:
        """Name of the phase before; None at the start."""
        return self._names[int(self._state.before)] if self._state.before >= 0 else None

    @property
    def transition(self) -> Transition | None:
        """The transition that was taken last; None at the start."""
        if self._state.transition < 0:
            return None
        return self.phases[int(self._state.before)].transitions[int(self._state.transition)]

    @property
    def time(self) -> float:
        """Time in this phase, s."""
        return float(self._state.time)

    @property
    def changes(self) -> int:
        """How many transitions were taken."""
        return int(self._state.changes)

    def diagram(self) -> str:
        """Phases and transitions as Graphviz text.

        >>> from soa.supervisor import Phase, Supervisor, Transition
        >>> supervisor = Supervisor([Phase("start", [Transition("end")]), Phase("end")])
        >>> supervisor.diagram().splitlines()[0]
        'digraph supervisor {'
        """
        length = c_size_t()
        check(_c.soa_supervisor_diagram(byref(self._struct), None, 0, byref(length)))
        memory = create_string_buffer(length.value)
        check(_c.soa_supervisor_diagram(byref(self._struct), memory, length.value, None))
        return text(memory.value)

    def __repr__(self) -> str:
        return f"<soa.Supervisor: {len(self.phases)} phases, in '{self.phase}' for {self.time:g} s>"

    # --- running ----------------------------------------------------------------------------------

    def reset(self) -> None:
        """Goes back to the start."""
        check(_c.soa_supervisor_start(byref(self._struct), byref(self._state)))
        self._changed, self._blended = False, True
        self._last = self._offset = None

    def tick(self, signals: Mapping[str, float], dt: float) -> bool:
        """One sample, dt seconds after the last one: at most one transition is taken. Whether there
        was one.

        signals: what is measured now, by name; there may be more of them than the conditions read,
        as in `World.signals`. Each one that a condition reads must be there. O(conditions of the
        phase).
        """
        if not (math.isfinite(dt) and dt >= 0):
            raise ValueError(f"dt is {dt}, expected a time >= 0, s")
        missing = [name for name in self._signals if name not in signals]
        if missing:
            raise KeyError(
                f"signals has no '{missing[0]}'; the conditions read {', '.join(self._signals)}"
            )
        values = np.array([float(signals[name]) for name in self._signals])
        changed = c_bool()
        check(
            _c.soa_supervisor_tick(
                byref(self._struct), byref(self._state), numbers(values), float(dt), byref(changed)
            ),
            None,
            "tick",
        )
        self._changed = bool(changed.value) or (self._changed and not self._blended)
        self._blended = False
        return bool(changed.value)

    def blend(self, tau: ArrayLike) -> Array:
        """Torques (nv,) without a jump: once after each `tick`, with those of the present phase's
        law.

        At a change the difference to the last blended torques is kept, and faded out within the
        phase's `blend`, by a quintic. All calls must have the same number of torques, N m and N.
        O(nv).

        >>> import numpy as np
        >>> from soa.supervisor import Phase, Supervisor, Transition
        >>> weak, strong = Phase("weak", [Transition("strong")]), Phase("strong", blend=1.0)
        >>> supervisor = Supervisor([weak, strong])
        >>> supervisor.blend([1.0])
        array([1.])
        >>> supervisor.tick({}, dt=0.5), supervisor.blend([3.0])    # the change: still as before
        (True, array([1.]))
        >>> supervisor.tick({}, dt=0.5), supervisor.blend([3.0])    # half of the blend later
        (False, array([2.]))
        """
        count = np.asarray(tau).size if self._last is None else self._last.size
        given = vector("tau", tau, count)
        assert given is not None
        result = np.array(given)
        if not np.isfinite(result).all():
            raise ValueError(f"tau is {result}: all numbers must be finite")
        if self._changed and self._last is None and self.phases[self._state.phase].blend > 0:
            raise RuntimeError(
                f"phase '{self.phase}' has a blend, but there are no torques of the phase "
                "before: call blend after each tick"
            )
        changed = self._changed and self._last is not None
        offset = np.zeros(count) if self._offset is None else self._offset
        check(
            _c.soa_supervisor_blend(
                byref(self._struct),
                byref(self._state),
                changed,
                count,
                numbers(self._last),
                numbers(offset),
                numbers(result),
            ),
            None,
            "blend",
        )
        self._offset, self._last = offset, result.copy()
        self._changed, self._blended = False, True
        return result

    # --- checkpoints ------------------------------------------------------------------------------

    def save(self) -> bytes:
        """All that changes, with the torques that `blend` remembers. `restore` continues from it to
        the same bits.
        """
        count = -1 if self._last is None or self._offset is None else self._last.size
        data = _HEADER.pack(_MAGIC, len(self.phases), sizeof(self._state), count)
        data += bytes([self._changed, self._blended]) + string_at(
            byref(self._state), sizeof(self._state)
        )
        if self._last is not None and self._offset is not None:
            data += self._last.tobytes() + self._offset.tobytes()
        return data

    def restore(self, state: bytes) -> None:
        """Goes back to a state of `save`, of a supervisor with the same phases."""
        size, two = sizeof(self._state), 2
        start = _HEADER.size + two + size
        if len(state) < start:
            raise error(
                _c.SOA_E_FORMAT,
                f"restore: {len(state)} bytes are too few for a state of this supervisor",
            )
        magic, phases, given, count = _HEADER.unpack_from(state)
        if magic != _MAGIC or phases != len(self.phases) or given != size:
            raise error(
                _c.SOA_E_FORMAT,
                f"restore: not a state of a supervisor with {len(self.phases)} phases",
            )
        if len(state) != start + 16 * max(count, 0) or count < -1:
            raise error(
                _c.SOA_E_FORMAT,
                f"restore: the state has {len(state)} bytes, expected {start + 16 * max(count, 0)}",
            )
        made = _c.soa_supervisor_state()
        memmove(byref(made), state[_HEADER.size + two : start], size)
        self._check_state(made)
        self._state = made
        self._changed, self._blended = bool(state[_HEADER.size]), bool(state[_HEADER.size + 1])
        self._last = self._offset = None
        if count >= 0:
            both = np.frombuffer(state, dtype=np.float64, offset=start)
            self._last, self._offset = both[:count].copy(), both[count:].copy()

    def _check_state(self, state: Any) -> None:
        """Refuses numbers that no supervisor of these phases has."""
        n = len(self.phases)
        fits = (
            0 <= state.phase < n
            and -1 <= state.before < n
            and state.time >= 0
            and state.blend_time >= 0
        )
        if fits and state.before >= 0:
            fits = 0 <= state.transition < len(self.phases[state.before].transitions)
        elif fits:
            fits = state.transition == -1
        if not fits:
            raise error(
                _c.SOA_E_FORMAT,
                "restore: the state does not fit the phases and transitions of this supervisor",
            )


__all__ = ["PHASE_TIME", "Condition", "Phase", "Supervisor", "Transition"]

"""Writing journals: records of signals, events and checkpoints that survive a crash of their
writer.

Scenarios write theirs themselves. This is for control loops and simulations of your own;
`soa.Record` reads them, and so does the program `soa`.

>>> import os, tempfile, soa
>>> from soa.journals import Journal
>>> path = os.path.join(tempfile.mkdtemp(), "loop.soalog")
>>> with Journal(path, {"arm.q1": "rad", "arm.tau1": "N m"}) as journal:
...     for k in range(3):
...         journal.write_sample(0.1 * k, [1.0 * k, -2.0 * k])
...     journal.write_event(0.2, "phase", "the end")
>>> record = soa.Record.open(path)
>>> record["arm.tau1"].tolist(), record.units["arm.q1"], record.events[0].text
([-0.0, -2.0, -4.0], 'rad', 'the end')
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_double, c_size_t, c_void_p, cast, string_at
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import _c as _module
from ._call import check, new_report, numbers, text, vector
from ._errors import error
from .records import Record, free_memory

if TYPE_CHECKING:
    from .worlds import World

_c: Any = _module
Signals = Mapping[str, str] | Sequence[str]


@dataclass(frozen=True)
class JournalState:
    """How writing goes; from `Journal.state`.

    samples, events, checkpoints: how many were written.

    `fault`: "" while all is well, else what happened and until when the data are safe. `bytes`:
    size of the file when everything is written. `safe`: time of the last checkpoint that the disk
    has, s; NaN: none. `pending`: an older file still has the name; it is replaced when something is
    written.
    """

    fault: str
    samples: int
    events: int
    checkpoints: int
    bytes: int
    safe: float
    pending: bool


@dataclass(frozen=True)
class Reopened:
    """From `Journal.reopen`: the journal, cut back to its last checkpoint; the checkpoint's time,
    s, and bytes (None: there is none, start from the beginning at t = 0); the text of the scenario.
    """

    journal: Journal
    t: float
    checkpoint: bytes | None
    scenario: str


class Journal:
    """A journal that is being written. Leaving its `with` block closes it; after an exception it is
    abandoned instead.

    path: the file (.soalog). An older file of that name stays until something is recorded and
    written. signals: names, by convention "group.name", with units: `{"arm.q1": "rad"}`; or names
    alone. scenario: any text that says what was run, kept in the record.

    Samples, events and checkpoints are written in the order of time. The same calls give the same
    bytes. Samples go into a buffer. `flush` shows them to readers, `write_checkpoint` brings them
    to the disk. A write that failed is final: every later one fails too, and `state` says until
    when the data are safe.
    """

    def __init__(self, path: str | os.PathLike[str], signals: Signals, scenario: str = "") -> None:
        units = dict(signals) if isinstance(signals, Mapping) else {name: "" for name in signals}
        if isinstance(signals, str) or len(units) != len(signals):
            raise ValueError(
                "signals has a name twice, or is one text: give a dict of names and units, "
                "or a list of names"
            )
        array = (_c.soa_signal * max(1, len(units)))(
            *((name.encode(), unit.encode()) for name, unit in units.items())
        )
        data = scenario.encode()
        pointer, report = POINTER(_c.soa_journal)(), new_report()
        check(
            _c.soa_journal_create(
                os.fsencode(path), data, len(data), array, len(units), byref(pointer), byref(report)
            ),
            report,
        )
        self._adopt(os.fspath(path), pointer)

    def _adopt(self, path: str, pointer: Any) -> None:
        self.path = path
        self._pointer = pointer
        self._t: float | None = None
        self._lock = threading.RLock()
        self._names = [
            text(_c.soa_journal_signals(pointer)[i].name)
            for i in range(int(_c.soa_journal_signal_count(pointer)))
        ]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._forgotten = weakref.finalize(self, _abandon, pointer)

    @classmethod
    def _of(cls, path: str, pointer: Any) -> Journal:
        journal = cls.__new__(cls)
        journal._adopt(path, pointer)
        return journal

    @classmethod
    def of_world(cls, path: str | os.PathLike[str], world: World) -> Journal:
        """A journal with the signals of a world and its scenario, for a loop that steps it.

        >>> import os, tempfile, soa
        >>> world = soa.World("slope")
        >>> path = os.path.join(tempfile.mkdtemp(), "slope.soalog")
        >>> with soa.Journal.of_world(path, world) as journal:
        ...     for _ in range(10):
        ...         world.step()
        ...         journal.write_sample(world.t, world.signals)
        ...     journal.write_checkpoint(world.t, world.save())
        >>> journal.record().summary["ticks"]
        10
        """
        pointer, report = POINTER(_c.soa_journal)(), new_report()
        check(
            _c.soa_world_create_journal(
                world._pointer, os.fsencode(path), byref(pointer), byref(report)
            ),
            report,
        )
        return cls._of(os.fspath(path), pointer)

    @classmethod
    def reopen(cls, path: str | os.PathLike[str]) -> Reopened:
        """Continues a journal whose writer ended or was killed: the file is cut back to just after
        its last checkpoint.

        What is written from there makes the file that an uninterrupted run would have written. A
        complete journal is cut back too: see `Record.info.complete` first, if it matters.
        `soa.scenarios.resume` does it for scenarios.
        """
        pointer, report = POINTER(_c.soa_journal)(), new_report()
        t, blob, size, scenario, length = c_double(), c_void_p(), c_size_t(), c_char_p(), c_size_t()
        check(
            _c.soa_journal_reopen(
                os.fsencode(path),
                byref(pointer),
                byref(t),
                byref(blob),
                byref(size),
                byref(scenario),
                byref(length),
                byref(report),
            ),
            report,
        )
        data = string_at(blob, size.value) if blob.value is not None else None
        words = string_at(scenario, length.value).decode(errors="replace")
        for memory in (blob, cast(scenario, c_void_p)):
            if memory.value is not None:
                free_memory(memory)
        return Reopened(cls._of(os.fspath(path), pointer), t.value, data, words)

    # --- what there is ----------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it was closed or abandoned."""
        return not self._forgotten.alive

    @property
    def signals(self) -> dict[str, str]:
        """Names of the signals, in order, with their units; "" where there is none."""
        pointer = self._open()
        rows = _c.soa_journal_signals(pointer)
        return {name: text(rows[i].unit) for i, name in enumerate(self._names)}

    @property
    def state(self) -> JournalState:
        """How writing goes."""
        struct = _c.soa_journal_state()
        with self._lock:
            _c.soa_journal_get_state(self._open(), byref(struct))
        fault = "" if struct.status == _c.SOA_OK else text(struct.text)
        return JournalState(
            fault,
            struct.samples,
            struct.events,
            struct.checkpoints,
            struct.bytes,
            struct.safe,
            bool(struct.pending),
        )

    def record(self) -> Record:
        """The file as a `Record`: what was flushed so far, or all of it once it is closed."""
        return Record.open(self.path)

    def __repr__(self) -> str:
        if self.closed:
            return f"<soa.Journal '{self.path}': closed>"
        state = self.state
        return f"<soa.Journal '{self.path}': {len(self._names)} signals, {state.samples} samples>"

    def _open(self) -> Any:
        if self.closed:
            raise ValueError(f"the journal '{self.path}' is closed")
        return self._pointer

    def _finish(self, status: int, what: str) -> None:
        """Raises the exception of a write, with what the journal says of it."""
        if status == _c.SOA_OK:
            return
        fault = self.state.fault
        if fault:
            raise error(status, f"{what}: {fault}")
        check(status, None, f"{self.path}: {what}")

    def _time(self, t: float, what: str) -> float:
        if not math.isfinite(t):
            raise ValueError(f"{what}: t is {t}, expected a time in s")
        return float(t)

    # --- writing ----------------------------------------------------------------------------------

    def write_sample(self, t: float, values: ArrayLike | Mapping[str, float]) -> None:
        """A number for each signal at time t, s: an array (signals,) in their order, or a dict with
        all their names.

        Times must not decrease; they may be equal (before and after a jump). NaN and infinities are
        stored as they are.
        """
        time = self._time(t, "write_sample")
        if isinstance(values, Mapping):
            if values.keys() != self._numbers.keys():
                odd = sorted(set(values) ^ set(self._numbers))[0]
                what = "no signal of this journal" if odd in values else "missing in the values"
                raise KeyError(f"'{odd}' is {what}")
            values = np.array([float(values[name]) for name in self._names])
        array = vector("values", values, len(self._names))
        with self._lock:
            status = _c.soa_journal_write_sample(self._open(), time, numbers(array))
            if status == _c.SOA_E_ARGUMENT:
                last = "" if self._t is None else f", and the last sample was at {self._t:g} s"
                raise error(
                    status, f"{self.path}: sample at t = {time:g} s: times must not decrease{last}"
                )
            self._finish(status, f"sample at t = {time:g} s")
            self._t = time

    def write_event(self, t: float, kind: str, text: str = "") -> None:
        """Something that happened: a word ("touch", "phase") and a sentence."""
        if not kind:
            raise ValueError("write_event: kind is empty, expected a word")
        with self._lock:
            self._finish(
                _c.soa_journal_write_event(
                    self._open(),
                    self._time(t, "write_event"),
                    _words("kind", kind, _c.SOA_JOURNAL_MAX_NAME),
                    _words("text", text, _c.SOA_JOURNAL_MAX_TEXT, "\t\n"),
                ),
                f"event at t = {t:g} s",
            )

    def write_checkpoint(self, t: float, data: bytes) -> None:
        """Whatever the writer needs to continue from here, for `reopen`; waits until the disk has
        everything (fsync).
        """
        with self._lock:
            self._finish(
                _c.soa_journal_write_checkpoint(
                    self._open(), self._time(t, "write_checkpoint"), data, len(data)
                ),
                f"checkpoint at t = {t:g} s",
            )

    def flush(self) -> None:
        """Passes what is in the buffer to the operating system, so that readers see it."""
        with self._lock:
            self._finish(_c.soa_journal_flush(self._open()), "flush")

    def unlink(self) -> None:
        """Removes the name of the file, which then exists only as long as some process has it open.
        """
        with self._lock:
            self._finish(_c.soa_journal_unlink(self._open()), "unlink")

    def close(self) -> None:
        """Writes the end, waits until the disk has it, and frees the journal in any case. No
        exception: the file has every record. On a journal that is closed: nothing.
        """
        self._end(_c.soa_journal_close)

    def abandon(self) -> None:
        """Ends without an end record, for a run that was stopped and not finished: `reopen`
        continues from the last checkpoint. On a journal that is closed: nothing. If it has fewer
        than two samples and an older file still has the name, the older file stays.
        """
        self._end(_c.soa_journal_abandon)

    def _end(self, function: Any) -> None:
        with self._lock:
            if self._forgotten.detach() is None:
                return
            report = new_report()
            check(function(self._pointer, byref(report)), report, self.path)

    def __enter__(self) -> Journal:
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


def _words(name: str, given: str, most: int, allowed: str = "") -> bytes:
    """A text as C takes it, without control characters but those allowed."""
    odd = next((c for c in given if (c < " " or c == "\x7f") and c not in allowed), None)
    if odd is not None:
        raise ValueError(f"{name} of an event has the control character {odd!r}")
    data = given.encode()
    if len(data) > most:
        raise ValueError(f"{name} of an event has {len(data)} bytes, expected at most {most}")
    return data


def _abandon(pointer: Any) -> None:
    """Ends a journal that nobody closed."""
    _c.soa_journal_abandon(pointer, None)


__all__ = ["Journal", "JournalState", "Reopened"]

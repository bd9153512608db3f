"""Records of runs: signals over time, events, plots, reports."""

from __future__ import annotations

import math
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Iterator
from ctypes import POINTER, byref, c_double, c_bool, c_int, c_int64, c_size_t, c_void_p, cast, string_at
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _c
from ._call import Array, check, new_report, numbers, text
from ._errors import UnknownNameError

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

_ROWS_AT_ONCE = 65536  # samples read in one call: 512 kB for each signal


@dataclass(frozen=True)
class Event:
    """Something that happened during a run: `kind` is a word ("touch", "phase", ...), `text` says what. `t` in s."""

    t: float
    kind: str
    text: str


@dataclass(frozen=True)
class RecordInfo:
    """What a record says about itself. Times in s (NaN: none), sizes in bytes.

    program_version: of the program that wrote it; version: of the format. samples, events,
    checkpoints: how many there are. first, last: times of samples; checkpoint: time of the last
    one. bytes: size of the file.

    `complete`: its writer closed it. `torn`: bytes at the end that are not a whole record and are not used.
    `scenario`: the text of the scenario.
    """

    scenario: str
    program_version: str
    version: int
    samples: int
    events: int
    checkpoints: int
    first: float
    last: float
    checkpoint: float
    complete: bool
    bytes: int
    torn: int


@dataclass(frozen=True)
class Overview:
    """Smallest and largest values of signals in equal parts of a time; from `Record.overview`.

    `edges`: columns + 1 times, s. `least`, `most`: `{name: (columns,)}`, NaN where there is no sample.
    """

    edges: Array
    least: dict[str, Array]
    most: dict[str, Array]


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern: `*` is any text, `?` any letter, all else (brackets too) itself."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None


def optional(module: str, use: str) -> Any:
    """An optional package; where it is missing, an ImportError that names it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as fault:
        package = module.split(".")[0]
        raise ImportError(f"{use} needs the package {package}: pip install {package}", name=package) from fault


class _Log:
    """An open journal. Its calls are made by one thread at a time; `keep` lives as long as it is open."""

    def __init__(self, path: str, keep: object = None) -> None:
        self.path = path
        self.keep = keep
        self.scenario: object = None
        self.lock = threading.RLock()
        self.pointer = POINTER(_c.soa_log)()
        report = new_report()
        check(_c.soa_log_open(os.fsencode(path), byref(self.pointer), byref(report)), report)
        weakref.finalize(self, _c.soa_log_close, self.pointer)

    def info(self) -> Any:
        info = _c.soa_log_info()
        with self.lock:
            _c.soa_log_get_info(self.pointer, byref(info))
        return info

    def find(self, t: float) -> int:
        """The number of the first sample at t or later."""
        found = c_int64()
        report = new_report()
        with self.lock:
            check(_c.soa_log_find_sample(self.pointer, t, byref(found), byref(report)), report)
        return found.value

    def read(self, first: int, count: int, columns: list[int]) -> tuple[Array, Array]:
        """Times (n,) and values (n, columns)."""
        times, values = np.empty(count), np.empty((count, len(columns)))
        chosen = (c_int * max(1, len(columns)))(*columns)
        done = 0
        with self.lock:
            while done < count:
                span = _c.soa_log_range(first + done, min(count - done, _ROWS_AT_ONCE), chosen, len(columns))
                got = c_int64()
                report = new_report()
                wanted = numbers(values[done:]) if columns else None
                check(_c.soa_log_read_samples(self.pointer, byref(span), numbers(times[done:]), wanted, byref(got),
                                              byref(report)), report, self.path)
                if got.value == 0:
                    break
                done += got.value
        return times[:done], values[:done]

    def checkpoint(self) -> tuple[float, bytes] | None:
        """Time and bytes of the last checkpoint."""
        blob, size, t = c_void_p(), c_size_t(), c_double()
        report = new_report()
        with self.lock:
            check(_c.soa_log_read_checkpoint(self.pointer, byref(t), byref(blob), byref(size), byref(report)), report)
        if not blob.value:
            return None
        data = string_at(blob, size.value)
        free_memory(blob)
        return t.value, data


def free_memory(pointer: Any) -> None:
    """libc's free(), for memory that the C interface hands over."""
    from ctypes import CDLL

    free = CDLL(None).free
    free.argtypes, free.restype = [c_void_p], None
    free(pointer)


class Record:
    """The record of a run: a table of signals over time, and events.

    >>> import soa.scenarios
    >>> record = soa.scenarios.Scenario.open("slope").run(until=0.1)
    >>> record["q.smooth.root.x"].shape == record.t.shape
    True
    >>> record.units["q.smooth.root.x"]
    'm'

    A record is a mapping from names of signals to arrays. A slice of it is a record of that time, both ends included:
    `record[0.5:1.0]`, seconds. A record that is still being written shows what there was when it was opened; `refresh`
    looks for more.
    """

    def __init__(self, log: _Log, since: float = -math.inf, until: float = math.inf,
                 summary: dict[str, Any] | None = None) -> None:
        self._log = log
        self._since = since
        self._until = until
        self._summary = summary

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Record:
        """Opens a journal (.soalog), also one that is being written or whose writer was killed."""
        return cls(_Log(os.fspath(path)))

    @classmethod
    def _of_run(cls, path: str, keep: object, summary: dict[str, Any], scenario: object = None) -> Record:
        """scenario: lives as long as the record, because a report reads the files of its models again."""
        record = cls(_Log(path, keep), summary=summary)
        record._log.scenario = scenario
        return record

    # --- what is in it ------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The journal's file. Where no file was asked for, it is a temporary one and goes with the record."""
        return self._log.path

    @property
    def info(self) -> RecordInfo:
        """Figures of the whole journal, and the scenario's text."""
        info = self._log.info()
        scenario = info.scenario[:info.scenario_size].decode(errors="replace") if info.scenario else ""
        return RecordInfo(scenario, text(info.program_version), info.version, info.samples, info.events,
                          info.checkpoints, info.first, info.last, info.checkpoint, bool(info.complete), info.bytes,
                          info.torn)

    @property
    def signals(self) -> list[str]:
        """Names of the signals, in the order of the record."""
        info = self._log.info()
        return [text(info.signals[i].name) for i in range(info.signal_count)]

    @property
    def units(self) -> dict[str, str]:
        """The unit of each signal; "" where there is none."""
        info = self._log.info()
        return {text(info.signals[i].name): text(info.signals[i].unit) for i in range(info.signal_count)}

    def match(self, *patterns: str) -> list[str]:
        """Names of the signals that match one of the patterns (`*`: any text, `?`: any letter); none given: all.

        A pattern that nothing matches is a KeyError.
        """
        names = self.signals
        for pattern in patterns:
            if not any(matches(name, pattern) for name in names):
                self._unknown(pattern, names)
        return [name for name in names if not patterns or any(matches(name, p) for p in patterns)]

    def _unknown(self, name: str, names: list[str]) -> None:
        import difflib

        near = difflib.get_close_matches(name, names, 1)
        some = ", ".join(f"'{one}'" for one in names[:4])
        hint = f"; did you mean '{near[0]}'?" if near else f"; it has {some}{', ...' if len(names) > 4 else ''}"
        what = f"no signal matches '{name}'" if set(name) & set("*?") else f"the record has no signal '{name}'"
        raise UnknownNameError(f"{what}{hint} (Record.signals lists all {len(names)})")

    def _range(self) -> tuple[int, int]:
        """First sample and number of samples."""
        total = int(self._log.info().samples)
        first = 0 if self._since == -math.inf else self._log.find(self._since)
        if self._until == math.inf:
            return first, total - first
        return first, max(0, self._log.find(math.nextafter(self._until, math.inf)) - first)

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self._range()[1]

    @property
    def t(self) -> Array:
        """Times of the samples, s, shape (samples,)."""
        return self._log.read(*self._range(), [])[0]

    def read(self, *patterns: str) -> dict[str, Array]:
        """All signals that match, read at once: `{name: (samples,)}`."""
        names = self.match(*patterns)
        return dict(zip(names, self._table(names)[1]))

    def _table(self, names: list[str]) -> tuple[Array, list[Array]]:
        numbers_of = {name: i for i, name in enumerate(self.signals)}
        t, values = self._log.read(*self._range(), [numbers_of[name] for name in names])
        return t, [np.ascontiguousarray(values[:, i]) for i in range(len(names))]

    @overload
    def __getitem__(self, key: str) -> Array: ...
    @overload
    def __getitem__(self, key: slice) -> Record: ...

    def __getitem__(self, key: str | slice) -> Array | Record:
        if isinstance(key, slice):
            if key.step is not None:
                raise ValueError(f"a record cannot be cut with a step ({key.step}): record[from:to], in seconds")
            since = self._since if key.start is None else float(key.start)
            until = self._until if key.stop is None else float(key.stop)
            if math.isnan(since) or math.isnan(until):
                raise ValueError("an end of the slice is not a number")
            return Record(self._log, max(since, self._since), min(until, self._until), self._summary)
        if not isinstance(key, str):
            raise TypeError("a record is indexed by the name of a signal or by a slice of time, "
                            f"not by {type(key).__name__}")
        number = _c.soa_log_find_signal(self._log.pointer, key.encode())
        if number < 0:
            self._unknown(key, self.signals)
        return np.ascontiguousarray(self._log.read(*self._range(), [number])[1][:, 0])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _c.soa_log_find_signal(self._log.pointer, name.encode()) >= 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.signals)

    def __len__(self) -> int:
        return int(self._log.info().signal_count)

    def keys(self) -> list[str]:
        """Names of the signals."""
        return self.signals

    @property
    def events(self) -> list[Event]:
        """What happened, in order of time."""
        found = []
        event = _c.soa_log_event_info()
        for index in range(int(self._log.info().events)):
            report = new_report()
            with self._log.lock:
                check(_c.soa_log_read_event(self._log.pointer, index, byref(event), byref(report)), report)
                one = Event(event.t, text(event.kind), text(event.text))
            if self._since <= one.t <= self._until:
                found.append(one)
        return found

    def overview(self, *patterns: str, columns: int = 1000) -> Overview:
        """Smallest and largest values in equal parts of the record's time: exact, and quick for any length of it."""
        names = self.match(*patterns)
        if columns < 1:
            raise ValueError(f"columns is {columns}, expected 1 or more")
        info = self._log.info()
        start, end = max(self._since, info.first), min(self._until, info.last)
        order = {name: i for i, name in enumerate(self.signals)}
        chosen = (c_int * max(1, len(names)))(*(order[name] for name in names))
        least, most = np.empty((len(names), columns)), np.empty((len(names), columns))
        window = _c.soa_log_window(start, end, columns, chosen, len(names))
        report = new_report()
        with self._log.lock:
            check(_c.soa_log_overview(self._log.pointer, byref(window), numbers(least), numbers(most), byref(report)),
                  report, self.path)
        return Overview(np.linspace(start, end, columns + 1), dict(zip(names, least)), dict(zip(names, most)))

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the run, as `soa sim --summary` writes them. None where the program writes null.

        A record that was opened from a file: the figures at its last checkpoint; its models are opened again for that.
        """
        if self._summary is None:
            from .scenarios import summary_of_log

            self._summary = summary_of_log(self._log)
        return self._summary

    def refresh(self) -> bool:
        """Looks for samples and events that were written since; whether there are any."""
        news = c_bool()
        report = new_report()
        with self._log.lock:
            check(_c.soa_log_refresh(self._log.pointer, byref(news), byref(report)), report, self.path)
        return bool(news.value)

    def follow(self, interval: float = 0.2, timeout: float = math.inf) -> Iterator[Record]:
        """Waits for a record that is being written: the new part each time, until it is complete or nothing came for
        `timeout` seconds.
        """
        import time

        seen = -math.inf
        patience = time.monotonic()
        while True:
            self.refresh()
            info = self._log.info()
            if info.samples and info.last > seen:
                yield self[seen if seen == -math.inf else math.nextafter(seen, math.inf):info.last]
                seen = info.last
                patience = time.monotonic()
            if info.complete or time.monotonic() - patience > timeout:
                return
            time.sleep(interval)

    def __reduce__(self) -> Any:
        if self._log.keep is not None:
            raise TypeError("this Record is a temporary file of this process and cannot be pickled: give the run a file, "
                            "run(\"name.soalog\"), or send arrays, record.read()")
        return _reopened, (os.path.abspath(self.path), self._since, self._until, self._summary)

    def __repr__(self) -> str:
        info = self._log.info()
        t = f"{info.first:g} to {info.last:g} s" if info.samples else "empty"
        if self._since != -math.inf or self._until != math.inf:
            t += f", of it {max(self._since, info.first):g} to {min(self._until, info.last):g} s"
        return f"<soa.Record '{self.path}': {info.signal_count} signals, {info.samples} samples, {t}>"

    # --- other formats ------------------------------------------------------------------------------------------------

    def to_pandas(self, *patterns: str) -> pandas.DataFrame:
        """A pandas DataFrame: index t (s), a column for each signal; units in `attrs["units"]`."""
        pd = optional("pandas", "Record.to_pandas")
        names = self.match(*patterns)
        t, columns = self._table(names)
        frame: pandas.DataFrame = pd.DataFrame(dict(zip(names, columns)), index=pd.Index(t, name="t"))
        units = self.units
        frame.attrs["units"] = {"t": "s", **{name: units[name] for name in names}}
        return frame

    def to_csv(self, path: str | os.PathLike[str], *patterns: str, events: bool = False) -> None:
        """Writes a CSV file: a line "t [s],name [unit],...", then numbers that read back to the same bits.

        events: the table of events instead. An older file stays if anything fails.
        """
        order = {name: i for i, name in enumerate(self.signals)}
        names = self.match(*patterns) if patterns else []
        options = _c.soa_export_options_default()
        chosen = (c_int * max(1, len(names)))(*(order[name] for name in names))
        if patterns:
            options.signals, options.signal_count = cast(chosen, POINTER(c_int)), len(names)
        if self._since != -math.inf:
            setattr(options, "from", self._since)
        if self._until != math.inf:
            options.to = self._until
        options.events = int(events)
        report = new_report()
        with self._log.lock:
            check(_c.soa_log_export_csv(self._log.pointer, os.fsencode(path), byref(options), byref(report)), report)

    def to_hdf5(self, path: str | os.PathLike[str], *patterns: str) -> None:
        """Writes an HDF5 file (package h5py): /t, /signals/GROUP/NAME with attributes name and unit, /events,
        /scenario, versions as attributes of /: the layout of `soa export`. An older file stays if anything fails.
        """
        h5py = optional("h5py", "Record.to_hdf5")
        names = self.match(*patterns)
        units, info = self.units, self.info
        t, columns = self._table(names)
        table = self.events
        folder = os.path.dirname(os.path.abspath(os.fspath(path)))
        number, temporary = tempfile.mkstemp(suffix=".h5", dir=folder)
        os.close(number)
        try:
            packed = {"compression": "gzip", "compression_opts": 4, "shuffle": True} if len(t) else {}
            with h5py.File(temporary, "w") as file:
                file.attrs.update(program_version=info.program_version, export_version=text(_c.soa_version()),
                                  journal_version=info.version, complete=int(info.complete))
                file.create_dataset("t", data=t, **packed).attrs["unit"] = "s"
                signals = file.create_group("signals")
                for name in names:  # before the signals, so that none takes a group's name
                    if len(_words(name)) == 2:
                        signals.require_group(_words(name)[0])
                for name, column in zip(names, columns):
                    data = signals.create_dataset(_place(signals, name), data=column, **packed)
                    data.attrs.update(name=name, unit=units[name])
                string = h5py.string_dtype()
                kind = np.dtype([("t", np.float64), ("kind", string), ("text", string)])
                rows = np.array([(e.t, e.kind, e.text) for e in table], dtype=kind)
                file.create_dataset("events", data=rows, dtype=kind).attrs["unit"] = "s"
                file["scenario"] = info.scenario
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    # --- pictures -----------------------------------------------------------------------------------------------------

    def plot(self, *patterns: str, axes: Any = None) -> matplotlib.figure.Figure:
        """Draws signals over time with matplotlib: a picture for each unit, one below the other, with legends.

        patterns: names of signals, `*` and `?` allowed. axes: a matplotlib Axes to draw into instead; then the signals
        must have one unit. Returns the figure; `figure.savefig(path)` writes it.
        """
        names = self.match(*patterns)
        if not names:
            raise ValueError("the record has no signals to plot")
        t, columns = self._table(names)
        units = self.units
        figure: matplotlib.figure.Figure = draw(t, dict(zip(names, columns)), {name: units[name] for name in names}, axes)
        return figure

    @overload
    def report(self, path: str | os.PathLike[str]) -> str: ...

    @overload
    def report(self, path: None = None) -> object: ...

    def report(self, path: str | os.PathLike[str] | None = None) -> object:
        """The run as one HTML page: the motion in 3-D, plots, summary, scenario.

        path: None: shows the page, in a Jupyter notebook inline, elsewhere in the web browser; else writes it to this
        file and returns the file's name.
        """
        from ._view import show, write_report

        if path is None:
            return show(self)
        write_report(self, path)
        return os.fspath(path)

    def view(self) -> object:
        """Shows the report of the run: the same as `report()`."""
        return self.report()


def _reopened(path: str, since: float, until: float, summary: dict[str, Any] | None) -> Record:
    return Record(_Log(path), since, until, summary)


def draw(t: Array, columns: dict[str, Array], units: dict[str, str], axes: Any = None) -> Any:
    """Columns over time with matplotlib, a picture for each unit; or into axes. Returns the figure."""
    groups: dict[str, list[str]] = {}
    for name in columns:
        groups.setdefault(units[name], []).append(name)
    if axes is not None and len(groups) > 1:
        raise ValueError(f"signals of several units ({', '.join(u or '1' for u in groups)}) do not go into one picture")
    pictures = [axes] if axes is not None else _pictures(len(groups))
    for picture, (unit, members) in zip(pictures, groups.items()):
        for name in members:
            picture.plot(t, columns[name], label=name, linewidth=1)
        picture.set_ylabel(unit)  # names are in the legend: beside the axis long ones would overlap
        picture.legend(fontsize="small", ncols=1 + len(members) // 12)
        picture.grid(True, alpha=0.3)
    pictures[-1].set_xlabel("t [s]")
    return pictures[-1].figure


def _pictures(count: int) -> list[Any]:
    pyplot = optional("matplotlib.pyplot", "Record.plot")
    _, pictures = pyplot.subplots(count, 1, sharex=True, squeeze=False, figsize=(8, 2 + 2.2 * count),
                                  layout="constrained")
    return list(pictures[:, 0])


def _words(name: str) -> list[str]:
    """GROUP and NAME of a signal, split at the first point; the name alone where there is no group."""
    group, point, rest = name.partition(".")
    words = [group, rest] if point and group and rest else [name]
    return ["_" if word == "." else word.replace("/", "_") for word in words]


def _place(signals: Any, name: str) -> str:
    """Where a signal goes: GROUP/NAME; a name that is taken gets a number."""
    place = "/".join(_words(name))
    path, number = place, 2
    while path in signals:
        path = f"{place}_{number}"
        number += 1
    return path


__all__ = ["Event", "Overview", "Record", "RecordInfo", "draw", "free_memory", "matches", "optional"]

"""Scenarios: what is in the world, who controls it, how it is moved in time; runs and sweeps of them."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import operator
import os
import re
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from ctypes import POINTER, byref, c_int, memmove, sizeof
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from . import _c, _core
from ._call import Array, check, new_report, numbers, text
from ._callbacks import Carrier
from ._documents import MODELS, drawn_into, plain, written
from ._errors import FileError, InputError, SoaError, error
from ._own import FOLDERS, Folder
from ._summary import summary_dict
from ._tables import scenario_defaults, scenario_keys, scenario_uniform, stock_scenario_text
from .records import Record, _Log, optional
from .worlds import Controller, ScenarioWarning, World, WorldMemory, start_world, warning_text

Progress = Callable[[World], object]


class Scenario:
    """A scenario, from a YAML file (docs/scenarios.md), a text, a dict, or shipped (`stock_scenarios()` lists them).

    >>> import soa.scenarios
    >>> scenario = soa.scenarios.Scenario.open("slope")
    >>> scenario.duration
    5.0
    >>> record = scenario.run(until=0.1)
    >>> record.summary["completed"]
    True
    """

    def __init__(self, struct: Any, document: dict[str, Any] | None = None, keep: object = None,
                 folder: str | None = None) -> None:
        """Use `open`, `from_yaml` or `from_dict`."""
        self._struct = struct
        self._document = document
        self._folder = folder  # where relative names of files in the document start; None: that of the file
        self._drawn: dict[str, float] | None = None
        weakref.finalize(self, _free_scenario, struct, keep)

    @classmethod
    def open(cls, spec: str | os.PathLike[str]) -> Scenario:
        """A scenario file, else a shipped scenario of that name."""
        if isinstance(spec, Mapping):
            raise TypeError("spec is a dict, expected a file or a name; Scenario.from_dict(document) reads dicts")
        struct = _c.soa_scenario()
        report = new_report()
        status = _c.soa_scenario_open(os.fsencode(spec), byref(struct), byref(report))
        if status in (_c.SOA_E_NAME, _c.SOA_E_FILE) and not os.path.exists(spec):
            raise error(status, f"{text(report.text)} (files: in {os.getcwd()}; soa.stock_scenarios() lists the shipped ones: "
                                f"{', '.join(stock_scenarios())})")
        check(status, report)
        return cls(struct)

    @classmethod
    def from_yaml(cls, text: str, name: str = "(text)") -> Scenario:
        """A scenario from its YAML text. name: the file for which it stands, in messages and for relative paths."""
        return cls._parse(text, name, None)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], name: str = "(dict)") -> Scenario:
        """A scenario from a dict with the keys of scenario files. NumPy arrays and numbers may be in it.

        `model` of a part may also be a `soa.Model`, `soa.ModelDefinition`, `soa.Linkage` or the result of
        `Linkage.span()`. One that `Model.open` gave is used by its name. Others become temporary files, which live as long
        as the scenario; their loops become `constraints`, named PART-LOOP. `resume` of a journal in another program needs
        a model with a file of its own: `Model.save`. Relative names of files start from the present folder, or from that
        of `name`.

        What cannot be used is an `InputError` (a ValueError) that names the key. Lines in messages are those of
        `Scenario.yaml`, the dict written as a text.

        >>> import soa.scenarios
        >>> scenario = soa.scenarios.Scenario.from_dict({
        ...     "name": "drop", "duration": 0.2,
        ...     "parts": [{"name": "ball", "body": {"mass": 1, "box": [0.1, 0.1, 0.1]}}]})
        >>> z = scenario.run()["q.ball.root.z"]
        >>> bool(abs(z[-1] + 9.81 * 0.2**2 / 2) < 1e-9)
        True
        """
        _check_values(document, "")
        return cls._from_document(plain(document), name, os.path.dirname(os.path.abspath(name)))

    @classmethod
    def _from_document(cls, document: dict[str, Any], name: str, folder: str | None) -> Scenario:
        held, kept = written(document, folder)
        return cls._parse(_json(held), name, document, kept, folder)

    @classmethod
    def _parse(cls, source: str, name: str, document: dict[str, Any] | None, kept: object = None,
               folder: str | None = None) -> Scenario:
        struct = _c.soa_scenario()
        report = new_report()
        data = source.encode()
        status = _c.soa_scenario_parse(data, len(data), os.fsencode(name), byref(struct), byref(report))
        if status != _c.SOA_OK and document is not None:
            said = text(report.text) + _line_of(source, report.line)
            if status == _c.SOA_E_FORMAT:  # of a dict, not of a file
                raise InputError(said, "SOA_E_FORMAT", -1, report.line)
            raise error(status, said, report.body, report.line)
        check(status, report)
        return cls(struct, document, kept, folder)

    # --- what is in it ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return text(self._struct.name)

    @property
    def title(self) -> str:
        """The sentence that says what it is."""
        return text(self._struct.text)

    @property
    def file(self) -> str:
        """The file it was read from."""
        return text(self._struct.file)

    @property
    def yaml(self) -> str:
        """The text it was read from; of a case of a sweep `to_dict` as a text."""
        if self._struct.is_case:
            return _json(written(self.to_dict(), self._folder)[0])
        return text(self._struct.source)

    @property
    def drawn(self) -> dict[str, float]:
        """What was drawn for this case of a sweep: `{quantity: value}`; empty for a scenario that is no case.

        >>> import soa.scenarios
        >>> varied = soa.scenarios.Scenario.from_dict({
        ...     "parts": [{"name": "ball", "body": {"mass": 1, "sphere": 0.1}}], "sweep": {"ball.mass_scale": [0.5, 2]}})
        >>> 0.5 <= varied.case(3).drawn["ball.mass_scale"] <= 2, varied.drawn
        (True, {})
        """
        if self._drawn is None:
            self._drawn = self._draw() if self._struct.is_case else {}
        return dict(self._drawn)

    def _draw(self) -> dict[str, float]:
        """Draws again what this case drew."""
        whole, again, report = _c.soa_scenario(), _c.soa_scenario(), new_report()
        memmove(byref(whole), byref(self._struct), sizeof(whole))
        whole.memory, whole.seed, whole.is_case = None, self._struct.drawn_from, False
        values = np.zeros(whole.variation_count)
        check(_c.soa_scenario_vary(byref(whole), self._struct.case_number, byref(again), numbers(values), byref(report)),
              report)
        _c.soa_scenario_free(byref(again))
        return dict(zip(self.variations, values.tolist()))

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self._struct.duration)

    @property
    def seed(self) -> int:
        """Seed of noise and variations."""
        return int(self._struct.seed)

    @property
    def parts(self) -> list[str]:
        """Names of the parts."""
        return [text(self._struct.parts[i].name) for i in range(self._struct.part_count)]

    @property
    def variations(self) -> dict[str, tuple[float, float]]:
        """What a sweep varies: `{quantity: (low, high)}`."""
        found = (self._struct.variations[i] for i in range(self._struct.variation_count))
        return {text(v.path): (v.low, v.high) for v in found}

    def to_dict(self) -> dict[str, Any]:
        """The scenario as a dict with the keys of scenario files: a copy. Aliases of YAML are written out.

        That of a case of a sweep has the values that were drawn and the case's seed, and no `sweep`.
        """
        if self._document is None:
            self._document = _load_yaml(text(self._struct.source))
        if self._struct.is_case:
            return drawn_into(self._document, self._struct, list(self.drawn), self.parts)
        copy: dict[str, Any] = plain(self._document)
        return copy

    # --- variants -----------------------------------------------------------------------------------------------------

    def with_values(self, **overrides: Any) -> Scenario:
        """A copy with other values of top-level keys; a dict changes only the keys in it: `control={"rate": 200}`.

        Quantities that a sweep can vary are named as there: "ball.mass_scale", "satellite.twist[0]", "contact.friction"
        (of all contacts), "sensors.position_noise", "control.mass_estimate".

        >>> import soa.scenarios
        >>> soa.scenarios.Scenario.open("slope").with_values(duration=2.0).duration
        2.0
        >>> heavy = soa.scenarios.Scenario.open("slope").with_values(**{"near.mass_scale": 2.0, "contact.friction": 0.5})
        >>> heavy.to_dict()["parts"][2]["mass_scale"], heavy.to_dict()["contacts"][0]["friction"]
        (2.0, 0.5)
        """
        if not overrides:
            return self
        lines = self._document is None and not self._struct.is_case
        source = _replace_lines(self.yaml, overrides) if lines else None
        if source is not None:
            try:
                return Scenario._parse(source, self.file, None)
            except FileError as fault:  # the values are at fault, not the file
                raise InputError(fault.args[0], fault.status, fault.body, fault.line) from None
        _check_values(overrides, "")
        document = self.to_dict()
        values = plain(overrides)
        for path in [key for key in values if "." in key]:
            _set_path(document, path, values.pop(path))
        _merge(document, values)
        return Scenario._from_document(document, self.file, self._folder)

    def case(self, number: int) -> Scenario:
        """Case `number` of the scenario's sweep, its quantities drawn as `sweep` draws them: `drawn` has them.

        The values are part of it: of its `to_dict`, `yaml` and `with_values` as well. A case has no cases.
        """
        self._refuse_case("case")
        if number < 0:
            raise ValueError(f"case is {number}, expected 0 or more")
        struct = _c.soa_scenario()
        report = new_report()
        check(_c.soa_scenario_vary(byref(self._struct), number, byref(struct), None, byref(report)), report)
        return Scenario(struct, self._document, self, self._folder)

    def _refuse_case(self, what: str) -> None:
        if self._struct.is_case:
            raise InputError(f"{what}: '{self.name}' is case {self._struct.case_number} of a sweep, its quantities are drawn: "
                             "take other cases from the scenario that it is a case of")

    def _copy(self) -> Scenario:
        """A copy of the struct, which shares what it points to; C does not free that with the copy."""
        struct = _c.soa_scenario()
        memmove(byref(struct), byref(self._struct), sizeof(struct))
        struct.memory = None
        return Scenario(struct, self._document, self, self._folder)

    def _with_seed(self, seed: int) -> Scenario:
        if self._struct.is_case:  # a journal of it could not say both
            return self.with_values(seed=_seed(seed))
        copy = self._copy()
        copy._struct.seed = _seed(seed)
        return copy

    def _externally_controlled(self) -> Scenario:
        copy = self._copy()
        copy._struct.control.external = 1
        return copy

    def _external_action(self) -> tuple[str, str] | None:
        """Names of the first action of law external and its phase: phase, action; None: no phase has one."""
        phase, action = c_int(), c_int()
        if not _c.soa_scenario_find_external(byref(self._struct), byref(phase), byref(action)):
            return None
        found = self._struct.control.phases[phase.value]
        return text(found.name), text(found.actions[action.value].name)

    # --- runs ---------------------------------------------------------------------------------------------------------

    def run(self, record: str | os.PathLike[str] | None = None, progress: bool | Progress | None = None, *,
            until: float | None = None, seed: int | None = None, case: int | None = None,
            controller: Controller | None = None, **overrides: Any) -> Record:
        """Runs the scenario to its end and returns the record, with `summary`.

        record: the journal's file (.soalog); None: a temporary one that goes with the `Record`.
        progress: True shows a bar on stderr; a function is called with the `World` after every tick, and an answer that
        is true stops the run there (`summary["completed"]` is False then).
        until: stops at this time, s. seed: another seed. case: a case of the sweep. controller: see `World`.
        overrides: see `with_values`.

        If the run fails, or the controller or progress raises, the exception has the record as far as it goes as its
        attribute `record` (None if it could not be written). Ctrl-C stops at the next tick. A journal with
        a name is kept in all cases, and `resume` goes on with it.

        Samples are taken at the start and then every `recording: rate` seconds, in whole ticks; the end of the run is
        no sample of its own. `tau` of a sample is what the motors did in the tick that ends there: 0 in the first.
        """
        for name, value in overrides.items():
            if callable(value):
                raise TypeError(f"run has no argument '{name}' for a function; did you mean 'controller' or 'progress'?")
        scenario = self.with_values(**overrides)
        if seed is not None:
            scenario = scenario._with_seed(seed)
        if case is not None:
            scenario = scenario.case(case)
        end = _end(scenario.duration if until is None else until)
        external = scenario._external_action()
        if external and controller is None:
            raise InputError(f"the torques of phase '{external[0]}', action '{external[1]}' come from a program (law external): "
                             "run(controller=f) with a function f(t, q, v) -> tau")
        world = World(scenario, controller)
        path, keep = _journal_name(record)
        journal = POINTER(_c.soa_journal)()
        report = new_report()
        check(_c.soa_world_create_journal(world._pointer, os.fsencode(path), byref(journal), byref(report)), report)
        return _record(world, journal, path, keep, end, progress)

    def world(self, controller: Controller | None = None) -> World:
        """A world of this scenario, to be moved tick by tick."""
        return World(self, controller)

    def sweep(self, cases: int = 100, seed: int | None = None, **options: Any) -> Sweep:
        """Runs many cases; see `soa.sweep`."""
        return sweep(self, cases, seed, **options)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Scenario cannot be pickled: send its text (Scenario.yaml), its dict or its file, and make it there "
                        "with from_yaml, from_dict or open; Scenario.sweep runs many cases on all cores")

    def __repr__(self) -> str:
        return f"<soa.Scenario '{self.name}': {self._struct.part_count} parts, {self.duration:g} s>"


def _free_scenario(struct: Any, keep: object) -> None:
    """Frees a scenario; what it shares lives until then because it is an argument."""
    _c.soa_scenario_free(byref(struct))


def _journal_name(record: str | os.PathLike[str] | None) -> tuple[str, object]:
    """The file, and what must live as long as it is needed."""
    if record is not None:
        return os.fspath(record), None
    folder = Folder()
    return os.path.join(folder.name, "run.soalog"), folder


def _seed(seed: int) -> int:
    if not 0 <= operator.index(seed) < 2**64:
        raise InputError(f"seed is {seed}, expected a whole number from 0 to 2^64 - 1")
    return operator.index(seed)


def _end(until: float) -> float:
    if not (math.isfinite(until) and until > 0):
        raise ValueError(f"until is {until}, expected a time after the start, s")
    return until


def _record(world: World, journal: Any, path: str, keep: object, end: float,
            progress: bool | Progress | None) -> Record:
    """Runs the world to its end and closes the journal."""
    function = _bar(end) if progress is True else progress or None
    fault: BaseException | None = None
    stopped = False
    try:
        stopped = world._run(journal, end, function)
    except BaseException as failed:  # also Ctrl-C
        fault = failed
    why = "stopped by progress" if stopped else None
    if fault is not None:
        why = str(fault) if isinstance(fault, SoaError) else f"{type(fault).__name__}: {fault}".rstrip(": ")
    report = new_report()
    close = _c.soa_journal_abandon if why is not None else _c.soa_journal_close
    status = close(journal, byref(report))
    if fault is not None:
        _attach(fault, world, path, keep, why)
        raise fault
    check(status, report, path)
    summary = world._summary(why)
    for one in summary.get("warnings", []):
        warnings.warn(warning_text(**one), ScenarioWarning, stacklevel=3)
    return Record._of_run(path, keep, summary, world.scenario)


def _attach(fault: BaseException, world: World, path: str, keep: object, why: str | None) -> None:
    """Gives an exception its attribute `record`."""
    record = None
    if os.path.exists(path):  # not before the first tick has ended
        with contextlib.suppress(SoaError):
            record = Record._of_run(path, keep, world._summary(why), world.scenario)
    with contextlib.suppress(AttributeError):  # of exceptions with __slots__
        setattr(fault, "record", record)


def resume(path: str | os.PathLike[str], progress: bool | Progress | None = None, *,
           until: float | None = None, controller: Controller | None = None) -> Record:
    """Goes on with a journal whose run was stopped or killed; it ends in the same bits as a run that was not.

    controller: that of the run, if it had one; what the function remembers is not in the journal, so that the same bits
    need a function that remembers nothing. Its method `start`, if it has one, gets the world at the checkpoint from which it
    goes on.
    """
    given = None if until is None else _end(until)
    had = _was_external(os.fspath(path))
    if had != (controller is not None):
        raise InputError(f"{path}: the run had {'a' if had else 'no'} controller in Python, expected "
                         + ("controller=..., the same function" if had else "no controller here either"))
    struct = _c.soa_scenario()
    pointer, journal = POINTER(_c.soa_world)(), POINTER(_c.soa_journal)()
    report = new_report()
    with _models_again():
        check(_c.soa_world_resume(os.fsencode(path), byref(struct), byref(pointer), byref(journal), byref(report)), report)
    world = World.__new__(World)
    world._scenario, world._carrier, world._controller, world._pointer = Scenario(struct), Carrier(), None, pointer
    world._warned = 0
    world._memory = WorldMemory(pointer, world._scenario)
    if controller is not None:
        try:
            world._set_controller(controller)
        except BaseException:  # of the controller's method start
            _c.soa_journal_abandon(journal, None)
            raise
    return _record(world, journal, os.fspath(path), None, world.scenario.duration if given is None else given, progress)


@contextlib.contextmanager
def _models_again() -> Iterator[None]:
    """Says why a model of a journal's run is not there, if it was an object in Python."""
    try:
        yield
    except FileError as fault:
        if re.search(rf"{FOLDERS}[^/]*/\d+\.soam: ", fault.args[0]):
            fault.args = (f"{fault.args[0]}; that run was given its model as an object in Python, whose temporary file is gone: "
                          "give scenarios whose journals are resumed or opened for their summary a file that Model.save wrote",)
        raise


def _was_external(path: str) -> bool:
    """Whether the run of a journal was controlled by a function of its caller."""
    log = _Log(path)
    struct = _c.soa_scenario()
    report = new_report()
    check(_c.soa_scenario_from_log(log.pointer, os.fsencode(path), byref(struct), byref(report)), report)
    external = bool(struct.control.external)
    _c.soa_scenario_free(byref(struct))
    return external


def _bar(end: float) -> Progress:
    import time

    begun = shown = time.monotonic()

    def show(world: World) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > 0.1 or world.t >= end - world.tick_length / 2:
            shown = now
            done = min(1.0, world.t / end)
            bar = ("#" * int(30 * done)).ljust(30, ".")
            last = "\n" if done >= 1 else ""
            factor = world.t / max(now - begun, 1e-9)
            print(f"\r[{bar}] {world.t:.2f} of {end:g} s, {factor:.1f} x real time {world.phase} ", end=last,
                  file=sys.stderr, flush=True)

    return show


def summary_of_log(log: _Log) -> dict[str, Any]:
    """The figures at the last checkpoint of a journal."""
    struct = _c.soa_scenario()
    report = new_report()
    name = os.fsencode(log.path)
    check(_c.soa_scenario_from_log(log.pointer, name, byref(struct), byref(report)), report)
    scenario = Scenario(struct)
    blob = log.checkpoint()
    if blob is None:
        raise SoaError(f"{log.path}: the record has no checkpoint, and so no figures")
    with _models_again():
        pointer = start_world(struct)
    try:
        status = _c.soa_world_restore_state(pointer, blob[1], len(blob[1]))
        if status == _c.SOA_E_FORMAT:
            raise FileError(f"{log.path}: the figures at t = {blob[0]:g} s are of another version of the scenario, its models "
                            "or this package; the samples can be read", "SOA_E_FORMAT")
        check(status, None, log.path)
        summary = _c.soa_world_summary()
        check(_c.soa_world_summarise(pointer, byref(summary)))
        fault = None if log.info().complete else "the run was not finished"
        return summary_dict(summary, scenario.name, scenario.seed, fault, scenario.drawn)
    finally:
        _c.soa_world_free(pointer)


def stock_scenarios() -> list[str]:
    """Names of the shipped scenarios.

    >>> import soa.scenarios
    >>> "grapple" in soa.scenarios.stock_scenarios()
    True
    """
    names: list[str] = []
    while (name := _c.soa_stock_scenario_name(len(names))) is not None:
        names.append(text(name))
    return names


# --- texts ------------------------------------------------------------------------------------------------------------
def _check_values(value: object, place: str) -> None:
    """Refuses what a scenario cannot hold, with its place in the dict."""
    what = place or "the scenario"
    if isinstance(value, Mapping):
        for key, one in value.items():
            if not isinstance(key, str):
                raise InputError(f"{what}: the key {key!r} is a {type(key).__name__}, expected a str", "SOA_E_FORMAT")
            _check_values(one, f"{place}.{key}" if place else key)
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        for index, one in enumerate(value):
            _check_values(one, f"{place}[{index}]")
    elif isinstance(value, float | np.floating) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        if not math.isfinite(float(value)):
            raise InputError(f"{what} is {value}: all numbers must be finite", "SOA_E_NOT_FINITE")
    elif value is not None and not isinstance(value, str | bool | int | np.generic | np.ndarray | os.PathLike):
        if isinstance(value, MODELS) and re.fullmatch(r"parts\[\d+\]\.model", place):
            return
        if isinstance(value, MODELS):
            raise TypeError(f"{what} is a {type(value).__name__}, which belongs under the key `model` of a part")
        raise TypeError(f"{what}: a scenario cannot hold a {type(value).__name__}, expected a number, a text, a list or "
                        "a dict")


def _line_of(source: str, line: int) -> str:
    """A line of the text that a dict became."""
    lines = source.splitlines()
    return f"; line {line} of the dict as a text: {lines[line - 1].strip()}" if 0 < line <= len(lines) else ""


def _json(document: Mapping[str, Any]) -> str:
    """JSON, which is YAML."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _set_path(document: dict[str, Any], path: str, value: object) -> None:
    """Sets a quantity that is named as in a sweep: part.quantity[k], contact., sensors. or control.quantity."""
    owner, _, rest = path.partition(".")
    found = re.fullmatch(r"(\w+)(?:\[([0-9])\])?", rest)
    parts = {part.get("name"): part for part in document.get("parts", ())}
    places: list[dict[str, Any]]
    if owner in parts:
        places = [parts[owner]]
    elif owner == "contact":
        places = document.get("contacts") or []
    elif owner in ("sensors", "control"):
        control = document.setdefault("control", {})
        places = [control if owner == "control" else control.setdefault("sensors", {})]
    else:
        raise InputError(f"with_values: '{path}' is a quantity of '{owner}', expected that of a part ({', '.join(map(str, parts))}), "
                         "of contact, sensors or control", "SOA_E_NAME")
    if not places:
        raise InputError(f"with_values: there are no contacts, so '{path}' changes nothing", "SOA_E_NAME")
    if found is None:
        raise InputError(f"with_values: '{path}', expected NAME.QUANTITY or NAME.QUANTITY[k]", "SOA_E_NAME")
    for place in places:
        if found[2] is None:
            place[found[1]] = value
        else:
            _set_number(place, found[1], int(found[2]), value, path)


def _set_number(place: dict[str, Any], key: str, index: int, value: object, path: str) -> None:
    """Sets one number of a list, which may be written in another way, or not at all."""
    old = place.get(key)
    if key == "place" and (old is None or isinstance(old, dict)):
        place[key] = old = old or {}
        old.setdefault("xyz", [0, 0, 0])
        old = old["xyz"]
    elif key == "twist" and (old is None or isinstance(old, dict)):
        old = place[key] = [*(old or {}).get("angular", (0, 0, 0)), *(old or {}).get("linear", (0, 0, 0))]
    elif key.endswith("_noise") and not isinstance(old, list):
        old = place[key] = [old or 0, old or 0]
    if not isinstance(old, list) or not 0 <= index < len(old):
        raise InputError(f"with_values: '{path}', but {key} is {old!r}, which has no number {index}", "SOA_E_NAME")
    old[index] = value


def _replace_lines(source: str, overrides: Mapping[str, Any]) -> str | None:
    """The text with other values of top-level keys, where these are numbers or words in lines alone; else None."""
    if any("." in key for key in overrides):
        return None
    if re.search(r"^[{\[]", source, re.M) or re.search(r"^(---|\.\.\.)", source, re.M):
        return None
    for key, value in overrides.items():
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, bool | int | float | str):
            return None
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{key} is {value}: all numbers must be finite")
        line = f"{key}: {json.dumps(value, ensure_ascii=False)}"
        found = re.findall(rf"^{re.escape(key)}\s*:.*$", source, re.M)
        if not found:
            source = source.rstrip("\n") + "\n" + line + "\n"
        elif len(found) == 1 and re.fullmatch(rf"{re.escape(key)}[ \t]*:[ \t]+[\w.+\-][^#&*|>]*(#.*)?", found[0]):
            source = source.replace(found[0], line, 1)
        else:
            return None
    return source


_WORDS: dict[str, object] = {word: value for value, words in (
    (None, ("", "~", "null", "Null", "NULL")), (True, ("true", "True", "TRUE")), (False, ("false", "False", "FALSE")))
    for word in words}


def _resolve(word: str) -> object:
    """A word of YAML without quotes, as YAML 1.2 has it: `on` is a word, 1e-8 a number."""
    if word in _WORDS:
        return _WORDS[word]
    if re.fullmatch(r"[-+]?[0-9]+", word):
        return int(word)
    if re.fullmatch(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", word):
        return float(word)
    return word


def _load_yaml(source: str) -> dict[str, Any]:
    """A scenario's text as a dict, by the reader of scenario files."""
    document: dict[str, Any] = _core.read_yaml(source, _resolve)
    return document


# --- sweeps -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, repr=False)
class Sweep:
    """The results of a sweep: a row for each case. `sweep["energy_error_rel"]` is a column.

    columns: `{name: (cases,)}`. done: cases that were run. stopped: whether progress stopped
    it.

    A column of numbers is a float64 array with NaN where there is none; `phase` and `fault` are arrays of words.
    `held`, `faults`, `warned` are numbers of cases.
    """

    columns: dict[str, Array]
    cases: int
    done: int
    held: int
    faults: int
    warned: int
    stopped: bool

    def __repr__(self) -> str:
        return f"<soa.Sweep: {self.done} of {self.cases} cases, {self.faults} faults, {self.held} held, {self.warned} warned>"

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise KeyError(f"the sweep has no column '{name}': it has {', '.join(self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def keys(self) -> list[str]:
        """Names of the columns."""
        return list(self.columns)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The cases as dicts."""
        names = list(self.columns)
        return [dict(zip(names, row)) for row in zip(*(self.columns[name].tolist() for name in names))]

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each case."""
        return optional("pandas", "Sweep.to_pandas").DataFrame(self.columns)


def _read_table(path: str) -> dict[str, Array]:
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file))
    columns: dict[str, Any] = {}
    for name, column in zip(names, zip(*rows)):
        columns[name] = np.array(column) if name in ("phase", "fault") else np.array(column, dtype=np.float64)
    return columns


def sweep(scenario: Scenario | str | os.PathLike[str], cases: int = 100, seed: int | None = None, *, threads: int = 0,
          table: str | os.PathLike[str] | None = None, resume: bool = False,
          progress: Callable[[int, int], object] | None = None) -> Sweep:
    """Runs cases 0 ... cases - 1 of a scenario, their quantities drawn at random as its `sweep` says.

    The numbers of a case depend on the seed and the case alone, so results have the same bits for any number of
    threads. threads: 0 is all. table: a CSV file to write; finished cases are kept beside it (TABLE.cases) until it is
    whole, and resume=True goes on with them. progress: called as `(done, cases)` after every case; an answer that is
    true stops.

    >>> import soa.scenarios
    >>> drop = {"name": "drop", "duration": 0.1, "parts": [{"name": "ball", "body": {"mass": 1, "box": [1, 1, 1]}}],
    ...         "sweep": {"ball.mass_scale": [0.5, 2]}}
    >>> soa.scenarios.sweep(soa.scenarios.Scenario.from_dict(drop), cases=3)["ball.mass_scale"].shape
    (3,)
    """
    if operator.index(cases) < 1:
        raise InputError(f"sweep: cases is {cases}, expected 1 or more")
    if operator.index(threads) < 0:
        raise InputError(f"sweep: threads is {threads}, expected 0 (all) or more")
    given = scenario if isinstance(scenario, Scenario) else Scenario.open(scenario)
    given._refuse_case("sweep")
    if seed is not None:
        given = given._with_seed(seed)
    if table is None and resume:
        raise ValueError("resume needs the table of the sweep before")
    carrier = Carrier()
    stopping = False

    def after_case(_user: object, now: Any) -> None:
        def call() -> None:
            nonlocal stopping
            if progress is not None and progress(now.contents.done, now.contents.cases):
                stopping = True

        carrier.run(call, None)

    with tempfile.TemporaryDirectory(prefix="soa-") as folder:
        path = os.path.join(folder, "table.csv") if table is None else os.fspath(table)
        options = _c.soa_sweep_options_default()
        fields: dict[str, Any] = {field[0]: field[1] for field in _c.soa_sweep_options._fields_}
        options.cases, options.threads, options.table, options.resume = cases, threads, os.fsencode(path), int(resume)
        options.progress = fields["progress"](after_case)
        options.stop = fields["stop"](lambda _user: int(carrier.run(lambda: stopping, 1)))
        result = _c.soa_sweep_result()
        report = new_report()
        with carrier:
            status = _c.soa_scenario_sweep(byref(given._struct), byref(options), byref(result), byref(report))
        check(status, report, "sweep")
        columns = _read_table(path) if os.path.exists(path) else {}
    return Sweep(columns, result.cases, result.done, result.held, result.faults, result.warned, bool(result.stopped))


__all__ = ["Scenario", "ScenarioWarning", "Sweep", "World", "resume", "scenario_defaults", "scenario_keys",
           "scenario_uniform", "stock_scenario_text", "stock_scenarios", "summary_of_log", "sweep"]

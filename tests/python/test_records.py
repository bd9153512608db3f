"""Records: values against the program's CSV, other formats, pictures, reports."""

from __future__ import annotations

import csv
import math
import os
import pathlib
import subprocess
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import soa
from soa import _view
from soa.records import Record, matches
from soa.scenarios import Scenario
from soa.worlds import World

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SOA_PROGRAM", str(ROOT / "build" / "soa"))
needs_program = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK),
                                   reason=f"the program {PROGRAM} is not there: set SOA_PROGRAM")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("record") / "slope.soalog"
    Scenario.open("slope").run(path, until=1.0)
    return path


@pytest.fixture
def record(journal: pathlib.Path) -> Record:
    return Record.open(journal)


def table(path: pathlib.Path) -> tuple[list[str], np.ndarray]:
    with open(path, newline="") as file:
        head, *rows = list(csv.reader(file))
    return head, np.array(rows, dtype=float)


@needs_program
def test_values_and_csv_are_the_program_s(record: Record, tmp_path: pathlib.Path) -> None:
    for name, words in (("all", []), ("some", ["--signals", "q.*", "--from", "0.2", "--to", "0.5"]),
                        ("events", ["--events"])):
        subprocess.run([PROGRAM, "export", record.path, "-o", str(tmp_path / f"{name}.csv"), *words], check=True,
                       capture_output=True)
    record.to_csv(tmp_path / "ours.csv")
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "all.csv").read_bytes()
    record[0.2:0.5].to_csv(tmp_path / "ours.csv", "q.*")
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "some.csv").read_bytes()
    record.to_csv(tmp_path / "ours.csv", events=True)
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "events.csv").read_bytes()
    head, rows = table(tmp_path / "all.csv")
    np.testing.assert_array_equal(record.t, rows[:, 0])
    for column, (name, unit) in enumerate(record.units.items(), 1):
        assert head[column] == (f"{name} [{unit}]" if unit else name)
        np.testing.assert_array_equal(record[name], rows[:, column], name)


def test_what_is_in_it(record: Record) -> None:
    info = record.info
    assert (info.samples, info.first, info.last, info.complete) == (101, 0.0, 1.0, True)
    assert record.samples == len(record.t) == 101
    assert record.signals == list(record) == list(record.units)
    assert len(record) == len(record.signals)
    assert "q.smooth.root.x" in record and "nothing" not in record
    assert "name: slope" in info.scenario
    assert [e.kind for e in record.events[:3]] == ["touch"] * 3
    assert dict(record).keys() == record.read().keys()
    assert "101 samples" in repr(record)


def test_names(record: Record) -> None:
    with pytest.raises(KeyError, match="did you mean 'q.smooth.root.x'"):
        record["q.smoth.root.x"]
    with pytest.raises(KeyError, match="no signal"):
        record.match("nothing.*")
    with pytest.raises(TypeError, match="int"):
        record[3]  # type: ignore[call-overload]
    assert record.match("q.smooth.root.?") == ["q.smooth.root.x", "q.smooth.root.y", "q.smooth.root.z"]
    assert matches("a[0]", "a[0]") and not matches("a0", "a[0]") and matches("a.b", "a*")


def test_slices(record: Record) -> None:
    x, t = record["q.smooth.root.x"], record.t
    part = record[0.25:0.5]
    chosen = (t >= 0.25) & (t <= 0.5)
    np.testing.assert_array_equal(part["q.smooth.root.x"], x[chosen])
    np.testing.assert_array_equal(part.t, t[chosen])
    np.testing.assert_array_equal(part[0.3:].t, t[(t >= 0.3) & (t <= 0.5)])
    np.testing.assert_array_equal(record[:].t, t)
    assert record[5.0:].samples == 0
    assert record[0.5:0.2].t.shape == (0,)
    assert all(0.25 <= e.t <= 0.5 for e in part.events)
    with pytest.raises(ValueError, match="step"):
        record[0:1:2]
    with pytest.raises(ValueError, match="not a number"):
        record[math.nan:]


def test_overview_is_that_of_all_samples(record: Record) -> None:
    overview = record.overview("v.*", columns=7)
    t = record.t
    for name in record.match("v.*"):
        x = record[name]
        for k in range(7):
            low, high = overview.edges[k], overview.edges[k + 1]
            part = x[(t >= low) & ((t < high) if k < 6 else (t <= high))]
            assert overview.least[name][k] == part.min()
            assert overview.most[name][k] == part.max()


def test_files_that_are_no_records(tmp_path: pathlib.Path) -> None:
    with pytest.raises(soa.FileError):
        Record.open(tmp_path / "none.soalog")
    (tmp_path / "text").write_text("no journal at all\n" * 50)
    with pytest.raises(soa.FileError):
        Record.open(tmp_path / "text")


def test_temporary_record_goes_with_its_last_user() -> None:
    record = Scenario.open("slope").run(until=0.02)
    part, path = record[0.01:], record.path
    del record
    assert os.path.exists(path) and part.samples == 2
    del part
    assert not os.path.exists(path)


def test_follow(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.soalog"
    begun, read = threading.Event(), threading.Event()

    def slow(world: World) -> None:
        if not begun.is_set() and world.t > 0.02:
            begun.set()
            read.wait(10)

    runner = threading.Thread(target=lambda: Scenario.open("slope").run(path, until=0.2, progress=slow))
    runner.start()
    assert begun.wait(30)
    record = Record.open(path)
    assert not record.info.complete
    read.set()
    parts = [part.t for part in record.follow(interval=0.01, timeout=20)]
    runner.join()
    np.testing.assert_array_equal(np.concatenate(parts), Record.open(path).t)
    assert record.info.complete and not record.refresh()


def test_pandas(record: Record) -> None:
    pytest.importorskip("pandas")
    frame = record[0.1:0.3].to_pandas("q.smooth.*", "energy.*")
    assert frame.index.name == "t"
    assert frame.attrs["units"]["q.smooth.root.x"] == "m"
    np.testing.assert_array_equal(frame["q.smooth.root.x"], record[0.1:0.3]["q.smooth.root.x"])


def test_hdf5(record: Record, tmp_path: pathlib.Path) -> None:
    h5py = pytest.importorskip("h5py")
    record.to_hdf5(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        for name, unit in record.units.items():
            group, _, rest = name.partition(".")
            data = file["signals"][group][rest]
            assert (data.attrs["name"], data.attrs["unit"]) == (name, unit)
            np.testing.assert_array_equal(data[:], record[name])
        np.testing.assert_array_equal(file["t"][:], record.t)
        assert file["events"]["kind"][0].decode() == record.events[0].kind
        assert file["scenario"][()].decode() == record.info.scenario
        assert file.attrs["complete"] == 1


@needs_program
def test_hdf5_has_the_program_s_layout(record: Record, tmp_path: pathlib.Path) -> None:
    h5py = pytest.importorskip("h5py")
    subprocess.run([PROGRAM, "export", record.path, "-o", str(tmp_path / "a.h5")], check=True, capture_output=True)
    record.to_hdf5(tmp_path / "b.h5")

    def content(path: pathlib.Path) -> dict[str, tuple[object, ...]]:
        found: dict[str, tuple[object, ...]] = {}
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.__setitem__(
                name, (tuple(sorted(item.attrs)), item.shape if isinstance(item, h5py.Dataset) else None)))
            found["/"] = tuple(sorted(file.attrs))
        return found

    assert content(tmp_path / "a.h5") == content(tmp_path / "b.h5")


def test_plot(record: Record, tmp_path: pathlib.Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = record.plot("q.smooth.*", "energy.kinetic")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert len(labels) == 3 and "m" in labels and "J" in labels
    for axes in figure.axes:
        assert [text.get_text() for text in axes.get_legend().get_texts()] == [line.get_label() for line in axes.lines]
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), record[line.get_label()])
    with pytest.raises(ValueError, match="several units"):
        record.plot("q.smooth.*", "energy.*", axes=figure.axes[0])
    assert record.plot("energy.*", axes=figure.axes[0]) is figure
    import matplotlib.pyplot

    matplotlib.pyplot.close(figure)


def test_missing_packages_are_named(record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    for name in ("pandas", "h5py", "matplotlib.pyplot"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    for call, name in ((record.to_pandas, "pandas"), (record.plot, "matplotlib"),
                       (lambda: record.to_hdf5(tmp_path / "x.h5"), "h5py")):
        with pytest.raises(ImportError, match=f"pip install {name}"):
            call()


@needs_program
def test_report_is_the_program_s(record: Record, tmp_path: pathlib.Path) -> None:
    subprocess.run([PROGRAM, "report", record.path, "-q", "-o", str(tmp_path / "a.html")], check=True,
                   capture_output=True)
    assert record.report(tmp_path / "b.html") == str(tmp_path / "b.html")
    ours, theirs = (tmp_path / "b.html").read_bytes(), (tmp_path / "a.html").read_bytes()
    assert abs(len(ours) - len(theirs)) < 0.1 * len(theirs)
    assert ours[-20000:] == theirs[-20000:]


def test_views(record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    arm = soa.Model.open("arm7", floating=True)
    world = World("slope")
    world.step(2)
    paths = [record.view(), world.view(), _view.view_model(arm, arm.random()),
             _view.view_model(arm.with_gravity([0, 0, 0]))]
    assert opened == [f"file://{path}" for path in paths]
    for path in paths:
        assert isinstance(path, str) and "<html" in pathlib.Path(path).read_text().lower()
    assert not hasattr(record, "_repr_html_")           # a page of megabytes only when it is asked for
    now = _view.snapshot(world)
    assert now.t.tolist() == [world.t]
    assert now["q.smooth.root.x"][0] == world.signals["q.smooth.root.x"]


def test_view_in_a_notebook(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel(types.SimpleNamespace):
        kernel = True

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = Kernel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = record.report()
        assert isinstance(record.view(), _view.Page)
    assert isinstance(shown, _view.Page) and shown._repr_html_().startswith("<iframe srcdoc=")
    assert len(repr(shown)) < 100


def test_empty_slices_are_written(record: Record, tmp_path: pathlib.Path) -> None:
    h5py = pytest.importorskip("h5py")
    record[5.0:].to_hdf5(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["t"].shape == file["signals/q/smooth.root.x"].shape == (0,)


def test_report_keeps_older_files(record: Record, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="journal itself"):
        record.report(record.path)
    with pytest.raises(OSError):
        record.report(tmp_path / "no" / "such.html")
    assert Record.open(record.path).samples == 101

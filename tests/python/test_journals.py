"""Journals written from Python, read by Record and the program; crashes, checkpoints, refusals."""

from __future__ import annotations

import math
import os
import pathlib
import resource
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import soa
from soa.journals import Journal

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SOA_PROGRAM", str(ROOT / "build" / "soa"))
SEED = 20
SIGNALS = {"arm.q1": "rad", "arm.tau1": "N m", "note": ""}


def table(count: int) -> np.ndarray:
    print(f"seed {SEED}")
    values = np.random.default_rng(SEED).normal(size=(count, len(SIGNALS)))
    if count > 7:
        values[3, 1], values[5, 2], values[7, 0] = math.nan, math.inf, -0.0
    return values


def write(journal: Journal, values: np.ndarray, first: int = 0, checkpoint: int = 100) -> None:
    for k in range(first, len(values)):
        if k % checkpoint == 0:
            journal.write_checkpoint(0.01 * k, str(k).encode())
        if k % 3:
            journal.write_sample(0.01 * k, values[k])
        else:
            journal.write_sample(
                0.01 * k, dict(zip(reversed(SIGNALS), reversed(values[k].tolist())))
            )
        if k % 50 == 49:
            journal.write_event(0.01 * k, "mark", f"sample {k}\nin two lines")


def test_what_is_written_is_read(tmp_path: pathlib.Path) -> None:
    path, values = tmp_path / "a.soalog", table(1000)
    with Journal(path, SIGNALS, "made by hand") as journal:
        assert journal.signals == SIGNALS and not journal.closed
        write(journal, values)
        assert journal.state.samples == 1000 and journal.state.checkpoints == 10
        assert journal.state.safe == 9.0 and journal.state.fault == ""
    assert journal.closed
    record = journal.record()
    assert record.info.complete and record.info.scenario == "made by hand"
    assert record.units == SIGNALS
    assert (record.t == 0.01 * np.arange(1000)).all()
    for k, name in enumerate(SIGNALS):
        assert record[name].tobytes() == np.ascontiguousarray(values[:, k]).tobytes()
    assert [(e.t, e.kind, e.text) for e in record.events] == [
        (0.01 * k, "mark", f"sample {k}\nin two lines") for k in range(49, 1000, 50)
    ]


@pytest.mark.skipif(
    not os.access(PROGRAM, os.X_OK), reason=f"the program {PROGRAM} is not there: set SOA_PROGRAM"
)
def test_the_program_reads_it(tmp_path: pathlib.Path) -> None:
    path, csv = tmp_path / "a.soalog", tmp_path / "a.csv"
    with Journal(path, SIGNALS) as journal:
        write(journal, table(20))
    subprocess.run([PROGRAM, "export", str(path), "-o", str(csv)], check=True, capture_output=True)
    lines = csv.read_text().splitlines()
    assert lines[0] == "t [s],arm.q1 [rad],arm.tau1 [N m],note" and len(lines) == 21
    assert float(lines[2].split(",")[2]) == table(20)[1, 1]


def test_readers_see_what_was_flushed(tmp_path: pathlib.Path) -> None:
    with Journal(tmp_path / "a.soalog", ["x"]) as journal:
        assert journal.signals == {"x": ""}
        journal.write_sample(0.0, [1.0])
        journal.flush()
        record = journal.record()
        assert record["x"].tolist() == [1.0] and not record.info.complete
        journal.write_sample(0.0, [2.0])  # a jump: the same time again
        journal.flush()
        assert record.refresh() and record["x"].tolist() == [1.0, 2.0]


def test_a_run_that_was_killed_continues_to_the_same_bytes(tmp_path: pathlib.Path) -> None:
    whole, path, values = tmp_path / "whole.soalog", tmp_path / "killed.soalog", table(1000)
    with Journal(whole, SIGNALS, "run") as journal:
        write(journal, values)
    script = textwrap.dedent("""
        import os, signal, sys
        sys.path.insert(0, sys.argv[2])
        from test_journals import SIGNALS, table, write
        from soa.journals import Journal
        journal = Journal(sys.argv[1], SIGNALS, "run")
        write(journal, table(1000)[:733])
        journal.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    run = subprocess.run(
        [sys.executable, "-c", script, path, pathlib.Path(__file__).parent],
        check=False,
        capture_output=True,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert soa.Record.open(path).samples == 733
    again = Journal.reopen(path)
    assert again.scenario == "run" and again.t == 7.0 and again.checkpoint == b"700"
    first = int(again.checkpoint)
    with again.journal as journal:
        assert journal.signals == SIGNALS
        journal.write_sample(0.01 * first, values[first])  # its checkpoint is there already
        write(journal, values, first + 1)
    assert path.read_bytes() == whole.read_bytes()


def test_without_a_checkpoint_it_starts_again(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.soalog"
    journal = Journal(path, ["x"])
    for k in range(10):
        journal.write_sample(k, [k])
    journal.abandon()
    assert journal.closed and not soa.Record.open(path).info.complete
    again = Journal.reopen(path)
    assert (again.t, again.checkpoint, again.scenario) == (0.0, None, "")
    again.journal.close()
    assert soa.Record.open(path).samples == 0


def test_an_exception_abandons_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.soalog"
    with pytest.raises(ZeroDivisionError), Journal(path, ["x"]) as journal:
        journal.write_sample(0.0, [1.0])
        journal.write_sample(1.0, [1 / 0])
    record = soa.Record.open(path)
    assert record["x"].tolist() == [1.0] and not record.info.complete
    assert journal.closed and "closed" in repr(journal)
    journal.close()  # nothing more to do
    with pytest.raises(ValueError, match="is closed"):
        journal.write_sample(2.0, [1.0])


def test_one_that_is_forgotten_keeps_its_samples(tmp_path: pathlib.Path) -> None:
    journal = Journal(tmp_path / "a.soalog", ["x"])
    journal.write_sample(0.0, [1.0])
    journal.write_sample(1.0, [2.0])
    del journal
    assert soa.Record.open(tmp_path / "a.soalog")["x"].tolist() == [1.0, 2.0]


def test_an_older_file_stays_until_something_is_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.soalog"
    path.write_bytes(b"older")
    journal = Journal(path, ["x"])
    assert journal.state.pending
    journal.abandon()
    assert path.read_bytes() == b"older"
    with Journal(path, ["x"]) as journal:
        journal.write_sample(0.0, [1.0])
        journal.flush()
        assert not journal.state.pending
    assert soa.Record.open(path).samples == 1


def test_unlink(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.soalog"
    with Journal(path, ["x"]) as journal:
        journal.write_sample(0.0, [1.0])
        journal.flush()
        assert path.exists()
        journal.unlink()
        assert not path.exists()
        journal.write_sample(1.0, [1.0])


def test_a_file_that_must_not_grow_is_reported(tmp_path: pathlib.Path) -> None:
    journal = Journal(tmp_path / "a.soalog", ["x"])
    for k in range(20):
        journal.write_sample(0.01 * k, [1.0])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(tmp_path / "a.soalog") + 100, hard))
    try:
        with pytest.raises(soa.FileError, match="flush: .*cannot be written"):
            journal.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "cannot be written" in journal.state.fault and math.isnan(journal.state.safe)
    with pytest.raises(soa.FileError, match="sample at t = 1 s"):
        journal.write_sample(1.0, [1.0])
    with pytest.raises(soa.FileError):
        journal.close()
    assert journal.closed


def test_a_world_stepped_by_hand_is_recorded_as_its_scenario_would(tmp_path: pathlib.Path) -> None:
    scenario = soa.Scenario.open("slope")
    ready = scenario.run(until=0.05)
    world = scenario.world()
    with Journal.of_world(tmp_path / "hand.soalog", world) as journal:
        assert list(journal.signals) == ready.signals
        journal.write_sample(world.t, world.signals)
        for _ in range(round(0.05 / world.tick_length)):
            world.step()
            journal.write_sample(world.t, world.signals)
        journal.write_checkpoint(world.t, world.save())
    record = journal.record()
    assert record.units == ready.units and record.info.scenario == ready.info.scenario
    same = np.isin(record.t.round(9), ready.t.round(9))
    assert same.sum() == ready.samples
    for name in ready.match("q.*"):
        assert (record[name][same] == ready[name]).all()
    assert record.summary["simulated_s"] == ready.summary["simulated_s"]


def test_refusals(tmp_path: pathlib.Path) -> None:
    for signals, text in (
        (["x", "x"], "a name twice"),
        ("x", "one text"),
        ({"": "m"}, "signal 0 has no name"),
        ({"a\nb": "m"}, "signal 0"),
    ):
        with pytest.raises(ValueError, match=text):
            Journal(tmp_path / "a.soalog", signals)
    with pytest.raises(soa.FileError):
        Journal(tmp_path / "no" / "a.soalog", ["x"])
    with pytest.raises(soa.FileError):
        Journal.reopen(tmp_path / "none.soalog")
    with Journal(tmp_path / "a.soalog", ["x", "y"]) as journal:
        with pytest.raises(soa.FileError, match="a.soalog"):
            Journal(tmp_path / "a.soalog", ["x"])  # another writer has it
        journal.write_sample(1.0, [1.0, 2.0])
        for values, kind, text in (
            ([1.0], ValueError, r"shape \(1,\), expected \(2,\)"),
            ({"x": 1.0}, KeyError, "'y' is missing"),
            ({"x": 1.0, "y": 1.0, "z": 1.0}, KeyError, "'z' is no signal"),
            (["a", "b"], TypeError, "dtype"),
        ):
            with pytest.raises(kind, match=text):
                journal.write_sample(2.0, values)
        with pytest.raises(
            ValueError, match="t = 0.5 s: times must not decrease, and the last sample was at 1 s"
        ):
            journal.write_sample(0.5, [1.0, 2.0])
        with pytest.raises(ValueError, match="t is nan"):
            journal.write_sample(math.nan, [1.0, 2.0])
        with pytest.raises(ValueError, match="kind is empty"):
            journal.write_event(1.0, "")
        with pytest.raises(ValueError, match=r"text of an event has the control character '\\x00'"):
            journal.write_event(1.0, "word", "a\0b")
        with pytest.raises(
            ValueError, match="kind of an event has 300 bytes, expected at most 255"
        ):
            journal.write_event(1.0, "k" * 300)
        assert journal.state.samples == 1 and journal.state.events == 0

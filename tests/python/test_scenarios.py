"""Scenarios, worlds and sweeps, against the built program where it is there."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
from typing import Any

import numpy as np
import pytest

import soa
from soa.records import Record
from soa.scenarios import Scenario, resume, stock_scenarios, sweep
from soa.motion import simulate
from soa.worlds import Pull, World

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SOA_PROGRAM", str(ROOT / "build" / "soa"))
needs_program = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK),
                                   reason=f"the program {PROGRAM} is not there: set SOA_PROGRAM")
CLOCK = ("wall_s", "real_time_factor")

BALL = {"name": "ball", "body": {"mass": 1, "box": [0.1, 0.1, 0.1]}}
ARM = {"name": "hold", "duration": 0.2, "parts": [{"name": "arm", "model": "arm7"}], "control": {"rate": 500}}


def program(*words: str) -> None:
    subprocess.run([PROGRAM, *words], check=True, capture_output=True)


@needs_program
@pytest.mark.parametrize(("name", "until"), [("slope", 1.0), ("grapple", 0.05), ("stack", 0.1), ("billiard", 0.02)])
def test_same_bytes_and_summary_as_the_program(name: str, until: float, tmp_path: pathlib.Path) -> None:
    theirs, ours, summary = tmp_path / "a.soalog", tmp_path / "b.soalog", tmp_path / "s.json"
    subprocess.run([PROGRAM, "sim", name, "-q", "--until", str(until), "-o", str(theirs), "--summary", str(summary)],
                   capture_output=True)
    record = Scenario.open(name).run(ours, until=until)
    assert ours.read_bytes() == theirs.read_bytes()
    expected = json.loads(summary.read_text())
    got = json.loads(json.dumps(record.summary))
    assert list(got) == list(expected)
    for key, value in expected.items():
        if key not in CLOCK:
            assert got[key] == value, key


def test_summary_of_an_opened_record(tmp_path: pathlib.Path) -> None:
    run = Scenario.open("slope").run(tmp_path / "a.soalog", until=0.3)
    opened = Record.open(tmp_path / "a.soalog")
    for key, value in opened.summary.items():
        if key not in CLOCK:
            assert run.summary[key] == value, key


@pytest.mark.parametrize("name", stock_scenarios())
def test_a_dict_is_the_same_scenario_as_its_yaml(name: str) -> None:
    pytest.importorskip("yaml")
    given = Scenario.open(name)
    copy = Scenario.from_dict(given.to_dict())
    first, second = given.run(until=0.02).read(), copy.run(until=0.02).read()
    assert list(first) == list(second)
    for key, values in first.items():
        np.testing.assert_array_equal(values, second[key], key)


def test_overrides() -> None:
    slope = Scenario.open("slope")
    short = slope.with_values(duration=0.1, seed=7)
    assert (short.duration, short.seed, short.name) == (0.1, 7, "slope")
    assert slope.duration == 5.0
    record = slope.run(duration=0.1)
    assert record.t[-1] == pytest.approx(0.1)
    assert "duration: 0.1" in record.info.scenario
    with pytest.raises(ValueError, match="finite"):
        slope.with_values(duration=float("nan"))
    with pytest.raises(soa.SoaError, match="durations"):
        slope.with_values(durations=1.0)


def test_overrides_inside_sections() -> None:
    pytest.importorskip("yaml")
    fine = Scenario.open("slope").with_values(recording={"rate": 200})
    assert fine.run(until=0.1).samples == 21
    given = Scenario.from_dict({"name": "drop", "duration": 0.1, "parts": [BALL], "recording": {"rate": 100}})
    assert given.run(recording={"rate": 50}).samples == 6


def test_seed_and_case() -> None:
    grapple = Scenario.open("grapple")
    first, second = grapple.run(until=0.02, case=3), grapple.run(until=0.02, case=3)
    np.testing.assert_array_equal(first["q.satellite.root.x"], second["q.satellite.root.x"])
    other = grapple.run(until=0.02, case=4)
    assert (first["q.satellite.root.x"] != other["q.satellite.root.x"]).any()
    assert grapple.run(until=0.02, seed=9).summary["seed"] == 9


def test_faults_of_scenarios() -> None:
    with pytest.raises(soa.FileError):
        Scenario.open("no-such-scenario")
    with pytest.raises(soa.SoaError, match="expected a list, found '7'") as caught:
        Scenario.from_yaml("name: x\nparts: 7\n")
    assert caught.value.line == 2
    with pytest.raises(TypeError, match="cannot hold"):
        Scenario.from_dict({"name": object()})
    with pytest.raises(ValueError):
        Scenario.from_dict({"name": "x", "duration": float("inf")})
    with pytest.raises(ValueError, match="until"):
        Scenario.open("slope").run(until=-1.0)


def test_free_fall_of_a_world() -> None:
    world = Scenario.from_dict({"name": "drop", "duration": 1, "parts": [BALL]}).world()
    world.run_until(0.5)
    assert world.t == pytest.approx(0.5)
    z = world.signals["q.ball.root.z"]
    assert z == pytest.approx(-9.81 * 0.5**2 / 2, abs=1e-9)
    assert world.energy.kinetic == pytest.approx((9.81 * 0.5) ** 2 / 2, rel=1e-9)
    assert world.summary["simulated_s"] == world.t


def test_save_and_restore_go_on_to_the_same_bits() -> None:
    world = World("grapple")
    world.step(5)
    state = world.save()
    world.step(10)
    q, v, t = world.q, world.v, world.t
    other = World("grapple")
    other.restore(state)
    other.step(10)
    assert t == other.t
    np.testing.assert_array_equal(q, other.q)
    np.testing.assert_array_equal(v, other.v)
    with pytest.raises(soa.SoaError):
        other.restore(state[:-1])
    assert other.t == t


def test_contacts_carry_the_weight() -> None:
    world = World("slope")
    world.run_until(0.5)
    touches = [c for c in world.contacts if {"rough_skin", "slope"} == {c.shape_a, c.shape_b}]
    force = sum((c.pressure * c.normal + c.tangential) * (1 if c.shape_a == "rough_skin" else -1) for c in touches)
    np.testing.assert_allclose(force, [0, 0, 2 * 9.81], atol=1e-3)


def test_pull() -> None:
    world = Scenario.from_dict({"name": "drop", "duration": 1, "parts": [BALL]}).world()
    world.set_pulls([Pull(body=1, force=[0, 0, 9.81])])
    world.run_until(0.2)
    assert np.abs(world.v).max() < 1e-12


def test_controller_in_python_holds_an_arm() -> None:
    arm = soa.Model.open("arm7")
    asked: list[float] = []

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        asked.append(t)
        return arm.rnea(q, v, None)

    world = World(Scenario.from_dict(ARM), hold)
    start = world.q
    world.run_until(0.1)
    assert np.abs(world.q - start).max() < 1e-9
    assert len(asked) == 50
    record = Scenario.from_dict(ARM).run(controller=hold)
    assert record.summary["completed"]


def test_uncontrolled_world_is_simulate() -> None:
    free = {"name": "free", "duration": 0.2, "parts": [{"name": "arm", "model": "arm7", "limits": False}]}
    world = World(Scenario.from_dict(free))
    motion = simulate(world.model, world.q, duration=0.2)
    world.run_until(0.2)
    np.testing.assert_allclose(world.q, motion.q[-1], atol=1e-7)


def test_exceptions_come_out_of_callbacks() -> None:
    def late(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.01:
            raise RuntimeError("boom")
        return np.zeros(7)

    with pytest.raises(RuntimeError, match="boom"):
        World(Scenario.from_dict(ARM), late).run_until(0.1)
    with pytest.raises(ValueError, match=r"shape \(2,\), expected \(7,\)"):
        World(Scenario.from_dict(ARM), lambda t, q, v: [1.0, 2.0]).step()
    with pytest.raises(ValueError, match="finite"):
        World(Scenario.from_dict(ARM), lambda t, q, v: [np.nan] * 7).step()

    def stop(world: World) -> bool:
        raise KeyError("progress")

    with pytest.raises(KeyError, match="progress"):
        Scenario.from_dict(ARM).run(progress=stop)


def test_progress_stops_and_resume_goes_on(tmp_path: pathlib.Path) -> None:
    whole = Scenario.open("slope").run(tmp_path / "whole.soalog", until=0.3)
    part = Scenario.open("slope").run(tmp_path / "part.soalog", until=0.3, progress=lambda world: world.t > 0.1)
    assert not part.summary["completed"]
    assert part.t[-1] < 0.2
    done = resume(tmp_path / "part.soalog", until=0.3)
    assert done.summary["completed"]
    np.testing.assert_array_equal(done["q.smooth.root.x"], whole["q.smooth.root.x"])


def test_a_failed_run_has_its_record() -> None:
    """A torque so large that the integrator gives up."""
    hard = {"name": "hard", "duration": 1, "parts": [BALL], "disturbances": [
        {"frame": "ball", "start": 0.05, "duration": 0.5, "wrench": [1e300, 1e300, 0, 0, 0, 0]}]}
    scenario = Scenario.from_dict(hard)
    with pytest.raises(soa.SoaError) as caught:
        scenario.run()
    record = caught.value.record  # type: ignore[attr-defined]
    assert record.samples > 1
    assert record.summary["fault"] == str(caught.value)


def test_ctrl_c_stops_a_run(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.soalog"
    fired: list[threading.Timer] = []

    def at_first(world: World) -> None:
        if not fired:
            fired.append(threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT)))
            fired[0].start()

    # the tests may run where SIGINT is ignored, in the background of a shell
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Scenario.open("slope").run(path, progress=at_first, duration=60.0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert not Record.open(path).info.complete


SWEPT = {"name": "swept", "duration": 0.1, "parts": [BALL],
         "disturbances": [], "sweep": {"ball.mass_scale": [0.5, 2.0]}}


def test_sweep() -> None:
    swept = Scenario.from_dict({k: v for k, v in SWEPT.items() if v != []})
    seen: list[tuple[int, int]] = []
    first = sweep(swept, cases=5, threads=1, progress=lambda done, cases: seen.append((done, cases)))
    second = sweep(swept, cases=5, threads=2)
    assert first.done == first.cases == 5
    assert seen[-1] == (5, 5)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], name)
    scale = first["ball.mass_scale"]
    assert ((scale >= 0.5) & (scale <= 2)).all()
    assert first.rows[2]["ball.mass_scale"] == scale[2]
    case = swept.run(case=2)
    assert case["energy.kinetic"][-1] == pytest.approx(scale[2] * (9.81 * 0.1) ** 2 / 2, rel=1e-9)
    with pytest.raises(RuntimeError, match="boom"):
        def boom(done: int, cases: int) -> None:
            raise RuntimeError("boom")
        sweep(swept, cases=5, progress=boom)


@needs_program
def test_sweep_writes_the_program_s_table(tmp_path: pathlib.Path) -> None:
    text = "name: swept\nduration: 0.1\nparts:\n  - {name: ball, body: {mass: 1, box: [0.1, 0.1, 0.1]}}\n"
    text += "sweep: {ball.mass_scale: [0.5, 2.0]}\n"
    (tmp_path / "swept.yaml").write_text(text)
    program("sweep", str(tmp_path / "swept.yaml"), "-q", "-n", "4", "-o", str(tmp_path / "a.csv"))
    sweep(tmp_path / "swept.yaml", cases=4, table=tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


# --- texts without other packages, and quantities named as in sweeps --------------------------------


TRICKY = """
name: tricky   # a remark
text: "on: 0x1F"
duration: 1e-1
seed: 12
numbers: [1, -2.5, .5, 1., +3, 1e-8, 0x10, 1_000, 1:30, 08, '7', on, Yes, ~, null, True, false, .inf, 2 mm]
base: &base {a: 1, b: [x, {y: z}], empty: }
other: {<<: *base, a: 2}
block: |
  two
  lines
folded: >-
  one
  line
"""


def test_texts_become_dicts_without_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from soa.scenarios import _load_yaml

    monkeypatch.setitem(sys.modules, "yaml", None)
    for name in soa.stock_scenarios():
        scenario = soa.Scenario.open(name)
        again = soa.Scenario.from_dict(scenario.to_dict(), scenario.file)
        assert (again.name, again.parts, again.duration, again.variations) == (
            scenario.name, scenario.parts, scenario.duration, scenario.variations)
    assert _load_yaml(TRICKY) == {
        "name": "tricky", "text": "on: 0x1F", "duration": 0.1, "seed": 12,
        "numbers": [1, -2.5, 0.5, 1.0, 3, 1e-8, "0x10", "1_000", "1:30", 8, "7", "on", "Yes", None, None, True, False, ".inf", "2 mm"],
        "base": {"a": 1, "b": ["x", {"y": "z"}], "empty": None}, "other": {"a": 2, "b": ["x", {"y": "z"}], "empty": None},
        "block": "two\nlines\n", "folded": "one line"}
    assert _load_yaml("# nothing\n") == {}
    with pytest.raises(ValueError, match="2:"):
        _load_yaml("a: 1\n]")
    slope = soa.Scenario.open("slope")
    assert slope.run(until=0.05, control={"rate": 200}).summary["completed"]
    assert slope.with_values(gravity=[0, 0, -1.5]).to_dict()["gravity"] == [0, 0, -1.5]


def test_texts_against_pyyaml() -> None:
    yaml = pytest.importorskip("yaml")
    words = type("Words", (yaml.SafeLoader,), {  # all scalars are texts
        "yaml_implicit_resolvers": {"<": [("tag:yaml.org,2002:merge", re.compile("^<<$"))]}})

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, dict):
            return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
        if isinstance(a, list):
            return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
        if isinstance(a, bool):
            return bool(str(a).lower() == b)
        return bool(a == b if isinstance(a, str) else b == "" if a is None else a == float(b))

    for name in soa.stock_scenarios():
        scenario = soa.Scenario.open(name)
        assert same(scenario.to_dict(), yaml.load(scenario.yaml, words)), name


@pytest.mark.parametrize("path, value", [("ball.mass_scale", 1.5), ("ball.twist[3]", 0.25), ("ball.place[2]", 0.75),
                                         ("contact.friction", 0.125), ("sensors.pose_noise[1]", 0.01)])
@pytest.mark.parametrize("written", ["plain", "other"])
def test_values_are_named_as_in_sweeps(path: str, value: float, written: str) -> None:
    ball: dict[str, Any] = {"name": "ball", "body": {"mass": 1, "sphere": 0.1}}
    contact = {"between": ["skin", "floor"], "law": "hunt-crossley", "stiffness": 1e5, "loss": 1.0}
    sensors: dict[str, Any] = {}
    if written == "other":
        ball |= {"place": {"rpy": [0, 0, 0.5]}, "twist": {"linear": [1, 2, 3]}}
        sensors = {"pose_noise": 0.002}
    document = {"name": "paths", "duration": 0.05, "parts": [{"name": "ground", "fixed": True, "body": {}}, ball],
                "shapes": [{"name": "floor", "on": "ground", "plane": {}}, {"name": "skin", "on": "ball", "sphere": 0.1}],
                "contacts": [contact], "control": {"rate": 500, "sensors": sensors}}
    set_ = soa.Scenario.from_dict(document).with_values(**{path: value})
    swept = soa.Scenario.from_dict({**document, "sweep": {path: [value, value]}}).case(0)
    for one, other in zip(_numbers(set_, path), _numbers(swept, path), strict=True):
        assert one == other
    assert value in _numbers(set_, path) and value not in _numbers(soa.Scenario.from_dict(document), path)


def _numbers(scenario: soa.Scenario, path: str) -> list[float]:
    """Those that the C struct has in that place."""
    owner, _, rest = path.partition(".")
    struct = scenario._struct
    ball = struct.parts[1]
    key = rest.split("[")[0]
    if key == "place":
        return list(ball.place.p)
    holder = {"ball": ball, "contact": struct.contacts[0], "sensors": struct.control.sensors}[owner]
    found = getattr(holder, key)
    return [found] if isinstance(found, float) else list(found)


def test_paths_that_name_nothing() -> None:
    slope = soa.Scenario.open("slope")
    for path, said in (("bal.mass_scale", "expected that of a part"), ("near.mas_scale", "mass_scale"), ("near.place[3]", "no number 3"),
                       ("near.", "NAME.QUANTITY"), ("near.mass_scale[0]", "no number 0")):
        with pytest.raises(soa.InputError, match=said):
            slope.with_values(**{path: 1.0})
    free = {"name": "free", "parts": [{"name": "ball", "body": {"mass": 1, "sphere": 0.1}}]}
    with pytest.raises(soa.InputError, match="no contacts"):
        soa.Scenario.from_dict(free).with_values(**{"contact.friction": 1.0})

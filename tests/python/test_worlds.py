"""Worlds and their records: time, energies and their signs, pulls by name, exceptions of controllers."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soa
import soa.collision

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[2]
PROGRAM = os.environ.get("SOA_PROGRAM", str(ROOT / "build" / "soa"))
LAB = {"name": "lab", "duration": 1, "control": {"rate": 500}, "recording": {"rate": 100},
       "parts": [{"name": "arm", "model": "arm7", "limits": False}]}
MASSES = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" effort="100" velocity="10"/><dynamics damping="0.3" friction="1.5"/></joint></robot>"""


def damped(t: float, q: Array, v: Array) -> Array:
    return -0.5 * q - 0.001 * v


def sliding(tmp_path: Path, **keys: Any) -> soa.Scenario:
    """A mass of 2 kg with friction that slides into its stop."""
    file = tmp_path / "slide.urdf"
    file.write_text(MASSES)
    return soa.Scenario.from_dict({"name": "slide", "duration": 0.4, "gravity": [0, 0, 0],
                                   "parts": [{"name": "m", "model": str(file), "rates": {"slide": 3.0}}], **keys})


def test_ticks(tmp_path: Path) -> None:
    world = soa.Scenario.from_dict(LAB).world(damped)
    tick = world.tick_length
    assert tick == pytest.approx(0.002)
    world.run_until(2.9 * tick)  # between ticks: the one before
    assert world.t == 2 * tick
    world.run_until(world.t)  # where it is: nothing happens
    world.step(0)
    assert world.t == 2 * tick
    world.run_until(3 * tick * (1 - 1e-12))  # rounding is no tick
    assert world.t == 3 * tick
    world.step(2)
    assert world.t == 5 * tick
    with pytest.raises(soa.InputError):
        world.run_until(4 * tick)
    with pytest.raises(soa.InputError):
        world.step(-1)
    assert world.t == 5 * tick


def test_samples_and_torques(tmp_path: Path) -> None:
    """tau of a sample is that of the tick that ends there; the end of a run is no sample of its own."""
    asked: dict[int, Array] = {}

    def law(t: float, q: Array, v: Array) -> Array:
        asked[round(t * 500)] = damped(t, q, v)
        return asked[round(t * 500)]

    record = soa.Scenario.from_dict({**LAB, "duration": 0.1, "recording": {"rate": 500}}).run(controller=law)
    tau = record["tau.arm.joint2"]
    assert len(tau) == 51 and tau[0] == 0
    np.testing.assert_array_equal(tau[1:], [asked[tick][1] for tick in range(50)])
    every_third = soa.Scenario.from_dict({**LAB, "recording": {"rate": 200}}).run(controller=damped)  # docs/python.md
    np.testing.assert_allclose(every_third.t, np.arange(167) * 0.006, atol=1e-12)
    assert every_third.t[-1] == pytest.approx(0.996)


def test_signs_of_works(tmp_path: Path) -> None:
    """World.energy and the summary agree; losses are positive; friction's is that of its force times the way."""
    world = sliding(tmp_path).world()
    start = world.energy
    assert start.kinetic == pytest.approx(9.0)
    world.run_until(0.1)  # not at the stop yet
    now = world.energy
    assert now.coulomb == pytest.approx(1.5 * float(world.q[0]), rel=1e-6)
    assert now.viscous > 0 and now.stops == 0
    world.run_until(0.2)  # in the stop, or thrown back by it
    now, summary = world.energy, world.summary
    assert now.stops > 0.1
    names = {"kinetic": "kinetic_J", "potential": "potential_J", "stored": "contact_stored_J", "supplied": "supplied_J",
             "viscous": "viscous_J", "coulomb": "coulomb_J", "stops": "stops_J", "contact": "contact_work_J",
             "disturbance": "disturbance_J", "error_rel": "energy_error_rel"}
    for field, key in names.items():
        assert getattr(now, field) == summary[key], field
    balance = (now.kinetic + now.potential - start.kinetic - start.potential
               - (now.supplied + now.contact + now.disturbance - now.viscous - now.coulomb - now.stops))
    assert abs(balance) < 1e-5


def test_pulls_by_name_and_not_in_the_state(tmp_path: Path) -> None:
    world = soa.Scenario.from_dict(LAB).world(damped)
    model = world.model
    state = world.save()

    def moved(*pulls: soa.Pull, holds: tuple[soa.Hold, ...] = ()) -> Array:
        world.restore(state)
        world.set_pulls(pulls, holds)
        world.run_until(0.05)
        return world.q

    free = moved()
    body = model.frame("arm.link7").body
    by_name, by_number = moved(soa.Pull("arm.link7", force=[30, 0, 0])), moved(soa.Pull(body, force=[30, 0, 0]))
    assert np.array_equal(by_name, by_number) and np.abs(by_name - free).max() > 1e-3
    world.restore(state)  # the pull is still there
    world.run_until(0.05)
    assert np.array_equal(world.q, by_number)
    assert np.array_equal(moved(), free)  # let go
    v = model.joint("arm.joint2").v.start
    held = moved(holds=(soa.Hold("arm.joint2", 0.5, 100.0, 5.0),))
    assert np.array_equal(held, moved(holds=(soa.Hold(v, 0.5, 100.0, 5.0),))) and np.abs(held - free).max() > 1e-3


@pytest.mark.parametrize("kept", [False, True])
def test_exceptions_carry_the_record(tmp_path: Path, kept: bool) -> None:
    def law(t: float, q: Array, v: Array) -> Array:
        if t > 0.5:
            raise ZeroDivisionError("the law")
        return damped(t, q, v)

    scenario = soa.Scenario.from_dict(LAB)
    path = tmp_path / "run.soalog" if kept else None
    with pytest.raises(ZeroDivisionError) as caught:
        scenario.run(path, controller=law)
    record = getattr(caught.value, "record")
    whole = scenario.run(controller=damped)
    assert 0.49 < record.t[-1] <= 0.5
    assert np.array_equal(record["q.arm.joint2"], whole["q.arm.joint2"][:record.samples])
    assert record.summary["fault"] == "ZeroDivisionError: the law" and not record.summary["completed"]
    assert record.path == str(path) or not kept


def test_exceptions_of_progress_carry_the_record() -> None:
    def progress(world: soa.World) -> None:
        if world.t > 0.1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        soa.Scenario.from_dict(LAB).run(progress=progress)
    record = getattr(caught.value, "record")
    assert 0.08 < record.t[-1] < 0.115 and record.summary["fault"] == "KeyboardInterrupt"


def test_exceptions_with_slots_come_out_unchanged() -> None:
    class Bare(BaseException):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    def law(t: float, q: Array, v: Array) -> Array:
        raise Bare

    with pytest.raises(Bare):
        soa.Scenario.from_dict(LAB).run(controller=law)


def test_runs_with_a_controller_resume_with_it(tmp_path: Path) -> None:
    scenario = soa.Scenario.from_dict(LAB)
    whole = scenario.run(tmp_path / "whole.soalog", controller=damped)
    scenario.run(tmp_path / "part.soalog", controller=damped, until=0.5)
    with pytest.raises(soa.InputError, match="the run had a controller in Python, expected controller="):
        soa.resume(tmp_path / "part.soalog")
    assert soa.Record.open(tmp_path / "part.soalog").t[-1] == pytest.approx(0.5)  # nothing was changed
    resumed = soa.resume(tmp_path / "part.soalog", controller=damped)
    assert np.array_equal(resumed.t, whole.t)
    for name in whole:
        assert np.array_equal(resumed[name], whole[name], equal_nan=True), name
    opened = soa.Record.open(tmp_path / "whole.soalog").summary  # restores a world with a controller
    for key in ("supplied_J", "kinetic_J", "ticks", "completed"):
        assert opened[key] == whole.summary[key]
    free = scenario.with_values(control={"rate": 500}).run(tmp_path / "free.soalog", until=0.2)
    assert free.samples > 1
    with pytest.raises(soa.InputError, match="the run had no controller"):
        soa.resume(tmp_path / "free.soalog", controller=damped)


@pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason=f"the program {PROGRAM} is not there: set SOA_PROGRAM")
def test_the_program_does_not_resume_a_run_with_a_controller(tmp_path: Path) -> None:
    path = tmp_path / "part.soalog"
    soa.Scenario.from_dict(LAB).run(path, controller=damped, until=0.5)
    before = path.read_bytes()
    done = subprocess.run([PROGRAM, "sim", "--resume", str(path)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0 and "its torques came from a function of the program that ran it" in done.stderr
    assert path.read_bytes() == before


def test_warnings_of_worlds_are_said_once() -> None:
    dog = {"name": "dog", "model": "quadruped", "place": [0, 0, 0.6]}
    document = {"name": "falls", "duration": 0.1, "parts": [{"name": "ground", "fixed": True, "body": {}}, dog],
                "shapes": [{"name": "floor", "on": "ground", "plane": {}}]}
    world = soa.Scenario.from_dict(document).world()
    start = world.save()
    with warnings.catch_warnings(record=True) as first:
        warnings.simplefilter("always")
        world.step()
    assert all(one.category is soa.ScenarioWarning and one.filename == __file__ for one in first)
    assert any(str(one.message).startswith("cannot-touch: dog: it falls") for one in first)
    codes = [str(one.message).split(":")[0] for one in first]
    assert codes == [one["code"] for one in world.summary["warnings"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.run_until(0.05)
    world.restore(start)
    assert world.t == 0


def test_shapes_for_collision() -> None:
    world = soa.Scenario.open("slope").world()
    model, q = world.model, world.q
    box, plane = (next(one for one in world.shapes if one.shape.type == kind) for kind in ("box", "plane"))
    link = next(body.link for body in model.bodies if body.number == box.body)
    assert plane.body == 0
    apart = soa.collision.distance(box.shape, model.pose(q, link) @ box.pose, plane.shape, plane.pose)
    place, half, up = model.pose(q, link) @ box.pose, np.array(box.shape._struct.half[:]), plane.pose[:3, 2]
    corners = [place[:3, 3] + place[:3, :3] @ (half * signs) for signs in itertools.product([-1, 1], repeat=3)]
    lowest = min(float((corner - plane.pose[:3, 3]) @ up) for corner in corners)
    assert apart.distance == pytest.approx(lowest, abs=1e-9)


def test_records_of_files_are_pickled(tmp_path: Path) -> None:
    record = soa.Scenario.open("slope").run(tmp_path / "run.soalog", until=0.1)[0.02:0.06]
    again = pickle.loads(pickle.dumps(record))
    assert np.array_equal(again.t, record.t) and again.samples == 5 and again.summary == record.summary


def test_temporary_folders_go_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = soa.Scenario.open("slope").run(until=0.02)
        folder = Path(record.path).parent
        assert folder.exists()
        del record
        gc.collect()
    assert not folder.exists()


def test_forces_of_contacts() -> None:
    """A box at rest: the forces on it add up to its weight; its world is made of a dict."""
    box = {"mass": 2, "box": [0.1, 0.1, 0.1]}
    world = soa.World({"name": "rest", "duration": 1, "parts": [{"name": "g", "fixed": True, "body": {}},
                                                               {"name": "b", "body": box, "place": [0, 0, 0.05]}],
                       "shapes": [{"name": "floor", "on": "g", "plane": {}}, {"name": "skin", "on": "b", "box": [0.1, 0.1, 0.1]}],
                       "contacts": [{"between": ["skin", "floor"], "friction": 0.5}]})
    world.run_until(1)
    total = sum(one.force if one.shape_a == "skin" else -one.force for one in world.contacts)
    np.testing.assert_allclose(total, [0, 0, 2 * 9.81], atol=1e-4)

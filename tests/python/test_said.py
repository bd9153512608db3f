"""What runs and motions say: limits that are passed, rates that are not those asked for, values of warnings."""

from __future__ import annotations

import csv
import pathlib
import warnings

import numpy as np
import pytest

import soa
from soa._call import Array
from soa.constraints import Constraints, Distance, Loop
from soa.scenarios import Scenario
from soa.worlds import warning_text

ARM = {"name": "arm", "model": "arm7", "limits": False}


# --- limits and tables of motions -------------------------------------------------------------------------------------
def limited() -> soa.Model:
    robot = soa.ModelDefinition("limited", gravity=[0, 0, 0])
    robot.add("slide", "world", soa.Joint("prismatic", [1, 0, 0], lower=-1, upper=1), inertia=soa.Inertia.sphere(1.0, 0.1))
    robot.add("turn", "slide", soa.Joint("revolute", [1, 0, 0], lower=-2, upper=2), inertia=soa.Inertia.sphere(1.0, 0.1))
    return robot.build()


def said_by(call: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()  # type: ignore[operator]
    assert all(one.filename == __file__ for one in caught), [one.filename for one in caught]
    return [str(one.message) for one in caught]


def test_limits_that_a_motion_passes_are_said_once() -> None:
    model = limited()
    text, = said_by(lambda: soa.simulate(model, [0, 0], [2.0, 0.5], duration=1.0))
    assert text.startswith("simulate does not stop joints at their limits: joint 'slide' was at 2 m, its limits are -1 to 1; ")
    text, = said_by(lambda: soa.simulate(model, [0, 0], [-2.0, 9.0], duration=1.0))
    assert "joint 'turn' was at 9 rad, its limits are -2 to 2, and 1 more passed theirs" in text
    assert said_by(lambda: soa.simulate(model, [0, 0], [0.9, 1.0], duration=1.0)) == []
    with pytest.warns(soa.LimitWarning, match="simulate_closed does not stop"):
        soa.simulate_closed(Constraints(model), [0, 0], [2.0, 0.5], duration=1.0)


def test_tables_of_motions(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    model = limited()
    motion = soa.simulate(model, [0, 0], [0.9, 1.0], duration=1.0, sample_time=0.1)
    frame = motion.to_pandas()
    assert list(frame.columns[:4]) == ["q.slide", "q.turn", "v.slide", "v.turn"] and len(frame) == len(motion.t) == 11
    assert frame.attrs["units"]["v.slide"] == "m/s" and frame.attrs["units"]["q.turn"] == "rad"
    np.testing.assert_array_equal(frame["v.turn"], motion.v[:, 1])
    motion.to_csv(tmp_path / "m.csv", "q.*", "kinetic")
    with open(tmp_path / "m.csv", newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    assert head == ["t [s]", "q.slide [m]", "q.turn [rad]", "kinetic [J]"]
    np.testing.assert_array_equal(np.array(rows, dtype=float), np.column_stack([motion.t, motion.q, motion.kinetic]))
    lines = motion.plot("q.turn").axes[0].lines
    np.testing.assert_array_equal(lines[0].get_ydata(), motion.q[:, 1])
    with pytest.raises(KeyError, match="no signal 'q.no': it has q.slide"):
        motion.to_pandas("q.no")
    dog = soa.Model.open("quadruped")
    moved = soa.simulate(dog, dog.neutral(), duration=0.01)
    world = Scenario.from_dict({"parts": [{"name": "d", "model": dog}]}).world()
    theirs = [(name.replace(".d.", "."), unit) for name, unit in world.units.items() if name[:4] in ("q.d.", "v.d.")]
    assert sorted(moved.signals) == sorted(theirs)


# --- rates ------------------------------------------------------------------------------------------------------------
def warned(document: dict[str, object], controller: object = None) -> dict[str, tuple[float, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = Scenario.from_dict({"duration": 0.1, "parts": [ARM], **document}).world(controller)  # type: ignore[arg-type]
    return {one.code: (one.value, one.remedy) for one in world.warnings}


def test_a_rate_that_is_not_that_of_the_run_is_said() -> None:
    def law(_t: float, _q: Array, v: Array) -> Array:
        return np.zeros_like(v)

    value, remedy = warned({"control": {"rate": 1000}})["rate-unused"]
    assert value == 200 and "control.rate is 1000 Hz" in remedy and "give recording.rate" in remedy
    assert warned({"control": {"rate": 1000}}, law) == {} == warned({}) == warned({}, law)
    assert warned({"control": {"rate": 100}, "recording": {"rate": 100}}) == {}
    given = {"control": {"rate": 500}, "recording": {"rate": 200}}
    value, remedy = warned(given, law)["recording-rate"]
    assert value == pytest.approx(500 / 3, rel=1e-12)
    assert "recording.rate 200 Hz does not divide control.rate 500 Hz" in remedy and "every 3 ticks, at 166.667 Hz" in remedy
    for rate in (500, 250, 100, 166.667):
        assert warned({"control": {"rate": 500}, "recording": {"rate": rate}}, law) == {}
    value, remedy = warned({"control": {"rate": 500}, "recording": {"rate": 2000}}, law)["recording-rate"]
    assert value == 500
    record = Scenario.from_dict({"duration": 0.1, "parts": [ARM], **given})
    with pytest.warns(soa.ScenarioWarning, match="recording-rate: recording: 167 Hz; recording.rate 200 Hz"):
        t = record.run(controller=law).t
    np.testing.assert_allclose(np.diff(t), 3 / 500, rtol=1e-9)


# --- texts of warnings ------------------------------------------------------------------------------------------------
def test_values_of_warnings_are_short_and_have_units() -> None:
    jump = "torque jumps by 53.6 N m from tick to tick, on average; lower it"
    assert warning_text("chatter", "j", 53.60024600269336, jump) == f"chatter: j: 53.6 N m; {jump}"
    assert warning_text("assembly-branch", "C", None, "do") == "assembly-branch: C: do"
    assert warning_text("step-cut", "integration", 0.00333333333, "do") == "step-cut: integration: 0.00333 s; do"
    assert warning_text("goal-follows", "j", 0.1 + 0.2, "do") == "goal-follows: j: 0.3 rad or m; do"
    assert warning_text("sampled-gain", "j", 2.71828, "do") == "sampled-gain: j: 2.72; do"
    away = "the goal of law 'a' is 3.142 m from where the machine is fixed"
    assert warning_text("out-of-reach", "f", 3.14159, away) == f"out-of-reach: f: 3.14 m; {away}"


# --- worlds -----------------------------------------------------------------------------------------------------------
def test_states_of_a_world_cannot_be_written_to() -> None:
    world = soa.World("slope")
    for name in ("q", "v", "tau"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(world, name)[0] = 1.0
        getattr(world, name).copy()[0] = 1.0
    q = world.q.copy()
    world.set_state(q)


def test_a_state_of_another_kind_of_world_is_refused_with_the_causes() -> None:
    plain = Scenario.from_dict({"duration": 1, "parts": [ARM], "control": {"rate": 200}})
    controlled = plain.world(lambda t, q, v: None)
    for state, world in ((plain.world().save(), controlled), (controlled.save(), plain.world()),
                         (plain.world().save(), plain.with_values(duration=2).world()),
                         (plain.world().save(), plain.with_values(seed=2).world())):
        with pytest.raises(soa.InputError, match="duration and rates too.*seed.*models.*neither a controller in Python"):
            world.restore(state)


# --- forces of constraints --------------------------------------------------------------------------------------------
def test_wrenches_of_constraints_are_at_the_origins_of_the_frames_in_world_axes() -> None:
    arm = soa.Model.open("arm7", ideal=True)
    q = arm.neutral() + 0.3
    there = soa.pose([0.1, 0.2, 0.3], rpy=[0.3, 0.2, 0.1])
    closed = Constraints(arm)
    one, two = arm.pose(q, "link3"), arm.pose(q, "link7")
    closed.add(Loop("link3", "link7", "spherical", place1=np.linalg.inv(one) @ two @ there, place2=there, name="ball"))
    answer, equations = closed.fd(q, with_wrenches=True), closed.evaluate(q)
    w1, w2 = answer.wrenches["ball"]
    expected = equations.G.T @ answer.lambda_
    np.testing.assert_allclose(arm.jacobian(q, "link3").T @ w1 + arm.jacobian(q, "link7").T @ w2, expected, atol=1e-9)
    assert abs(expected).max() > 1
    axes = one[:3, :3] @ closed["ball"].definition.place1[:3, :3]  # type: ignore[union-attr,index]
    np.testing.assert_allclose(axes @ answer.lambda_, w1[3:], atol=1e-9)
    point = (two @ there)[:3, 3]
    np.testing.assert_allclose(w1[:3], np.cross(point - one[:3, 3], w1[3:]), atol=1e-9)  # a ball joint: no moment there
    np.testing.assert_allclose(w2[3:], -w1[3:], atol=1e-9)


def test_the_text_says_that_it_is_of_the_first_redundant_row() -> None:
    bar = soa.Model.open("four-bar")
    answer = bar.constraints.fd(bar.constraints.assemble(bar.neutral()))
    assert answer.redundant_count == 3 == len(answer.redundant)
    assert answer.text == "C has a row that always holds (the first of 3 redundant rows)"


def test_the_multiplier_of_a_distance_pulls_its_points_together() -> None:
    arm = soa.Model.open("arm7", ideal=True)
    q = arm.neutral() + 0.3
    way = arm.pose(q, "link7")[:3, 3] - arm.pose(q, "link3")[:3, 3]
    closed = Constraints(arm)
    closed.add(Distance("link3", "link7", float(np.linalg.norm(way)), name="rod"))
    answer = closed.fd(q, with_wrenches=True)
    along = way / np.linalg.norm(way)
    np.testing.assert_allclose(answer.wrenches["rod"][0][3:], answer.lambda_[0] * along, atol=1e-9)
    assert abs(answer.lambda_[0]) > 0.01

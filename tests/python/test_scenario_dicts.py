"""Scenarios as dicts: machines of Python in them, names of files, and cases of sweeps with the values that were drawn."""

from __future__ import annotations

import gc
import os
import pathlib

import numpy as np
import pytest

import soa
from soa.constraints import Distance, Loop, Ratio
from soa.scenarios import Scenario, resume, scenario_uniform

from test_loops_kept import parallelogram

STILL = {"relative_tolerance": 1e-10, "absolute_tolerance": 1e-12}


# --- cases ------------------------------------------------------------------------------------------------------------
VARIED = {
    "name": "varied", "duration": 0.1, "seed": 7, "recording": {"rate": 100},
    "control": {"rate": 100, "sensors": {"pose_noise": [0.1, 0.2]}, "estimate": {"mass": 1.5}},
    "parts": [{"name": "ground", "fixed": True, "body": {}},
              {"name": "arm", "model": "arm7", "limits": False, "place": {"xyz": [0, 0, 1], "rpy": [0, 0.1, 0]}},
              {"name": "ball", "body": {"mass": 0.1, "sphere": 0.02}, "place": [0, 0, 0.2], "twist": {"linear": [1, 2, 3]}}],
    "shapes": [{"name": "floor", "on": "ground", "plane": {}}, {"name": "skin", "on": "ball", "sphere": 0.02},
               {"name": "other", "on": "ball", "at": [0, 0, 0.1], "sphere": 0.02}],
    "contacts": [{"between": ["skin", "floor"], "law": "hunt-crossley", "stiffness": 1e5}, {"between": ["other", "floor"]}],
    "sweep": {"ball.mass_scale": [0.5, 2], "arm.damping_scale": [0.5, 2], "ball.place[2]": [0.3, 0.4], "arm.place[0]": [1, 2],
              "ball.twist[3]": [-1, 1], "contact.friction": [0.1, 0.9], "contact.loss": [0.1, 0.9],
              "contact.least_distance": [1e-4, 2e-4], "sensors.pose_noise[1]": [1, 2], "sensors.delay": [0, 0.1],
              "control.mass_estimate": [0.5, 1.5], "arm.effort": [1, 2]},
}


def numbers_of(scenario: Scenario) -> list[float]:
    """Everything that a sweep of VARIED may vary, from the C struct."""
    struct = scenario._struct
    found = [float(struct.seed)]
    for part in struct.parts[:3]:
        found += [part.mass_scale, part.inertia_scale, part.damping_scale, part.effort, *part.twist, *part.place.p]
    for pair in struct.contacts[:2]:
        found += [pair.friction, pair.loss if pair.law == 2 else 0.0, pair.least_distance if pair.law == 1 else 0.0]
    control = struct.control
    return [*found, *control.sensors.pose_noise, control.sensors.delay, control.mass_estimate]


def test_a_case_keeps_its_values_as_a_dict_a_text_and_with_other_values() -> None:
    whole = Scenario.from_dict(VARIED)
    case = whole.case(3)
    expected = {name: low + (high - low) * scenario_uniform(7, 3, i)
                for i, (name, (low, high)) in enumerate(whole.variations.items())}
    assert list(case.drawn) == list(VARIED["sweep"]) and whole.drawn == {}  # type: ignore[call-overload]
    for name, value in expected.items():
        assert case.drawn[name] == pytest.approx(value, rel=1e-14)
    given = case.to_dict()
    assert "sweep" not in given and given["parts"][2]["mass_scale"] == case.drawn["ball.mass_scale"]
    assert given["parts"][1]["place"] == {"xyz": [case.drawn["arm.place[0]"], 0, 1], "rpy": [0, 0.1, 0]}
    assert given["control"]["estimate"] == {"mass": case.drawn["control.mass_estimate"]}
    for again in (Scenario.from_dict(given), Scenario.from_yaml(case.yaml), case.with_values(duration=0.05)):
        assert numbers_of(again) == numbers_of(case) and again.drawn == {} and again.variations == {}
        assert numbers_of(again) != numbers_of(whole)
    np.testing.assert_array_equal(case.run(until=0.03)["q.ball.root.z"], case.run(until=0.03, duration=9)["q.ball.root.z"])


def test_a_case_has_no_cases() -> None:
    case = Scenario.from_dict(VARIED).case(3)
    for call in (lambda: case.case(3), lambda: case.run(case=1), lambda: case.sweep(2)):
        with pytest.raises(soa.InputError, match="is case 3 of a sweep, its quantities are drawn"):
            call()


def test_a_case_of_a_file_and_of_a_journal(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("yaml")
    case = Scenario.open("grapple").case(4)
    again = Scenario.from_dict(case.to_dict())
    assert case.drawn and again.seed == case.seed
    ours, theirs = case.run(tmp_path / "a.soalog", until=0.02), again.run(until=0.02)
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], name)
    opened = soa.Record.open(tmp_path / "a.soalog")
    assert ours.summary["drawn"] == case.drawn == opened.summary["drawn"] and "drawn" not in theirs.summary
    reseeded = case.run(tmp_path / "b.soalog", until=0.02, seed=5)
    assert reseeded.summary["seed"] == 5
    assert resume(tmp_path / "b.soalog", until=0.04).summary["seed"] == 5


# --- machines ---------------------------------------------------------------------------------------------------------
def swing() -> soa.ModelDefinition:
    robot = soa.ModelDefinition("swing")
    rod = soa.Inertia.cylinder(2.0, radius=0.02, length=0.5, com=[0, 0, -0.25])
    robot.add("upper", "world", soa.Joint("revolute", [0, 1, 0], damping=0.1), inertia=rod)
    robot.add("lower", "upper", soa.Joint("revolute", [0, 1, 0]), soa.pose([0, 0, -0.5]), rod)
    return robot


def last(model: object, **more: object) -> soa.World:
    part = {"name": "m", "model": model, "limits": False, **more}
    world = Scenario.from_dict({"duration": 1, "parts": [part], "integration": STILL}).world()
    world.run_until(0.3)
    return world


@pytest.mark.parametrize("give", [lambda one: one, lambda one: one.build()])
def test_a_definition_or_a_model_is_a_part(give: object) -> None:
    start = [0.4, -0.2]
    world = last(give(swing()), positions={"upper": 0.4, "lower": -0.2})  # type: ignore[operator]
    motion = soa.simulate(swing().build(), start, duration=0.3)
    np.testing.assert_allclose(world.q, motion.q[-1], atol=1e-7)
    assert abs(world.q - start).max() > 0.1


def test_a_model_of_open_is_used_by_its_name() -> None:
    for floating in (False, True):
        arm = soa.Model.open("arm7", floating=floating)
        world = last(arm)
        assert world.scenario.to_dict()["parts"][0]["model"] is arm
        np.testing.assert_array_equal(world.q, last("arm7", floating=floating).q)
    with pytest.raises(soa.InputError, match="opened with floating=True"):
        last(soa.Model.open("arm7", floating=True), floating=False)
    moving = {"rates": {"joint1": 3.0}}
    ideal = last(soa.Model.open("puma560", ideal=True), **moving)
    assert ideal.energy.viscous == 0 and last("puma560", **moving).energy.viscous > 0


@pytest.mark.parametrize("place", [None, {"xyz": [0.3, 0, 1], "rpy": [0.4, 0.2, 0.1]}])
def test_loops_of_a_model_become_constraints(place: object) -> None:
    given = {} if place is None else {"place": place}
    ours = last(soa.Model.open("four-bar").without_losses(), **given)
    theirs = last("four-bar", **given)
    assert (ours.constraints.names, theirs.constraints.names) == (["m-C"], ["m.C"])
    assert soa.Model.open("four-bar").without_losses().body(1).damping == soa.Model.open("four-bar").body(1).damping == 0
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-7)
    assert abs(ours.constraints.evaluate(ours.q).g).max() < 1e-8
    tree = last(soa.Model.open("four-bar").from_bytes(soa.Model.open("four-bar").to_bytes(tree_only=True)), **given)
    assert abs(tree.q - ours.q).max() > 0.1  # the open chain


def test_the_result_of_span_is_a_part() -> None:
    model = parallelogram()
    start = {"A": 0.3, "B": -0.3, "D": 0.3}
    world = last(model, positions=start)
    motion = soa.simulate_closed(model.constraints, [0.3, -0.3, 0.3], duration=0.3)
    np.testing.assert_allclose(world.q, motion.q[-1], atol=1e-7)


def test_constraints_that_were_added_and_those_that_cannot_be() -> None:
    arm = soa.Model.open("arm7", ideal=True)
    q = np.array([0.3, 0.3, 0.15, 0.3, 0.3, 0.3, 0.3])
    rod = float(np.linalg.norm(arm.pose(q, "link7")[:3, 3]))
    arm.constraints.add(Distance("world", "link7", value=rod, name="rod"))
    arm.constraints.add(Ratio([("joint1", 1.0), ("joint3", -2.0)], name="gear"))
    world = last(arm, place=[1, 2, 3], positions=dict(zip(arm.joint_names, q.tolist())))
    assert world.constraints.names == ["m-rod", "m-gear"]
    assert abs(world.constraints.evaluate(world.q).g).max() < 1e-8
    hand = world.model.pose(world.q, "m.link7")[:3, 3]
    assert np.linalg.norm(hand - [1, 2, 3]) == pytest.approx(rod, abs=1e-8)
    arm.constraints.switch("gear", False)
    with pytest.raises(soa.InputError, match=r"parts\[0\]\.model: constraint 'gear' of 'arm7' is switched off"):
        last(arm)
    arm.constraints.remove("gear")
    arm.constraints.add(Distance("world", "link7", drive=lambda t: (1, 0, 0), name="driven"))
    with pytest.raises(soa.InputError, match="'driven' of 'arm7' has a drive in Python"):
        last(arm)
    arm.constraints.remove("driven")
    arm.constraints.add(Loop("world", "link7", rotor_inertia=1.0, name="geared"))
    with pytest.raises(soa.InputError, match="'geared' of 'arm7' has a rotor"):
        last(arm)


def test_a_changed_copy_of_a_file_with_shapes_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ball.urdf"
    path.write_text('<robot name="b"><link name="base"/><joint name="j" type="prismatic"><parent link="base"/>'
                    '<child link="l"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
                    '<link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
                    '</inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>')
    model = soa.Model.open(path)
    assert len(last(model).shapes) == len(last(path).shapes)
    with pytest.raises(soa.InputError, match="whose <collision> shapes it does not have"):
        last(model.without_losses())
    last(model.without_losses(), collisions=False)


def test_the_temporary_file_lives_as_long_as_it_is_needed(tmp_path: pathlib.Path) -> None:
    scenario = Scenario.from_dict({"duration": 0.02, "parts": [{"name": "m", "model": swing()}]})
    changed = scenario.with_values(duration=0.01)
    nested = Scenario.from_dict({**scenario.to_dict(), "name": "nested"})
    del scenario
    gc.collect()
    record = changed.run()
    files = [changed._struct.parts[0].model, nested._struct.parts[0].model]
    del changed
    gc.collect()
    assert record.summary["completed"] and os.path.exists(files[0])
    record.report(tmp_path / "r.html")
    assert nested.run().summary["completed"]
    del record, nested
    gc.collect()
    assert not any(os.path.exists(file) for file in files)


def test_a_journal_whose_model_was_an_object_says_so(tmp_path: pathlib.Path) -> None:
    Scenario.from_dict({"duration": 0.02, "parts": [{"name": "m", "model": swing()}]}).run(tmp_path / "a.soalog", until=0.01)
    gc.collect()
    opened = soa.Record.open(tmp_path / "a.soalog")
    assert "q.m.upper" in opened and len(opened.t) == 3
    for call in (lambda: opened.summary, lambda: resume(tmp_path / "a.soalog")):
        with pytest.raises(soa.FileError, match="No such file.*given its model as an object in Python.*Model.save"):
            call()


def test_models_only_where_they_belong() -> None:
    with pytest.raises(TypeError, match="shapes is a Model, which belongs under the key `model` of a part"):
        Scenario.from_dict({"shapes": soa.Model.open("arm7")})


# --- files ------------------------------------------------------------------------------------------------------------
def test_files_are_those_of_the_folder_where_the_dict_was_given(tmp_path: pathlib.Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    swing().build().save(tmp_path / "swing.soam")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    scenario = Scenario.from_dict({"duration": 0.01, "parts": [{"name": "m", "model": "swing.soam"}]})
    missing = Scenario.from_dict({"duration": 0.01, "parts": [{"name": "m", "model": "no.soam"}]})
    unknown = Scenario.from_dict({"duration": 0.01, "parts": [{"name": "m", "model": "swin"}]})
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert scenario.world().nv == 2 and scenario.with_values(duration=0.02).world().nv == 2
    for one, said in ((missing, "no.soam"), (unknown, '"swin" is neither a file nor a shipped model')):
        with pytest.raises(soa.SoaError) as caught:
            one.world()
        assert said in str(caught.value) and str(tmp_path) in str(caught.value)
        assert "elsewhere" not in str(caught.value)

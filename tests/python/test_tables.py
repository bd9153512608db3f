"""Lists of worlds, words and defaults of scenario files, plots."""

from __future__ import annotations

import pathlib
import xml.etree.ElementTree
from typing import Any

import numpy as np
import pytest
import soa
from soa import _c
from soa.plots import Curve, Panel, Plot
from soa.scenarios import (
    Scenario,
    scenario_defaults,
    scenario_keys,
    scenario_uniform,
    stock_scenario_text,
    stock_scenarios,
)

BALL = {"name": "ball", "body": {"mass": 2, "sphere": 0.1}, "place": [0, 0, 0.2]}
FLOOR = {"name": "ground", "fixed": True, "body": {}}
SHAPES = [
    {"name": "plane", "on": "ground", "plane": {}},
    {"name": "skin", "on": "ball", "sphere": 0.1},
]
DROP: dict[str, Any] = {
    "parts": [FLOOR, BALL],
    "shapes": SHAPES,
    "contacts": [{"between": ["skin", "plane"], "margin": 0.003}],
}


def test_pairs_and_parts() -> None:
    world = soa.World(Scenario.from_dict(DROP))
    (pair,) = world.pairs
    assert {pair.a, pair.b} == {"plane", "skin"} and pair.margin == 0.003
    ground, ball = world.parts
    assert (ground.name, ground.moves, ground.floats, ground.mass) == ("ground", False, False, 0.0)
    assert (ball.name, ball.moves, ball.floats, ball.mass) == ("ball", True, True, 2.0)
    assert ball.shapes == 1 and ball.can_touch and ball.collisions == 0 and world.gaps == []
    assert ball.law["margin"] > 0


def test_stops_of_an_arm() -> None:
    arm = soa.Model.open("puma560")
    (part,) = soa.World(Scenario.from_dict({"parts": [{"name": "arm", "model": "puma560"}]})).parts
    assert part.limits == part.stops == int(np.isfinite(arm.lower).sum())
    assert 0 < part.stop_stiffness[0] <= part.stop_stiffness[1]
    assert part.mass == pytest.approx(arm.total_mass)


def test_gaps_and_warnings(tmp_path: pathlib.Path) -> None:
    urdf = """<robot name="r"><link name="base">
    <collision><geometry><mesh filename="none.stl"/></geometry></collision>
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    </link></robot>"""
    (tmp_path / "r.urdf").write_text(urdf)
    part = {"name": "box", "model": str(tmp_path / "r.urdf"), "floating": True, "place": [0, 0, 1]}
    world = soa.World(Scenario.from_dict({"parts": [FLOOR, part], "shapes": SHAPES[:1]}))
    (gap,) = world.gaps
    assert (
        (gap.part, gap.link) == ("box", "base") and gap.mesh is not None and "none.stl" in gap.mesh
    )
    assert gap.fault
    world.step()
    listed = [(w.code, w.name, w.remedy) for w in world.warnings]
    assert listed == [(w["code"], w["name"], w["remedy"]) for w in world.summary["warnings"]]


def test_a_saturated_motor_is_a_warning() -> None:
    scenario = Scenario.from_dict(
        {"parts": [{"name": "arm", "model": "arm7"}], "control": {"rate": 100}, "duration": 1}
    )
    world = soa.World(scenario, lambda t, q, v: np.full(7, 1e5))
    assert world.warnings == []
    world.step(20)
    found = [w for w in world.warnings if w.code == "saturated"]
    assert [w.name for w in found] == [f"arm.joint{k}" for k in range(1, 8)]
    assert all(w.remedy and 0 <= w.t <= world.t and 0 < w.value <= 1 for w in found)


def test_assembly_and_constraints() -> None:
    bar = soa.Model.open("four-bar")
    q = bar.constraints.assemble(bar.neutral() + 0.2)
    part = {
        "name": "bar",
        "model": "four-bar",
        "limits": False,
        "positions": {"A": float(q[0]) + 0.01},
    }
    world = soa.World(Scenario.from_dict({"parts": [part]}))
    moved = {move.name: move for move in world.assembly}
    assert moved and all(name.startswith("bar.") for name in moved)
    for move in moved.values():
        joint = world.model.joint(move.name)
        assert world.q[joint.q][0] == pytest.approx(move.after, abs=1e-12)
    closed = world.constraints
    assert closed.names == ["bar.C"] and closed.model.loop_count == 1
    assert closed.row_count == bar.constraints.row_count
    g = closed.evaluate(world.q).g
    assert np.abs(g).max() < 1e-9
    # the world moves as the closed machine does
    h = 1e-4
    world.set_state(world.q, None)
    a = closed.fd(world.q, None).qdd
    start = world.q
    world.run_until(world.t + 0.005)
    t = world.t - 0.0
    assert np.abs(world.v - a * t).max() < 1e-2 * np.abs(a * t).max() + h
    assert not (world.q == start).all()


def test_a_world_without_loops_has_no_constraints() -> None:
    world = soa.World(Scenario.from_dict(DROP))
    assert len(world.constraints) == 0 and world.model.loop_count == 0 and world.assembly == []


# --- scenario files -------------------------------------------------------------------------------
def test_keys() -> None:
    keys = scenario_keys()
    assert set(DROP) <= set(keys["scenario"]) and "stop_stiffness" in keys["parts"]
    for section, words in keys.items():
        assert len(words) == len(set(words)), section


def read(document: dict[str, Any]) -> Scenario:
    return Scenario.from_dict(document)


CONTROL = {"phases": [{"name": "p", "actions": [{"law": "joint-pd", "part": "arm"}]}]}
ARM = {"name": "arm", "model": "arm7"}
SUCCESS = {"object": "ball"}


def field(section: str, key: str, document: dict[str, Any]) -> Any:
    """A number of a scenario after it was read."""
    scenario = read(document)  # owns what its struct points to
    struct = scenario._struct
    places = {
        "scenario": struct,
        "parts": struct.parts[0],
        "control": struct.control,
        "sensors": struct.control.sensors,
        "integration": struct.integration,
        "recording": struct.recording,
        "success": struct.success,
    }
    if section == "contacts":
        value = getattr(struct.contacts[0], key)
    elif section == "estimate":
        value = getattr(struct.control, f"{key}_estimate")
    else:
        value = getattr(places[section], key)
    return value[:] if hasattr(value, "_length_") else value


def document(section: str, more: dict[str, Any]) -> dict[str, Any]:
    """A scenario with these keys in a section."""
    base: dict[str, Any] = {"parts": [ARM, FLOOR, BALL], "shapes": SHAPES, "control": CONTROL}
    if section == "scenario":
        return {**base, **more}
    if section == "parts":
        return {**base, "parts": [{**ARM, **more}, FLOOR, BALL]}
    if section == "contacts":
        return {**base, "contacts": [{"between": ["skin", "plane"], **more}]}
    if section in ("sensors", "estimate"):
        return {**base, "control": {**CONTROL, section: more}}
    if section == "control":
        return {**base, "control": {**CONTROL, **more}}
    return {**base, section: {**(SUCCESS if section == "success" else {}), **more}}


SECTIONS = [
    "scenario",
    "parts",
    "contacts",
    "control",
    "sensors",
    "estimate",
    "integration",
    "recording",
    "success",
]


@pytest.mark.parametrize("section", SECTIONS)
def test_defaults_are_what_the_reader_has(section: str) -> None:
    """Of a scenario without the keys the reader makes what the defaults say."""
    defaults = scenario_defaults(section)
    assert defaults
    words = {
        "law": ["paper", "safe", "hunt-crossley", "linear"],
        "method": ["explicit", "implicit", "cvode", "fixed"],
    }
    for key, value in defaults.items():
        if (section, key) == ("scenario", "gravity"):
            assert value == [0.0, 0.0, -9.81]
            continue
        got = field(section, key, document(section, {}))
        if key in words:
            got = words[key][got]
        if isinstance(got, bytes):
            got = got.decode()
        assert got == value, key


@pytest.mark.parametrize(
    ("section", "skip"),
    [
        ("scenario", ()),
        ("parts", ("massless_links", "fixed", "twist")),  # of single bodies, of floating parts
        ("contacts", ("exponent", "loss")),  # of the law hunt-crossley
        ("control", ()),
        ("estimate", ()),
        ("recording", ()),
        ("sensors", ()),
        ("integration", ()),
    ],
)
def test_defaults_can_be_written_into_a_file(section: str, skip: tuple[str, ...]) -> None:
    defaults = {k: v for k, v in scenario_defaults(section).items() if k not in skip}
    given, empty = read(document(section, defaults)), read(document(section, {}))
    for key in defaults:
        if (section, key) != ("scenario", "gravity"):
            assert field(section, key, document(section, defaults)) == field(
                section, key, document(section, {})
            ), key
    assert given.parts == empty.parts


@pytest.mark.parametrize(
    "law", ["joint-pd", "inverse-dynamics", "passivity", "decoupled", "impedance", "operational"]
)
def test_defaults_of_actions(law: str) -> None:
    defaults = scenario_defaults("actions", law)
    frames = law in ("impedance", "operational")
    action = {
        "law": law,
        **({"frame": "arm.link7", "goal": [0, 0, 1]} if frames else {"part": "arm"}),
    }
    scenario = read({"parts": [ARM], "control": {"phases": [{"name": "p", "actions": [action]}]}})
    got = scenario._struct.control.phases[0].actions[0]
    for name in ("stiffness", "damping"):
        wanted = defaults[name] if frames else [defaults[name]]
        assert list(getattr(got, name))[: len(wanted)] == wanted
    assert got.share == defaults["share"] and got.time == defaults["time"]


def test_refusals_of_defaults() -> None:
    for section, law, text in (
        ("actions", None, "actions need a law"),
        ("parts", "joint-pd", "actions need a law"),
        ("actions", "pd", "expected one of joint-pd"),
        ("wheels", None, "expected one of scenario"),
    ):
        with pytest.raises(ValueError, match=text):
            scenario_defaults(section, law)


def test_texts_of_shipped_scenarios() -> None:
    for name in stock_scenarios():
        assert Scenario.from_yaml(stock_scenario_text(name), name).yaml == Scenario.open(name).yaml
    with pytest.raises(KeyError, match="did you mean 'slope'"):
        stock_scenario_text("slop")


def test_uniform_is_what_a_case_draws() -> None:
    scenario = Scenario.from_dict(
        {
            **DROP,
            "seed": 7,
            "sweep": {"ball.mass_scale": [0.5, 2.0], "contact.friction": [0.1, 0.9]},
        }
    )
    limits = list(scenario.variations.values())
    for case in range(20):
        drawn_case = scenario.case(case)
        struct = drawn_case._struct
        drawn = [struct.parts[1].mass_scale, struct.contacts[0].friction]
        for number, ((low, high), value) in enumerate(zip(limits, drawn)):
            u = scenario_uniform(7, case, number)
            assert 0 <= u < 1 and value == pytest.approx(low + u * (high - low), rel=1e-14)
    with pytest.raises(ValueError, match="seed is -1"):
        scenario_uniform(-1, 0, 0)
    assert _c.soa_scenario_uniform(7, 3, 1) == scenario_uniform(7, 3, 1)


# --- plots ----------------------------------------------------------------------------------------
def test_plot_is_an_svg_with_every_point(tmp_path: pathlib.Path) -> None:
    t = np.linspace(0, 2, 21)
    y = np.sin(t)
    y[10] = np.nan  # a gap
    panels = [
        Panel("angle (rad)", [Curve("first", y, t), Curve("a & <b>", t**2, t, markers=True)]),
        Panel("force (N)", [Curve("late", 10.0 ** (t - 2), t + 1)], y_log=True),
    ]
    plot = Plot(panels, "t (s)", "Title", "below it")
    plot.write(tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == plot.svg() == plot._repr_svg_()
    root = xml.etree.ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    words = {element.text for element in root.iter(f"{space}text")}
    assert {
        "Title",
        "below it",
        "t (s)",
        "angle (rad)",
        "force (N)",
        "first",
        "a & <b>",
        "late",
    } <= words
    paths = [element.get("d", "") for element in root.iter(f"{space}path")]
    first = next(d for d in paths if d.count("M") == 2)
    assert first.count("M") + first.count("L") == 20
    late = paths[-1].replace("M", " ").replace("L", " ").split()
    x, y_late = np.array(late, dtype=float).reshape(-1, 2).T
    line = np.polyfit(x, y_late, 1)  # an exponential function over a logarithmic axis
    assert np.abs(np.polyval(line, x) - y_late).max() < 0.02 and abs(line[0]) > 0.1
    assert len(list(root.iter(f"{space}circle"))) == 21


def test_refusals_of_plots(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="no panels"):
        Plot([]).svg()
    with pytest.raises(ValueError, match="panel 'y' has no curves"):
        Plot([Panel("y", [])]).svg()
    with pytest.raises(ValueError, match=r"curve 'c': x has shape \(3,\), y \(2,\)"):
        Plot([Panel("y", [Curve("c", [1, 2], [1, 2, 3])])]).svg()
    with pytest.raises(soa.FileError):
        Plot([Panel("y", [Curve("c", [1, 2], [1, 2])])]).write(tmp_path / "no" / "a.svg")

"""Controllers in Python within phases (law external), and what controllers may and may not do."""

from __future__ import annotations

import gc
import os
import subprocess
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soa

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[2]
PROGRAM = os.environ.get("SOA_PROGRAM", str(ROOT / "build" / "soa"))
needs_program = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK),
                                   reason=f"the program {PROGRAM} is not there: set SOA_PROGRAM")
EXTERNAL = {"law": "external", "part": "arm", "frames": ["arm.link3"]}
PD = {"law": "joint-pd", "part": "arm", "stiffness": 80, "damping": 15}


def phases(action: dict[str, Any]) -> dict[str, Any]:
    """An arm that reaches by a built-in law, then acts by `action`, then by a built-in law again."""
    return {"name": "mixed", "duration": 1.0, "recording": {"rate": 500, "checkpoint": 0.1},
            "parts": [{"name": "arm", "model": "planar-chain:3", "limits": False}],
            "control": {"rate": 500, "sensors": {"position_noise": 1e-4, "rate_noise": 1e-3, "delay": 0.004}, "phases": [
                {"name": "reach", "actions": [{"law": "inverse-dynamics", "part": "arm", "goal": {"joint2": 0.5}, "time": 0.2}],
                 "next": [{"to": "mine", "when": {"signal": "phase_time", "above": 0.25}}]},
                {"name": "mine", "blend": 0.1, "actions": [action],
                 "next": [{"to": "last", "when": {"signal": "phase_time", "above": 0.4}}]},
                {"name": "last", "blend": 0.05, "actions": [PD]}]}}


MIXED = soa.Scenario.from_dict(phases(EXTERNAL))
LAB = soa.Scenario.from_dict({"name": "lab", "duration": 0.1, "control": {"rate": 500},
                              "parts": [{"name": "arm", "model": "arm7", "limits": False}]})


def damped(t: float, q: Array, v: Array) -> Array:
    return -3.0 * q - 2.0 * v


class HoldJoints:
    """The law joint-pd, from where the joints are when it is first asked."""

    def start(self, world: soa.World) -> None:
        self.world, self.started_at, self.asked = world, world.t, 0
        self.control = soa.Control(world.model)
        self.phases: set[str] = set()

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        if not self.asked:
            self.goal = q
        self.asked += 1
        self.phases.add(self.world.phase)
        assert self.world.signals["q.arm.joint1"] == self.world.q[0]  # reading changes nothing
        return self.control.joint_pd(q, v, self.goal, stiffness=80.0, damping=15.0)


def test_the_same_law_in_python_is_the_same_motion() -> None:
    law, own = HoldJoints(), HoldJoints()
    built_in = soa.Scenario.from_dict(phases(PD)).run()
    record = MIXED.run(controller=own)
    assert own.phases == {"mine"} and own.started_at == 0 and own.asked == 200
    worst = 0.0
    for name in built_in:
        np.testing.assert_allclose(record[name], built_in[name], rtol=0, atol=1e-9, err_msg=name)
        worst = max(worst, float(np.nanmax(np.abs(record[name] - built_in[name]), initial=0.0)))
    print(f"worst difference of a signal {worst:.1e}")
    assert {name for name in record if name.startswith("sensor.wrist.")} == {
        f"sensor.wrist.arm.link3.{axis}" for axis in ("nx", "ny", "nz", "fx", "fy", "fz")}
    assert (record["sensor.wrist.arm.link3.fx"][1:] == 0).all()  # it touches nothing
    events = [(event.t, event.text) for event in record.events if event.kind == "phase"]
    assert events == [(event.t, event.text) for event in built_in.events if event.kind == "phase"]
    world = soa.World(MIXED, law)
    world.run_until(1.0)
    assert law.asked == 200 and world.phase == "last"


class HoldSatellite:
    """Holds the joints of both arms where they are, and squeezes along the line between the hands."""

    hands = ("robot.left_hand", "robot.right_hand")

    def start(self, world: soa.World) -> None:
        self.model = world.model
        self.control = soa.Control(self.model, passive=["robot.root", "satellite.root"])
        self.goal: Array | None = None

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        if self.goal is None:
            self.goal, self.since = q, t
        tau: Array = self.control.inverse_dynamics(q, v, self.goal, stiffness=400.0, damping=40.0).tau
        left, right = (self.model.pose(q, hand)[:3, 3] for hand in self.hands)
        along = 37.0 * (right - left) / np.linalg.norm(right - left)
        for hand, force in zip(self.hands, (along, -along)):
            tau = tau + self.model.jacobian(q, hand).T @ np.concatenate([np.zeros(3), force])
        return tau


def test_grapple_with_its_last_phase_in_python() -> None:
    document = soa.Scenario.open("grapple").to_dict()
    names = [phase["name"] for phase in document["control"]["phases"]]
    move = document["control"]["phases"][names.index("move")]
    move["actions"] = [{"law": "external", "part": "robot", "frames": list(HoldSatellite.hands)}]
    law = HoldSatellite()
    record = soa.Scenario.from_dict(document).run(controller=law)
    summary = record.summary
    assert summary["held"] and summary["completed"] and summary["phase"] == "move", summary["verdict"]
    assert summary["fingers_lost"] == 0 and 20 < summary["internal_force_N"] < 80
    assert 8 < law.since < 15  # the built-in laws approached, touched and captured
    late = record[30.0:40.0]
    for hand in law.hands:  # the hand pushes with 37 N, whatever the direction of its axes
        force = np.linalg.norm([late[f"sensor.wrist.{hand}.f{axis}"].mean() for axis in "xyz"])
        assert abs(force - 37) < 1, hand


def test_states_and_journals_go_on_to_the_same_bits(tmp_path: Path) -> None:
    world = soa.World(MIXED, damped)
    world.run_until(0.45)
    assert world.phase == "mine"
    saved = world.save()
    world.run_until(1.0)
    end = world.q
    world.restore(saved)
    assert world.phase == "mine"
    world.run_until(1.0)
    assert np.array_equal(world.q, end)

    whole = MIXED.run(controller=damped)
    part = tmp_path / "part.soalog"
    MIXED.run(part, controller=damped, until=0.45)
    with pytest.raises(soa.InputError, match="the run had a controller in Python, expected controller="):
        soa.resume(part)
    resumed = soa.resume(part, controller=damped)
    for name in whole:
        assert np.array_equal(resumed[name], whole[name], equal_nan=True), name
    assert soa.Record.open(part).summary["phase"] == "last"


def test_resume_starts_the_controller_with_its_world(tmp_path: Path) -> None:
    class Watching:
        at = -1.0

        def start(self, world: soa.World) -> None:
            self.world, self.at = world, world.t
            if world.t > 0.4:
                raise RuntimeError("not again")

        def __call__(self, t: float, q: Array, v: Array) -> Array:
            return damped(t, q, v)

    path = tmp_path / "part.soalog"
    MIXED.run(path, controller=Watching(), until=0.35)
    law = Watching()
    soa.resume(path, controller=law, until=0.45)
    assert law.at == pytest.approx(0.35, abs=0.0021)
    with pytest.raises(RuntimeError, match="not again"):
        soa.resume(path, controller=Watching())
    assert soa.resume(path, controller=damped).summary["completed"]  # the journal is whole


def test_worlds_with_controllers_are_freed() -> None:
    class Plain:
        pass

    kept = Plain()

    def law(t: float, q: Array, v: Array, _kept: Plain = kept) -> Array:
        return damped(t, q, v)

    class Started(HoldJoints):
        pass

    gone, of_cycle = weakref.ref(kept), None
    del kept
    world: soa.World | None = soa.World(MIXED, law)
    del law
    assert world is not None and gone() is not None
    world.step()
    world = None
    gc.collect()
    assert gone() is None
    started = Started()  # it holds the world, which holds it
    of_cycle = weakref.ref(started)
    soa.World(MIXED, started).step()
    del started
    gc.collect()
    assert of_cycle() is None


# --- what is refused --------------------------------------------------------------------------------------------------
def test_a_controller_without_an_external_action() -> None:
    plain = soa.Scenario.from_dict(phases(PD))
    for call in (lambda: plain.run(controller=damped), lambda: plain.world(damped), lambda: soa.World("grapple", damped)):
        with pytest.raises(soa.InputError, match=r"add \{law: external, part: PART\} to the actions of the phase"):
            call()


def test_an_external_action_without_a_controller() -> None:
    with pytest.raises(soa.InputError, match=r"phase 'mine', action 'external' come from a program .*controller=f"):
        MIXED.run()
    world = soa.World(MIXED)  # to look at it, and until the phase
    with pytest.raises(soa.InputError, match="the torques of phase 'mine', action 'external' come from the program's"):
        world.run_until(1.0)
    assert world.t == pytest.approx(0.25, abs=0.0021)
    with pytest.raises(soa.InputError, match="phase 'mine', action 'external' come from a program .*which a sweep cannot"):
        soa.Scenario.from_dict({**phases(EXTERNAL), "sweep": {"arm.mass_scale": [0.9, 1.1]}}).sweep(2)


def test_none_is_not_zero() -> None:
    def forgets(t: float, q: Array, v: Array) -> Array:
        damped(t, q, v)  # no return
        return None  # type: ignore[return-value]

    with pytest.raises(TypeError, match=r"the controller returned None; return 7 torques, np.zeros\(7\) for none"):
        LAB.run(controller=forgets)
    with pytest.raises(TypeError, match=r"the controller returned None; return 3 torques, np.zeros\(3\) for none"):
        MIXED.run(controller=forgets)
    arm = soa.Model.open("arm7")
    with pytest.raises(TypeError, match=r"torque returned None; return 7 torques, np.zeros\(7\) for none"):
        soa.simulate(arm, arm.neutral(), duration=0.1, torque=forgets)
    free = soa.simulate(arm, arm.neutral() + 0.3, duration=0.1)
    zeros = soa.simulate(arm, arm.neutral() + 0.3, duration=0.1, torque=lambda t, q, v: np.zeros(7))
    np.testing.assert_allclose(zeros.q[-1], free.q[-1], atol=1e-9)


def test_classes_are_no_controllers() -> None:
    with pytest.raises(TypeError, match="controller is the class HoldJoints, expected one of its objects"):
        soa.World(MIXED, HoldJoints)  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["step", "run_until", "restore", "set_state"])
def test_a_controller_does_not_move_the_world(what: str) -> None:
    class Meddles:
        def start(self, world: soa.World) -> None:
            self.world, self.saved = world, world.save()

        def __call__(self, t: float, q: Array, v: Array) -> Array:
            call = {"step": lambda: self.world.step(), "run_until": lambda: self.world.run_until(1.0),
                    "restore": lambda: self.world.restore(self.saved), "set_state": lambda: self.world.set_state(q)}
            call[what]()
            return damped(t, q, v)

    with pytest.raises(soa.InputError, match=f"{what} was called by the controller, within a tick"):
        LAB.run(controller=Meddles())


@needs_program
def test_the_program_refuses(tmp_path: Path) -> None:
    def soa_(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)

    (tmp_path / "mixed.yaml").write_text(MIXED.yaml)
    done = soa_("sim", "mixed.yaml", "-o", "mixed.soalog")
    assert done.returncode == 2 and not (tmp_path / "mixed.soalog").exists()
    assert "the torques of phase 'mine', action 'external' come from a program (law external)" in done.stderr
    assert soa_("sim", "mixed.yaml", "--diagram", "mixed.dot").returncode == 0  # nothing is run
    MIXED.run(tmp_path / "part.soalog", controller=damped, until=0.5)
    before = (tmp_path / "part.soalog").read_bytes()
    done = soa_("sim", "--resume", "part.soalog")
    assert done.returncode == 2 and "its torques came from a function of the program that ran it" in done.stderr
    assert (tmp_path / "part.soalog").read_bytes() == before
    assert soa_("export", "part.soalog", "--list").returncode == 0

"""The supervisor against one of plain Python; blending against its formula; checkpoints."""

from __future__ import annotations

import math

import numpy as np
import pytest
import soa
from soa.control import Profile
from soa.supervisor import Condition, Phase, Supervisor, Transition

SEED = 20
PHASES = [
    Phase(
        "approach",
        [
            Transition(
                "grip", [Condition("distance", below=0.3), Condition("force", above=0.5, hold=0.03)]
            ),
            Transition("retreat", [Condition("phase_time", above=0.4)]),
        ],
    ),
    Phase("grip", [Transition("retreat", [Condition("force", below=0.2, hold=0.02)])], blend=0.1),
    Phase("retreat", [Transition("approach", [Condition("distance", above=0.8)])], blend=0.05),
]


class Plain:
    """What the supervisor does, as its documentation says it."""

    def __init__(self, phases: list[Phase]) -> None:
        self.phases = {phase.name: phase for phase in phases}
        self.enter(phases[0].name)

    def enter(self, name: str) -> None:
        self.phase, self.time = name, 0.0
        self.since: dict[tuple[int, int], float] = {}

    def tick(self, signals: dict[str, float], dt: float) -> bool:
        self.time += dt
        ready = []
        for t, way in enumerate(self.phases[self.phase].transitions):
            good = True
            for k, one in enumerate(way.conditions):
                value = self.time if one.signal == "phase_time" else signals[one.signal]
                holds = value > one.above if one.above is not None else value < (one.below or 0.0)
                if holds:
                    self.since.setdefault((t, k), self.time)
                else:
                    self.since.pop((t, k), None)
                good = good and holds and self.time - self.since[t, k] >= one.hold - 1e-9
            if good:
                ready.append(way.to)
        if ready:
            self.enter(ready[0])
        return bool(ready)


def test_random_signals() -> None:
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED)
    ours, plain = Supervisor(PHASES), Plain(PHASES)
    assert ours.signals == ["distance", "force"] and ours.before is None and ours.transition is None
    level = np.zeros(2)
    changes = 0
    for _ in range(5000):
        level = 0.9 * level + 0.1 * rng.uniform(-0.5, 1.5, 2)
        signals = {
            "distance": level[0] + 0.1 * rng.normal(),
            "force": level[1] + 0.05 * rng.normal(),
        }
        if rng.random() < 0.02:
            signals["force"] = math.nan
        before = ours.phase
        changed = ours.tick({**signals, "unread": 1.0}, dt=0.01)
        assert changed == plain.tick(signals, 0.01) and ours.phase == plain.phase
        assert ours.time == pytest.approx(plain.time, abs=1e-12)
        changes += changed
        assert ours.changes == changes
        if changed:
            assert ours.before == before and ours.transition is not None
            assert ours.transition.to == ours.phase
    assert changes > 20
    ours.reset()
    assert (ours.phase, ours.changes, ours.time) == ("approach", 0, 0.0)


def test_blend_fades_the_jump_out() -> None:
    dt, blend = 0.01, 0.2
    supervisor = Supervisor(
        [
            Phase("one", [Transition("two", [Condition("phase_time", above=0.05)])]),
            Phase("two", blend=blend),
        ]
    )
    laws = {"one": np.array([1.0, -2.0]), "two": np.array([5.0, 4.0])}
    fade = Profile.quintic(blend)
    last, since = laws["one"], None
    for _ in range(60):
        changed = supervisor.tick({}, dt)
        tau = supervisor.blend(laws[supervisor.phase])
        since = 0.0 if changed else None if since is None else since + dt
        if since is None:
            assert (tau == laws["one"]).all()
        else:
            s = fade.at(since)[0]
            assert np.abs(tau - ((1 - s) * laws["one"] + s * laws["two"])).max() < 1e-12
        assert np.abs(tau - last).max() < 0.6  # a jump would be 6
        last = tau
    assert np.abs(last - laws["two"]).max() == 0.0


def test_checkpoints_continue_to_the_same_bits() -> None:
    rng = np.random.default_rng(SEED)
    signals = [dict(zip(("distance", "force"), rng.uniform(0, 1, 2).tolist())) for _ in range(300)]
    torques = rng.normal(size=(300, 3))

    def run(supervisor: Supervisor, first: int, last: int) -> list[np.ndarray]:
        found = []
        for k in range(first, last):
            supervisor.tick(signals[k], 0.01)
            found.append(supervisor.blend(torques[k]))
        return found

    whole = run(Supervisor(PHASES), 0, 300)
    first, second = Supervisor(PHASES), Supervisor(PHASES)
    blending = 0
    for k in range(299):
        run(first, k, k + 1)
        second.restore(first.save())
        blending += first.changes > 0 and first.time < 0.05
        assert second.changes == first.changes and second.phase == first.phase
        last = min(k + 40, 300)
        assert (np.array(run(second, k + 1, last)) == np.array(whole[k + 1 : last])).all()
    assert blending > 5
    second.restore(first.save())
    fresh = Supervisor(PHASES)
    fresh.restore(Supervisor(PHASES).save())
    assert (np.array(run(fresh, 0, 300)) == np.array(whole)).all()
    for state in (b"", first.save()[:-1], b"x" + first.save()[1:], Supervisor([Phase("a")]).save()):
        with pytest.raises(soa.FileError, match="restore"):
            second.restore(state)
    assert second.changes == first.changes  # as it was


def test_in_a_world() -> None:
    """A ball is pushed up until it is high enough, then left alone."""
    scenario = soa.Scenario.from_dict(
        {
            "parts": [{"name": "lift", "model": "chain:1"}],
            "gravity": [0, 0, 0],
            "control": {"rate": 100},
        }
    )
    supervisor = Supervisor(
        [Phase("push", [Transition("coast", [Condition("angle", above=0.1)])]), Phase("coast")]
    )

    def controller(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        supervisor.tick({"angle": q[0]}, 0.01)
        return supervisor.blend([1.0 if supervisor.phase == "push" else 0.0])

    world = soa.World(scenario, controller)
    while supervisor.phase == "push" and world.t < 5:
        world.step()
    assert supervisor.phase == "coast" and world.q[0] > 0.1 and world.tau[0] == 0.0
    rate = world.v[0]
    world.run_until(world.t + 0.5)
    assert world.v[0] == pytest.approx(rate, rel=1e-6)


def test_diagram() -> None:
    text = Supervisor(PHASES).diagram()
    assert text.startswith("digraph") and text.rstrip().endswith("}")
    assert "force > 0.5 for 0.03 s" in text and "phase_time > 0.4" in text and "blend 0.1 s" in text


def test_refusals() -> None:
    many = [Condition("x", above=1.0)] * 65
    for make, text in (
        (lambda: Condition("x"), "expected one of them"),
        (lambda: Condition("x", 1.0, 2.0), "expected one of them"),
        (lambda: Condition("", above=1.0), "empty signal name"),
        (lambda: Supervisor([]), "at least one phase"),
        (lambda: Supervisor([Phase("a"), Phase("a")]), 'two phases are named "a"'),
        (lambda: Supervisor([Phase("a", [Transition("b")])]), "leads to 'b', but the phases are a"),
        (lambda: Supervisor([Phase("a", blend=-1.0)]), "blend is -1"),
        (
            lambda: Supervisor([Phase("a", [Transition("a", [Condition("x", above=math.nan)])])]),
            "value nan",
        ),
        (lambda: Supervisor([Phase("a", [Transition("a", many)])]), "more than 64 conditions"),
        (lambda: Supervisor(PHASES).tick({"distance": 1, "force": 1}, -0.1), "dt is -0.1"),
        (lambda: Supervisor(PHASES).blend([math.nan]), "must be finite"),
    ):
        with pytest.raises(ValueError, match=text):
            make()
    with pytest.raises(KeyError, match="no 'force'; the conditions read distance, force"):
        Supervisor(PHASES).tick({"distance": 1.0}, 0.1)
    late = Supervisor([Phase("a", [Transition("b")]), Phase("b", blend=1.0)])
    late.tick({}, 0.1)
    with pytest.raises(RuntimeError, match="call blend after each tick"):
        late.blend([1.0])
    supervisor = Supervisor(PHASES)
    supervisor.blend([1.0, 2.0])
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2,\)"):
        supervisor.blend([1.0, 2.0, 3.0])

"""Many calls, good and refused ones: memory does not grow, counts of references stay."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import soa
from test_model import CALLS, MANY, opened, states

STATM = Path("/proc/self/statm")
REPEATS = 1000
MOST_GROWTH = 4 << 20  # bytes: the allocator keeps some; a leak of one result in each call is far more


def resident() -> int:
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


needs_statm = pytest.mark.skipif(not STATM.exists(), reason="no /proc/self/statm to read the size of the process from")


@needs_statm
def test_calls_do_not_grow() -> None:
    model = opened("humanoid")
    given = states(model)
    names = [name for name in CALLS if name != "regressor"]
    singles = [given.one(i) for i in range(MANY)]

    def round_of_calls(number: int) -> None:
        for name in names:
            CALLS[name](model, given if number % 8 == 0 else singles[number % MANY])

    for number in range(50):
        round_of_calls(number)
    before = resident()
    for number in range(REPEATS // 2):
        round_of_calls(number)
    assert resident() - before < MOST_GROWTH


@needs_statm
def test_a_million_calls_do_not_grow() -> None:
    model = opened("arm7")
    given = states(model)
    q, v, tau = given.q[0], given.v[0], given.tau[0]
    for _ in range(1000):
        model.aba(q, v, tau)
    before = resident()
    for _ in range(1_000_000):
        model.aba(q, v, tau)
    assert resident() - before < MOST_GROWTH


@needs_statm
def test_refused_calls_do_not_grow() -> None:
    model = opened("quadruped")
    q = model.neutral()
    bad = np.full((64, model.nq), np.nan)

    def refused() -> None:
        for call in (lambda: model.mass(bad), lambda: model.minv(bad), lambda: model.aba(q, q), lambda: model.pose(q, "no"),
                     lambda: model.aba(q.tolist()[:-1]), lambda: model.aba(q, wrenches=[soa.Wrench("no")]),
                     lambda: model.aba(q[::-1])):
            with pytest.raises((ValueError, TypeError)):
                call()

    for _ in range(50):
        refused()
    before = resident()
    for _ in range(REPEATS // 2):
        refused()
    assert resident() - before < MOST_GROWTH


@needs_statm
@pytest.mark.filterwarnings("ignore::soa.LoopWarning")
def test_models_do_not_grow() -> None:
    data = opened("humanoid").to_bytes()

    def make() -> None:
        for model in (soa.Model.open("four-bar"), soa.Model.from_bytes(data), opened("arm7").with_gravity([0, 0, 1])):
            model.aba(model.neutral())
            model.mass(np.tile(model.neutral(), (5, 1)))

    for _ in range(20):
        make()
    before = resident()
    for _ in range(200):
        make()
    assert resident() - before < MOST_GROWTH


@needs_statm
def test_definitions_do_not_grow() -> None:
    ball = soa.Inertia.sphere(1.0, 0.1)
    robot = soa.ModelDefinition("robot")
    robot.add_dh([soa.DHRow(a=0.3, inertia=ball)] * 4)
    ring = soa.Linkage("ring")
    for name in "abc":
        ring.add_link(name, ball)
    for one, two in (("world", "a"), ("a", "b"), ("b", "c"), ("c", "world")):
        ring.add_joint(one + two, one, two, "revolute", soa.pose([0.2, 0, 0]))
    twice = soa.ModelDefinition("twice", robot.links * 2)
    box = "<visual><geometry><box size='1 1 1'/></geometry></visual>"
    urdf = f"<robot name='r'><link name='a'>{box}</link></robot>"

    def make() -> None:
        robot.build().random(1, n=5)
        tree = ring.span()
        soa.Constraints.of_model(tree.model)
        tree.loops[0].coordinates(tree.model, tree.model.neutral())
        soa.graphs.binary_tree(tree.model, tree.loops)
        with pytest.raises(soa.InputError):
            twice.build()
        soa.lint_urdf_text(urdf)
        soa.files.parse_looks(urdf)

    for _ in range(20):
        make()
    before = resident()
    for _ in range(200):
        make()
    assert resident() - before < MOST_GROWTH


def test_reference_counts() -> None:
    model = opened("quadruped")
    given = states(model)
    held = [model, given.q, given.v, given.a, given.tau, given.x, given.f, given.wrenches, *given.wrenches, given.frame,
            np.dtype(np.float64), np.dtype(np.float32), np.ndarray, soa.Wrench, soa.InputError]
    bad = given.q * np.nan

    def calls() -> None:
        for call in CALLS.values():
            call(model, given)
            call(model, given.one(0))
        for arguments in ((bad,), (given.q, given.q), (given.q, given.v[0]), (given.q, "text"), (given.q[0].tolist(), bad[0])):
            with pytest.raises((ValueError, TypeError)):
                model.aba(*arguments)
        with pytest.raises(TypeError):
            model.aba(given.q, wrenches=[*given.wrenches, 5])

    calls()
    gc.collect()
    before = [sys.getrefcount(thing) for thing in held]
    for _ in range(20):
        calls()
    gc.collect()
    after = [sys.getrefcount(thing) for thing in held]
    assert [b - a for a, b in zip(before, after)] == pytest.approx([0] * len(held), abs=3)


def test_results_outlive_the_model() -> None:
    model = soa.Model.open("arm7")
    M = model.mass(model.neutral())
    expected = M.copy()
    del model
    gc.collect()
    assert np.array_equal(M, expected)

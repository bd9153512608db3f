"""Models with loops: nothing that writes, copies or moves them drops a loop without a word."""

from __future__ import annotations

import copy
import pathlib
import pickle

import numpy as np
import pytest

import soa
from soa.constraints import Distance
from soa.motion import simulate


def parallelogram() -> soa.Model:
    bar = soa.Inertia.sphere(0.5, radius=0.05)
    graph = soa.Linkage("parallelogram")
    for name in ("left", "top", "right"):
        graph.add_link(name, bar)
    hinge = soa.Joint("revolute", [0, 1, 0])
    graph.add_joint("A", "world", "left", hinge)
    graph.add_joint("B", "left", "top", hinge, place1=soa.pose([0, 0, 0.4]))
    graph.add_joint("C", "top", "right", hinge, place1=soa.pose([0.6, 0, 0]), place2=soa.pose([0, 0, 0.4]))
    graph.add_joint("D", "world", "right", hinge, place1=soa.pose([0.6, 0, 0]))
    return graph.span().model


def held_arm() -> soa.Model:
    arm = soa.Model.open("arm7", ideal=True)
    arm.constraints.add(Distance(arm.body(7).link, 0, value=0.5, name="rod"))
    return arm


@pytest.mark.parametrize("make", [lambda: soa.Model.open("four-bar"), parallelogram, held_arm])
def test_a_model_with_loops_is_not_written_without_them(make: object, tmp_path: pathlib.Path) -> None:
    model = make()  # type: ignore[operator]
    file = tmp_path / "m.soam"
    for write in (lambda: model.save(file), model.to_bytes):
        with pytest.raises(soa.InputError, match="1 loop or other constraint, which saved models cannot hold.*tree_only=True"):
            write()
    assert not file.exists()
    for write in (lambda: pickle.dumps(model), lambda: copy.deepcopy(model)):
        with pytest.raises(TypeError, match="1 loop or other constraint, which pickling would lose"):
            write()
    with pytest.raises(ValueError, match="simulate_closed"):
        simulate(model, model.neutral(), duration=0.01)
    model.save(file, tree_only=True)
    for tree in (soa.Model.open(file), soa.Model.from_bytes(model.to_bytes(tree_only=True))):
        assert tree.loop_count == 0
        np.testing.assert_array_equal(tree.mass(tree.neutral()), model.mass(model.neutral()))


def test_copies_have_the_loops_or_are_refused() -> None:
    for model in (soa.Model.open("four-bar"), parallelogram()):
        for made in (model.with_gravity([0, 0, -1]), model.without_losses()):
            assert made.constraints.names == model.constraints.names == ["C"]
    model = held_arm()
    for make in (lambda: model.with_gravity([0, 0, -1]), model.without_losses):
        with pytest.raises(soa.InputError, match="copy first"):
            make()
    model.constraints.remove("rod")
    model.to_bytes()


def test_generated_code_says_every_time_that_it_is_the_tree() -> None:
    model = soa.Model.open("four-bar")
    assert len(model.constraints) == 1
    for _ in range(2):
        with pytest.warns(soa.LoopWarning, match="generate_c: 'four-bar' has 1 loop or other constraint"):
            model.generate_c()

"""Graphs and their spanning trees: a four-bar by its one equation of motion, for every cut."""

from __future__ import annotations

import gc
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soa
from soa.constraints import Constraints
from soa.definitions import Inertia, Joint
from soa.graphs import (
    CutJoint,
    CutRatio,
    GraphJoint,
    GraphLink,
    JointPlace,
    Linkage,
    SpanningTree,
    binary_tree,
)

ROOT = Path(__file__).parents[2]
GROUND, CRANK, COUPLER, ROCKER = 0.6, 0.2, 0.5, 0.4
LENGTHS = {"crank": CRANK, "coupler": COUPLER, "rocker": ROCKER}
MASSES = {"crank": 0.5, "coupler": 1.2, "rocker": 0.8}
DAMPING = {"A": 0.02, "B": 0.03, "C": 0.01, "D": 0.04}
ENDS = {
    "A": ("world", "crank"),
    "B": ("crank", "coupler"),
    "C": ("coupler", "rocker"),
    "D": ("world", "rocker"),
}
GRAVITY = 9.81
STEP = 1e-4


def near(found: Any, expected: Any, tolerance: float = 1e-12) -> bool:
    expected = np.asarray(expected, dtype=float)
    scale = 1 + np.abs(expected).max(initial=0)
    return bool(
        np.shape(found) == expected.shape
        and np.abs(np.asarray(found) - expected).max(initial=0) <= tolerance * scale
    )


def four_bar(cut: str | None = None, turned: bool = False) -> Linkage:
    """In the x-z plane, angles from x to z; `turned`: links 1 and 2 of all joints exchanged."""
    made = Linkage("four-bar", gravity=[0, 0, -GRAVITY])
    for name, length in LENGTHS.items():
        rod = Inertia.cylinder(MASSES[name], 0.01, length).placed(
            soa.pose([length / 2, 0, 0], rpy=[0, math.pi / 2, 0])
        )
        made.add_link(name, rod)
    places = {"A": (0, 0), "B": (CRANK, 0), "C": (COUPLER, ROCKER), "D": (GROUND, 0)}
    for name, (one, two) in ENDS.items():
        ends = [soa.pose([place, 0, 0]) for place in places[name]]
        if turned:
            one, two, ends = two, one, ends[::-1]
        made.add_joint(
            name,
            one,
            two,
            Joint("revolute", [0, -1, 0], damping=DAMPING[name]),
            *ends,
            use="cut" if name == cut else "any",
        )
    return made


def angles(theta: float) -> dict[str, float]:
    """Angles of all links for that of the crank: where two circles meet."""
    b = CRANK * np.array([math.cos(theta), math.sin(theta)])
    d = np.array([GROUND, 0.0])
    way = d - b
    far = np.linalg.norm(way)
    along = (COUPLER**2 - ROCKER**2 + far**2) / (2 * far)
    across = math.sqrt(COUPLER**2 - along**2)
    c = b + along * way / far + across * np.array([-way[1], way[0]]) / far
    return {
        "world": 0.0,
        "crank": theta,
        "coupler": math.atan2(*(c - b)[::-1]),
        "rocker": math.atan2(*(c - d)[::-1]),
    }


def slopes(theta: float) -> dict[str, float]:
    ahead, back = angles(theta + STEP), angles(theta - STEP)
    return {name: (ahead[name] - back[name]) / (2 * STEP) for name in ahead}


def inertia_and_energy(theta: float) -> tuple[float, float]:
    """What the crank feels, and the potential energy."""

    def centre(name: str, at: float) -> np.ndarray:
        a = angles(at)
        start = {
            "crank": np.zeros(2),
            "coupler": CRANK * np.array([math.cos(at), math.sin(at)]),
            "rocker": np.array([GROUND, 0.0]),
        }[name]
        return start + LENGTHS[name] / 2 * np.array([math.cos(a[name]), math.sin(a[name])])

    felt, height = 0.0, 0.0
    for name, length in LENGTHS.items():
        speed = (centre(name, theta + STEP) - centre(name, theta - STEP)) / (2 * STEP)
        about = MASSES[name] * (3 * 0.01**2 + length**2) / 12
        felt += MASSES[name] * speed @ speed + about * slopes(theta)[name] ** 2
        height += MASSES[name] * GRAVITY * centre(name, theta)[1]
    return felt, height


def crank_acceleration(theta: float, rate: float) -> float:
    """Lagrange's equation of the crank's angle."""
    ahead, back = inertia_and_energy(theta + STEP), inertia_and_energy(theta - STEP)
    slope = slopes(theta)
    loss = (
        sum(DAMPING[name] * (slope[two] - slope[one]) ** 2 for name, (one, two) in ENDS.items())
        * rate
    )
    change = (ahead[0] - back[0]) / (2 * STEP) / 2 * rate**2
    return float(
        (-change - (ahead[1] - back[1]) / (2 * STEP) - loss) / inertia_and_energy(theta)[0]
    )


def state(
    tree: SpanningTree, theta: float, rate: float, turned: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """q and v of a tree: each joint has the difference of its links' angles."""
    model = tree.model
    q, v = model.neutral(), np.zeros(model.nv)
    angle, slope = angles(theta), slopes(theta)
    sign = -1 if turned else 1
    for name, (one, two) in ENDS.items():
        if not tree.joints[name].cut:
            at = model.joint(tree_joint(tree, name)).q
            q[at] = sign * (angle[two] - angle[one])
            v[at] = sign * rate * (slope[two] - slope[one])
    return q, v


def tree_joint(tree: SpanningTree, name: str) -> str:
    link = tree.joints[name].link
    return next(
        body.joint
        for body in tree.model.bodies
        if link in (body.link, body.joint) or body.joint == name
    )


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("cut", [None, *ENDS])
def test_four_bar_by_lagrange(cut: str | None, turned: bool) -> None:
    tree = four_bar(cut, turned).span()
    model = tree.model
    assert (
        [loop.name for loop in tree.loops] == model.constraints.names == [cut or tree.loops[0].name]
    )
    assert model.nv == 3 and model.loop_count == 1 and tree.floating == 0 and tree.ratios == ()
    assert [name for name, place in tree.joints.items() if place.cut] == [tree.loops[0].name]
    for theta, rate in ((0.4, 0.0), (1.9, 3.0), (4.0, -2.0)):
        q, v = state(tree, theta, rate, turned)
        equations = model.constraints.evaluate(q, v)
        assert near(equations.g, np.zeros(5), 1e-9) and near(equations.rate, np.zeros(5), 1e-6)
        qdd = model.constraints.fd(q, v).qdd
        found = -model.acceleration(q, v, qdd, "crank")[1]
        assert near(found, crank_acceleration(theta, rate), 2e-5)


def test_frames_do_not_depend_on_the_cut() -> None:
    for cut in ENDS:
        tree = four_bar(cut).span()
        q, _ = state(tree, 1.1, 0.0)
        for name in LENGTHS:
            pose = tree.model.pose(q, name)
            assert near(
                [pose[0, 0], pose[2, 0]],
                [math.cos(angles(1.1)[name]), math.sin(angles(1.1)[name])],
                1e-9,
            )
            assert tree.links[name] == tree.model.find_frame(name)


def test_cut_joint_coordinates() -> None:
    tree = four_bar("C").span()
    model, (loop,) = tree.model, tree.loops
    theta, rate = 1.3, 2.0
    q, v = state(tree, theta, rate)
    qdd = model.constraints.fd(q, v).qdd
    angle, speed, acceleration = loop.coordinates(model, q, v, qdd)
    expected = angles(theta)["rocker"] - angles(theta)["coupler"]
    assert near(angle, [math.remainder(expected, 2 * math.pi)], 1e-9)
    assert near(speed, [rate * (slopes(theta)["rocker"] - slopes(theta)["coupler"])], 1e-6)

    def rate_at(s: float) -> float:
        return float(
            loop.coordinates(model, model.integrate(q, v + s / 2 * qdd, s), v + s * qdd)[1][0]
        )

    assert near(acceleration, [(rate_at(1e-5) - rate_at(-1e-5)) / 2e-5], 1e-5)
    assert loop.coordinates(model, q)[1:] == (None, None)
    with pytest.raises(ValueError, match="a is given without v"):
        loop.coordinates(model, q, a=qdd)


def test_cut_joint_as_constraint() -> None:
    tree = four_bar("B").span()
    made, given = tree.loops[0].constraint(tree.model), tree.model.constraints["B"].definition
    assert vars(made).keys() == vars(given).keys()
    for name, value in vars(given).items():
        if name == "rotor_axis":  # zero is the axis of the joint, and is kept as such
            continue
        assert np.array_equal(getattr(made, name), value), name
    assert made.damping == DAMPING["B"]
    spare = Constraints(tree.model)
    spare.add(made)
    q, v = state(tree, 0.8, 1.0)
    assert near(spare.evaluate(q, v).G, tree.model.constraints.evaluate(q, v).G)


def test_equals_its_file() -> None:
    """A URDF with a loop, and the same machine as a graph."""
    link = (
        "<link name='{0}'><inertial><origin xyz='0.5 0 0'/><mass value='1'/>"
        "<inertia ixx='0.01' iyy='0.09' izz='0.09'/></inertial></link>"
    )
    joint = (
        "<joint name='j{1}' type='continuous'><origin xyz='{2}'/>"
        "<parent link='{0}'/><child link='{1}'/>"
        "<axis xyz='0 0 1'/></joint>"
    )
    urdf = (
        "<robot name='loop'><link name='base'/>"
        + "".join(link.format(name) for name in "abc")
        + joint.format("base", "a", "0 0 0")
        + joint.format("a", "b", "1 0 0")
        + joint.format("base", "c", "0 1 0")
        + "<loop_joint name='pin' type='revolute'>"
        "<link1 link='b' xyz='0 1 0'/><link2 link='c' xyz='1 0 0'/>"
        "<axis xyz='0 0 1'/><dynamics damping='0.1' friction='0.01'/></loop_joint></robot>"
    )
    there = soa.Model.from_urdf(urdf)
    rod = Inertia(1.0, [0.5, 0, 0], [0.01, 0.09, 0.09])
    turn = Joint("revolute")
    graph = Linkage(
        "loop",
        [GraphLink(name, rod) for name in "abc"],
        [
            GraphJoint("ja", "world", "a", turn),
            GraphJoint("jb", "a", "b", turn, soa.pose([1, 0, 0])),
            GraphJoint("jc", "world", "c", turn, soa.pose([0, 1, 0])),
            GraphJoint(
                "pin",
                "b",
                "c",
                Joint("revolute", damping=0.1, friction=0.01),
                soa.pose([0, 1, 0]),
                soa.pose([1, 0, 0]),
                "cut",
            ),
        ],
    )
    here = graph.span().model
    order = [here.joint(name).v.start for name in there.joint_names]
    rng = np.random.default_rng(21)
    q, v, tau = rng.normal(size=(3, 3))
    q2, v2, tau2 = (np.zeros(3) for _ in range(3))
    q2[order], v2[order], tau2[order] = q, v, tau
    one, two = there.constraints.evaluate(q, v), here.constraints.evaluate(q2, v2)
    assert near(two.g, one.g) and near(two.G[:, order], one.G) and near(two.gamma, one.gamma)
    assert near(
        here.constraints.fd(q2, v2, tau2).qdd[order], there.constraints.fd(q, v, tau).qdd, 1e-9
    )


def geared() -> Linkage:
    """Two wheels; the second is on a free joint, and its own, which follows the first, is cut."""
    made = Linkage(
        "geared",
        [GraphLink("a", Inertia.sphere(1.0, 0.1)), GraphLink("b", Inertia.sphere(2.0, 0.1))],
    )
    made.add_joint("ja", "world", "a", "revolute")
    made.add_joint(
        "jb",
        "world",
        "b",
        Joint("revolute", mimic="ja", mimic_ratio=-2.0, mimic_offset=0.1),
        use="cut",
    )
    made.add_joint("jf", "world", "b", "free", use="keep")
    return made


def test_cut_mimic() -> None:
    tree = geared().span()
    assert tree.ratios == (CutRatio("jb", "ja", -2.0, 0.1),)
    closed = tree.model.constraints
    assert closed.names == ["jb", "jb mimic"]
    q = tree.model.neutral()
    q[tree.model.joint("ja").q] = 0.4
    q = closed.assemble(q, held=["ja"])
    pose = tree.model.pose(q, "b")
    assert near(math.atan2(pose[1, 0], pose[0, 0]), -2 * 0.4 + 0.1, 1e-8)
    assert near(tree.loops[0].coordinates(tree.model, q)[0], [-0.7], 1e-8)


def test_places_of_joints() -> None:
    made = Linkage(
        "two", [GraphLink("a", Inertia.sphere(1.0, 0.1)), GraphLink("b", Inertia.sphere(1.0, 0.1))]
    )
    made.add_joint("back", "a", "world", Joint("revolute", [0, 1, 0]))
    made.add_joint(
        "aside", "a", "b", Joint("revolute", [0, 1, 0]), soa.pose([1, 0, 0]), soa.pose([-0.5, 0, 0])
    )
    made.add_frame("tip", "b", soa.pose([0.5, 0, 0]))
    tree = made.span()
    assert tree.joints == {
        "back": JointPlace("a", True, False),
        "aside": JointPlace("b@aside", False, False),
    }
    assert tree.loops == () and tree.model.loop_count == 0 and tree.model.constraints.names == []
    assert near(tree.model.pose(tree.model.neutral(), "tip")[:3, 3], [2, 0, 0])


def test_floating_parts() -> None:
    made = Linkage(
        "apart", [GraphLink(name, Inertia.sphere(1.0, 0.1)) for name in "abc"], gravity=[0, 0, 0]
    )
    made.add_joint("ab", "a", "b", "revolute")
    tree = made.span()
    assert tree.floating == 2 and tree.model.nv == 13


def test_ideal() -> None:
    made = four_bar("C")
    made.ideal = True
    assert made.span().model.constraints["C"].definition.damping == 0


@pytest.mark.parametrize(
    "change, kind, said",
    [
        (
            lambda g: g.add_joint("E", "crank", "rokcer", "revolute"),
            soa.InputError,
            "joint 'E': .* no link 'rokcer'; did you mean 'rocker'",
        ),
        (
            lambda g: g.add_joint("E", "crank", "rocker", "revolute", use="maybe"),
            ValueError,
            "joint 'E': use is 'maybe'",
        ),
        (
            lambda g: g.add_joint("E", "crank", "rocker", Joint("revolute", mimic="Z")),
            soa.InputError,
            "joint 'E': .* no joint 'Z'",
        ),
        (lambda g: g.add_joint("E", "crank", "crank", "revolute"), soa.InputError, "E"),
        (
            lambda g: g.add_joint("A", "crank", "rocker", "revolute"),
            soa.InputError,
            "two joints are named 'A'",
        ),
        (
            lambda g: g.add_joint("E", "crank", "rocker", "revolute", place1=np.eye(3)),
            ValueError,
            "joint 'E': a pose has shape",
        ),
        (
            lambda g: g.add_joint("E", "crank", "rocker", Joint("revolute", [0, 0, 0]), use="cut"),
            soa.InputError,
            "E",
        ),
        (lambda g: g.add_link("crank"), soa.InputError, "two links are named 'crank'"),
        (
            lambda g: g.add_link("x", Inertia(1.0, inertia=[1, 2])),
            ValueError,
            "link 'x': inertia has shape",
        ),
        (
            lambda g: g.add_frame("f", "no"),
            soa.InputError,
            "frame 'f': the definition has no link 'no'",
        ),
        (
            lambda g: g.joints.__setitem__(
                slice(None),
                [
                    GraphJoint(j.name, j.link1, j.link2, j.joint, j.place1, j.place2, "keep")
                    for j in g.joints
                ],
            ),
            soa.InputError,
            "loop",
        ),
        (lambda g: setattr(g, "gravity", [0]), ValueError, "gravity has shape"),
    ],
)
def test_refused(change: Any, kind: type[Exception], said: str) -> None:
    graph = four_bar()
    change(graph)
    with pytest.raises(kind, match=said):
        graph.span()


def test_outlives_its_graph() -> None:
    model = four_bar("C").span().model
    gc.collect()
    heavier = model.with_gravity([0, 0, -1])
    del model
    gc.collect()
    assert (
        heavier.constraints.names == ["C"]
        and heavier.constraints["C"].definition.joint == "revolute"
    )


@pytest.mark.parametrize("method", ["aba", "rnea", "joint_forces"])
def test_loops_left_out_are_said(method: str) -> None:
    model = four_bar().span().model
    with pytest.warns(soa.LoopWarning, match=f"{method}: 'four-bar' has 1 loop"):
        getattr(model, method)(model.neutral())
    model = four_bar().span().model
    with pytest.warns(soa.LoopWarning, match="generate_c"):
        model.generate_c()


def test_simulated_energy() -> None:
    """Without friction the energy stays."""
    graph = four_bar("D")
    graph.ideal = True
    tree = graph.span()
    model, closed = tree.model, tree.model.constraints
    q, v = state(tree, 0.9, 1.0)
    start = closed.project(q, v)
    before = sum(closed.energy(start.q, start.v))
    motion = soa.simulate_closed(closed, start.q, start.v, duration=0.5)
    assert near(sum(closed.energy(motion.q[-1], motion.v[-1])), before, 1e-6)
    assert model.nv == 3


# --- WD89's binary tree ---------------------------------------------------------------------------


def test_binary_tree_closes() -> None:
    """WD89 (8), (9): the way to a terminating link and that to its connector end in one place."""
    tree = four_bar("C").span()
    model = tree.model
    q, _ = state(tree, 0.7, 0.0)
    items = binary_tree(model, tree.loops)
    cut = tree.loops[0].coordinates(model, q)[0][0]

    def turned(angle: float) -> np.ndarray:
        return soa.spatial.axis_angle([0, -1, 0], angle)

    def pose(number: int) -> np.ndarray:
        item = items[number]
        if item.predecessor is None:
            return np.eye(4)
        before = pose(item.predecessor) @ item.placement
        if item.kind == "connector":
            return before
        return before @ turned(cut if item.kind == "terminating" else q[model.body(item.body).q][0])

    bodies = [item for item in items[1:] if item.kind == "successor"]
    assert [item.body for item in bodies] == [1, 2, 3]
    for number, item in enumerate(items):
        if item.kind == "successor" and number:
            assert near(pose(number), model.pose(q, model.body(item.body).link), 1e-12)
        if number and item.predecessor is not None:
            above = items[item.predecessor]
            assert number in (above.successor, above.connector)
    ends = {item.loop: number for number, item in enumerate(items) if item.kind == "terminating"}
    closes = {
        item.loop: number
        for number, item in enumerate(items)
        if item.kind == "connector" and item.loop is not None
    }
    assert list(ends) == list(closes) == [0]
    assert near(pose(ends[0]), pose(closes[0]), 1e-9)


def test_binary_tree_refuses() -> None:
    model = soa.Model.open("arm7")
    with pytest.raises(soa.InputError, match="no frame 'lnk3'"):
        binary_tree(model, [CutJoint("c", "lnk3", "link5", Joint("revolute"))])


# --- constraints ----------------------------------------------------------------------------------


def test_joint_row_and_rates() -> None:
    tree = four_bar("C").span()
    model, closed = tree.model, tree.model.constraints
    q, v = state(tree, 1.3, 2.0)
    row, rest = closed.joint_row("C", q, v)

    def angle(s: float) -> float:
        return float(closed.joint_coordinates("C", model.integrate(q, v, s))[0])

    h = 1e-4
    assert near(row @ v, (angle(h) - angle(-h)) / (2 * h), 1e-7)
    assert near(rest, (angle(h) - 2 * angle(0) + angle(-h)) / h**2, 1e-5)
    closed.evaluate(q, v)
    assert near(closed.joint_rates("C"), [row @ v])
    assert near(closed.joint_row("C", q)[0], row) and closed.joint_row("C", q)[1] == 0
    with pytest.raises(ValueError, match="coordinate is 1: the cut joint of C has 1, from 0"):
        closed.joint_row("C", q, coordinate=1)


def test_follow_turns() -> None:
    made = Linkage("spring", [GraphLink("b", Inertia.sphere(1.0, 0.1))])
    made.add_joint("pin", "world", "b", Joint("revolute", stiffness=2.0), use="cut")
    made.add_joint("free", "world", "b", "free", use="keep")
    closed = made.span().model.constraints

    def at(angle: float) -> np.ndarray:
        return np.array([0, 0, 0, math.cos(angle / 2), 0, 0, math.sin(angle / 2)])

    assert near(closed.joint_coordinates("pin", at(3.5)), [3.5 - 2 * math.pi])
    closed.follow_turns(at(3.0))
    assert near(closed.joint_coordinates("pin", at(3.5)), [3.5])
    assert near(closed.energy(at(3.5))[1], 0.5 * 2.0 * 3.5**2)


def test_drift() -> None:
    tree = four_bar("C").span()
    closed = tree.model.constraints
    q, _ = state(tree, 1.3, 0.0)
    q = q + [0.01, -0.02, 0.015]
    open_ = np.abs(closed.evaluate(q).g).max()
    closed.project(q)
    assert open_ > 1e-3 and near(closed.drift, open_)


def test_sets_of_their_own() -> None:
    tree = four_bar("C").span()
    model = tree.model
    own = Constraints.of_model(model)
    assert own is not model.constraints and own.names == ["C"] and own.row_count == 5
    q, v = state(tree, 1.3, 2.0)
    assert np.array_equal(own.fd(q, v).qdd, model.constraints.fd(q, v).qdd)
    own.switch("C", False)
    assert own.row_count == 0 and model.constraints.row_count == 5
    with pytest.raises(soa.OutOfMemoryError):
        own.add(replace(tree.loops[0].constraint(model), name="more"))
    small = Constraints.of_model(model, dense=False)
    with pytest.raises(soa.OutOfMemoryError):
        small.fd(q, v, method="kkt")
    assert Constraints.of_model(soa.Model.open("arm7")).names == []

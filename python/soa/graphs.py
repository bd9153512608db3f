"""Machines with loops as graphs: links, and joints that each connect two of them.

`Linkage.span` chooses a spanning tree, which is an ordinary model; every other joint becomes a
constraint of it:

>>> import numpy as np, soa
>>> bar = soa.Inertia.cylinder(0.5, radius=0.01, length=0.4)
>>> four_bar = soa.Linkage("four-bar")
>>> for name in ("crank", "coupler", "rocker"):
...     four_bar.add_link(name, bar)
>>> hinge = soa.Joint("revolute", [0, 1, 0])
>>> four_bar.add_joint("A", "world", "crank", hinge)
>>> four_bar.add_joint("B", "crank", "coupler", hinge, place1=soa.pose([0.4, 0, 0]))
>>> four_bar.add_joint("C", "coupler", "rocker", hinge, place1=soa.pose([0.4, 0, 0]))
>>> four_bar.add_joint("D", "world", "rocker", hinge, place1=soa.pose([0.8, 0, 0]))
>>> tree = four_bar.span()
>>> model = tree.model
>>> [loop.name for loop in tree.loops], model.constraints.names, model.nv
(['C'], ['C'], 3)
>>> np.allclose(model.constraints.evaluate(model.neutral()).g, 0)
True

docs/theory/graphs.md says which joints are cut and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from ctypes import POINTER, byref, c_int
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array, check, new_report, numbers, text, vector
from ._errors import InputError
from ._own import C as _c
from ._own import needed
from .constraints import Loop, loop_from_struct
from .definitions import (
    WORLD,
    Inertia,
    Joint,
    NamedFrame,
    Kept,
    create_model,
    filled_joint,
    joint_from_struct,
    link_number,
    not_found,
    placed,
)
from .frames import frame_matrix
from .model import JointType, Model

Use = Literal["any", "cut", "keep"]
USES: tuple[Use, ...] = ("any", "cut", "keep")
ItemKind = Literal["successor", "terminating", "connector"]
ITEM_KINDS: tuple[ItemKind, ...] = ("successor", "terminating", "connector")


# --- what a graph is made of ----------------------------------------------------------------------


@dataclass(frozen=True)
class GraphLink:
    """A link of a `Linkage`.

    name: of the link. inertia: an `Inertia` in its frame; none: massless.
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia)


@dataclass(frozen=True)
class GraphJoint:
    """A joint of a `Linkage`: q moves link 2 relative to link 1.

    name: of the joint. link1, link2: names of links, or "world". joint: a `Joint`.

    place1, place2: the frame of the joint in each link, 4 x 4; they coincide at q = 0; None: the
        link's own frame.
    use: "any": the library chooses; "cut": a loop is cut here; "keep": it belongs to the tree.
    """

    name: str
    link1: str
    link2: str
    joint: Joint
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None
    use: Use = "any"


# --- what a spanning tree is made of --------------------------------------------------------------


@dataclass(frozen=True)
class CutJoint:
    """A joint that closes a loop: place2 on link2 moves in place1 on link1 as the joint allows.

    name: of the joint. link1, link2: names of the frames. joint: a `Joint`.

    Links are frames of the model; places are 4 x 4; None: the identity.
    """

    name: str
    link1: str
    link2: str
    joint: Joint
    place1: ArrayLike | None = None
    place2: ArrayLike | None = None

    def constraint(self, model: Model) -> Loop:
        """The constraint that closes the loop, with friction, spring and rotor of the joint.

        Frame 1 is on link 1, except for a spherical joint with friction: it has frame 1 on link 2.
        """
        kept = Kept()
        loop = _loop_struct(self, model, kept)
        struct = _c.soa_constraint_from_loop(byref(loop))
        one, two = model.frame(struct.frame1).name, model.frame(struct.frame2).name
        return loop_from_struct(struct, one, two, self.name)

    def coordinates(
        self, model: Model, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> tuple[Array, Array | None, Array | None]:
        """q, v and dv/dt that the cut joint would have in a tree, at a state of the tree; O(n).

        v: speeds of the tree, (nv,); a: its accelerations, (nv,), for which v is needed.
        Returns arrays of the joint's nq, nv and nv numbers; None where v or a is None.
        """
        if a is not None and v is None:
            raise ValueError("a is given without v, which it needs")
        kept = Kept()
        loop = _loop_struct(self, model, kept)
        qv = needed(vector("q", q, model.nq))
        vv, av = vector("v", v, model.nv), vector("a", a, model.nv)
        found = np.zeros(self.joint.nq)
        speeds = None if vv is None else np.zeros(self.joint.nv)
        rates = None if av is None else np.zeros(self.joint.nv)
        with model._work() as work:
            check(
                _c.soa_kinematics(model._pointer, work, numbers(qv), numbers(vv), numbers(av)),
                None,
                "coordinates",
            )
            status = _c.soa_loop_coordinates(
                model._pointer, work, byref(loop), numbers(found), numbers(speeds), numbers(rates)
            )
            check(status, None, f"coordinates of '{self.name}'")
        return found, speeds, rates


@dataclass(frozen=True)
class CutRatio:
    """q(follower) = ratio * q(leader) + offset, for a mimic joint that is not one in the tree.

    It, or the joint that it follows, was cut.
    """

    follower: str
    leader: str
    ratio: float
    offset: float


@dataclass(frozen=True)
class JointPlace:
    """What became of a joint of a graph.

    link: the link of the tree that it carries; None: it was cut.
    reversed: the tree uses it from link 2 to link 1 (`Joint.reversed`).
    cut: its loop is one of `SpanningTree.loops`.
    """

    link: str | None
    reversed: bool
    cut: bool


@dataclass(frozen=True)
class SpanningTree:
    """The tree of a `Linkage`.

    model: the tree; `model.constraints` has its loops, and a ratio "JOINT mimic" for each of
        `ratios`.
    loops: the joints that were cut, in the order of the definition.
    joints: what became of each joint of the graph, by name.
    links: for each link of the graph the number of its frame in the model.
    floating: how many parts no joint connects to the world; the first link of each got a free
        joint.
    """

    model: Model
    loops: tuple[CutJoint, ...]
    joints: dict[str, JointPlace]
    links: dict[str, int]
    ratios: tuple[CutRatio, ...]
    floating: int


# --- the graph ------------------------------------------------------------------------------------


class Linkage:
    """A graph of links and joints as data, with named frames and gravity (m/s^2).

    The link "world" is there from the beginning; names of links, and of joints, are unique.

    ideal: no friction, springs or rotors, in cut joints neither; mimic joints move independently.
    """

    def __init__(
        self,
        name: str,
        links: Iterable[GraphLink] = (),
        joints: Iterable[GraphJoint] = (),
        frames: Iterable[NamedFrame] = (),
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        ideal: bool = False,
    ) -> None:
        self.name = name
        self.links = list(links)
        self.joints = list(joints)
        self.frames = list(frames)
        self.gravity = gravity
        self.ideal = ideal

    def add_link(self, name: str, inertia: Inertia | None = None) -> None:
        """Adds a link; without an inertia it has no mass."""
        self.links.append(GraphLink(name, inertia or Inertia()))

    def add_joint(
        self,
        name: str,
        link1: str,
        link2: str,
        joint: Joint | JointType,
        place1: ArrayLike | None = None,
        place2: ArrayLike | None = None,
        use: Use = "any",
    ) -> None:
        """Adds a joint between two links; the arguments are the fields of `GraphJoint`.

        joint: a `Joint` (its `mimic` is the name of another joint), or the type of one with its
            default axis.
        """
        made = joint if isinstance(joint, Joint) else Joint(joint)
        self.joints.append(GraphJoint(name, link1, link2, made, place1, place2, use))

    def add_frame(self, name: str, link: str, placement: ArrayLike | None = None) -> None:
        """Adds a named frame, fixed to a link or to "world" at a 4 x 4 pose."""
        self.frames.append(NamedFrame(name, link, placement))

    def span(self) -> SpanningTree:
        """Chooses a spanning tree, builds its model, and constrains it by the joints that were cut.

        Raises InputError where a joint must be cut or reversed and cannot be, and where kept joints
        close a loop, with their names.  O(joints log joints).

        >>> import soa
        >>> two = soa.Linkage("two", gravity=[0, 0, 0])
        >>> two.add_link("a", soa.Inertia.sphere(1.0, 0.1))
        >>> two.add_link("b", soa.Inertia.sphere(1.0, 0.1))
        >>> two.add_joint("ab", "a", "b", "spherical", place1=soa.pose([1, 0, 0]))
        >>> tree = two.span()
        >>> tree.floating, tree.model.nv, tree.joints["ab"].link
        (1, 9, 'b')
        """
        kept = Kept()
        struct = self._struct(kept)
        tree, report = POINTER(_c.soa_linkage_tree)(), new_report()
        check(_c.soa_linkage_span(byref(struct), byref(tree), byref(report)), report)
        try:
            return self._read(tree)
        finally:
            _c.soa_linkage_tree_free(tree)

    def _struct(self, kept: Kept) -> Any:
        _refuse_twins("links", [link.name for link in self.links])
        _refuse_twins("joints", [joint.name for joint in self.joints])
        numbers_of = {link.name: i for i, link in enumerate(self.links, 1)}
        leaders = {joint.name: i for i, joint in enumerate(self.joints)}
        links = kept.array(_c.soa_link_def, len(self.links))
        for i, link in enumerate(self.links):
            links[i] = _c.soa_link_default(kept.name("a link", link.name))
            link.inertia.fill(links[i], f"link '{link.name}'")
        joints = kept.array(_c.soa_edge_def, len(self.joints))
        for i, joint in enumerate(self.joints):
            joints[i] = _edge_struct(joint, numbers_of, leaders, kept)
        frames = kept.array(_c.soa_frame_def, len(self.frames))
        for slot, frame in zip(frames, self.frames):
            what = f"frame '{frame.name}'"
            slot.name = kept.name("a frame", frame.name)
            slot.link = link_number(numbers_of, frame.link, what)
            slot.placement = placed(frame.placement, what)
        name = kept.name("a linkage", self.name)
        struct = _c.soa_linkage_default(name, links, len(self.links), joints, len(self.joints))
        struct.gravity[:] = needed(vector("gravity", self.gravity, 3)).tolist()
        struct.frame_count, struct.frames, struct.ideal = len(self.frames), frames, bool(self.ideal)
        return struct

    def _read(self, tree: Any) -> SpanningTree:
        found = tree.contents
        model = create_model(found.model)
        _constrain(tree, model)
        names = [WORLD] + [text(found.model.bodies[i].name) for i in range(found.model.body_count)]
        joints = {}
        for i, joint in enumerate(self.joints):
            place = found.joints[i]
            joints[joint.name] = JointPlace(
                names[place.link] if place.link else None, bool(place.reversed), place.loop >= 0
            )
        ratios = [found.ratios[i] for i in range(found.ratio_count)]
        return SpanningTree(
            model,
            tuple(_cut_joint(found.loops[i], names) for i in range(found.loop_count)),
            joints,
            {link.name: int(found.link[i]) for i, link in enumerate(self.links, 1)},
            tuple(
                CutRatio(
                    self.joints[r.follower].name, self.joints[r.leader].name, r.ratio, r.offset
                )
                for r in ratios
            ),
            int(found.floating),
        )

    def __repr__(self) -> str:
        return f"<soa.Linkage '{self.name}': {len(self.links)} links, {len(self.joints)} joints>"


def _refuse_twins(kind: str, names: Sequence[str]) -> None:
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise InputError(
            f"two {kind} are named '{twins[0]}'; names of {kind} are unique", "SOA_E_NAME"
        )


def _edge_struct(
    edge: GraphJoint, links: dict[str, int], leaders: dict[str, int], kept: Kept
) -> Any:
    what = f"joint '{edge.name}'"
    if edge.use not in USES:
        raise ValueError(f"{what}: use is {edge.use!r}, expected one of {', '.join(USES)}")
    ends = [link_number(links, end, what) for end in (edge.link1, edge.link2)]
    leader = -1
    if isinstance(edge.joint, Joint) and edge.joint.mimic is not None:
        if edge.joint.mimic not in leaders:
            raise not_found(what, "joint", edge.joint.mimic, leaders)
        leader = leaders[edge.joint.mimic]
    joint = filled_joint(edge.joint, leader, what)
    struct = _c.soa_edge_default(kept.name("a joint", edge.name), *ends, joint.type)
    struct.joint = joint
    struct.place1, struct.place2 = placed(edge.place1, what), placed(edge.place2, what)
    struct.use = USES.index(edge.use)
    return struct


def _constrain(tree: Any, model: Model) -> None:
    """Gives the cut joints to the model, as those of a file are."""
    room = _c.soa_linkage_tree_capacity(tree)
    if not room.constraints:
        return
    made, report = POINTER(_c.soa_constraints)(), new_report()
    check(_c.soa_constraints_create(model._pointer, byref(room), byref(made)))
    kept = Kept()
    try:
        check(_c.soa_linkage_tree_constrain(tree, made, byref(report)), report)
        count = int(_c.soa_constraints_count(made))
        definitions = kept.array(_c.soa_constraint_def, count)
        for number in range(count):
            check(_c.soa_constraints_get_def(made, number, byref(definitions[number])))
            definitions[number].name = kept.name("a loop", text(definitions[number].name))
    finally:
        _c.soa_constraints_free(made)
    model._loops = _c.soa_constraint_list(count, definitions)
    model._keep = kept
    model._says_loops = count > 0


def _cut_joint(loop: Any, names: Sequence[str]) -> CutJoint:
    return CutJoint(
        text(loop.name),
        names[loop.link1],
        names[loop.link2],
        joint_from_struct(loop.joint),
        frame_matrix(loop.place1),
        frame_matrix(loop.place2),
    )


def _loop_struct(cut: CutJoint, model: Model, kept: Kept) -> Any:
    what = f"joint '{cut.name}'"
    struct = _c.soa_loop_def()
    struct.name = kept.name("a cut joint", cut.name)
    struct.link1, struct.link2 = model.find_frame(cut.link1), model.find_frame(cut.link2)
    struct.place1, struct.place2 = placed(cut.place1, what), placed(cut.place2, what)
    struct.joint = filled_joint(cut.joint, -1, what)
    return struct


# --- WD89's binary tree ---------------------------------------------------------------------------


@dataclass(frozen=True)
class BinaryItem:
    """An item of WD89's binary tree (its section 2.1), numbered from 0, the inertial link.

    kind: "successor": a body and the joint that carries it (item 0 too); "terminating": no body,
        the joint at which a loop was cut; "connector": no body and no joint, it attaches one more
        joint to its body.
    predecessor, successor, connector: items, or None.
    body: of a connector the body to which it is fixed, of a terminating link the one that carries
        the joint.
    loop: of a terminating link its loop, of a connector the loop that ends there, from 0; else
        None.
    placement: in the predecessor, 4 x 4; for a successor or terminating link before the motion of
        its joint.
    """

    kind: ItemKind
    predecessor: int | None
    successor: int | None
    connector: int | None
    body: int
    loop: int | None
    placement: Array


def binary_tree(model: Model, loops: Sequence[CutJoint] = ()) -> tuple[BinaryItem, ...]:
    """WD89's binary tree of a model with loops: bodies, then terminating links, then connectors.

    >>> import soa
    >>> from soa.graphs import binary_tree
    >>> dog = soa.Model.open("quadruped")
    >>> items = binary_tree(dog)
    >>> [item.kind for item in items].count("connector")   # four legs on one body
    3
    """
    kept = Kept()
    array = kept.array(_c.soa_loop_def, len(loops))
    for i, loop in enumerate(loops):
        array[i] = _loop_struct(loop, model, kept)
    count = c_int()
    what = f"binary tree of '{model.name}'"
    check(
        _c.soa_model_binary_tree(model._pointer, array, len(loops), None, 0, byref(count)),
        None,
        what,
    )
    items = (_c.soa_binary_item * max(1, count.value))()
    check(
        _c.soa_model_binary_tree(
            model._pointer, array, len(loops), items, count.value, byref(count)
        ),
        None,
        what,
    )
    return tuple(
        BinaryItem(
            ITEM_KINDS[item.kind],
            item.predecessor if item.predecessor >= 0 else None,
            item.successor or None,
            item.connector or None,
            item.body,
            item.loop if item.loop >= 0 else None,
            frame_matrix(item.placement),
        )
        for item in items[: count.value]
    )


__all__ = [
    "BinaryItem",
    "CutJoint",
    "CutRatio",
    "GraphJoint",
    "GraphLink",
    "JointPlace",
    "Linkage",
    "SpanningTree",
    "binary_tree",
]

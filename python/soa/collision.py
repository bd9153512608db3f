"""Convex shapes: how far apart they are, where, and how they rest on each other."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from ctypes import byref, c_int
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _c
from ._call import Array, check, from_pointer, new_report, numbers, read_only, vector
from ._errors import InputError
from .frames import frame_struct

SHAPE_TYPES = ("sphere", "capsule", "box", "cylinder", "hull", "plane")


@dataclass(frozen=True)
class Separation:
    """How far two shapes are apart, from `distance`.

    iterations: how many the search took.

    `distance` in m; < 0: overlap, minus the least translation that parts them. `point_a`, `point_b`: nearest (or
    deepest) points, world axes. `normal`: unit, from b to a.
    """

    distance: float
    point_a: Array
    point_b: Array
    normal: Array
    iterations: int


@dataclass(frozen=True)
class Patch:
    """Points where two shapes rest on each other, from `patch`: n of them, 8 at most, none if the shapes are apart.

    `normal`: from b to a, common to all. `points_a`, `points_b` (n, 3): on each shape, world axes. `distances` (n,):
    along the normal, m. `ids` (n,): the same point keeps its number from one call to the next. `nearest`: as `distance`
    gives.
    """

    normal: Array
    points_a: Array
    points_b: Array
    distances: Array
    ids: tuple[int, ...]
    nearest: Separation


class Shape:
    """A convex shape: a core, grown by `radius`. Lengths in m; shapes are immutable.

    >>> import soa, soa.collision
    >>> ball, ground = soa.collision.Shape.sphere(0.1), soa.collision.Shape.plane()
    >>> round(soa.collision.distance(ball, soa.pose([0, 0, 0.5]), ground).distance, 12)
    0.4
    """

    def __init__(self, struct: Any, *keep: object) -> None:
        """Use `sphere`, `capsule`, `box`, `cylinder`, `plane`, `hull` or `mesh`."""
        self._struct = struct
        self._keep = keep
        report = new_report()
        check(_c.soa_shape_check(byref(struct), byref(report)), report, "shape")

    @classmethod
    def _of(cls, kind: str, half: Sequence[float] = (0.0, 0.0, 0.0), radius: float = 0.0) -> Shape:
        struct = _c.soa_shape(type=SHAPE_TYPES.index(kind), radius=radius)
        struct.half[:] = half
        return cls(struct)

    @classmethod
    def sphere(cls, radius: float) -> Shape:
        """A sphere."""
        return cls._of("sphere", radius=radius)

    @classmethod
    def capsule(cls, radius: float, length: float) -> Shape:
        """A segment along z of this length, grown by the radius: length + 2 radius in all."""
        return cls._of("capsule", (0.0, 0.0, length / 2), radius)

    @classmethod
    def box(cls, size: ArrayLike, radius: float = 0.0) -> Shape:
        """A box with edges `size` along x, y, z, grown by the radius."""
        edges = vector("size", size, 3)
        assert edges is not None
        return cls._of("box", (edges / 2).tolist(), radius)

    @classmethod
    def cylinder(cls, radius: float, length: float, rounding: float = 0.0) -> Shape:
        """A cylinder with axis z, grown by `rounding`."""
        return cls._of("cylinder", (radius, 0.0, length / 2), rounding)

    @classmethod
    def plane(cls) -> Shape:
        """The half space z <= 0."""
        return cls._of("plane")

    @classmethod
    def hull(cls, points: ArrayLike, radius: float = 0.0) -> Shape:
        """The convex hull of points, (n, 3), grown by the radius.

        >>> import soa.collision
        >>> cube = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
        >>> soa.collision.Shape.hull(cube + [[0.5, 0.5, 0.5]]).vertices.shape
        (8, 3)
        """
        array = np.ascontiguousarray(points, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != 3 or not len(array):
            raise ValueError(f"points have shape {array.shape}, expected (n, 3)")
        struct, report = _c.soa_shape(), new_report()
        check(_c.soa_hull_from_points(numbers(array), len(array), byref(struct), byref(report)), report, "hull")
        return cls._own(struct, radius)

    @classmethod
    def mesh(cls, path: str | os.PathLike[str], scale: ArrayLike = (1.0, 1.0, 1.0), radius: float = 0.0) -> Shape:
        """The convex hull of a mesh (STL, OBJ, DAE), its numbers times `scale`, grown by the radius."""
        factors = vector("scale", np.broadcast_to(np.asarray(scale, dtype=np.float64), 3), 3)
        struct, report = _c.soa_shape(), new_report()
        check(_c.soa_hull_from_mesh(os.fsencode(path), numbers(factors), byref(struct), byref(report)), report, "mesh")
        return cls._own(struct, radius)

    @classmethod
    def _own(cls, struct: Any, radius: float) -> Shape:
        struct.radius = radius
        try:
            shape = cls(struct)
        except BaseException:
            _c.soa_hull_free(byref(struct))
            raise
        weakref.finalize(shape, _c.soa_hull_free, byref(struct))
        return shape

    @property
    def type(self) -> str:
        """"sphere", "capsule", "box", "cylinder", "hull" or "plane"."""
        return SHAPE_TYPES[self._struct.type]

    @property
    def radius(self) -> float:
        """By how much the core is grown, m."""
        return float(self._struct.radius)

    @property
    def vertices(self) -> Array:
        """Vertices of a hull, (n, 3), m, read-only; no rows for other shapes."""
        count = self._struct.vertex_count
        return read_only(from_pointer(self._struct.vertices, 3 * count).reshape(count, 3))

    @property
    def faces(self) -> list[list[int]]:
        """Faces of a hull: numbers of vertices, counter-clockwise seen from outside."""
        s = self._struct
        return [s.faces[s.face_start[i]:s.face_start[i + 1]] for i in range(s.face_count)]

    def bounds(self, pose: ArrayLike | None = None, margin: float = 0.0) -> tuple[Array, Array]:
        """Lower and upper corner, (3,) each, of the box along the world's axes that encloses the shape at a pose."""
        box = _c.soa_bounds()
        frame = frame_struct(pose)
        check(_c.soa_shape_bounds(byref(self._struct), byref(frame), margin, byref(box)), None, "bounds")
        return np.array(box.low[:]), np.array(box.high[:])

    def __reduce__(self) -> Any:
        if self.type == "hull":
            return Shape.hull, (self.vertices, self.radius)
        return Shape._of, (self.type, tuple(self._struct.half[:]), self.radius)

    def __repr__(self) -> str:
        if self.type == "hull":
            return f"<soa.Shape hull: {self._struct.vertex_count} vertices, {self._struct.face_count} faces>"
        half = ", ".join(f"{x:g}" for x in self._struct.half)
        return f"<soa.Shape {self.type}: half sizes {half}, radius {self.radius:g}>"


class Cache:
    """Where the last search between two shapes ended: given again it shortens the next one."""

    def __init__(self) -> None:
        self._struct = _c.soa_distance_cache()


def _distance(out: Any) -> Separation:
    return Separation(out.distance, np.array(out.point_a[:]), np.array(out.point_b[:]), np.array(out.normal[:]),
                      out.iterations)


def distance(a: Shape, pose_a: ArrayLike | None, b: Shape, pose_b: ArrayLike | None = None,
             cache: Cache | None = None) -> Separation:
    """Distance of two shapes at their poses in the world, 4 x 4 matrices; None: the world's own axes. Not of two planes."""
    if a.type == b.type == "plane":
        raise InputError("distance: both shapes are planes, expected one at most")
    frame_a, frame_b = frame_struct(pose_a), frame_struct(pose_b)
    out = _c.soa_distance()
    check(_c.soa_shape_distance(byref(a._struct), byref(frame_a), byref(b._struct), byref(frame_b),
                                None if cache is None else byref(cache._struct), byref(out)), None, "distance")
    return _distance(out)


def patch(a: Shape, pose_a: ArrayLike | None, b: Shape, pose_b: ArrayLike | None = None, margin: float = 1e-3,
          cache: Cache | None = None) -> Patch:
    """The points where the shapes are closer than `margin`, m: several where faces or edges rest on each other."""
    frame_a, frame_b = frame_struct(pose_a), frame_struct(pose_b)
    out, nearest = _c.soa_patch(), _c.soa_distance()
    check(_c.soa_shape_patch(byref(a._struct), byref(frame_a), byref(b._struct), byref(frame_b), margin,
                             None if cache is None else byref(cache._struct), byref(nearest), byref(out)), None,
          "patch")
    points = [out.points[i] for i in range(out.count)]
    return Patch(np.array(out.normal[:]), np.array([p.point_a[:] for p in points]).reshape(-1, 3),
                 np.array([p.point_b[:] for p in points]).reshape(-1, 3), np.array([p.distance for p in points]),
                 tuple(int(p.id) for p in points), _distance(nearest))


def near_pairs(shapes: Sequence[Shape], poses: Sequence[ArrayLike | None],
               margin: float = 0.0) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, of shapes whose enclosing boxes, larger by `margin` each, meet: a quick first choice."""
    if len(shapes) != len(poses):
        raise ValueError(f"{len(shapes)} shapes and {len(poses)} poses, expected as many")
    count = len(shapes)
    boxes = (_c.soa_bounds * max(1, count))()
    for box, shape, pose in zip(boxes, shapes, poses):
        frame = frame_struct(pose)
        check(_c.soa_shape_bounds(byref(shape._struct), byref(frame), margin, byref(box)), None, "near_pairs")
    order, found = (c_int * max(1, count))(*range(count)), c_int()
    none = _c.soa_pair_wanted_fn()
    check(_c.soa_bounds_pairs(boxes, count, order, none, None, None, 0, byref(found)), None, "near_pairs")
    most = found.value
    pairs = ((c_int * 2) * max(1, most))()
    check(_c.soa_bounds_pairs(boxes, count, order, none, None, pairs, most, byref(found)), None, "near_pairs")
    return sorted((int(i), int(j)) for i, j in pairs[:most])


__all__ = ["SHAPE_TYPES", "Cache", "Patch", "Separation", "Shape", "distance", "near_pairs", "patch"]

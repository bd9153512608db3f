"""Six-vectors: how motions and forces are seen from another frame, and their cross products.

A motion is [w; v], a force [n; f]: the angular part first.  A frame is the pose of a child in its
parent, a 4 x 4 matrix; `soa.pose` makes one from a position with roll, pitch and yaw.
docs/notation.md.

>>> import numpy as np, soa
>>> from soa.spatial import force_to_parent, motion_to_child
>>> X = soa.pose([0.1, 0.2, 0.3], rpy=[0.4, 0.5, 0.6])
>>> V, f = np.arange(6.0), np.arange(6.0, 12.0)
>>> bool(np.isclose(V @ force_to_parent(X, f), motion_to_child(X, V) @ f))   # the same power
True
"""

from __future__ import annotations

from ctypes import byref
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array, numbers, vector
from ._own import C as _c
from ._own import needed
from .frames import frame_matrix, frame_struct


def axis_angle(axis: ArrayLike, angle: float, position: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """The pose turned by an angle (rad) about an axis, at a position (m), as a 4 x 4 matrix.

    axis: its length does not matter, but is not 0.

    >>> import numpy as np
    >>> from soa.spatial import axis_angle
    >>> np.allclose(axis_angle([0, 0, 2], np.pi / 2)[:3, 0], [0, 1, 0])
    True
    """
    direction, place = needed(vector("axis", axis, 3)), needed(vector("position", position, 3))
    turn = float(angle)
    if not (np.isfinite(direction).all() and np.isfinite(place).all() and np.isfinite(turn)):
        raise ValueError(
            f"axis {direction}, angle {turn}, position {place}: all numbers must be finite"
        )
    length = float(np.abs(direction).max())
    if length == 0:
        raise ValueError(f"axis is {direction}, which has no direction")
    return frame_matrix(
        _c.soa_frame_from_axis_angle(numbers(direction / length), turn, numbers(place))
    )


def motion_to_child(pose: ArrayLike, V: ArrayLike) -> Array:
    """A motion of the parent seen in the child, phi* V: [R'w; R'(v + w x p)].

    pose: of the child in the parent, 4 x 4.
    V: (6,) or (N, 6), rad/s and m/s.  Returns the same shape.

    >>> import soa
    >>> from soa.spatial import motion_to_child
    >>> motion_to_child(soa.pose([1, 0, 0]), [0, 0, 2, 0, 0, 0]).tolist()
    [0.0, 0.0, 2.0, 0.0, 2.0, 0.0]
    """
    return _moved(_c.soa_frame_motion_to_child, pose, "V", V)


def force_to_parent(pose: ArrayLike, f: ArrayLike) -> Array:
    """A force on the child seen in the parent, phi f: [R n + p x R f; R f].

    pose: of the child in the parent, 4 x 4.
    f: (6,) or (N, 6), N m and N.  Returns the same shape.

    >>> import soa
    >>> from soa.spatial import force_to_parent
    >>> force_to_parent(soa.pose([1, 0, 0]), [0, 0, 0, 0, 3, 0]).tolist()
    [0.0, 0.0, 3.0, 0.0, 3.0, 0.0]
    """
    return _moved(_c.soa_frame_force_to_parent, pose, "f", f)


def cross_motion(V: ArrayLike, A: ArrayLike) -> Array:
    """V x A, the cross product of two motions: the rate of A that moves with V.

    V, A: (6,) or (N, 6), one of them for all rows of the other.

    >>> from soa.spatial import cross_motion
    >>> cross_motion([0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]).tolist()
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    return _crossed(_c.soa_spatial_cross_motion, ("V", V), ("A", A))


def cross_force(V: ArrayLike, f: ArrayLike) -> Array:
    """V x* f, the cross product of a motion with a force: the rate of f that moves with V.

    V, f: (6,) or (N, 6), one of them for all rows of the other.

    >>> from soa.spatial import cross_force
    >>> cross_force([0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]).tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    return _crossed(_c.soa_spatial_cross_force, ("V", V), ("f", f))


def _rows(name: str, given: ArrayLike) -> Array:
    array = np.asarray(given)
    if array.dtype.kind not in "fiu" or array.dtype == np.float16:
        raise TypeError(f"{name} has dtype {array.dtype}, expected float64")
    if array.ndim not in (1, 2) or array.shape[-1] != 6:
        raise ValueError(f"{name} has shape {array.shape}, expected (6,) or (N, 6)")
    return np.ascontiguousarray(array, dtype=np.float64)


def _moved(function: Any, pose: ArrayLike, name: str, given: ArrayLike) -> Array:
    frame, rows = frame_struct(pose), _rows(name, given)
    result = np.zeros(rows.shape)
    for one, out in zip(np.atleast_2d(rows), np.atleast_2d(result)):
        function(byref(frame), numbers(one), numbers(out))
    return result


def _crossed(function: Any, first: tuple[str, ArrayLike], second: tuple[str, ArrayLike]) -> Array:
    a, b = _rows(*first), _rows(*second)
    if a.ndim == b.ndim == 2 and len(a) != len(b):
        raise ValueError(
            f"{first[0]} has shape {a.shape}, {second[0]} {b.shape}: expected as many rows"
        )
    shape = a.shape if a.ndim == 2 else b.shape
    result = np.zeros(shape)
    a, b = (np.broadcast_to(one, shape) for one in (a, b))
    for one, two, out in zip(np.atleast_2d(a), np.atleast_2d(b), np.atleast_2d(result)):
        function(numbers(one), numbers(two), numbers(out))
    return result


__all__ = ["axis_angle", "cross_force", "cross_motion", "force_to_parent", "motion_to_child"]

"""Six-vectors and poses: motions and forces seen from another frame, cross products, exp and log.

A motion is [w; v], a force [n; f]: the angular part first.  A frame is the pose of a child in its
parent, a 4 x 4 matrix; `soa.pose` makes one from a position with roll, pitch and yaw.  Poses are
put together by `@` and taken back by `inverse`; `exp` and `log` are those of rigid motions (exp6,
log6).  docs/notation.md.

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
from .control import rotation_from_vector, rotation_to_vector
from .frames import frame_matrix, frame_struct

_SMALL = 1e-2  # rad: below it series are exact to rounding


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


def inverse(pose: ArrayLike) -> Array:
    """The inverse of a pose, that of the parent in the child.

    pose: (4, 4) or (N, 4, 4).  Returns the same shape.

    >>> import numpy as np, soa
    >>> from soa.spatial import inverse
    >>> X = soa.pose([1, 2, 3], rpy=[0.4, 0.5, 0.6])
    >>> np.allclose(inverse(X) @ X, np.eye(4))
    True
    """
    X = _poses("pose", pose)
    R = np.swapaxes(X[..., :3, :3], -1, -2)
    made = np.zeros(X.shape)
    made[..., :3, :3] = R
    made[..., :3, 3] = -_apply(R, X[..., :3, 3])
    made[..., 3, 3] = 1.0
    return made


def exp(twist: ArrayLike) -> Array:
    """The pose to which a constant twist [w; v] leads from the identity in unit time (exp6).

    w and v are in the axes of the frame that moves (or, the same from the identity, of the frame
    that does not).  The matrix exponential of [[w]x, v; 0, 0].

    twist: (6,) or (N, 6), rad and m; the angle may be beyond a turn.  Returns (4, 4) or (N, 4, 4).

    >>> import numpy as np
    >>> from soa.spatial import exp
    >>> np.allclose(exp([0, 0, np.pi, 1, 0, 0])[:3, 3], [0, 2 / np.pi, 0])   # half a circle
    True
    """
    given = _rows("twist", twist)
    if not np.isfinite(given).all():
        raise ValueError(f"twist is {given}, expected finite numbers")
    rows = np.atleast_2d(given)
    rho, v = rows[:, :3], rows[:, 3:]
    made = np.zeros((len(rows), 4, 4))
    made[:, 3, 3] = 1.0
    for one, out in zip(rho, made):
        out[:3, :3] = rotation_from_vector(one)
    angle = np.linalg.norm(rho, axis=1)
    square = angle**2
    some = np.where(angle < _SMALL, 1.0, angle)
    b = np.where(angle < _SMALL, 0.5 - square / 24 + square**2 / 720, 2 * (np.sin(some / 2) / some) ** 2)
    c = np.where(angle < _SMALL, 1 / 6 - square / 120 + square**2 / 5040, (some - np.sin(some)) / some**3)
    across = np.cross(rho, v)
    made[:, :3, 3] = v + b[:, None] * across + c[:, None] * np.cross(rho, across)
    return made[0] if given.ndim == 1 else made


def log(pose: ArrayLike) -> Array:
    """The constant twist [w; v] that leads from the identity to a pose in unit time (log6).

    The inverse of `exp`, of least angle: 0 to pi.  At half a turn either sense is an answer, and
    one of them is returned.  `log(inverse(X0) @ X1)` is what leads from X0 to X1, in the axes of
    X0 or X1: as `Model.difference` has it for a free joint.  Pinocchio's log6 has v first.

    pose: (4, 4) or (N, 4, 4).  Returns (6,) or (N, 6), rad and m.

    >>> import numpy as np, soa
    >>> from soa.spatial import exp, log
    >>> X = soa.pose([1, 2, 3], rpy=[0.4, 0.5, 0.6])
    >>> np.allclose(exp(log(X)), X)
    True
    """
    X = _poses("pose", pose)
    many = X.reshape(-1, 4, 4)
    made = np.zeros((len(many), 6))
    for one, out in zip(many, made):
        out[:3] = rotation_to_vector(one[:3, :3])
    rho, p = made[:, :3], many[:, :3, 3]
    angle = np.linalg.norm(rho, axis=1)
    square = angle**2
    some = np.where(angle < _SMALL, 1.0, angle)
    half = some / 2
    d = np.where(angle < _SMALL, 1 / 12 + square / 720 + square**2 / 30240,
                 (1 - half * np.cos(half) / np.sin(half)) / some**2)
    across = np.cross(rho, p)
    made[:, 3:] = p - across / 2 + d[:, None] * np.cross(rho, across)
    return made[0] if X.ndim == 2 else made


def motion_to_parent(pose: ArrayLike, V: ArrayLike) -> Array:
    """A motion of the child seen in the parent: [R w; R v + p x R w].  The inverse of `motion_to_child`.

    pose: of the child in the parent, (4, 4), or (N, 4, 4) for one in each row.
    V: (6,) or (N, 6), rad/s and m/s.  Returns (6,) or (N, 6).

    >>> import soa
    >>> from soa.spatial import motion_to_parent
    >>> motion_to_parent(soa.pose([1, 0, 0]), [0, 0, 2, 0, 0, 0]).tolist()
    [0.0, 0.0, 2.0, 0.0, -2.0, 0.0]
    """
    X, rows = _poses("pose", pose), _rows("V", V)
    _as_many(X, "V", rows)
    R, p = X[..., :3, :3], X[..., :3, 3]
    w = _apply(R, rows[..., :3])
    return np.concatenate([w, _apply(R, rows[..., 3:]) + np.cross(p, w)], axis=-1)


def force_to_child(pose: ArrayLike, f: ArrayLike) -> Array:
    """A force on the parent seen in the child: [R'(n - p x f); R'f].  The inverse of `force_to_parent`.

    pose: of the child in the parent, (4, 4), or (N, 4, 4) for one in each row.
    f: (6,) or (N, 6), N m and N.  Returns (6,) or (N, 6).

    >>> import soa
    >>> from soa.spatial import force_to_child
    >>> force_to_child(soa.pose([1, 0, 0]), [0, 0, 3, 0, 3, 0]).tolist()
    [0.0, 0.0, 0.0, 0.0, 3.0, 0.0]
    """
    X, rows = _poses("pose", pose), _rows("f", f)
    _as_many(X, "f", rows)
    R, p = np.swapaxes(X[..., :3, :3], -1, -2), X[..., :3, 3]
    n = rows[..., :3] - np.cross(p, rows[..., 3:])
    return np.concatenate([_apply(R, n), _apply(R, rows[..., 3:])], axis=-1)


def motion_to_child(pose: ArrayLike, V: ArrayLike) -> Array:
    """A motion of the parent seen in the child, phi* V: [R'w; R'(v + w x p)].

    pose: of the child in the parent, (4, 4), or (N, 4, 4) for one in each row.
    V: (6,) or (N, 6), rad/s and m/s.  Returns (6,) or (N, 6).

    >>> import soa
    >>> from soa.spatial import motion_to_child
    >>> motion_to_child(soa.pose([1, 0, 0]), [0, 0, 2, 0, 0, 0]).tolist()
    [0.0, 0.0, 2.0, 0.0, 2.0, 0.0]
    """
    return _moved(_c.soa_frame_motion_to_child, pose, "V", V)


def force_to_parent(pose: ArrayLike, f: ArrayLike) -> Array:
    """A force on the child seen in the parent, phi f: [R n + p x R f; R f].

    pose: of the child in the parent, (4, 4), or (N, 4, 4) for one in each row.
    f: (6,) or (N, 6), N m and N.  Returns (6,) or (N, 6).

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


def _poses(name: str, given: ArrayLike) -> Array:
    """One pose, (4, 4), or many, (N, 4, 4), each of them checked."""
    array = np.asarray(given, dtype=np.float64)
    if array.ndim != 3 or array.shape[1:] != (4, 4):
        return frame_matrix(frame_struct(array))
    for one in array:
        frame_struct(one)
    return array


def _apply(R: Array, x: Array) -> Array:
    """R x, for one or many of either."""
    made: Array = np.einsum("...ij,...j->...i", R, x)
    return made


def _as_many(poses: Array, name: str, rows: Array) -> int | None:
    """The number of rows of the result; None: one row alone."""
    if poses.ndim == 3 and rows.ndim == 2 and len(poses) != len(rows):
        raise ValueError(
            f"pose has shape {poses.shape}, {name} {rows.shape}: expected as many poses as rows"
        )
    if poses.ndim == 3:
        return len(poses)
    return len(rows) if rows.ndim == 2 else None


def _moved(function: Any, pose: ArrayLike, name: str, given: ArrayLike) -> Array:
    poses, rows = _poses("pose", pose), _rows(name, given)
    count = _as_many(poses, name, rows)
    shape = (6,) if count is None else (count, 6)
    result, rows = np.zeros(shape), np.ascontiguousarray(np.broadcast_to(rows, shape))
    frames = [frame_struct(one) for one in poses.reshape(-1, 4, 4)]
    for i, (one, out) in enumerate(zip(np.atleast_2d(rows), np.atleast_2d(result))):
        function(byref(frames[i if len(frames) > 1 else 0]), numbers(one), numbers(out))
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


__all__ = [
    "axis_angle", "cross_force", "cross_motion", "exp", "force_to_child", "force_to_parent", "inverse", "log",
    "motion_to_child", "motion_to_parent", "rotation_from_vector", "rotation_to_vector",
]

"""Poses and external wrenches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _c
from ._call import Array, vector
from ._errors import InputError

Axes = Literal["world", "body"]
_ROTATION_ERROR = 1e-6  # largest |R R' - 1| that counts as rounding; single precision has about 1e-7


def _rotation(what: str, given: Array) -> Array:
    """The matrix, which must be a rotation."""
    if not np.isfinite(given).all():
        raise InputError(f"{what} has a number that is not finite: {given.tolist()}", "SOA_E_NOT_FINITE")
    off = float(np.abs(given @ given.T - np.eye(3)).max())
    if not off <= _ROTATION_ERROR:
        raise InputError(f"{what} is no rotation: R R' differs from the identity by {off:.2g}, expected at most "
                         f"{_ROTATION_ERROR:g}; for the nearest rotation: U, _, V = numpy.linalg.svd(R); R = U @ V", "SOA_E_FRAME")
    if np.linalg.det(given) < 0:
        raise InputError(f"{what} is a reflection (determinant -1), expected a rotation: its axes are left-handed",
                         "SOA_E_FRAME")
    return given


def frame_struct(pose: ArrayLike | None) -> Any:
    """A soa_frame from a 4 x 4 homogeneous matrix; None: the identity."""
    result = _c.soa_frame()
    matrix = np.eye(4) if pose is None else np.asarray(pose, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise ValueError(f"a pose has shape {matrix.shape}, expected a homogeneous matrix, (4, 4)"
                         + ("; soa.pose(position) makes one" if matrix.shape == (3,) else ""))
    if not np.allclose(matrix[3], [0, 0, 0, 1]):
        raise ValueError(f"the last row of a pose is {matrix[3]}, expected 0 0 0 1")
    if not np.isfinite(matrix[:3, 3]).all():
        raise ValueError(f"the position of a pose is {matrix[:3, 3]}, expected finite numbers, m")
    result.R[:] = _rotation("the upper left 3 x 3 part of a pose", matrix[:3, :3]).ravel().tolist()
    result.p[:] = matrix[:3, 3].tolist()
    return result


def frame_matrix(frame: Any) -> Array:
    """The 4 x 4 homogeneous matrix of a soa_frame."""
    matrix = np.eye(4)
    matrix[:3, :3] = np.reshape(frame.R[:], (3, 3))
    matrix[:3, 3] = frame.p[:]
    return matrix


def quaternion(rotation: ArrayLike) -> Array:
    """The unit quaternion w x y z, w >= 0, of a 3 x 3 rotation or of that of a 4 x 4 pose: as free joints have it in q.

    >>> import numpy as np, soa
    >>> soa.quaternion(np.eye(3)).tolist()
    [1.0, 0.0, 0.0, 0.0]
    >>> body = soa.Model.open("satellite")
    >>> place, q = soa.pose([1, 2, 3], rpy=[0.1, 0.2, 0.3]), body.neutral()
    >>> q[:3], q[3:7] = place[:3, 3], soa.quaternion(place)
    >>> np.allclose(body.pose(q, body.body(1).link), place)
    True
    """
    given = np.asarray(rotation, dtype=np.float64)
    if given.shape not in ((3, 3), (4, 4)):
        raise ValueError(f"rotation has shape {given.shape}, expected (3, 3), or (4, 4) for a pose")
    R = _rotation("rotation", given[:3, :3])
    # 4 q q' from the entries of R: its largest column is the quaternion times its largest component
    xx, yy, zz = np.diagonal(R)
    K = np.array([[1 + xx + yy + zz, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
                  [R[2, 1] - R[1, 2], 1 + xx - yy - zz, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
                  [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1 - xx + yy - zz, R[1, 2] + R[2, 1]],
                  [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - xx - yy + zz]])
    q: Array = K[:, int(np.argmax(np.diagonal(K)))]
    q = q / np.linalg.norm(q)
    return -q if q[0] < 0 else q + 0.0


def _rotation_of(given: ArrayLike) -> Array:
    """The rotation of a quaternion w x y z."""
    four = vector("quaternion", given, 4)
    assert four is not None
    off = float(abs(np.linalg.norm(four) - 1))
    if not off <= _ROTATION_ERROR:
        raise InputError(f"quaternion is {four}, of length {np.linalg.norm(four):.9g}, expected w x y z of length 1 to "
                         f"{_ROTATION_ERROR:g}", "SOA_E_QUATERNION")
    w, x, y, z = (four / np.linalg.norm(four)).tolist()
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def pose(position: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike | None = None, rotation: ArrayLike | None = None,
         quaternion: ArrayLike | None = None) -> Array:
    """A pose as a 4 x 4 matrix from a position (m) and one of: roll, pitch, yaw (rad, fixed axes), a 3 x 3 rotation, a
    quaternion w x y z.

    A rotation or quaternion that is none (to 1e-6) is refused with a ValueError.

    >>> import soa
    >>> float(soa.pose([0, 0, 1])[2, 3])
    1.0
    >>> soa.pose(quaternion=[0, 0, 0, 1])[:3, :3].tolist()   # half a turn about z
    [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if sum(given is not None for given in (rpy, rotation, quaternion)) > 1:
        raise ValueError("give one of rpy, rotation and quaternion")
    place = vector("position", position, 3)
    angles = vector("rpy", np.zeros(3) if rpy is None else rpy, 3)
    assert place is not None and angles is not None
    for name, array in (("position", place), ("rpy", angles)):
        if not np.isfinite(array).all():
            raise ValueError(f"{name} is {array}, expected finite numbers")
    matrix = frame_matrix(_c.soa_frame_from_rpy(*angles.tolist(), *place.tolist()))
    if rotation is not None:
        turn = np.asarray(rotation, dtype=np.float64)
        if turn.shape != (3, 3):
            raise ValueError(f"rotation has shape {turn.shape}, expected (3, 3)")
        matrix[:3, :3] = _rotation("rotation", turn)
    if quaternion is not None:
        matrix[:3, :3] = _rotation_of(quaternion)
    return matrix


@dataclass(frozen=True)
class Wrench:
    """An external wrench on the body that carries `frame`, at the frame's origin.

    `value` is the moment (N m), then the force (N); `axes` says in which axes: `"world"` (fixed in the world when q varies,
    also for derivatives) or `"body"` (the frame's own).

    >>> import soa
    >>> soa.Wrench("link7", [0, 0, 0, 0, 0, -10]).axes
    'world'
    """

    frame: str | int
    value: ArrayLike = field(default=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    axes: Axes = "world"

"""Poses and external wrenches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _c
from ._call import Array

Axes = Literal["world", "body"]


def frame_struct(pose: ArrayLike | None) -> Any:
    """A soa_frame from a 4 x 4 homogeneous matrix; None: the identity."""
    result = _c.soa_frame()
    matrix = np.eye(4) if pose is None else np.asarray(pose, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise ValueError(f"a pose has shape {matrix.shape}, expected a homogeneous matrix, (4, 4)")
    if not np.allclose(matrix[3], [0, 0, 0, 1]):
        raise ValueError(f"the last row of a pose is {matrix[3]}, expected 0 0 0 1")
    result.R[:] = matrix[:3, :3].ravel().tolist()
    result.p[:] = matrix[:3, 3].tolist()
    return result


def frame_matrix(frame: Any) -> Array:
    """The 4 x 4 homogeneous matrix of a soa_frame."""
    matrix = np.eye(4)
    matrix[:3, :3] = np.reshape(frame.R[:], (3, 3))
    matrix[:3, 3] = frame.p[:]
    return matrix


def pose(position: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike | None = None, rotation: ArrayLike | None = None) -> Array:
    """A pose as a 4 x 4 matrix from a position (m) and roll, pitch, yaw (rad, fixed axes) or a 3 x 3 rotation.

    >>> import soa
    >>> float(soa.pose([0, 0, 1])[2, 3])
    1.0
    """
    if rpy is not None and rotation is not None:
        raise ValueError("give rpy or rotation, not both")
    x, y, z = (float(number) for number in np.asarray(position, dtype=np.float64))
    roll, pitch, yaw = (0.0, 0.0, 0.0) if rpy is None else (float(n) for n in np.asarray(rpy, dtype=np.float64))
    matrix = frame_matrix(_c.soa_frame_from_rpy(roll, pitch, yaw, x, y, z))
    if rotation is not None:
        matrix[:3, :3] = np.asarray(rotation, dtype=np.float64)
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

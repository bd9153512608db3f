"""Random configurations of a model, many at a time."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, Any

import numpy as np

from ._call import Array, check
from ._own import C as _c

if TYPE_CHECKING:
    from .model import Model

_ANGLE = np.pi  # how far an angle without a limit is drawn from zero
_LENGTH = 1.0  # m, the same for a length


class Sampler:
    """Bounds of all coordinates of a model, and where its quaternions are."""

    def __init__(self, model: Model) -> None:
        self._low = np.full(model.nq, -_LENGTH)
        self._high = np.full(model.nq, _LENGTH)
        quaternions, followers = [], []
        for number in range(1, model.body_count + 1):
            info = _c.soa_body_info()
            check(_c.soa_model_body(model._pointer, number, byref(info)))
            if info.mimic >= 0:
                followers.append(info)
            elif info.nq != info.nv:
                quaternions.append(info.q_index + info.nq - 4)  # spherical, free: at the end
            else:
                for i in range(info.nq):
                    reach = _ANGLE if _c.soa_joint_type_turns(info.type, i) else _LENGTH
                    self._set(info.q_index + i, *_bounds(info.lower, info.upper, reach))
        for info in followers:
            leader = _c.soa_body_info()
            check(_c.soa_model_body(model._pointer, info.mimic, byref(leader)))
            self._follow(info, leader.q_index)
        self._quaternions = np.array(quaternions, dtype=np.intp)[:, None] + np.arange(4)

    def _set(self, index: int, low: float, high: float) -> None:
        self._low[index], self._high[index] = low, high

    def _follow(self, info: Any, index: int) -> None:
        """Narrows the bounds of a leader to those of a joint that follows it, if any are left."""
        ratio, offset = info.mimic_ratio, info.mimic_offset
        if ratio == 0:
            return
        ends = sorted((bound - offset) / ratio for bound in (info.lower, info.upper))
        low, high = max(self._low[index], ends[0]), min(self._high[index], ends[1])
        if low <= high:
            self._set(index, low, high)

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Configurations, (count, nq)."""
        q = rng.uniform(self._low, self._high, (count, len(self._low)))
        if len(self._quaternions):
            four = rng.normal(size=(count, *self._quaternions.shape))  # the same in all directions
            q[:, self._quaternions] = four / np.linalg.norm(four, axis=-1, keepdims=True)
        return q


def _bounds(lower: float, upper: float, reach: float) -> tuple[float, float]:
    """Bounds of a coordinate with limits, of which one or both may be infinite."""
    low_given, high_given = bool(np.isfinite(lower)), bool(np.isfinite(upper))
    low = lower if low_given else upper - 2 * reach if high_given else -reach
    high = upper if high_given else lower + 2 * reach if low_given else reach
    return low, high


__all__ = ["Sampler"]

"""Spatial operator algebra: O(n) dynamics of machines made of joint-connected bodies.

>>> import soa
>>> arm = soa.Model.open("arm7")
>>> tau = arm.rnea(arm.neutral(), None, None)   # torques that hold it against gravity
>>> tau.shape
(7,)
"""

from __future__ import annotations

import os as _os

from . import _core
from ._core import get_threads, set_threads
from ._errors import ConvergenceError, FileError, InputError, OutOfMemoryError, SingularError, SoaError
from .frames import Wrench, pose
from .model import Body, Frame, InverseKinematics, Model, OperationalSpace, Smoothed, Task, stock_models

__version__: str = _core.version

set_threads(max(1, len(_os.sched_getaffinity(0))))

__all__ = [
    "Body", "ConvergenceError", "FileError", "Frame", "InputError", "InverseKinematics", "Model", "OperationalSpace",
    "OutOfMemoryError", "SingularError", "Smoothed", "SoaError", "Task", "Wrench", "get_threads", "pose", "set_threads",
    "stock_models",
]

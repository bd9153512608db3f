"""Spatial operator algebra: O(n) dynamics of machines made of joint-connected bodies.

>>> import soa
>>> arm = soa.Model.open("arm7")
>>> tau = arm.rnea(arm.neutral(), None, None)   # torques that hold it against gravity
>>> tau.shape
(7,)

Modules: `soa.operators` (the algebra), `soa.constraints`, `soa.embedding`, `soa.grasp` (closed chains), `soa.forms` (the
papers' other forms), `soa.control` (laws and paths), `soa.supervisor` (phases), `soa.scenarios`, `soa.records`,
`soa.journals` (writing records), `soa.plots`, `soa.motion` (simulation), `soa.collision` (convex shapes).
`soa._c` is the whole C interface for ctypes.
"""

from __future__ import annotations

import os as _os

from . import _core, collision, constraints, convert, embedding, forms, grasp, motion, operators, records, scenarios
from . import control, journals, plots, supervisor
from ._core import get_threads, set_threads
from ._errors import ConvergenceError, FileError, InputError, LoopWarning, OutOfMemoryError, SingularError, SoaError
from .constraints import Constraints, Disc, Distance, Loop, Plane, Ratio, Rolling, Velocity
from .control import Control
from .embedding import Embedding
from .frames import Wrench, pose, quaternion
from .grasp import Contact, Grasp
from .journals import Journal
from .model import Body, Frame, InverseKinematics, Model, OperationalSpace, Smoothed, Task, stock_models
from .motion import simulate, simulate_closed, simulate_grasp
from .operators import Expr, Machine, identity
from .records import Record
from .scenarios import Scenario, ScenarioWarning, Sweep, World, resume, stock_scenarios, sweep
from .supervisor import Supervisor
from .worlds import Energy, Hold, Pull

__version__: str = _core.version

set_threads(max(1, len(_os.sched_getaffinity(0))))

__all__ = [
    "Body", "Constraints", "Contact", "Control", "ConvergenceError", "Disc", "Distance",
    "Embedding", "Energy", "Expr", "FileError", "Frame", "Grasp", "Hold", "InputError",
    "InverseKinematics", "Journal", "Loop", "LoopWarning", "Machine", "Model", "OperationalSpace",
    "OutOfMemoryError", "Plane", "Pull", "Ratio", "Record", "Rolling", "Scenario",
    "ScenarioWarning", "SingularError", "Smoothed", "SoaError", "Supervisor", "Sweep", "Task",
    "Velocity", "World", "Wrench", "collision", "constraints", "control", "convert", "embedding",
    "forms", "get_threads", "grasp", "identity", "journals", "motion", "operators", "plots",
    "pose", "quaternion", "records", "resume", "scenarios", "set_threads", "simulate",
    "simulate_closed", "simulate_grasp", "stock_models", "stock_scenarios", "supervisor", "sweep",
]

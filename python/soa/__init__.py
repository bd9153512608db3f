"""Spatial operator algebra: O(n) dynamics of machines made of joint-connected bodies.

>>> import soa
>>> arm = soa.Model.open("arm7")
>>> tau = arm.rnea(arm.neutral(), None, None)   # torques that hold it against gravity
>>> tau.shape
(7,)

Modules: `soa.definitions` and `soa.graphs` (machines written in Python), `soa.files` (remarks on a
URDF, its shapes), `soa.operators` (the algebra), `soa.spatial` (six-vectors), `soa.constraints`,
`soa.embedding`, `soa.grasp` (closed chains), `soa.forms` (the papers' other forms), `soa.estimation`, `soa.control`
(laws and paths), `soa.supervisor` (phases), `soa.scenarios`, `soa.records`, `soa.journals` (writing
records), `soa.plots`, `soa.motion` (simulation), `soa.collision` (convex shapes).
`soa._c` is the whole C interface for ctypes.
"""

from __future__ import annotations

import os as _os

from . import _core, collision, constraints, convert, embedding, estimation, forms, grasp, motion, operators, records, scenarios
from . import control, definitions, files, graphs, journals, plots, spatial, supervisor
from ._core import get_threads, set_threads
from ._errors import ConvergenceError, FileError, InputError, LimitWarning, LoopWarning, OutOfMemoryError, SingularError, SoaError
from ._errors import UnknownNameError
from .constraints import Constraints, Disc, Distance, Loop, Plane, Ratio, Rolling, Velocity
from .control import Control
from .definitions import DHRow, Inertia, Joint, Link, ModelDefinition
from .embedding import Embedding
from .files import lint_urdf, lint_urdf_text
from .frames import Wrench, pose, quaternion
from .graphs import Linkage
from .grasp import Contact, Grasp, GraspWarning
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
    "Body", "Constraints", "Contact", "Control", "ConvergenceError", "DHRow", "Disc",
    "Distance", "Embedding", "Energy", "Expr", "FileError", "Frame", "Grasp", "GraspWarning", "Hold", "Inertia",
    "InputError", "InverseKinematics", "Joint", "Journal", "Link", "Linkage", "Loop",
    "LimitWarning", "LoopWarning", "Machine", "Model", "ModelDefinition", "OperationalSpace",
    "OutOfMemoryError", "Plane", "Pull", "Ratio", "Record", "Rolling", "Scenario",
    "ScenarioWarning", "SingularError", "Smoothed", "SoaError", "Supervisor", "Sweep", "Task",
    "UnknownNameError",
    "Velocity", "World", "Wrench", "collision", "constraints", "control", "convert",
    "definitions", "embedding", "estimation", "files", "forms", "get_threads", "graphs", "grasp", "identity",
    "journals", "lint_urdf", "lint_urdf_text", "motion", "operators", "plots", "pose",
    "quaternion", "records", "resume", "scenarios", "set_threads", "simulate",
    "simulate_closed", "simulate_grasp", "spatial", "stock_models", "stock_scenarios",
    "supervisor", "sweep",
]

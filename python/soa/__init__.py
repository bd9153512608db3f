"""Spatial operator algebra: O(n) dynamics of machines made of joint-connected bodies.

>>> import soa
>>> arm = soa.Model.open("arm7")
>>> tau = arm.rnea(arm.neutral(), None, None)   # torques that hold it against gravity
>>> tau.shape
(7,)

Modules: `soa.definitions` and `soa.graphs` (machines written in Python), `soa.files` (remarks on a
URDF, its shapes), `soa.operators` (the algebra), `soa.spatial` (six-vectors), `soa.constraints`,
`soa.embedding`, `soa.grasp` (closed chains), `soa.forms` (the papers' other forms), `soa.control`
(laws and paths), `soa.supervisor` (phases), `soa.scenarios`, `soa.records`, `soa.journals` (writing
records), `soa.plots`, `soa.motion` (simulation), `soa.collision` (convex shapes).
`soa._c` is the whole C interface for ctypes.
"""

from __future__ import annotations

import os as _os

from . import _core, collision, constraints, convert, embedding, forms, grasp, motion, operators, records, scenarios
from . import control, definitions, files, graphs, journals, plots, spatial, supervisor
from ._core import get_threads, set_threads
from ._errors import ConvergenceError, FileError, InputError, OutOfMemoryError, SingularError, SoaError
from .constraints import Constraints, Disc, Distance, Loop, Plane, Ratio, Rolling, Velocity
from .control import Control
from .definitions import DHRow, Inertia, Joint, Link, ModelDefinition
from .embedding import Embedding
from .files import lint_urdf, lint_urdf_text
from .frames import Wrench, pose
from .graphs import Linkage
from .grasp import Contact, Grasp
from .journals import Journal
from .model import Body, Frame, InverseKinematics, Model, OperationalSpace, Smoothed, Task, stock_models
from .motion import simulate, simulate_closed, simulate_grasp
from .operators import Expr, Machine, identity
from .records import Record
from .scenarios import Scenario, World, stock_scenarios, sweep
from .supervisor import Supervisor

__version__: str = _core.version

set_threads(max(1, len(_os.sched_getaffinity(0))))

__all__ = [
    "Body", "Constraints", "Contact", "ConvergenceError", "Disc", "Distance", "Embedding", "Expr", "FileError", "Frame",
    "Grasp", "InputError", "InverseKinematics", "Loop", "Machine", "Model", "OperationalSpace", "OutOfMemoryError", "Plane",
    "Ratio", "Record", "Rolling", "Scenario", "SingularError", "Smoothed", "SoaError", "Task", "Velocity", "World", "Wrench",
    "collision", "constraints", "convert", "embedding", "forms", "get_threads", "grasp", "identity", "motion", "operators", "pose",
    "records", "scenarios", "set_threads", "simulate", "simulate_closed", "simulate_grasp", "stock_models",
    "stock_scenarios", "sweep",
    "DHRow", "Inertia", "Joint", "Link", "Linkage", "ModelDefinition", "definitions", "files",
    "graphs", "lint_urdf", "lint_urdf_text", "spatial",
    "Control", "Journal", "Supervisor", "control", "journals", "plots", "supervisor",
]

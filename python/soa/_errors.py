"""What can go wrong, as exceptions.

Every exception of this package is a `SoaError` with the C library's status.  It is also one of Python's own kinds, so that
`except ValueError` catches a number that is wrong, `except OSError` a file that cannot be read.
"""

from __future__ import annotations

import difflib
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from .model import Model


class SoaError(Exception):
    """A call of libsoa that failed.

    `status` is the C name, for example `"SOA_E_HINGE_SINGULAR"`; `body` the number of the body at fault or -1; `line` the
    line of the file or 0.
    """

    def __init__(self, text: str, status: str = "", body: int = -1, line: int = 0) -> None:
        super().__init__(text)
        self.status = status
        self.body = body
        self.line = line


class InputError(SoaError, ValueError):
    """A number, name or definition that cannot be used."""

    def __init__(self, text: str, status: str = "SOA_E_ARGUMENT", body: int = -1, line: int = 0) -> None:
        super().__init__(text, status, body, line)


class UnknownNameError(InputError, KeyError):
    """A joint, link or frame that a model does not have; as of a dict, `except KeyError` catches it, too."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "SOA_E_NAME")

    def __str__(self) -> str:  # KeyError shows the repr of its text
        return str(self.args[0])


class FileError(SoaError, OSError):
    """A file that cannot be read or written, or that is not in the format expected."""


class SingularError(SoaError, ArithmeticError):
    """The answer is not determined: a joint moves no inertia, a system is singular, constraints contradict each other."""


class ConvergenceError(SoaError, RuntimeError):
    """An iteration that did not converge."""


class OutOfMemoryError(SoaError, MemoryError):
    """There was no memory."""


STATUS_NAMES = [
    "SOA_OK", "SOA_E_ARGUMENT", "SOA_E_NOT_FINITE", "SOA_E_QUATERNION", "SOA_E_MEMORY", "SOA_E_TREE", "SOA_E_NAME",
    "SOA_E_JOINT", "SOA_E_FRAME", "SOA_E_INERTIA", "SOA_E_MIMIC", "SOA_E_HINGE_SINGULAR", "SOA_E_FORMAT", "SOA_E_VERSION",
    "SOA_E_CHECKSUM", "SOA_E_FILE", "SOA_E_NO_CONVERGENCE", "SOA_E_SINGULAR", "SOA_E_INCONSISTENT", "SOA_E_BRANCHED",
    "SOA_E_ORDER",
]
_KINDS: dict[str, type[SoaError]] = {
    "SOA_E_MEMORY": OutOfMemoryError,
    "SOA_E_HINGE_SINGULAR": SingularError,
    "SOA_E_SINGULAR": SingularError,
    "SOA_E_INCONSISTENT": SingularError,
    "SOA_E_NO_CONVERGENCE": ConvergenceError,
    "SOA_E_FORMAT": FileError,
    "SOA_E_VERSION": FileError,
    "SOA_E_CHECKSUM": FileError,
    "SOA_E_FILE": FileError,
}


def status_name(status: int) -> str:
    """The C name of a status."""
    return STATUS_NAMES[status] if 0 <= status < len(STATUS_NAMES) else f"status {status}"


def error(status: int, text: str, body: int = -1, line: int = 0) -> SoaError:
    """The exception for a status."""
    name = status_name(status)
    return _KINDS.get(name, InputError)(text, name, body, line)


def _not_finite(arguments: list[tuple[str, Any]]) -> str:
    for name, array in arguments:
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            place = ", ".join(str(i) for i in bad[0])
            return f"{name}[{place}] is {array[tuple(bad[0])]}: all numbers must be finite"
    return "a number is not finite"


_DIVERGED = 1e9  # no machine is so large or so fast, in m, rad and s


def _diverged(arguments: list[tuple[str, Any]], state: int) -> str:
    """What to say of a state with numbers that no machine has; "" where there is none."""
    for name, array in arguments:
        row = array[state] if state >= 0 and array.ndim == 2 else array
        worst = int(np.argmax(np.abs(row))) if row.size else 0
        if name in ("q", "v") and row.size and abs(row[worst]) > _DIVERGED:
            return (f"; but {name}[{worst}] is {row[worst]:.3g}: the motion that led to this state has probably "
                    "diverged, and rounding leaves nothing of the inertia")
    return ""


def raise_call(model: Model, function: str, status: int, body: int, state: int,
               arguments: list[tuple[str, Any]]) -> NoReturn:
    """Raises the exception of a method of Model; called by the compiled part."""
    from . import _c

    name = status_name(status)
    text: str = _c.soa_status_text(status).decode()
    where = f" (state {state})" if state >= 0 else ""
    if name == "SOA_E_HINGE_SINGULAR":
        text += _diverged(arguments, state)
    if name == "SOA_E_MIMIC":
        text = no_mimic(model)
    if name == "SOA_E_NOT_FINITE":
        text = _not_finite(arguments)
    elif body > 0:
        joint = model.body(body).joint
        text = f"joint '{joint}': {text}"
        if name == "SOA_E_QUATERNION":
            text += "; Model.normalise(q) makes it so"
    elif name == "SOA_E_QUATERNION":
        text += "; Model.normalise(q) makes it so"
    raise error(status, f"{function}{where}: {text}", body)


def bad_number(function: str, name: str, value: float) -> NoReturn:
    """Raises the exception for a number that is not finite; called by the compiled part."""
    raise InputError(f"{function}: {name} is {value}: all numbers must be finite", "SOA_E_NOT_FINITE")


def no_mimic(model: Model) -> str:
    """What to say where mimic joints are not in a form of the dynamics."""
    followers = [f"'{body.joint}'" for body in model.bodies if body.mimic >= 0]
    return (f"mimic joints ({', '.join(followers)}) are not in this form; open the model ideal=True, in which they move "
            "independently")


def bad_wrenches(wrenches: object) -> NoReturn:
    """Raises the exception for wrenches that are no sequence; called by the compiled part."""
    if hasattr(wrenches, "frame") and hasattr(wrenches, "value"):
        raise TypeError("wrenches is a single soa.Wrench, expected a sequence of them: wrenches=[wrench]")
    raise TypeError(f"wrenches is a {type(wrenches).__name__}, expected a list of soa.Wrench objects: "
                    "wrenches=[soa.Wrench(frame, [nx, ny, nz, fx, fy, fz])]")


class LoopWarning(UserWarning):
    """A method of a tree was called on a model that brings loops along, which are not in the result."""


class LimitWarning(UserWarning):
    """A motion that ignores joint limits, as `simulate` does, has passed one."""


def loop_words(count: int) -> str:
    """Loops and their number, for messages."""
    return "1 loop or other constraint" if count == 1 else f"{count} loops or other constraints"


def warn_loops(model: Model, method: str, stacklevel: int = 2) -> None:
    """Warns that the loops of a model are not in a result; once for each model. Called by the compiled part."""
    what = loop_words(model._bound_count)
    remedy = _CLOSED.get(method, "Model.constraints has the closed machine")
    warnings.warn(f"{method}: '{model.name}' has {what}, which this result leaves out: it is that of the spanning "
                  f"tree. {remedy}. (Said once for each model, and not after model.constraints was used.)",
                  LoopWarning, stacklevel=stacklevel + 1)


_CLOSED = {
    "aba": "With the loops: model.constraints.fd(q, v, tau).qdd",
    "rnea": "With the loops: model.constraints.id(q, v, a).tau",
    "inverse_kinematics": "model.constraints.assemble(q) closes the loops of a configuration",
}


def unknown_frame(model: Model, name: str) -> NoReturn:
    """Raises the exception for a frame that does not exist; called by the compiled part."""
    names = model.frame_names
    joint = next((body for body in model.bodies if body.joint == name), None)
    if joint is not None:
        hint = f": '{name}' is a joint; its link is '{joint.link}'"
    else:
        hint = _similar(name, names)
    raise UnknownNameError(f"the model has no frame '{name}'{hint} (Model.frame_names lists all {len(names)})")


def unknown_joint(model: Model, name: str) -> NoReturn:
    """Raises the exception for a joint that does not exist, or does not move."""
    names = model.joint_names
    link = next((body for body in model.bodies if body.link == name), None)
    if link is not None:
        hint = f": '{name}' is a link; its joint is '{link.joint}'"
    else:
        hint = _similar(name, names)
    raise UnknownNameError(f"the model has no joint '{name}' that moves{hint} (Model.joint_names lists all {len(names)})")


def _similar(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f"; did you mean '{near[0]}'?" if near else ""

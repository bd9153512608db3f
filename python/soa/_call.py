"""Small helpers for calls of the C interface."""

from __future__ import annotations

from ctypes import POINTER, byref, c_double, cast
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _c
from ._errors import error

Array = NDArray[np.float64]


def check(status: int, report: Any = None, what: str = "") -> None:
    """Raises the exception of a status that is not SOA_OK, with the report's text."""
    if status == _c.SOA_OK:
        return
    text = _c.soa_status_text(status).decode()
    body, line = -1, 0
    if report is not None and report.status == status and report.text:
        text, body, line = report.text.decode(errors="replace"), report.body, report.line
    raise error(status, f"{what}: {text}" if what else text, body, line)


def new_report() -> Any:
    """A report for `byref`."""
    return _c.soa_report(_c.SOA_OK, -1, 0, b"")


def numbers(array: NDArray[Any] | None) -> Any:
    """A `const double *` to an array; None: NULL."""
    if array is None:
        return None
    return array.ctypes.data_as(POINTER(c_double))


def vector(name: str, given: ArrayLike | None, length: int) -> Array | None:
    """The argument as a float64 vector of a length, without a copy where it is one already."""
    if given is None:
        return None
    array = np.asarray(given)
    if array.dtype.kind not in "fiu" or array.dtype == np.float16:
        raise TypeError(f"{name} has dtype {array.dtype}, expected float64")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if array.shape != (length,):
        raise ValueError(f"{name} has shape {array.shape}, expected ({length},)")
    return array


def from_pointer(pointer: Any, count: int) -> Array:
    """A copy of `count` doubles."""
    if count == 0 or not pointer:
        return np.zeros(count)
    return np.array(np.ctypeslib.as_array(cast(pointer, POINTER(c_double)), (count,)))


def read_only(array: Array) -> Array:
    """The array, which cannot be written: a change of it would change nothing else."""
    array.flags.writeable = False
    return array


def text(value: bytes | None) -> str:
    """The text of a `const char *`."""
    return "" if value is None else value.decode(errors="replace")


__all__ = ["Array", "byref", "check", "from_pointer", "new_report", "numbers", "read_only", "text", "vector"]

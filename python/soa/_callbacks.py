"""Python functions that C calls: their exceptions are kept, the C call is stopped, and they are raised after it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

import numpy as np

from ._call import Array, from_pointer


class Carrier:
    """Carries the first exception of callbacks out of a C call: a context manager around the call."""

    def __init__(self) -> None:
        self.fault: BaseException | None = None

    def run(self, function: Callable[[], Any], stopped: Any) -> Any:
        """What the function returns; `stopped` once an exception was raised, in this call or before."""
        if self.fault is not None:
            return stopped
        try:
            return function()
        except BaseException as fault:  # KeyboardInterrupt too: C must not be left by it
            self.fault = fault
            return stopped

    def __enter__(self) -> Carrier:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> Literal[False]:
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault.with_traceback(fault.__traceback__) from None
        return False


def write_torque(what: str, given: object, tau: Any, nv: int) -> None:
    """Copies the torques that a function returned into `tau`; None: zero."""
    if given is None:
        return
    array: Array = np.ascontiguousarray(np.asarray(given), dtype=np.float64)
    if array.shape != (nv,):
        raise ValueError(f"{what} returned shape {array.shape}, expected ({nv},)")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} returned a number that is not finite: {array}")
    view = np.ctypeslib.as_array(tau, (nv,)) if nv else array
    view[:] = array


__all__ = ["Carrier", "from_pointer", "write_torque"]

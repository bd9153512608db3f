"""Python functions that C calls: their exceptions are kept, the C call is stopped, and they are raised after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from ctypes import memmove, string_at
from types import FrameType, TracebackType
from typing import Any, Literal

import numpy as np

from ._call import Array


class Carrier:
    """Carries the first exception of callbacks out of a C call: a context manager around the call.

    Ctrl-C too: Python would raise KeyboardInterrupt at the entry of a callback, where nothing can catch it, so that its
    handler is called through `_interrupt` as long as the call lasts.
    """

    def __init__(self) -> None:
        self.fault: BaseException | None = None
        self.in_tick = False  # a controller is being asked: the world is within a tick
        self._handlers: list[Any] = []

    def run(self, function: Callable[[], Any], stopped: Any) -> Any:
        """What the function returns; `stopped` once an exception was raised, in this call or before."""
        if self.fault is not None:
            return stopped
        try:
            result = function()
        except BaseException as fault:  # also those that are no errors: C must not be left by them
            self.fault = fault
        return stopped if self.fault is not None else result

    def __enter__(self) -> Carrier:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._handlers.append(handler)
            signal.signal(signal.SIGINT, self._interrupt)
        else:
            self._handlers.append(None)
        return self

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        try:
            self._handlers[-1](number, frame)
        except BaseException as fault:
            self.fault = self.fault or fault

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> Literal[False]:
        handler = self._handlers[-1]
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        self._handlers.pop()
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault.with_traceback(fault.__traceback__) from None
        return False


def write_torque(what: str, given: object, tau: Any, nv: int) -> None:
    """Copies the torques that a function returned into `tau`."""
    if given is None:  # mostly a forgotten return
        raise TypeError(f"{what} returned None; return {nv} torques, np.zeros({nv}) for none")
    found = np.asarray(given)
    if found.dtype.kind not in "fiub":
        raise TypeError(f"{what} returned a {type(given).__name__} ({given!r:.60}), expected {nv} numbers")
    array: Array = np.ascontiguousarray(found, dtype=np.float64)
    if array.shape != (nv,):
        raise ValueError(f"{what} returned shape {array.shape}, expected ({nv},)")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} returned a number that is not finite: {array}")
    memmove(tau, array.ctypes.data, array.nbytes)


def copied(pointer: Any, count: int) -> Array:
    """A copy of `count` doubles; unlike `from_pointer` it leaves nothing to the garbage collector."""
    return np.frombuffer(string_at(pointer, 8 * count), dtype=np.float64).copy() if count else np.zeros(0)


__all__ = ["Carrier", "copied", "write_torque"]

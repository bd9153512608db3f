"""C objects that Python objects own, and the inputs of calls on them."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _c as _module
from ._call import Array, check, numbers, vector
from .frames import Wrench

if TYPE_CHECKING:
    from .model import Model

C: Any = _module
"""The C interface; ctypes has no types to check."""


FOLDERS = "soa-"
"""Beginning of the names of temporary folders."""


class Folder:
    """A temporary folder that goes with this object, without the ResourceWarning of tempfile.TemporaryDirectory."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix=FOLDERS)
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)

    def cleanup(self) -> None:
        """Removes the folder now."""
        self._finalizer()


class Guard:
    """Lets one thread at a time into a C object, and no Python function that the C object itself calls.

    `failed` keeps an exception of such a function until the C call has returned.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.RLock()
        self._busy = False
        self.failed: BaseException | None = None

    def __enter__(self) -> Guard:
        self._lock.acquire()
        if self._busy:
            self._lock.release()
            raise RuntimeError(f"{self._what} is in use by the call that called this function")
        self._busy = True
        self.failed = None
        return self

    def __exit__(self, *_: object) -> None:
        self._busy = False
        self._lock.release()

    def check(self, status: int, report: Any = None, what: str = "") -> None:
        """`check`, but an exception of a Python function that C called goes first."""
        failed, self.failed = self.failed, None
        if failed is not None:
            raise failed
        check(status, report, what)


class State:
    """The arrays of a soa_input, kept alive together; `struct` goes to C by `byref`."""

    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
        t: float = 0.0,
        nq: int | None = None,
        nv: int | None = None,
        names: Sequence[str] = ("q", "v", "a", "tau"),
    ) -> None:
        from .model import wrench_array

        nq = model.nq if nq is None else nq
        nv = model.nv if nv is None else nv
        self.q = vector(names[0], q, nq)
        self.v = vector(names[1], v, nv)
        self.a = vector(names[2], a, nv)
        self.tau = vector(names[3], tau, nv)
        self.wrenches = wrench_array(model, wrenches)
        self.struct = C.soa_input(
            numbers(self.q), numbers(self.v), numbers(self.a), numbers(self.tau), self.wrenches, len(wrenches), float(t)
        )

    @property
    def pointer(self) -> Any:
        """A `const soa_input *`."""
        return byref(self.struct)


def new_work(model: Model) -> Any:
    """A work space; the caller releases it with soa_work_free."""
    work = POINTER(C.soa_work)()
    check(C.soa_work_create(model._pointer, byref(work)))
    return work


def release(*calls: tuple[Callable[..., Any], Any]) -> None:
    """Frees C objects in order; for weakref.finalize."""
    for function, pointer in calls:
        function(pointer)


def needed(array: Array | None) -> Array:
    """An array that was given."""
    assert array is not None
    return array


def chosen(model: Model, name: str, given: Sequence[str | int] | ArrayLike | None) -> NDArray[np.uint8] | None:
    """Degrees of freedom as nv flags, from names of joints, numbers of degrees of freedom, or nv truth values."""
    if given is None:
        return None
    if isinstance(given, str):
        given = [given]
    flags = np.zeros(model.nv, dtype=np.uint8)
    array = np.asarray(given)
    if array.dtype == np.bool_:
        if array.shape != (model.nv,):
            raise ValueError(f"{name} has shape {array.shape}, expected ({model.nv},) truth values")
        flags[:] = array
        return flags
    for one in given:  # type: ignore[union-attr]
        if isinstance(one, str):
            flags[model.joint(one).v] = 1
        elif isinstance(one, (int, np.integer)) and 0 <= int(one) < model.nv:
            flags[int(one)] = 1
        else:
            raise ValueError(f"{name} has {one!r}, expected names of joints or numbers from 0 to {model.nv - 1}")
    return flags


def bytes_pointer(flags: NDArray[np.uint8] | None) -> Any:
    """A `const unsigned char *`; None: NULL."""
    from ctypes import c_ubyte

    return None if flags is None else flags.ctypes.data_as(POINTER(c_ubyte))


__all__ = ["C", "Guard", "State", "bytes_pointer", "chosen", "needed", "new_work", "release"]

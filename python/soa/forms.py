"""The same dynamics in the papers' other forms: judges of `Model.aba` and `Model.rnea`, and forms that suit other
machines.

`Model` has the short ones (`smoother`, `acceleration_parts`, `mass_r87`, `compliance`, `jjt`, `mass_factor_mul`,
`nu_...`).

>>> import numpy as np, soa
>>> from soa import forms
>>> arm = soa.Model.open("arm7")
>>> q = arm.neutral() + 0.2
>>> np.allclose(forms.fd_constraint_forces(arm, q).qdd, arm.aba(q, None, None))
True
>>> qdd, compliance = forms.fd_two_sweep(arm, q, frame=arm.body(7).link)
>>> np.allclose(qdd, forms.fd_ud(arm, q)), compliance.shape
(True, (6, 6))
"""

from __future__ import annotations

import concurrent.futures
import weakref
from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, c_float, c_int, c_void_p, cast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._call import Array, check, numbers, text, vector
from ._errors import error, no_mimic
from ._own import C as _c
from ._own import Guard, State, needed
from .frames import Wrench

if TYPE_CHECKING:
    from .model import Model

Update = Literal["43", "43_u", "50", "50_t", "51", "43_zero", "ud", "84", "composite_29", "composite_33"]
UPDATES: tuple[Update, ...] = ("43", "43_u", "50", "50_t", "51", "43_zero", "ud", "84", "composite_29", "composite_33")


def _raise(model: Model, status: int, body: int, what: str) -> None:
    """The exception of a status, with the joint at fault."""
    if status == _c.SOA_OK:
        return
    said = no_mimic(model) if status == _c.SOA_E_MIMIC else text(_c.soa_status_text(status))
    if body > 0:
        said = f"joint '{model.body(body).joint}': {said}"
    raise error(status, f"{what}: {said}", body)


# --- R87 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InverseSums:
    """What `inverse_sums` returns; the numbers are R87's equations.

    x (24): forces through the joints, lambda_ (23): spatial accelerations with gravity as one of the base, (bodies, 6)
    each; mass (28), (30); bias (31) with gravity and wrenches; tau (20) with friction and springs.
    """

    x: Array
    lambda_: Array
    mass: Array
    bias: Array
    tau: Array


def inverse_sums(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, wrenches: Sequence[Wrench] = ()
) -> InverseSums:
    """R87 (23) to (31): inverse dynamics as closed sums over transition matrices, not by recursion; O(n depth)."""
    state, n, nv = State(model, q, v, a, None, wrenches), model.body_count, model.nv
    made = [np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((nv, nv)), np.zeros(nv), np.zeros(nv)]
    with model._work() as work:
        status = _c.soa_inverse_sums(model._pointer, work, state.pointer, *(numbers(one) for one in made))
        _raise(model, status, _c.soa_work_failed_body(work), "inverse_sums")
    return InverseSums(*made)


@dataclass(frozen=True)
class BoundaryProblem:
    """What `boundary_problem` returns: all four ends, joint accelerations and torques, x and lambda_, (bodies, 6) each.

    accelerations, torques: of the joints, (nv,). base_acceleration, base_force, tip_force,
    tip_acceleration: the ends, (6,) each: those of the base in world axes at the world's
    origin, those of the tip in the tip frame's axes and origin; angular part first.

    x are forces through the joints, lambda_ true spatial accelerations, in the bodies' axes.
    """

    accelerations: Array
    torques: Array
    base_acceleration: Array
    base_force: Array
    tip_force: Array
    tip_acceleration: Array
    x: Array
    lambda_: Array


def boundary_problem(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    accelerations: ArrayLike | None = None,
    torques: ArrayLike | None = None,
    tip: str | int = 0,
    base_acceleration: ArrayLike | None = None,
    base_force: ArrayLike | None = None,
    tip_force: ArrayLike | None = None,
    tip_acceleration: ArrayLike | None = None,
    base_velocity: ArrayLike | None = None,
    base_inertia: ArrayLike | None = None,
    wrenches: Sequence[Wrench] = (),
) -> BoundaryProblem:
    """R87 (16) to (21): the two-point boundary problem, joint accelerations or torques given, the others asked for.

    Of the four six-vectors at the ends two are given, the other two found.  Where only one or none is given, the base
    is at rest (acceleration zero) or the tip free (force zero), whichever end has none.  Base vectors are in world axes
    at the world's origin, where the base link is now; tip vectors in the tip frame's axes and origin; accelerations are
    spatial, without gravity.  base_inertia: of the base link about its origin: m, m c (3), I xx yy zz xy xz yz.  tip 0:
    none.
    """
    if (accelerations is None) == (torques is None):
        raise ValueError("give accelerations or torques, one of them")
    nv, n = model.nv, model.body_count
    ends = {
        "base_acceleration": base_acceleration,
        "base_force": base_force,
        "tip_force": tip_force,
        "tip_acceleration": tip_acceleration,
    }
    given = {name: needed(vector(name, value, 6)) for name, value in ends.items() if value is not None}
    if len(given) > 2:
        raise ValueError(f"{', '.join(given)} are given, expected two of the four ends at most")
    if len(given) < 2 and not any(name.startswith("base") for name in given):
        given["base_acceleration"] = np.zeros(6)
    if len(given) < 2:
        given["tip_force" if "tip_force" not in given else "base_acceleration"] = np.zeros(6)
    bits = {
        "base_acceleration": _c.SOA_BASE_ACCELERATION,
        "base_force": _c.SOA_BASE_FORCE,
        "tip_force": _c.SOA_TIP_FORCE,
        "tip_acceleration": _c.SOA_TIP_ACCELERATION,
    }
    struct = _c.soa_boundary()
    struct.given = sum(bits[name] for name in given)
    struct.torques, struct.tip = torques is not None, model.find_frame(tip)
    for name, value in given.items():
        getattr(struct, name)[:] = value.tolist()
    if base_velocity is not None:
        struct.base_velocity[:] = needed(vector("base_velocity", base_velocity, 6)).tolist()
    if base_inertia is not None:
        struct.base_inertia[:] = needed(vector("base_inertia", base_inertia, 10)).tolist()
    state = State(model, q, v, None, None, wrenches)
    name = "accelerations" if torques is None else "torques"
    known = needed(vector(name, accelerations if torques is None else torques, nv))
    found, x, lambda_ = np.zeros(nv), np.zeros((n, 6)), np.zeros((n, 6))
    with model._work() as work:
        status = _c.soa_boundary_problem(
            model._pointer,
            work,
            state.pointer,
            numbers(known),
            byref(struct),
            numbers(found),
            numbers(x),
            numbers(lambda_),
        )
        _raise(model, status, _c.soa_work_failed_body(work), "boundary_problem")
    moved, driven = (known.copy(), found) if torques is None else (found, known.copy())
    all_ends = {end: np.array(getattr(struct, end)[:]) for end in ends}
    return BoundaryProblem(accelerations=moved, torques=driven, x=x, lambda_=lambda_, **all_ends)


def articulated_inertia(
    model: Model, q: ArrayLike, body: int, update: Update = "43", storage: Literal["full", "symmetric"] = "full"
) -> Array:
    """The articulated inertia of a body, (6, 6) in its axes about its joint, by a way to update it; body 0: what the
    base feels.

    update: R87's equation: "43" P+ = P - (P H') D^-1 (H P), both products formed; "43_u" with U = P H' formed once;
    "50" (I - G H) P; "50_t" its transpose; "51" Joseph's form; "43_zero" as "43_u", with H P+ = 0 set; "ud" factors
    U diag(d) U' in place of P; "84" in 3 x 3 blocks; "composite_29", "composite_33": all joints locked.  storage: "full" computes all 36 numbers, so that nothing keeps P symmetric; "symmetric" 21 of
    them.
    """
    if update not in UPDATES:
        raise ValueError(f"update is {update!r}, expected one of {', '.join(UPDATES)}")
    if storage not in ("full", "symmetric"):
        raise ValueError(f"storage is {storage!r}, expected 'full' or 'symmetric'")
    if not 0 <= body <= model.body_count:
        raise IndexError(f"body {body}: the model has bodies 1 to {model.body_count}, and 0 for the base")
    qv, P = vector("q", q, model.nq), np.zeros((6, 6))
    kind = _c.SOA_STORAGE_FULL if storage == "full" else _c.SOA_STORAGE_SYMMETRIC
    with model._work() as work:
        status = _c.soa_articulated_inertia(
            model._pointer, work, numbers(qv), UPDATES.index(update), kind, body, numbers(P)
        )
        _raise(model, status, _c.soa_work_failed_body(work), "articulated_inertia")
    return P


# --- J'J ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tip:
    """A frame with weights on its rows of J: turning and motion; 0 leaves those rows out.

    frame: name or number. angular, linear: the weights.
    """

    frame: str | int
    angular: float = 1.0
    linear: float = 1.0


Tips = str | int | Tip | Sequence[str | int | Tip]


def _tips(model: Model, tips: Tips) -> tuple[Any, int]:
    given = [tips] if isinstance(tips, (str, int, Tip)) else tips
    made = [tip if isinstance(tip, Tip) else Tip(tip) for tip in given]
    array = (_c.soa_tip * max(1, len(made)))()
    for slot, tip in zip(array, made):
        slot.frame, slot.angular, slot.linear = model.find_frame(tip.frame), float(tip.angular), float(tip.linear)
    return array, len(made)


def _with_tips(model: Model, function: Any, q: ArrayLike, tips: Tips, damping: float, *arrays: Array) -> None:
    qv = vector("q", q, model.nq)
    array, count = _tips(model, tips)
    work = POINTER(_c.soa_tip_work)()
    check(_c.soa_tip_work_create(model._pointer, byref(work)))
    try:
        status = function(
            model._pointer, work, numbers(qv), array, count, float(damping), *(numbers(one) for one in arrays)
        )
        _raise(model, status, _c.soa_tip_work_failed_body(work), function.__name__.removeprefix("soa_"))
    finally:
        _c.soa_tip_work_free(work)


def jtj(model: Model, q: ArrayLike, tips: Tips, damping: float = 0.0) -> Array:
    """A = J' W^2 J + damping^2 1, (nv, nv), of tips with weights W, by the recursions for mass matrices: O(n depth)."""
    A = np.zeros((model.nv, model.nv))
    _with_tips(model, _c.soa_jtj, q, tips, damping, A)
    return A


def jtj_inverse_mul(model: Model, q: ArrayLike, tips: Tips, x: ArrayLike, damping: float = 0.0) -> Array:
    """A^-1 x in O(n); SingularError where A has lost rank and damping does not help."""
    y = np.zeros(model.nv)
    _with_tips(model, _c.soa_jtj_inverse_mul, q, tips, damping, needed(vector("x", x, model.nv)), y)
    return y


def jtj_inverse(model: Model, q: ArrayLike, tips: Tips, damping: float = 0.0) -> Array:
    """A^-1, (nv, nv), in O(n^2)."""
    inverse = np.zeros((model.nv, model.nv))
    _with_tips(model, _c.soa_jtj_inverse, q, tips, damping, inverse)
    return inverse


# --- constraint forces of the joints --------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConstraintForces:
    """What `fd_constraint_forces` and `fd_tridiagonal` return.

    qdd (nv,): accelerations of the joints.

    forces: the whole force through each joint, (bodies, 6), in the bodies' axes; beta: for each body the 6 - nv
    components that the joint takes up itself; basis: for each body T, (6, 6 - nv), with orthonormal columns: force = T
    @ beta + what the joint's torque makes.
    """

    qdd: Array
    forces: Array
    beta: tuple[Array, ...]
    basis: tuple[Array, ...]


def _constraint_forces(
    model: Model, function: Any, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None, wrenches: Sequence[Wrench]
) -> ConstraintForces:
    state = State(model, q, v, None, tau, wrenches)
    size = _c.soa_fd_constraint_forces_size(model._pointer)
    memory = np.zeros(size // 8 + 1)
    address = c_void_p(memory.ctypes.data)
    free = [6 - (body.v.stop - body.v.start) for body in model.bodies]
    qdd, forces, beta = np.zeros(model.nv), np.zeros((model.body_count, 6)), np.zeros(sum(free))
    with model._work() as work:
        status = function(
            model._pointer, work, address, size, state.pointer, numbers(qdd), numbers(forces), numbers(beta)
        )
        _raise(model, status, _c.soa_work_failed_body(work), function.__name__.removeprefix("soa_"))
    bases = []
    for number, count in enumerate(free, start=1):
        T = np.zeros((6, count))
        check(_c.soa_fd_constraint_forces_basis(model._pointer, address, number, numbers(T)))
        bases.append(T)
    return ConstraintForces(qdd, forces, tuple(np.split(beta, np.cumsum(free)[:-1])), tuple(bases))


def fd_constraint_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: Sequence[Wrench] = (),
) -> ConstraintForces:
    """FO00 (27): forward dynamics with the joints' constraint forces as unknowns beside the accelerations; O(n)."""
    return _constraint_forces(model, _c.soa_fd_constraint_forces, q, v, tau, wrenches)


def fd_tridiagonal(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: Sequence[Wrench] = (),
) -> ConstraintForces:
    """FO00 (28): the constraint forces alone, from a block tridiagonal system; unbranched chains only; O(n)."""
    return _constraint_forces(model, _c.soa_fd_tridiagonal, q, v, tau, wrenches)


# --- forward dynamics in two sweeps, and with factored inertias -----------------------------------------------------


def fd_two_sweep(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: Sequence[Wrench] = (),
    frame: str | int | None = None,
    axes: Literal["world", "body"] = "world",
) -> tuple[Array, Array | None]:
    """qdd of an unbranched chain in one sweep outward and one inward, RK88-I section 5, and the compliance of a frame.

    frame: on a last link; its compliance J M^-1 J' (6, 6), which the outward sweep leaves, is the second result (None
    without a frame). Light links cost digits, massless inner links are refused: docs/theory/two-sweep.md.
    """
    if axes not in ("world", "body"):
        raise ValueError(f"axes is {axes!r}, expected 'world' or 'body'")
    state = State(model, q, v, None, tau, wrenches)
    number = 0 if frame is None else model.find_frame(frame)
    qdd, compliance = np.zeros(model.nv), None if frame is None else np.zeros((6, 6))
    kind = _c.SOA_AXES_WORLD if axes == "world" else _c.SOA_AXES_BODY
    with model._work() as work:
        status = _c.soa_fd_two_sweep(
            model._pointer, work, state.pointer, number, kind, numbers(qdd), numbers(compliance)
        )
        _raise(model, status, _c.soa_work_failed_body(work), "fd_two_sweep")
    return qdd, compliance


def fd_ud(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: Sequence[Wrench] = (),
) -> Array:
    """qdd of `Model.aba` with articulated inertias carried as U diag(d) U': for heavy loads on light links.

    docs/theory/inertia-updates.md has the digits kept and the time.
    """
    state = State(model, q, v, None, tau, wrenches)
    qdd = np.zeros(model.nv)
    with model._work() as work:
        status = _c.soa_fd_ud(model._pointer, work, state.pointer, numbers(qdd))
        _raise(model, status, _c.soa_work_failed_body(work), "fd_ud")
    return qdd


def fd_ud_f(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    fext: ArrayLike | None = None,
) -> NDArray[np.float32]:
    """`fd_ud` in single precision; fext: wrenches on all bodies, (bodies, 6), in the bodies' axes at their origins."""
    arrays = [
        None if x is None else np.ascontiguousarray(vector(name, np.ravel(x), size), dtype=np.float32)
        for name, x, size in (
            ("q", q, model.nq),
            ("v", v, model.nv),
            ("tau", tau, model.nv),
            ("fext", fext, 6 * model.body_count),
        )
    ]
    qdd = np.zeros(model.nv, dtype=np.float32)
    pointers = [None if x is None else x.ctypes.data_as(POINTER(c_float)) for x in [*arrays, qdd]]
    with model._work() as work:
        status = _c.soa_fd_ud_f(model._pointer, work, *pointers)
        _raise(model, status, _c.soa_work_failed_body(work), "fd_ud_f")
    return qdd


# --- divide and conquer ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DivideCount:
    """Operations of one `Divide.fd`: all, those that must follow one another, and those of `Model.aba`'s recursion.

    levels: of the tree of segments, each of the four sweeps passes through all of them.
    segments: tasks of one sweep. flops: of all tasks. critical: of the longest task of every
    level of every sweep. aba: of the recursion. Additions, multiplications, divisions and roots
    count; sines, checks and copies do not.
    """

    levels: int
    segments: int
    flops: float
    critical: float
    aba: float


class Divide:
    """Forward dynamics in O(log n) steps on as many cores: segments put together pair by pair (Featherstone 1999).

    grain: bodies in a run that is not cut further; 1 for the shortest critical path.

    >>> import numpy as np, soa
    >>> from soa.forms import Divide
    >>> chain = soa.Model.open("chain:50")
    >>> q = chain.neutral() + 0.1
    >>> np.allclose(Divide(chain).fd(q), chain.aba(q, None, None), rtol=1e-6)
    True
    """

    def __init__(self, model: Model, grain: int = 1) -> None:
        self.model = model
        self._guard = Guard("Divide")
        self._pointer = POINTER(_c.soa_divide)()
        check(_c.soa_divide_create(model._pointer, grain, byref(self._pointer)), None, f"divide with grain {grain}")
        weakref.finalize(self, _free_divide, self._pointer, model).atexit = False

    def fd(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
        executor: concurrent.futures.Executor | Literal["openmp"] | None = None,
    ) -> Array:
        """The accelerations of `Model.aba`.

        executor: who runs the segments of a level: None, one after the other; "openmp", the library's threads; or an
        executor of threads of Python, which the C code lets run at the same time.  The answer has the same bits with
        all of them.
        """
        state, qdd = State(self.model, q, v, None, tau, wrenches), np.zeros(self.model.nv)
        if executor is None:
            run = _c.soa_parallel_for()
        elif executor == "openmp":
            run = cast(_c.soa_openmp_parallel_for, _c.soa_parallel_for)
        elif isinstance(executor, concurrent.futures.ProcessPoolExecutor):
            raise TypeError("executor is a pool of processes, expected one of threads")
        else:
            run = _c.soa_parallel_for(_Executor(executor, self._guard))
        with self._guard:
            status = _c.soa_divide_fd(self._pointer, state.pointer, run, None, numbers(qdd))
            self._guard.check(_c.SOA_OK)  # what the executor raised
            _raise(self.model, status, _c.soa_divide_failed_body(self._pointer), "divide")
        return qdd

    @property
    def count(self) -> DivideCount:
        """Operations of one call; sines, checks and copies are left out."""
        out = _c.soa_divide_count()
        check(_c.soa_divide_operations(self._pointer, byref(out)))
        return DivideCount(out.levels, out.segments, out.flops, out.critical, out.aba)

    def level(self, level: int) -> tuple[int, float]:
        """Tasks of a level, 0 the leaves, and operations of its longest task over the four sweeps."""
        tasks, longest = c_int(), c_double()
        check(_c.soa_divide_level(self._pointer, level, byref(tasks), byref(longest)), None, f"level {level}")
        return tasks.value, longest.value


class _Executor:
    """An executor as C calls it.  It returns when all tasks are done, whatever the executor does."""

    def __init__(self, executor: concurrent.futures.Executor, guard: Guard) -> None:
        self._executor = executor
        self._guard = guard

    def __call__(self, _user: object, count: int, task: Any, data: Any) -> None:
        futures: list[concurrent.futures.Future[Any]] = []
        try:
            futures = [self._executor.submit(task, data, index) for index in range(count)]
        except BaseException as problem:  # carried out of C
            self._guard.failed = self._guard.failed or problem
        for future in concurrent.futures.as_completed(futures):
            try:
                future.result()
            except BaseException as problem:
                self._guard.failed = self._guard.failed or problem


def _free_divide(pointer: Any, _model: Model) -> None:
    _c.soa_divide_free(pointer)


__all__ = [
    "BoundaryProblem",
    "ConstraintForces",
    "Divide",
    "DivideCount",
    "InverseSums",
    "Tip",
    "articulated_inertia",
    "boundary_problem",
    "fd_constraint_forces",
    "fd_tridiagonal",
    "fd_two_sweep",
    "fd_ud",
    "fd_ud_f",
    "inverse_sums",
    "jtj",
    "jtj_inverse",
    "jtj_inverse_mul",
]

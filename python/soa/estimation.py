"""Estimates from noisy joint data, and what an arm can observe: R87's filter and smoother as what they are.

>>> import numpy as np, soa
>>> from soa.estimation import UnknownWrench
>>> arm = soa.Model.open("arm7")
>>> q = arm.neutral() + 0.4
>>> push = soa.Wrench("link7", [0, 0, 0, 5.0, 0, 0])
>>> tau = arm.rnea(q, wrenches=[push])                # what the motors bear, at rest
>>> unknown = UnknownWrench("link7", [0, 0, 0, 100.0, 100, 100])
>>> found = arm.estimate(q, None, tau, np.zeros(7), tau_variance=0.01, a_variance=0, unknown=[unknown])
>>> bool(np.allclose(found.wrenches[0].value[3:], [5, 0, 0], atol=0.3))
True
>>> print(f"{np.sqrt(found.wrenches[0].covariance[3, 3]):.2f}")   # standard deviation in N; before, it was 10
0.44
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array, check, numbers, vector
from ._errors import InputError
from ._own import C as _c
from .forms import Tip, _raise
from .frames import Axes, Wrench

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class UnknownWrench:
    """A wrench from outside of which only a mean and a covariance are known.

    frame: where it acts, the origin of a frame of a moving body. covariance: (6, 6), or six variances; moment before
    force, (N m)^2 and N^2. mean: (6,), None: zero. axes: "world", or "body" for the frame's.
    """

    frame: str | int
    covariance: ArrayLike
    mean: ArrayLike | None = None
    axes: Axes = "world"


@dataclass(frozen=True)
class Estimated:
    """A value and the covariance of its error."""

    value: Array
    covariance: Array


@dataclass(frozen=True)
class BodyEstimate:
    """What is known at the joint of one body; six-vectors in the body's axes, at its joint.

    joint: name of the joint. acceleration (nv,), torque (nv,): of the joint, without errors of measurement.
    innovation: measured torque minus its prediction from the measurements outboard, (nv,); its covariance is infinite
    if an acceleration of the joint is not measured.
    force: through the joint, (6,). lambda_: spatial acceleration of the body minus gravity, (6,).
    wrench: of the surroundings on the body, known and unknown ones together, (6,).
    """

    joint: str
    acceleration: Estimated
    torque: Estimated
    innovation: Estimated
    force: Estimated
    lambda_: Estimated
    wrench: Estimated


@dataclass(frozen=True)
class Estimate:
    """What `Model.estimate` returns.

    a, a_deviation: joint accelerations and the standard deviations of their errors, (nv,).
    tau, tau_deviation: the same of the torques. wrenches: one for each unknown wrench, in its frame and axes.
    bodies: one for each body. chi_square, degrees: if the variances are right, chi_square of many estimates has the
    chi-square distribution with so many degrees of freedom.
    """

    a: Array
    a_deviation: Array
    tau: Array
    tau_deviation: Array
    wrenches: list[Estimated]
    bodies: list[BodyEstimate]
    chi_square: float
    degrees: int


def _variances(name: str, given: ArrayLike | None, nv: int) -> Array | None:
    if given is None:
        return None
    array = np.asarray(given, dtype=np.float64)
    made = vector(name, np.full(nv, array) if array.ndim == 0 else array, nv)
    if made is not None and not (made >= 0).all():
        raise InputError(f"{name} has a negative number or NaN, expected variances: 0 (exact) to inf (not measured)",
                         "SOA_E_ARGUMENT")
    return made


def _unknown_array(model: Model, unknown: Sequence[UnknownWrench]) -> Any:
    array = (_c.soa_unknown_wrench * max(1, len(unknown)))()
    for slot, wrench in zip(array, unknown):
        if not isinstance(wrench, UnknownWrench):
            raise TypeError(f"an unknown wrench is a {type(wrench)}, expected a soa.estimation.UnknownWrench")
        covariance = np.asarray(wrench.covariance, dtype=np.float64)
        if covariance.shape == (6,):
            covariance = np.diag(covariance)
        if covariance.shape != (6, 6):
            raise ValueError(f"the covariance of a wrench has shape {covariance.shape}, expected (6, 6) or (6,)")
        mean = vector("mean of a wrench", wrench.mean, 6)
        if wrench.axes not in ("world", "body"):
            raise ValueError(f"axes is {wrench.axes!r}, expected 'world' or 'body'")
        slot.frame = model.find_frame(wrench.frame)
        if model.frame(slot.frame).body == 0:
            raise InputError(f"frame {wrench.frame!r} is fixed to the world: a wrench there moves nothing", "SOA_E_ARGUMENT")
        slot.axes = _c.SOA_AXES_WORLD if wrench.axes == "world" else _c.SOA_AXES_BODY
        slot.covariance[:] = covariance.ravel().tolist()
        if mean is not None:
            slot.mean[:] = mean.tolist()
    return array


def _body(model: Model, number: int, estimator: Any) -> BodyEstimate:
    out = _c.soa_estimate()
    check(_c.soa_estimator_read(estimator, number, byref(out)))

    def take(field: str, n: int) -> Estimated:
        return Estimated(np.array(getattr(out, field)[:n]),
                         np.array(getattr(out, field + "_covariance")[:n * n]).reshape(n, n))

    n = out.nv
    return BodyEstimate(joint=model.body(number).joint, acceleration=take("acceleration", n), torque=take("torque", n),
                        innovation=take("innovation", n), force=take("force", 6), lambda_=take("lambda", 6),
                        wrench=take("wrench", 6))


def estimate(model: Model, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None,
             a: ArrayLike | None = None, tau_variance: ArrayLike | None = None, a_variance: ArrayLike | None = None,
             unknown: Sequence[UnknownWrench] = (), wrenches: Sequence[Wrench] = ()) -> Estimate:
    """Forces, wrenches and accelerations from noisy joint torques and accelerations: see `Model.estimate`."""
    from .model import wrench_array

    nv = model.nv
    arrays = {"q": vector("q", q, model.nq), "v": vector("v", v, nv), "tau": vector("tau", tau, nv),
              "tau_variance": _variances("tau_variance", tau_variance, nv), "a": vector("a", a, nv),
              "a_variance": _variances("a_variance", a_variance, nv)}
    known, unknowns = wrench_array(model, wrenches), _unknown_array(model, unknown)
    given = _c.soa_estimator_input(wrenches=known, wrench_count=len(wrenches), unknowns=unknowns,
                                   unknown_count=len(unknown))
    for name, array in arrays.items():
        setattr(given, name, numbers(array))
    result, estimator = _c.soa_estimator_result(), POINTER(_c.soa_estimator)()
    with model._work() as work:
        _raise(model, _c.soa_estimator_create(model._pointer, byref(estimator)), -1, "estimate")
        try:
            status = _c.soa_estimator_update(estimator, work, byref(given), byref(result))
            _raise(model, status, _c.soa_estimator_failed_body(estimator), "estimate")
            bodies = [_body(model, number, estimator) for number in range(1, model.body_count + 1)]
            found = []
            for slot in unknowns[:len(unknown)]:
                value, covariance = np.zeros(6), np.zeros((6, 6))
                check(_c.soa_estimator_wrench(estimator, byref(slot), numbers(value), numbers(covariance)))
                found.append(Estimated(value, covariance))
        finally:
            _c.soa_estimator_free(estimator)
    made = {name: np.zeros(nv) for name in ("a", "a_deviation", "tau", "tau_deviation")}
    for number, body in enumerate(bodies, 1):
        at = model.body(number).v
        for name, one in (("a", body.acceleration), ("tau", body.torque)):
            made[name][at] = one.value
            made[name + "_deviation"][at] = np.sqrt(np.maximum(np.diag(one.covariance), 0))
    return Estimate(wrenches=found, bodies=bodies, chi_square=result.chi_square, degrees=result.degrees, **made)


@dataclass(frozen=True)
class Observability:
    """What a tip can do at a pose, from J = U S V' of its frame; from `Model.observability`.

    rank, singular: number of singular values that count (above 1e-10 of the largest), and all six, descending.
    directions: U', (6, 6): row i is a direction of the tip, [turning; motion].
    joints: V', (rank, nv): joint rates `joints[i]` move the tip along `directions[i]`, `singular[i]` as fast.
    lost: directions[rank:]: the tip cannot move along them, and wrenches along them need no torques.
    redundant: (nv - rank, nv), an orthonormal basis of the joint rates that leave the tip at rest.
    gramian: J J', (6, 6): the observability Gramian of a force at the tip.
    With weights other than 1 all these are of the weighted J.
    """

    rank: int
    singular: Array
    directions: Array
    joints: Array
    redundant: Array
    gramian: Array

    @property
    def lost(self) -> Array:
        """The directions that are not reached, (6 - rank, 6)."""
        return self.directions[self.rank:]


def _tip(model: Model, frame: str | int | Tip) -> Any:
    tip = frame if isinstance(frame, Tip) else Tip(frame)
    return _c.soa_tip(model.find_frame(tip.frame), float(tip.angular), float(tip.linear))


def observability(model: Model, q: ArrayLike, frame: str | int | Tip, axes: Axes = "world") -> Observability:
    """Singular and redundant directions of a frame: see `Model.observability`."""
    if axes not in ("world", "body"):
        raise ValueError(f"axes is {axes!r}, expected 'world' or 'body'")
    qv, nv, tip, out = vector("q", q, model.nq), model.nv, _tip(model, frame), _c.soa_observability_result()
    joints, redundant = np.zeros((6, nv)), np.zeros((nv, nv))
    with model._work() as work:
        status = _c.soa_observability(model._pointer, work, numbers(qv), byref(tip),
                                      _c.SOA_AXES_WORLD if axes == "world" else _c.SOA_AXES_BODY, byref(out),
                                      numbers(joints), numbers(redundant))
        _raise(model, status, _c.soa_work_failed_body(work), "observability")
    return Observability(rank=out.rank, singular=np.array(out.singular[:]),
                         directions=np.array(out.directions[:]).reshape(6, 6), joints=joints[:out.rank].copy(),
                         redundant=redundant[:out.redundant].copy(), gramian=np.array(out.gramian[:]).reshape(6, 6))


def observability_gramians(model: Model, q: ArrayLike, frame: str | int | Tip) -> tuple[Array, Array]:
    """The Gramians O and C of R87's system along the chain, (bodies, 6, 6) each, in the axes of the bodies.

    O[k - 1] = phi* O(parent) phi + H* H: how well the torques of body k's joint and those inboard show a force on it.
    C[k - 1]: how forces at the frame (with the weights of a `Tip`) arrive there; zero beside the path. The eigenvalues
    of their product are the squares of the frame's singular values with all joints outboard of body k locked.

    >>> import numpy as np, soa
    >>> from soa.estimation import observability_gramians
    >>> arm = soa.Model.open("arm7")
    >>> O, C = observability_gramians(arm, arm.neutral() + 0.4, "link7")
    >>> ranks = [int(np.linalg.matrix_rank(O[k] @ C[k], tol=1e-9)) for k in range(7)]
    >>> ranks                                # the first six joints make all six directions, the seventh is redundant
    [1, 2, 3, 4, 5, 6, 6]
    """
    qv, n, tip = vector("q", q, model.nq), model.body_count, _tip(model, frame)
    O, C = np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
    with model._work() as work:
        status = _c.soa_observability_gramians(model._pointer, work, numbers(qv), byref(tip), numbers(O), numbers(C))
        _raise(model, status, _c.soa_work_failed_body(work), "observability_gramians")
    return O, C


__all__ = ["BodyEstimate", "Estimate", "Estimated", "Observability", "UnknownWrench", "estimate", "observability",
           "observability_gramians"]

"""Control laws and paths: the same code for simulations and for a robot.

A law is a method of a `Control`, the controller's estimated machine. It takes the measured q and v
and what is wanted, and returns torques, zero for coordinates that it does not drive, so torques of
several laws can be added.

>>> import numpy as np, soa
>>> from soa.control import Control
>>> arm = soa.Model.open("arm7")
>>> control = Control(arm)
>>> q, v = arm.neutral() + 0.3, np.full(7, 0.1)
>>> law = control.inverse_dynamics(q, v, arm.neutral(), stiffness=25.0, damping=10.0)
>>> bool(abs(arm.aba(q, v, law.tau) - (25.0 * -0.3 + 10.0 * -0.1)).max() < 1e-8)
True

Rules:

* `reference` of a joint law is a `JointReference`, or an array, (nq,): a configuration at rest.
* `goal` of a frame law is a `FrameMotion`, or a 4 x 4 pose at rest, given in the frame
  `relative_to` (0: the world).
* Gains are numbers >= 0. Of joints: one for all, or nv. Of frames, about and along the axes of the
  goal: one for all six directions, two (angular, linear), or six.
* A law with torques as its only result returns the array (nv,); the others return an object with
  `tau` and more.
* No torque is bounded, unless an argument says so.

docs/theory/control.md has the equations. One call costs what its docstring says, and some
microseconds of Python.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from ctypes import POINTER, byref, cast, pointer
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._call import Array, check, numbers, vector
from ._errors import error, raise_call, status_name
from ._own import C as _c
from ._own import Guard, bytes_pointer, chosen, needed, release
from .frames import Axes, Wrench, frame_matrix, frame_struct
from .model import _axes, wrench_array

if TYPE_CHECKING:
    from .constraints import Constraints
    from .model import Model

Compensation = Literal["gravity", "coriolis", "viscous", "coulomb", "springs"]
_COMPENSATE: dict[str, int] = {
    "gravity": _c.SOA_COMPENSATE_GRAVITY,
    "coriolis": _c.SOA_COMPENSATE_CORIOLIS,
    "viscous": _c.SOA_COMPENSATE_VISCOUS,
    "coulomb": _c.SOA_COMPENSATE_COULOMB,
    "springs": _c.SOA_COMPENSATE_SPRINGS,
}
DEFAULT_COMPENSATION: tuple[Compensation, ...] = ("gravity", "coriolis", "viscous", "springs")
Passivity = Literal["slotine_li", "wen_bayard_1", "wen_bayard_2", "wen_bayard_3"]
PASSIVITY: tuple[Passivity, ...] = ("slotine_li", "wen_bayard_1", "wen_bayard_2", "wen_bayard_3")
ProfileKind = Literal["quintic", "trapezoid"]
PROFILES: tuple[ProfileKind, ...] = ("quintic", "trapezoid")
CoordinationForm = Literal["linearising", "passive"]
FORMS: tuple[CoordinationForm, ...] = ("linearising", "passive")
_ROTATION_TOLERANCE = 1e-9  # of R R' - 1, as for poses in calls of the library
_ROWS = 6  # directions of a frame: three angular, three linear


# --- what is wanted, and what comes back ----------------------------------------------------------
@dataclass(frozen=True)
class JointReference:
    """A wanted joint motion: `q` (nq,), `v` and `a` (nv,), rad and m, per s and s^2. None: zero.

    Only the coordinates that the law drives are read, and `a` of those that another law drives.

    >>> import soa.control
    >>> soa.control.JointReference([0.0, 1.0]).v is None
    True
    """

    q: ArrayLike
    v: ArrayLike | None = None
    a: ArrayLike | None = None


@dataclass(frozen=True)
class FrameMotion:
    """A moving pose relative to some frame, in whose axes everything is.

    `pose`: 4 x 4. `twist`: [w; v] of its origin, rad/s and m/s. `acceleration`: [angular; linear],
    classical, of its origin.

    >>> import numpy as np, soa.control
    >>> soa.control.FrameMotion(np.eye(4)).twist
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """

    pose: ArrayLike
    twist: ArrayLike = (0.0,) * _ROWS
    acceleration: ArrayLike = (0.0,) * _ROWS


@dataclass(frozen=True)
class FrameError:
    """Where a frame is relative to its goal.

    `error` (6,): rotation vector (rad) and position (m) from the frame to the goal, in the goal's
    axes. `rate` (6,): their rates as seen from the frame in which the goal is given; angular: rate
    of the goal minus rate of the frame. `goal`: the goal's motion in the world, as if the frame in
    which it is given did not accelerate.
    """

    error: Array
    rate: Array
    goal: FrameMotion


@dataclass(frozen=True)
class JointTorques:
    """From `Control.inverse_dynamics`: torques, and the accelerations that the machine has with
    them, (nv,) each.

    tau: N m or N. a: rad/s^2 or m/s^2.
    """

    tau: Array
    a: Array


@dataclass(frozen=True)
class PassivityTorques:
    """From `Control.passivity`: torques (nv,), and the law's Lyapunov function V, J (of
    "slotine_li": s'M s / 2).

    tau: N m or N. lyapunov: V.
    """

    tau: Array
    lyapunov: float


@dataclass(frozen=True)
class DecoupledTorques:
    """From `Control.decoupled`: torques and the innovations sigma, (nv,) each; |sigma|^2 / 2 = s'M
    s / 2.

    tau: N m or N. sigma: in units of the root of energy.
    """

    tau: Array
    sigma: Array


@dataclass(frozen=True)
class ImpedanceTorques:
    """From `Control.impedance`: torques (nv,), the wanted wrench on the hand after its bounds
    (world axes, at its origin, N m and N), and the error.

    tau: N m or N. wrench (6,). error: see `FrameError`.
    """

    tau: Array
    wrench: Array
    error: FrameError


@dataclass(frozen=True)
class OperationalTorques:
    """From `Control.operational_space`: torques and the accelerations that the machine has with
    them, (nv,) each; the errors of the tasks; the reciprocal condition number of Omega, 1 at best.

    tau: N m or N. a: rad/s^2 or m/s^2. errors: one for each task. rcond: the condition number.
    """

    tau: Array
    a: Array
    errors: list[FrameError]
    rcond: float


@dataclass(frozen=True)
class HybridTorques:
    """From `Control.hybrid`: torques (nv,), the error, and the integral of the force error, (6,), N
    s and N m s, for the next call.

    tau: N m or N. error: see `FrameError`. integral: that of the force error.
    """

    tau: Array
    error: FrameError
    integral: Array


@dataclass(frozen=True)
class AttitudeTorques:
    """From `Control.base_attitude`: torques (nv,) and the error of the base.

    tau: N m or N. error: see `FrameError`.
    """

    tau: Array
    error: FrameError


@dataclass(frozen=True)
class CoordinationTorques:
    """From `Control.coordination`.

    `tau` (nv,). `error`: of the object. `wrench` (6,): wanted on the object, at its origin.
    `hand_wrenches` (hands, 6): of each hand on the object, at the hand's origin; world axes, N m
    and N. `squeeze`: wanted internal force, N. `integral`: of its error, N s, for the next call.
    """

    tau: Array
    error: FrameError
    wrench: Array
    hand_wrenches: Array
    squeeze: float
    integral: float


@dataclass(frozen=True)
class Feedback:
    """From `Control.inverse_feedback`: F (bodies, 6), wrenches [n; f] on the bodies in their axes,
    and eta (nv,).
    """

    F: Array
    eta: Array


@dataclass(frozen=True)
class FrameTask:
    """A frame that `Control.operational_space` accelerates by a_goal + damping e' + stiffness e.

    Gains in 1/s^2 and 1/s. `rows`: which of the six directions of the goal's axes, 0 to 2 angular,
    3 to 5 linear.

    >>> import numpy as np
    >>> from soa.control import FrameTask
    >>> FrameTask("link7", np.eye(4), stiffness=25.0, damping=10.0, rows=(3, 4, 5)).relative_to
    0
    """

    frame: str | int
    goal: FrameMotion | ArrayLike
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0
    rows: Sequence[int] = tuple(range(_ROWS))
    relative_to: str | int = 0


@dataclass(frozen=True)
class Coordination:
    """Several hands that move one object, for `Control.coordination`.

    relative_to: frame in whose axes the goal is; 0: the world.

    object: its frame. hands: frames of up to eight hands at the contacts. shares: parts of the load
    that they bear; None: equal. form: "passive" (stiffness and damping in N m/rad, N/m, N m s/rad,
    N s/m; the arms are only compensated) or "linearising" (in 1/s^2 and 1/s; object and hands
    accelerate as the law says). couple_length, m: lever arm by which moments of the wrists are
    weighted against forces; small: small moments.

    squeeze, N: each hand pushes towards the middle of the hands. squeeze_gain: proportional and
    integral (1/s) gain on the measured internal force; max_integral bounds the integral part, N.
    max_force (N), max_torque (N m): bounds of the object's wrench, which is scaled as a whole; 0:
    no bound. follow_stiffness, follow_damping (angular, linear): keep each hand with the object;
    the stiffness needs `grasp`, the pose of each hand in the object's frame when it took hold,
    (hands, 4, 4). compensated: False leaves the machine's own torques out of "passive".
    singular_damping: of Lambda near singularities, for "linearising".

    >>> import soa.control
    >>> soa.control.Coordination("satellite", ["left_hand", "right_hand"], stiffness=500.0).form
    'passive'
    """

    object: str | int
    hands: Sequence[str | int]
    form: CoordinationForm = "passive"
    stiffness: ArrayLike = 0.0
    damping: ArrayLike = 0.0
    relative_to: str | int = 0
    shares: ArrayLike | None = None
    couple_length: float = 0.2
    squeeze: float = 0.0
    squeeze_gain: tuple[float, float] = (0.0, 0.0)
    max_integral: float = 50.0
    max_force: float = 0.0
    max_torque: float = 0.0
    follow_stiffness: ArrayLike = 0.0
    follow_damping: ArrayLike = 0.0
    grasp: ArrayLike | None = None
    compensated: bool = True
    singular_damping: float = 0.0


# --- small conversions ----------------------------------------------------------------------------
def _not_negative(name: str, values: Array) -> Array:
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        place = f"{name}[{bad[0]}]" if values.size > 1 else name
        raise ValueError(f"{place} is {values.ravel()[bad[0]]}, expected a finite number >= 0")
    return values


def _bound(name: str, given: float) -> float:
    """A finite number >= 0."""
    value = float(given)
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is {given}, expected a finite number >= 0")
    return value


def _spread(name: str, given: ArrayLike, length: int) -> Array:
    """One number for all, or `length` numbers, >= 0."""
    if np.ndim(given) == 0:
        given = np.full(length, given)
    return _not_negative(name, needed(vector(name, given, length)))


def _six(name: str, given: ArrayLike) -> Array:
    """One number, two (angular, linear) or six."""
    if np.shape(given) == (2,):
        given = np.repeat(np.asarray(given), _ROWS // 2)
    elif np.shape(given) not in ((), (_ROWS,)):
        raise ValueError(f"{name} has shape {np.shape(given)}, expected a number, (2,) or (6,)")
    return _spread(name, given, _ROWS)


def _two(name: str, given: ArrayLike) -> Array:
    """One number or two (angular, linear)."""
    return _spread(name, given, 2)


def _row_bits(name: str, rows: Sequence[int]) -> int:
    if not len(rows) or any(row not in range(_ROWS) for row in rows):
        raise ValueError(
            f"{name} is {tuple(rows)}, expected at least one number from 0 to 5: "
            "angular about x, y, z, then linear along x, y, z"
        )
    return sum(1 << int(row) for row in set(rows))


def _one_of(name: str, given: str, known: Sequence[str]) -> int:
    if given not in known:
        raise ValueError(f"{name} is {given!r}, expected one of {', '.join(known)}")
    return list(known).index(given)


def _rotation(name: str, given: ArrayLike) -> Array:
    R = np.ascontiguousarray(given, dtype=np.float64)
    if R.shape != (3, 3):
        raise ValueError(f"{name} has shape {R.shape}, expected (3, 3)")
    if not np.isfinite(R).all():
        raise ValueError(f"{name} has a number that is not finite")
    error_ = abs(R @ R.T - np.eye(3)).max()
    if not error_ <= _ROTATION_TOLERANCE or np.linalg.det(R) < 0:
        raise ValueError(
            f"{name} is not a rotation: R R' differs from the unit matrix by {error_:.1e}, "
            f"determinant {np.linalg.det(R):.6g}"
        )
    return R


def _pose_struct(name: str, given: ArrayLike) -> Any:
    """A soa_frame from a pose whose rotation is one."""
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise ValueError(f"{name} has shape {matrix.shape}, expected a 4 x 4 pose or a FrameMotion")
    _rotation(f"the rotation of {name}", matrix[:3, :3])
    if not np.isfinite(matrix).all():
        raise ValueError(f"the position of {name} is {matrix[:3, 3]}: all numbers must be finite")
    return frame_struct(matrix)


def _motion_struct(name: str, given: FrameMotion | ArrayLike) -> Any:
    if not isinstance(given, FrameMotion):
        return _c.soa_motion_at_rest(byref(_pose_struct(name, given)))
    struct = _c.soa_motion(pose=_pose_struct(f"the pose of {name}", given.pose))
    for part in ("twist", "acceleration"):
        values = needed(vector(f"{part} of {name}", getattr(given, part), _ROWS))
        if not np.isfinite(values).all():
            raise ValueError(f"{part} of {name} is {values}: all numbers must be finite")
        getattr(struct, part)[:] = values.tolist()
    return struct


def _motion(struct: Any) -> FrameMotion:
    return FrameMotion(
        frame_matrix(struct.pose), np.array(struct.twist[:]), np.array(struct.acceleration[:])
    )


def _frame_error(struct: Any) -> FrameError:
    goal = FrameMotion(
        frame_matrix(struct.goal), np.array(struct.twist[:]), np.array(struct.acceleration[:])
    )
    return FrameError(np.array(struct.error[:]), np.array(struct.rate[:]), goal)


def rotation_to_vector(R: ArrayLike) -> Array:
    """The rotation vector (3,), axis times angle, rad, of length pi at most, of a matrix (3, 3).

    >>> import numpy as np
    >>> from soa.control import rotation_from_vector, rotation_to_vector
    >>> rho = np.array([0.1, -0.2, 0.3])
    >>> bool(np.allclose(rotation_to_vector(rotation_from_vector(rho)), rho))
    True
    """
    matrix, rho = _rotation("R", R), np.zeros(3)
    _c.soa_rotation_to_vector(numbers(matrix), numbers(rho))
    return rho


def rotation_from_vector(rho: ArrayLike) -> Array:
    """The rotation matrix (3, 3) of a rotation vector (3,): axis times angle, rad, of any length.

    >>> import numpy as np, soa.control
    >>> soa.control.rotation_from_vector([0, 0, np.pi / 2]).round(12)[:, 0].tolist()
    [0.0, 1.0, 0.0]
    """
    given, R = needed(vector("rho", rho, 3)), np.zeros((3, 3))
    if not np.isfinite(given).all():
        raise ValueError(f"rho is {given}: all numbers must be finite")
    _c.soa_rotation_from_vector(numbers(given), numbers(R))
    return R


# --- profiles and paths ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Profile:
    """A motion s(t) from 0 to 1, at rest before 0 and after `time`, s.

    kind: "quintic" (least jerk) or "trapezoid" (of the rate), with `ramp`, s, to speed up and to
    slow down, each; at most half the time. time 0: at the end at once.

    >>> from soa.control import Profile
    >>> Profile("quintic", 2.0).at(1.0).tolist()
    [0.5, 0.9375, 0.0]
    """

    kind: ProfileKind
    time: float
    ramp: float = 0.0

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, PROFILES)
        _bound("time", self.time)
        ramp = _bound("ramp", self.ramp)
        if self.kind == "quintic" and ramp:
            raise ValueError(f"a quintic has no ramp, but ramp is {self.ramp}")
        if ramp > self.time / 2:
            raise ValueError(
                f"ramp is {self.ramp} s, expected at most half of the time, {self.time / 2:g} s"
            )

    @classmethod
    def quintic(cls, time: float) -> Profile:
        """The quintic of a duration, s.

        >>> from soa.control import Profile
        >>> Profile.quintic(2.0)
        Profile(kind='quintic', time=2.0, ramp=0.0)
        """
        _bound("time", time)
        return cls._of(_c.soa_profile_quintic(time))

    @classmethod
    def fastest(
        cls, kind: ProfileKind, speed: float = math.inf, acceleration: float = math.inf
    ) -> Profile:
        """The fastest with |s'| <= speed, 1/s, and |s''| <= acceleration, 1/s^2; one of them may be
        infinite, but not the acceleration of a trapezoid.

        >>> from soa.control import Profile
        >>> Profile.fastest("trapezoid", speed=0.5, acceleration=1.0)
        Profile(kind='trapezoid', time=2.5, ramp=0.5)
        """
        number = _one_of("kind", kind, PROFILES)
        for name, given in (("speed", speed), ("acceleration", acceleration)):
            if not given > 0:
                raise ValueError(f"{name} is {given}, expected a number > 0")
        if math.isinf(acceleration) and (math.isinf(speed) or kind == "trapezoid"):
            raise ValueError(
                f"acceleration is {acceleration} and speed {speed}: nothing limits the {kind}'s "
                f"{'time' if math.isinf(speed) else 'acceleration'}"
            )
        struct = _c.soa_profile()
        check(
            _c.soa_profile_fastest(number, speed, acceleration, byref(struct)),
            None,
            "fastest profile",
        )
        return cls._of(struct)

    @classmethod
    def _of(cls, struct: Any) -> Profile:
        return cls(PROFILES[struct.kind], struct.time, struct.ramp)

    def _struct(self) -> Any:
        return _c.soa_profile(PROFILES.index(self.kind), self.time, self.ramp)

    def at(self, t: ArrayLike) -> Array:
        """s, s' (1/s) and s'' (1/s^2) at time t, s: (3,); at times (N,): (N, 3)."""
        times = np.asarray(t, dtype=np.float64)
        if times.ndim > 1 or np.isnan(times).any():
            raise ValueError(
                f"t has shape {times.shape}, expected a time or (N,) times, without NaN"
            )
        out, struct = np.zeros((times.size, 3)), self._struct()
        for row, time in zip(out, times.ravel().tolist()):
            _c.soa_profile_at(byref(struct), time, numbers(row))
        return out if times.ndim else out[0]


@dataclass(frozen=True)
class JointPath:
    """From q0 to q1 along the shortest way, s of `profile`: q = q0 + s (q1 - q0) on the
    configuration manifold.

    model: whose configurations they are. q0, q1: (nq,).

    >>> import soa
    >>> from soa.control import JointPath, Profile
    >>> arm = soa.Model.open("arm7")
    >>> path = JointPath(arm, arm.neutral(), arm.neutral() + 1.0, Profile.quintic(2.0))
    >>> path.at(1.0).q[0], path.time
    (np.float64(0.5), 2.0)
    """

    model: Model
    q0: ArrayLike
    q1: ArrayLike
    profile: Profile

    @property
    def time(self) -> float:
        """Duration, s."""
        return self.profile.time

    def at(self, t: float) -> JointReference:
        """q (nq,), v and a (nv,) at time t, s: the reference of a joint law. O(nv)."""
        q0, q1 = (
            needed(vector("q0", self.q0, self.model.nq)),
            needed(vector("q1", self.q1, self.model.nq)),
        )
        s = self.profile.at(float(t))
        q, v, a = np.zeros(self.model.nq), np.zeros(self.model.nv), np.zeros(self.model.nv)
        status = _c.soa_path_joint(
            self.model._pointer,
            numbers(q0),
            numbers(q1),
            numbers(s),
            numbers(q),
            numbers(v),
            numbers(a),
        )
        if status != _c.SOA_OK:
            raise_call(self.model, "joint path", status, -1, -1, [("q0", q0), ("q1", q1)])
        return JointReference(q, v, a)


@dataclass(frozen=True)
class PosePath:
    """From one pose to another, 4 x 4 each: the position on a straight line, the rotation about a
    constant axis.

    start, end: the poses. profile: from 0 to 1 in its time.

    >>> import soa
    >>> from soa.control import PosePath, Profile
    >>> path = PosePath(soa.pose(), soa.pose([0, 0, 1]), Profile.quintic(2.0))
    >>> float(path.at(1.0).pose[2, 3])
    0.5
    """

    start: ArrayLike
    end: ArrayLike
    profile: Profile

    @classmethod
    def fastest(
        cls,
        start: ArrayLike,
        end: ArrayLike,
        kind: ProfileKind = "quintic",
        *,
        speed: ArrayLike = math.inf,
        acceleration: ArrayLike = math.inf,
    ) -> PosePath:
        """The shortest time within limits: one number, or two (angular, linear); rad/s and m/s,
        rad/s^2 and m/s^2; inf: no limit.

        >>> import soa
        >>> from soa.control import PosePath
        >>> start, end = soa.pose(), soa.pose([0, 0, 1])
        >>> path = PosePath.fastest(start, end, "trapezoid", speed=0.5, acceleration=1.0)
        >>> path.time
        2.5
        """
        number = _one_of("kind", kind, PROFILES)
        first, last = _pose_struct("start", start), _pose_struct("end", end)
        limits = []
        for name, given in (("speed", speed), ("acceleration", acceleration)):
            two = np.asarray(np.full(2, given) if np.ndim(given) == 0 else given, dtype=np.float64)
            if two.shape != (2,) or not (two > 0).all():
                raise ValueError(
                    f"{name} is {two}, expected one number or two (angular, linear), > 0"
                )
            limits.append(np.where(np.isinf(two), 0.0, two))  # C: 0 is no limit
        struct = _c.soa_profile()
        status = _c.soa_path_pose_profile(
            byref(first), byref(last), number, numbers(limits[0]), numbers(limits[1]), byref(struct)
        )
        if status == _c.SOA_E_ARGUMENT:
            raise error(
                status,
                f"fastest pose path: speed {limits[0]} and acceleration {limits[1]} (0: "
                "none) do not limit the time of this path"
                + (" (a trapezoid needs an acceleration)" if kind == "trapezoid" else ""),
            )
        check(status, None, "fastest pose path")
        return cls(start, end, Profile._of(struct))

    @property
    def time(self) -> float:
        """Duration, s."""
        return self.profile.time

    def at(self, t: float) -> FrameMotion:
        """The motion at time t, s: the goal of a frame law."""
        start, end = _pose_struct("start", self.start), _pose_struct("end", self.end)
        s, motion = self.profile.at(float(t)), _c.soa_motion()
        check(
            _c.soa_path_pose(byref(start), byref(end), numbers(s), byref(motion)), None, "pose path"
        )
        return _motion(motion)


@dataclass(frozen=True)
class CatchingPath:
    """A pose path that starts with a motion, whose acceleration is not read, and ends at rest after
    `time`, s: quintic in position and rotation vector.

    start: the motion. end: a 4 x 4 pose.

    >>> import numpy as np, soa
    >>> from soa.control import CatchingPath, FrameMotion
    >>> path = CatchingPath(FrameMotion(np.eye(4), [0, 0, 0, 0.1, 0, 0]), soa.pose([1, 0, 0]), 2.0)
    >>> path.at(0.0).twist.tolist()
    [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]
    """

    start: FrameMotion
    end: ArrayLike
    time: float

    def at(self, t: float) -> FrameMotion:
        """The motion at time t, s: the goal of a frame law. Before 0: that at 0; after `time`: at
        rest at the end.
        """
        start, end = _motion_struct("start", self.start), _pose_struct("end", self.end)
        _bound("time", self.time)
        motion = _c.soa_motion()
        check(
            _c.soa_path_pose_from_motion(
                byref(start), byref(end), self.time, float(t), byref(motion)
            ),
            None,
            f"pose path at t = {t}",
        )
        return _motion(motion)


# --- the controller -------------------------------------------------------------------------------
class _Reference:
    """The arrays of a soa_joint_reference."""

    def __init__(self, model: Model, given: JointReference | ArrayLike) -> None:
        one = given if isinstance(given, JointReference) else JointReference(given)
        self.q = needed(vector("q of the reference", one.q, model.nq))
        self.v = vector("v of the reference", one.v, model.nv)
        self.a = vector("a of the reference", one.a, model.nv)
        self.struct = _c.soa_joint_reference(numbers(self.q), numbers(self.v), numbers(self.a))

    @property
    def arguments(self) -> list[tuple[str, Array]]:
        named = (
            ("q of the reference", self.q),
            ("v of the reference", self.v),
            ("a of the reference", self.a),
        )
        return [(name, array) for name, array in named if array is not None]


class Control:
    """A controller's estimated machine, with the laws as methods.

    model: the estimate. For wrong estimates give another model than the simulated one, with the
    same coordinates. It may contain more than the robot, for example a satellite as a second root.

    passive, other: coordinates that nobody drives (a floating base, a free hinge), and coordinates
    that another law drives; names of joints, numbers of degrees of freedom, or nv truth values. All
    others are driven by this law. Torques of `other` are not written, their accelerations are zero
    unless the reference gives them.

    compensate: which forces of the machine the laws compensate: "gravity", "coriolis", "viscous",
    "coulomb" (friction times tanh(v / coulomb_rate); coulomb_rate in rad/s or m/s), "springs".

    constraints: the loops of the machine; True: those that the model brings along; False: the tree
    alone. None of them may be driven in time. With loops some coordinates depend on others; they
    get no torque. Those in `primary` stay independent as long as the loops allow it. `passivity`,
    `decoupled` and `generalised_jacobian` are for trees only.

    One thread at a time uses a control: others wait.

    >>> import numpy as np, soa
    >>> arm = soa.Model.open("arm7")
    >>> control = soa.Control(arm)
    >>> q = arm.neutral() + 0.3
    >>> tau = control.joint_pd(q, None, q, stiffness=100.0, damping=20.0)
    >>> bool(np.allclose(tau, arm.gravity_torque(q)))    # there is no error
    True
    """

    def __init__(
        self,
        model: Model,
        *,
        passive: Sequence[str | int] | ArrayLike = (),
        other: Sequence[str | int] | ArrayLike = (),
        compensate: Sequence[Compensation] = DEFAULT_COMPENSATION,
        coulomb_rate: float = 1e-3,
        constraints: Constraints | bool = True,
        primary: Sequence[str | int] | ArrayLike | None = None,
    ) -> None:
        self.model = model
        self._guard = Guard("Control")
        self._drive = self._drives(passive, other)
        self.compensate = tuple(compensate)
        bits = 0
        for word in self.compensate:
            _one_of("compensate", word, tuple(_COMPENSATE))
            bits |= _COMPENSATE[word]
        if not (math.isfinite(coulomb_rate) and coulomb_rate > 0):
            raise ValueError(f"coulomb_rate is {coulomb_rate}, expected a number > 0")
        if constraints is True:
            constraints = model.constraints if model.loop_count else False
        self.constraints: Constraints | None = (
            None if isinstance(constraints, bool) else constraints
        )
        if self.constraints is not None and self.constraints.model._address != model._address:
            raise ValueError("the constraints belong to another model")
        if self.constraints is None and primary is not None:
            raise ValueError(
                "primary coordinates are for machines with constraints, and there are none here"
            )
        flags = chosen(model, "primary", primary)
        definition = _c.soa_control_default(bytes_pointer(self._drive))
        definition.compensate, definition.coulomb_rate = bits, coulomb_rate
        definition.primary = bytes_pointer(flags)
        if self.constraints is not None:
            self._no_drives()
            definition.constraints = self.constraints._pointer
        self._pointer = POINTER(_c.soa_control)()
        check(
            _c.soa_control_create(model._pointer, byref(definition), byref(self._pointer)),
            None,
            "Control",
        )
        weakref.finalize(self, _release, self._pointer, model, self.constraints).atexit = False

    def _drives(self, passive: Any, other: Any) -> NDArray[np.uint8]:
        drive = np.full(self.model.nv, _c.SOA_DRIVE_OWN, dtype=np.uint8)
        none, others = (
            chosen(self.model, name, given)
            for name, given in (("passive", passive), ("other", other))
        )
        assert none is not None and others is not None
        both = np.flatnonzero(none & others)
        if both.size:
            raise ValueError(f"coordinate {both[0]} is in passive and in other")
        drive[none == 1], drive[others == 1] = _c.SOA_DRIVE_NONE, _c.SOA_DRIVE_OTHER
        return drive

    def _no_drives(self) -> None:
        assert self.constraints is not None
        if self.constraints._drives:
            names = [
                name
                for number, name in self.constraints._numbered()
                if number in self.constraints._drives
            ]
            raise ValueError(
                f"constraint {', '.join(names)} is driven in time; control laws know no time: give "
                "constraints that are constant"
            )

    def _trees_only(self, law: str) -> None:
        if self.constraints is not None:
            raise ValueError(
                f"{law} is for trees, and this control has the constraints "
                f"{', '.join(self.constraints.names)}: make one with constraints=False"
            )

    @contextlib.contextmanager
    def _call(
        self, law: str, arguments: list[tuple[str, Array]]
    ) -> Iterator[Callable[[int], None]]:
        """Keeps other threads out; the function that it gives raises the exception of a status."""

        def finish(status: int) -> None:
            if status == _c.SOA_OK:
                return
            body = int(_c.soa_work_failed_body(_c.soa_control_work(self._pointer)))
            if status_name(status) == "SOA_E_SINGULAR" and body <= 0:
                raise error(
                    status,
                    f"{law}: the coordinates that this law drives do not determine what is "
                    "wanted: a passive coordinate or a direction of a task moves no inertia, or "
                    "the machine is at a singular configuration",
                )
            raise_call(self.model, law, status, body, -1, arguments)

        with contextlib.ExitStack() as stack:
            stack.enter_context(self._guard)
            if self.constraints is not None:
                stack.enter_context(self.constraints._guard)
                self._no_drives()
            yield finish

    def _state(self, q: ArrayLike, v: ArrayLike | None) -> tuple[Array, Array]:
        """v None: at rest."""
        vv = np.zeros(self.model.nv) if v is None else v
        return needed(vector("q", q, self.model.nq)), needed(vector("v", vv, self.model.nv))

    def _frame_law(
        self, frame: str | int, relative_to: str | int, stiffness: ArrayLike, damping: ArrayLike
    ) -> Any:
        law = _c.soa_frame_law_default(
            self.model.find_frame(frame), self.model.find_frame(relative_to)
        )
        law.stiffness[:] = _six("stiffness", stiffness).tolist()
        law.damping[:] = _six("damping", damping).tolist()
        return law

    def _gains(self, stiffness: ArrayLike, damping: ArrayLike) -> tuple[Any, Array, Array]:
        K = _spread("stiffness", stiffness, self.model.nv)
        D = _spread("damping", damping, self.model.nv)
        return _c.soa_joint_gains(numbers(K), numbers(D)), K, D

    # --- what there is ----------------------------------------------------------------------------

    @property
    def driven(self) -> NDArray[np.bool_]:
        """Which coordinates this law drives, (nv,)."""
        return np.equal(self._drive, int(_c.SOA_DRIVE_OWN))

    @property
    def passive(self) -> NDArray[np.bool_]:
        """Which coordinates nobody drives, (nv,)."""
        return np.equal(self._drive, int(_c.SOA_DRIVE_NONE))

    @property
    def other(self) -> NDArray[np.bool_]:
        """Which coordinates another law drives, (nv,)."""
        return np.equal(self._drive, int(_c.SOA_DRIVE_OTHER))

    def dependent(self, q: ArrayLike) -> NDArray[np.bool_]:
        """Which coordinates follow others through the loops at q, (nv,): they get no torque. All
        False for a tree.

        >>> import soa
        >>> bar = soa.Model.open("four-bar")
        >>> control = soa.Control(bar, primary=[bar.body(1).joint])
        >>> int(control.dependent(bar.constraints.assemble(bar.neutral())).sum())
        2
        """
        qv, flags = needed(vector("q", q, self.model.nq)), np.zeros(self.model.nv, dtype=np.uint8)
        with self._call("dependent", [("q", qv)]) as finish:
            finish(
                _c.soa_control_dependent_coordinates(
                    self._pointer, numbers(qv), bytes_pointer(flags)
                )
            )
        return flags.astype(bool)

    def __repr__(self) -> str:
        counts = [
            f"{int(self.driven.sum())} driven",
            f"{int(self.passive.sum())} passive",
            f"{int(self.other.sum())} of other laws",
        ]
        loops = "" if self.constraints is None else f"; {self.constraints.row_count} rows of loops"
        return f"<soa.Control of '{self.model.name}': {', '.join(counts)}{loops}>"

    # --- the machine's own torques ----------------------------------------------------------------

    def compensation(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        wrenches: Sequence[Wrench] = (),
    ) -> Array:
        """tau (nv,) = M a + (C v, gravity, friction, springs as in `compensate`) - J' wrenches.
        O(n).

        For frame laws with compensated=False, to be added once. a None: zero; with loops a must be
        None.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.3
        >>> bool(abs(soa.Control(arm).compensation(q) - arm.gravity_torque(q)).max() < 1e-12)
        True
        """
        if a is not None and self.constraints is not None:
            raise ValueError(
                "compensation of a machine with loops takes no accelerations: leave a out"
            )
        (qv, vv), av = self._state(q, v), vector("a", a, self.model.nv)
        array, tau = wrench_array(self.model, wrenches), np.zeros(self.model.nv)
        with self._call("compensation", _named(q=qv, v=vv, a=av)) as finish:
            finish(
                _c.soa_control_compensation(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    numbers(av),
                    array,
                    len(wrenches),
                    numbers(tau),
                )
            )
        return tau

    def passive_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        wrenches: Sequence[Wrench] = (),
    ) -> Array:
        """All accelerations (nv,), when the driven ones are those in `a` and the torques of passive
        ones are zero.

        Only passive coordinates of trees with driven joints are solved for; others are zero. O(n)
        for each of them, and a Cholesky factorisation. Loops are not part of it.

        >>> import soa
        >>> dog = soa.Model.open("quadruped")
        >>> control = soa.Control(dog, passive=["root"])
        >>> a = control.passive_acceleration(dog.neutral())    # falls with rigid joints
        >>> a.shape == (dog.nv,)
        True
        """
        qv, vv = self._state(q, v)
        all_ = (
            np.zeros(self.model.nv) if a is None else needed(vector("a", a, self.model.nv)).copy()
        )
        array = wrench_array(self.model, wrenches)
        with self._call("passive_acceleration", _named(q=qv, v=vv, a=all_)) as finish:
            finish(
                _c.soa_control_passive_acceleration(
                    self._pointer, numbers(qv), numbers(vv), array, len(wrenches), numbers(all_)
                )
            )
        return all_

    def inverse_feedback(
        self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> Feedback:
        """F and eta of WD89's inverse dynamics controller, for `recursion`: F = I a + v x* I v of
        each body; eta: the torques of friction, springs and rotors, as far as `compensate` includes
        them. O(n).

        Gravity is an acceleration of the base, if it is compensated.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> soa.Control(arm).inverse_feedback(arm.neutral()).F.shape
        (7, 6)
        """
        (qv, vv), av = self._state(q, v), vector("a", a, self.model.nv)
        F, eta = np.zeros((self.model.body_count, _ROWS)), np.zeros(self.model.nv)
        with self._call("inverse_feedback", _named(q=qv, v=vv, a=av)) as finish:
            finish(
                _c.soa_control_inverse_feedback(
                    self._pointer, numbers(qv), numbers(vv), numbers(av), numbers(F), numbers(eta)
                )
            )
        return Feedback(F, eta)

    def recursion(
        self,
        q: ArrayLike,
        F: ArrayLike | None = None,
        eta: ArrayLike | None = None,
        E: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """WD89's recursion for every law: f of a body = F + sum of f of its children, rho = s' f +
        eta, tau = E' rho.

        F: (bodies, 6), wrenches [n; f] on the bodies, in their axes at their origins; None: zero.
        E: (rows, columns) of a closed machine, v = E Qd (`Embedding.E`), with rows >= nv: those
        after nv are cut joints; None: a tree, tau = rho. eta: (rows,). Returns rho (rows,) and tau
        (columns,). O(n), and the product with E.

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7")
        >>> control, q = soa.Control(arm), arm.neutral() + 0.3
        >>> feedback = control.inverse_feedback(q, np.ones(7), np.ones(7))
        >>> rho, tau = control.recursion(q, feedback.F, feedback.eta)
        >>> bool(np.allclose(tau, arm.rnea(q, np.ones(7), np.ones(7))))
        True
        """
        nv, n = self.model.nv, self.model.body_count
        qv, Ev = needed(vector("q", q, self.model.nq)), None
        rows = columns = nv
        if E is not None:
            Ev = np.ascontiguousarray(E, dtype=np.float64)
            if Ev.ndim != 2 or Ev.shape[0] < nv or Ev.shape[1] < 1:
                raise ValueError(
                    f"E has shape {Ev.shape}, expected (rows, columns) with {nv} rows or more"
                )
            rows, columns = Ev.shape
        if F is not None and np.shape(F) != (n, _ROWS):
            raise ValueError(f"F has shape {np.shape(F)}, expected ({n}, 6)")
        Fv = vector("F", None if F is None else np.ravel(F), _ROWS * n)
        ev = vector("eta", eta, rows)
        rho, tau = np.zeros(rows), np.zeros(columns)
        struct = _c.soa_feedback(
            numbers(Fv), numbers(ev), rows, numbers(Ev), columns if Ev is not None else 0
        )
        with self._call("recursion", _named(q=qv, F=Fv, eta=ev, E=Ev)) as finish:
            finish(
                _c.soa_control_recursion(
                    self._pointer, numbers(qv), byref(struct), numbers(rho), numbers(tau)
                )
            )
        return rho, tau

    # --- laws of joints ---------------------------------------------------------------------------

    def joint_pd(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        reference: JointReference | ArrayLike,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
    ) -> Array:
        """tau (nv,) = K e + D e' + gravity and springs, as far as compensated; viscous friction at
        the wanted rate. O(n).

        e = q_d - q on the configuration manifold, e' = v_d - v. Gains in N m/rad or N/m, N m s/rad
        or N s/m.

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7").with_gravity([0, 0, 0])
        >>> goal = soa.control.JointReference(np.full(7, 0.1), v=np.full(7, 0.5))
        >>> soa.Control(arm).joint_pd(np.zeros(7), None, goal, stiffness=100, damping=20).round(9)
        array([20., 20., 20., 20., 20., 20., 20.])
        """
        (qv, vv), want = self._state(q, v), _Reference(self.model, reference)
        gains, *_keep = self._gains(stiffness, damping)
        tau = np.zeros(self.model.nv)
        with self._call("joint_pd", [*_named(q=qv, v=vv), *want.arguments]) as finish:
            finish(
                _c.soa_control_joint_pd(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    byref(want.struct),
                    byref(gains),
                    numbers(tau),
                )
            )
        return tau

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        reference: JointReference | ArrayLike,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        wrenches: Sequence[Wrench] = (),
    ) -> JointTorques:
        """WD89's law: accelerations a_d + D e' + K e through the estimated machine. Gains in 1/s^2
        and 1/s. O(n).

        Passive coordinates are solved for, so that e'' + D e' + K e = 0 holds on a floating base
        too (O(n) more for each). wrenches: known external ones, which the law takes into account.

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7")
        >>> control, goal = soa.Control(arm), np.full(7, 0.1)
        >>> law = control.inverse_dynamics(np.zeros(7), None, goal, stiffness=25)
        >>> law.a.round(9)
        array([2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5])
        """
        (qv, vv), want = self._state(q, v), _Reference(self.model, reference)
        gains, *_keep = self._gains(stiffness, damping)
        array = wrench_array(self.model, wrenches)
        options = _c.soa_inverse_dynamics_options(array, len(wrenches))
        tau, a = np.zeros(self.model.nv), np.zeros(self.model.nv)
        with self._call("inverse_dynamics", [*_named(q=qv, v=vv), *want.arguments]) as finish:
            finish(
                _c.soa_control_inverse_dynamics(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    byref(want.struct),
                    byref(gains),
                    byref(options),
                    numbers(tau),
                    numbers(a),
                )
            )
        return JointTorques(tau, a)

    def passivity(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        reference: JointReference | ArrayLike,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike,
        form: Passivity = "slotine_li",
    ) -> PassivityTorques:
        """Laws that use the structure of M and C in place of cancelling them. Trees only. O(n).

        "slotine_li": tau = M a_r + C(q, v) v_r + g + D s, with v_r = v_d + L e, a_r = a_d + L e', s
        = v_r - v; stiffness is L, 1/s. On a floating base V' = -s'D s holds too. "wen_bayard_1",
        "_2", "_3": tau = M a_d + C w + g + K e + D e', with C w = C(q, v) v_d, C(q, v_d) v_d, C(q,
        v_d) v; stiffness is K, N m/rad or N/m. damping: D, N m s/rad or N s/m.

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral()
        >>> law = soa.Control(arm).passivity(q, np.zeros(7), q, stiffness=5.0, damping=10.0)
        >>> law.lyapunov
        0.0
        """
        self._trees_only("passivity")
        (qv, vv), want = self._state(q, v), _Reference(self.model, reference)
        gains, *_keep = self._gains(stiffness, damping)
        number = _one_of("form", form, PASSIVITY)
        tau, lyapunov = np.zeros(self.model.nv), np.zeros(1)
        with self._call("passivity", [*_named(q=qv, v=vv), *want.arguments]) as finish:
            finish(
                _c.soa_control_passivity(
                    self._pointer,
                    number,
                    numbers(qv),
                    numbers(vv),
                    byref(want.struct),
                    byref(gains),
                    numbers(tau),
                    numbers(lyapunov),
                )
            )
        return PassivityTorques(tau, float(lyapunov[0]))

    def decoupled(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        reference: JointReference | ArrayLike,
        *,
        rate: ArrayLike,
        stiffness: ArrayLike = 0.0,
    ) -> DecoupledTorques:
        """Slotine and Li's law in innovations coordinates, RJK91 section 6: each number of sigma =
        D^1/2 (I + H phi K)* s is damped separately by its `rate`, 1/s. Trees without mimic joints
        only. O(n).

        stiffness is L, 1/s. If all rates are k, |sigma| = |sigma(0)| e^(-k t). They must be equal
        if some coordinate is passive or driven by another law.

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7")
        >>> q, v = arm.neutral() + 0.3, np.full(7, 0.1)
        >>> law = soa.Control(arm).decoupled(q, v, q, rate=4.0)
        >>> bool(np.isclose(law.sigma @ law.sigma / 2, arm.energy(q, v)[0]))
        True
        """
        self._trees_only("decoupled")
        (qv, vv), want = self._state(q, v), _Reference(self.model, reference)
        L, k = _spread("stiffness", stiffness, self.model.nv), _spread("rate", rate, self.model.nv)
        own = k[self.driven]
        if own.size and not self.driven.all() and (own != own[0]).any():
            raise ValueError(
                f"rate has different numbers, {own.min():g} to {own.max():g} 1/s: they must be "
                "equal where some coordinates are not driven by this law"
            )
        tau, sigma = np.zeros(self.model.nv), np.zeros(self.model.nv)
        with self._call("decoupled", [*_named(q=qv, v=vv), *want.arguments]) as finish:
            finish(
                _c.soa_control_decoupled(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    byref(want.struct),
                    numbers(L),
                    numbers(k),
                    numbers(tau),
                    numbers(sigma),
                )
            )
        return DecoupledTorques(tau, sigma)

    # --- laws of frames ---------------------------------------------------------------------------

    def frame_error(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        frame: str | int,
        goal: FrameMotion | ArrayLike,
        *,
        relative_to: str | int = 0,
    ) -> FrameError:
        """Where a frame is relative to its goal. O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.3
        >>> error = soa.Control(arm).frame_error(q, None, "link7", arm.pose(q, "link7"))
        >>> bool(abs(error.error).max() < 1e-12)
        True
        """
        qv, vv = self._state(q, v)
        want, out = _motion_struct("goal", goal), _c.soa_frame_error()
        with self._call("frame_error", _named(q=qv, v=vv)) as finish:
            finish(
                _c.soa_control_frame_error(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    self.model.find_frame(frame),
                    self.model.find_frame(relative_to),
                    byref(want),
                    byref(out),
                )
            )
        return _frame_error(out)

    def relative_motion(
        self, q: ArrayLike, v: ArrayLike | None, frame: str | int, *, relative_to: str | int = 0
    ) -> FrameMotion:
        """The motion of a frame relative to another, with acceleration zero: where a path starts.
        O(n).

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7")
        >>> motion = soa.Control(arm).relative_motion(arm.neutral(), np.ones(7), "link7")
        >>> bool(np.allclose(motion.twist, arm.velocity(arm.neutral(), np.ones(7), "link7")))
        True
        """
        qv, vv = self._state(q, v)
        motion = _c.soa_motion()
        with self._call("relative_motion", _named(q=qv, v=vv)) as finish:
            finish(
                _c.soa_control_relative_motion(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    self.model.find_frame(frame),
                    self.model.find_frame(relative_to),
                    byref(motion),
                )
            )
        return _motion(motion)

    def impedance(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        frame: str | int,
        goal: FrameMotion | ArrayLike,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        relative_to: str | int = 0,
        force: ArrayLike | None = None,
        max_force: float = 0.0,
        max_torque: float = 0.0,
        compensated: bool = True,
    ) -> ImpedanceTorques:
        """A frame held by springs and dampers: the wrench F = K e + D e' + force on it, tau = J'F +
        compensation. O(n).

        Gains in N m/rad and N/m, N m s/rad and N s/m. force (6,): a wrench [n; f] that the hand
        shall exert besides, in the axes of the goal, N m and N. max_force (N), max_torque (N m): F
        is scaled down as a whole until it is within them; 0: no bound. With the goal relative to a
        floating base, J is that of the motion relative to the base, so the law is passive.
        compensated False: J'F alone, for several hands; add `compensation` once.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.3
        >>> goal = soa.pose([0, 0, 0.1]) @ arm.pose(q, "link7")    # 0.1 m higher
        >>> control = soa.Control(arm)
        >>> law = control.impedance(q, None, "link7", goal, stiffness=(50, 500), damping=(5, 50))
        >>> bool(abs(law.wrench[5] - 500 * 0.1) < 1e-9)
        True
        """
        qv, vv = self._state(q, v)
        law, want = (
            self._frame_law(frame, relative_to, stiffness, damping),
            _motion_struct("goal", goal),
        )
        law.max_force, law.max_torque = (
            _bound("max_force", max_force),
            _bound("max_torque", max_torque),
        )
        law.plain = not compensated
        extra = vector("force", force, _ROWS)
        tau, wrench, out = np.zeros(self.model.nv), np.zeros(_ROWS), _c.soa_frame_error()
        result = _c.soa_impedance_result(numbers(wrench), pointer(out))
        with self._call("impedance", _named(q=qv, v=vv, force=extra)) as finish:
            finish(
                _c.soa_control_impedance(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    byref(law),
                    byref(want),
                    numbers(extra),
                    numbers(tau),
                    byref(result),
                )
            )
        return ImpedanceTorques(tau, wrench, _frame_error(out))

    def operational_space(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        tasks: FrameTask | Sequence[FrameTask],
        *,
        singular_damping: float = 0.0,
        posture: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
    ) -> OperationalTorques:
        """The accelerations of frames, up to eight at once, through Lambda = (J_g M^-1 J_g')^-1;
        J_g is the generalised Jacobian, which takes into account the coordinates that this law does
        not drive. O(n) + O(rows^3).

        A goal relative to a frame that moves with the driven machine (its base) is pursued as seen
        from there; frames of other trees (a satellite) are assumed not to accelerate. Coordinates
        of other laws are assumed to keep from accelerating. posture (nv,): torques of a second aim,
        N m and N, projected so that they do not disturb the tasks. singular_damping: of Lambda,
        relative; 0 refuses tasks with rcond < 1e-12 (SingularError).

        >>> import numpy as np, soa
        >>> from soa.control import FrameTask
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.3
        >>> goal = soa.pose([0, 0, 0.1]) @ arm.pose(q, "link7")    # 0.1 m higher
        >>> law = soa.Control(arm).operational_space(q, None, FrameTask("link7", goal, 25.0, 10.0))
        >>> a = arm.acceleration(q, None, arm.aba(q, None, law.tau), "link7")
        >>> bool(np.allclose(a, [0, 0, 0, 0, 0, 2.5]))
        True
        """
        qv, vv = self._state(q, v)
        made = [tasks] if isinstance(tasks, FrameTask) else list(tasks)
        most = int(_c.SOA_FRAME_TASKS)
        if not 1 <= len(made) <= most:
            raise ValueError(f"there are {len(made)} tasks, expected 1 to {most}")
        array, errors = (_c.soa_frame_task * len(made))(), (_c.soa_frame_error * len(made))()
        for slot, task in zip(array, made):
            slot.law = self._frame_law(task.frame, task.relative_to, task.stiffness, task.damping)
            slot.rows, slot.goal = _row_bits("rows", task.rows), _motion_struct("goal", task.goal)
        options, *_keep = self._options(singular_damping, posture, wrenches)
        tau, a, rcond = np.zeros(self.model.nv), np.zeros(self.model.nv), np.zeros(1)
        result = _c.soa_operational_result(
            numbers(a), cast(errors, POINTER(_c.soa_frame_error)), numbers(rcond)
        )
        with self._call("operational_space", _named(q=qv, v=vv, posture=_keep[0])) as finish:
            status = _c.soa_control_operational_space(
                self._pointer,
                numbers(qv),
                numbers(vv),
                array,
                len(made),
                byref(options),
                numbers(tau),
                byref(result),
            )
            if status == _c.SOA_E_SINGULAR:
                raise error(
                    status,
                    f"operational_space: the tasks are singular here, rcond is {rcond[0]:.1e}: the "
                    "driven joints cannot move some direction; leave rows out, or give "
                    "singular_damping > 0",
                )
            finish(status)
        return OperationalTorques(tau, a, [_frame_error(one) for one in errors], float(rcond[0]))

    def _options(
        self, damping: float, posture: ArrayLike | None, wrenches: Sequence[Wrench]
    ) -> tuple[Any, ...]:
        """A soa_operational_options, and what it points to."""
        second = vector("posture", posture, self.model.nv)
        array = wrench_array(self.model, wrenches)
        struct = _c.soa_operational_options(
            _bound("singular_damping", damping), numbers(second), array, len(wrenches)
        )
        return struct, second, array

    def generalised_jacobian(self, q: ArrayLike, frame: str | int, axes: Axes = "world") -> Array:
        """Umetani and Yoshida's Jacobian, (6, nv): the motion of a frame for velocities of the
        driven coordinates while the momenta of passive ones are zero; other columns are zero. Trees
        only. O(n) a row.

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7")    # nothing is passive: the ordinary Jacobian
        >>> q = arm.neutral() + 0.3
        >>> J = soa.Control(arm).generalised_jacobian(q, "link7")
        >>> bool(np.allclose(J, arm.jacobian(q, "link7")))
        True
        """
        self._trees_only("generalised_jacobian")
        qv, J = needed(vector("q", q, self.model.nq)), np.zeros((_ROWS, self.model.nv))
        with self._call("generalised_jacobian", [("q", qv)]) as finish:
            finish(
                _c.soa_control_generalised_jacobian(
                    self._pointer,
                    numbers(qv),
                    self.model.find_frame(frame),
                    _axes(axes),
                    numbers(J),
                )
            )
        return J

    def hybrid(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        frame: str | int,
        goal: FrameMotion | ArrayLike,
        *,
        force_rows: Sequence[int],
        force: ArrayLike,
        measured: ArrayLike,
        dt: float,
        stiffness: ArrayLike,
        damping: ArrayLike,
        force_gain: tuple[float, float] = (0.0, 0.0),
        max_integral: float = 0.0,
        integral: ArrayLike | None = None,
        relative_to: str | int = 0,
        max_force: float = 0.0,
        max_torque: float = 0.0,
        singular_damping: float = 0.0,
    ) -> HybridTorques:
        """Force along `force_rows` of the goal's axes, motion along the others (gains in 1/s^2 and
        1/s). O(n).

        Along force rows F = force + k_p (force - measured) + k_i integral, with the damping of
        motion there. force, measured (6,): wrenches [n; f] of the hand on its surroundings, at the
        origin of the hand, in the axes of the goal, N m and N. force_gain: k_p, k_i (1/s).
        max_integral: bound of k_i times the integral in each row, N or N m. dt, s since the last
        call. integral: that of the last call's result; None: zero, at the beginning. max_force,
        max_torque: bounds of F, which is scaled as a whole; 0: no bound.

        >>> import numpy as np, soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.3
        >>> goal = arm.pose(q, "link7")
        >>> law = soa.Control(arm).hybrid(q, None, "link7", goal, force_rows=[5], dt=0.001,
        ...     force=[0, 0, 0, 0, 0, -10], measured=[0, 0, 0, 0, 0, -8], stiffness=100, damping=20,
        ...     force_gain=(0.5, 10), max_integral=20)
        >>> law.integral.round(6).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, -0.002]
        """
        qv, vv = self._state(q, v)
        law = _c.soa_hybrid_law(law=self._frame_law(frame, relative_to, stiffness, damping))
        law.law.max_force, law.law.max_torque = (
            _bound("max_force", max_force),
            _bound("max_torque", max_torque),
        )
        law.force_rows = _row_bits("force_rows", force_rows)
        law.force_gain[:] = needed(
            vector("force_gain", np.asarray(force_gain, dtype=np.float64), 2)
        ).tolist()
        _not_negative("force_gain", np.array(law.force_gain[:]))
        if law.force_gain[1] > 0 and not max_integral > 0:
            raise ValueError(
                f"force_gain has an integral part, but max_integral is {max_integral}, so that "
                "it would have no effect: give its bound, N or N m"
            )
        law.max_integral = _bound("max_integral", max_integral)
        law.damping_of_lambda = _bound("singular_damping", singular_damping)
        want = _motion_struct("goal", goal)
        wanted, seen = (
            needed(vector("force", force, _ROWS)),
            needed(vector("measured", measured, _ROWS)),
        )
        given = _c.soa_hybrid_input(pointer(want), numbers(wanted), numbers(seen), _bound("dt", dt))
        kept = np.zeros(_ROWS) if integral is None else needed(vector("integral", integral, _ROWS))
        state = _c.soa_hybrid_state((type(law.law.stiffness))(*kept.tolist()))
        tau, out = np.zeros(self.model.nv), _c.soa_frame_error()
        with self._call(
            "hybrid", _named(q=qv, v=vv, force=wanted, measured=seen, integral=kept)
        ) as finish:
            finish(
                _c.soa_control_hybrid(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    byref(law),
                    byref(given),
                    byref(state),
                    numbers(tau),
                    byref(out),
                )
            )
        return HybridTorques(tau, _frame_error(out), np.array(state.integral[:]))

    def base_attitude(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        frame: str | int,
        goal: FrameMotion | ArrayLike,
        *,
        stiffness: float,
        damping: float,
        singular_damping: float = 0.0,
        posture: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
    ) -> AttitudeTorques:
        """Holds the attitude of a floating base, `frame`, by the momentum of the joints:
        `operational_space` with its angular rows. The goal is in the world. Gains in 1/s^2 and 1/s.
        O(n).

        >>> import numpy as np, soa
        >>> dog = soa.Model.open("quadruped", ideal=True)
        >>> control, q = soa.Control(dog, passive=["root"]), dog.neutral() + 0.0
        >>> goal = soa.pose(rpy=[0.1, 0, 0]) @ dog.pose(q, "trunk")
        >>> law = control.base_attitude(q, None, "trunk", goal, stiffness=20.0, damping=9.0)
        >>> a = dog.acceleration(q, None, dog.aba(q, None, law.tau), "trunk")
        >>> bool(np.allclose(a[:3], [2.0, 0, 0]))
        True
        """
        qv, vv = self._state(q, v)
        law = _c.soa_attitude_law(
            self.model.find_frame(frame), _bound("stiffness", stiffness), _bound("damping", damping)
        )
        want, out, tau = _motion_struct("goal", goal), _c.soa_frame_error(), np.zeros(self.model.nv)
        options, *_keep = self._options(singular_damping, posture, wrenches)
        with self._call("base_attitude", _named(q=qv, v=vv, posture=_keep[0])) as finish:
            finish(
                _c.soa_control_base_attitude(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    byref(law),
                    byref(want),
                    byref(options),
                    numbers(tau),
                    byref(out),
                )
            )
        return AttitudeTorques(tau, _frame_error(out))

    # --- several hands, one object ----------------------------------------------------------------

    def _coordination(self, given: Coordination) -> Any:
        find, hands = self.model.find_frame, len(given.hands)
        law = _c.soa_coordination_default(find(given.object), find(given.relative_to))
        law.form = (_c.SOA_COORDINATE_LINEARISING, _c.SOA_COORDINATE_PASSIVE)[
            _one_of("form", given.form, FORMS)
        ]
        most = int(_c.SOA_HANDS)
        if not 1 <= hands <= most:
            raise ValueError(f"there are {hands} hands, expected 1 to {most}")
        law.hands = hands
        law.hand[:hands] = [find(hand) for hand in given.hands]
        if given.shares is not None:
            law.share[:hands] = _spread("shares", given.shares, hands).tolist()
        law.stiffness[:], law.damping[:] = (
            _six(name, getattr(given, name)).tolist() for name in ("stiffness", "damping")
        )
        for name in ("follow_stiffness", "follow_damping", "squeeze_gain"):
            getattr(law, name)[:] = _two(name, getattr(given, name)).tolist()
        for name in ("couple_length", "squeeze", "max_integral", "max_force", "max_torque"):
            setattr(law, name, _bound(name, getattr(given, name)))
        if not law.couple_length > 0:
            raise ValueError("couple_length is 0, expected a length > 0, m")
        law.damping_of_lambda = _bound("singular_damping", given.singular_damping)
        law.plain = not given.compensated
        if given.grasp is not None:
            poses = np.asarray(given.grasp, dtype=np.float64)
            if poses.shape != (hands, 4, 4):
                raise ValueError(f"grasp has shape {poses.shape}, expected ({hands}, 4, 4)")
            law.has_grasp = True
            for number, one in enumerate(poses):
                law.grasp[number] = _pose_struct(f"grasp[{number}]", one)
        elif any(law.follow_stiffness):
            raise ValueError(
                "follow_stiffness needs grasp, the pose of each hand in the object's frame"
            )
        return law

    def coordination(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        law: Coordination,
        goal: FrameMotion | ArrayLike,
        *,
        measured: float | None = None,
        dt: float = 0.0,
        integral: float = 0.0,
    ) -> CoordinationTorques:
        """Several hands move one object, share its load and squeeze it. O(n) + O(hands^3).

        measured, N: the internal force, from `internal_force` or a sensor, which squeeze_gain
        regulates; None: it is not regulated. dt, s since the last call. integral: that of the last
        call's result; zero at the beginning. The inertia of the object is that of its body in this
        model; its pose and twist are in q and v.

        >>> import numpy as np, soa
        >>> both = soa.Model.open("two-puma-object")
        >>> control = soa.Control(both, passive=list(range(12, 18)))    # the object
        >>> law = soa.control.Coordination("object", ["left_link6", "right_link6"], squeeze=20.0)
        >>> q = both.neutral()
        >>> answer = control.coordination(q, None, law, both.pose(q, "object"))
        >>> round(control.internal_force(q, law, answer.hand_wrenches), 9)
        20.0
        """
        qv, vv = self._state(q, v)
        made, want = self._coordination(law), _motion_struct("goal", goal)
        seen = vector("measured", None if measured is None else [float(measured)], 1)
        if measured is None and (dt or integral):
            raise ValueError(
                "dt and integral belong to a measured internal force, and none is given"
            )
        if measured is not None and not math.isfinite(measured):
            raise ValueError(f"measured is {measured}, expected a finite number")
        if not math.isfinite(integral):
            raise ValueError(f"integral is {integral}, expected a finite number")
        given = _c.soa_coordination_input(pointer(want), numbers(seen), _bound("dt", dt))
        state, out, tau = (
            _c.soa_coordination_state(integral),
            _c.soa_coordination_result(),
            np.zeros(self.model.nv),
        )
        with self._call("coordination", _named(q=qv, v=vv)) as finish:
            finish(
                _c.soa_control_coordination(
                    self._pointer,
                    numbers(qv),
                    numbers(vv),
                    byref(made),
                    byref(given),
                    byref(state),
                    numbers(tau),
                    byref(out),
                )
            )
        hands = np.array([row[:] for row in out.hand_wrench[: len(law.hands)]])
        return CoordinationTorques(
            tau,
            _frame_error(out.error),
            np.array(out.wrench[:]),
            hands,
            out.squeeze,
            state.integral,
        )

    def internal_force(self, q: ArrayLike, law: Coordination, hand_wrenches: ArrayLike) -> float:
        """The internal force, N, in wrenches of the hands, (hands, 6): on the object, world axes,
        at the origins of the hands, N m and N. What remains without the part that moves the object,
        along the direction of squeezing; > 0: the object is pressed. O(n).
        """
        qv, made = needed(vector("q", q, self.model.nq)), self._coordination(law)
        hands = len(law.hands)
        if np.shape(hand_wrenches) != (hands, _ROWS):
            raise ValueError(
                f"hand_wrenches has shape {np.shape(hand_wrenches)}, expected ({hands}, 6)"
            )
        given, force = (
            needed(vector("hand_wrenches", np.ravel(hand_wrenches), _ROWS * hands)),
            np.zeros(1),
        )
        with self._call("internal_force", _named(q=qv, hand_wrenches=given)) as finish:
            finish(
                _c.soa_control_internal_force(
                    self._pointer, numbers(qv), byref(made), numbers(given), numbers(force)
                )
            )
        return float(force[0])

    # --- paths ------------------------------------------------------------------------------------

    def joint_path(
        self,
        q0: ArrayLike,
        q1: ArrayLike,
        kind: ProfileKind = "quintic",
        *,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        effort: bool = False,
    ) -> JointPath:
        """The joint path from q0 to q1 in the shortest time within limits, of the driven
        coordinates.

        speed, acceleration: one number > 0, or nv; rad/s or m/s, rad/s^2 or m/s^2. speed None:
        `max_speed` of the model. acceleration None: no limit. effort: torques of inverse dynamics
        stay within `max_effort` of the model, checked at 69 samples; the time is found by bisection
        then. If gravity alone needs more: SingularError.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> path = soa.Control(arm).joint_path(arm.neutral(), arm.neutral() + 1.0, speed=0.5)
        >>> round(path.time, 6)    # 15/8 of way over speed
        3.75
        """
        nv = self.model.nv
        first, last = (
            needed(vector("q0", q0, self.model.nq)),
            needed(vector("q1", q1, self.model.nq)),
        )
        most: list[Array | None] = []
        for name, given in (("speed", speed), ("acceleration", acceleration)):
            limit = vector(
                name, np.full(nv, given) if given is not None and np.ndim(given) == 0 else given, nv
            )
            if limit is not None and not (limit > 0).all():
                raise ValueError(f"{name} has {limit[~(limit > 0)][0]}, expected numbers > 0")
            most.append(limit)
        limits = _c.soa_path_limits(numbers(most[0]), numbers(most[1]), bool(effort))
        profile = _c.soa_profile()
        with self._call("joint_path", _named(q0=first, q1=last)) as finish:
            status = _c.soa_path_joint_profile(
                self._pointer,
                numbers(first),
                numbers(last),
                _one_of("kind", kind, PROFILES),
                byref(limits),
                byref(profile),
            )
            if status == _c.SOA_E_INCONSISTENT:
                raise error(
                    status,
                    "joint_path: on this way gravity and friction alone need more than max_effort "
                    "of the model, in any time",
                )
            if status == _c.SOA_E_ARGUMENT:
                raise error(
                    status,
                    "joint_path: nothing limits the time: give speed or acceleration, a model with "
                    "max_speed, or effort=True",
                )
            finish(status)
        return JointPath(self.model, first.copy(), last.copy(), Profile._of(profile))


def _named(**arrays: Array | None) -> list[tuple[str, Array]]:
    """The arguments that were given, for messages."""
    return [(name, array) for name, array in arrays.items() if array is not None]


def _release(control: Any, *_kept: object) -> None:
    release((_c.soa_control_free, control))


__all__ = [
    "AttitudeTorques",
    "CatchingPath",
    "Control",
    "Coordination",
    "CoordinationTorques",
    "DecoupledTorques",
    "Feedback",
    "FrameError",
    "FrameMotion",
    "FrameTask",
    "HybridTorques",
    "ImpedanceTorques",
    "JointPath",
    "JointReference",
    "JointTorques",
    "OperationalTorques",
    "PassivityTorques",
    "PosePath",
    "Profile",
    "rotation_from_vector",
    "rotation_to_vector",
]

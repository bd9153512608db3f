"""The compiled part of soa: the type of trees and its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .frames import Axes, Wrench

instruction_set: str
version: str

def get_threads() -> int:
    """Most threads that a call on many states uses."""

def set_threads(count: int, /) -> None:
    """Most threads that a call on many states uses."""

def read_yaml(text: str, resolve: Callable[[str], Any], /) -> Any:
    """The text of a scenario as dicts and lists; resolve makes a value of a scalar without quotes."""

class Tree:
    """A tree of bodies: a soa_model and work spaces."""

    def __new__(cls, address: int, owned: bool = True) -> Self: ...
    @property
    def nq(self) -> int:
        """Numbers of a configuration q."""

    @property
    def nv(self) -> int:
        """Degrees of freedom: numbers of v, a and tau."""

    @property
    def body_count(self) -> int:
        """Moving bodies."""

    @property
    def _address(self) -> int:
        """The soa_model, for ctypes."""

    @property
    def _says_loops(self) -> bool:
        """Whether the next call warns of loops left out."""

    @_says_loops.setter
    def _says_loops(self, value: bool) -> None: ...

    @overload
    def aba(self, q: NDArray[np.float32], v: NDArray[np.float32] | None = None,
            tau: NDArray[np.float32] | None = None, wrenches: Sequence[Wrench] = ()) -> NDArray[np.float32]: ...
    @overload
    def aba(self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None,
            wrenches: Sequence[Wrench] = ()) -> NDArray[np.float64]:
        """Joint accelerations that torques cause: a = M^-1 (tau - bias + J' wrenches).

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        tau: torques and forces of the joints, N m or N, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns the accelerations, rad/s^2 or m/s^2, (nv,) or (N, nv); float32 where the
            arrays are float32.
        Cost: O(n), articulated bodies.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.aba(q).shape
        (7,)
        """

    @overload
    def rnea(self, q: NDArray[np.float32], v: NDArray[np.float32] | None = None,
             a: NDArray[np.float32] | None = None, wrenches: Sequence[Wrench] = ()) -> NDArray[np.float32]: ...
    @overload
    def rnea(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None,
             wrenches: Sequence[Wrench] = ()) -> NDArray[np.float64]:
        """Torques that joint accelerations need: tau = M a + C v + g + friction + spring -
        J' wrenches.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        a: accelerations of the joints, rad/s^2 or m/s^2, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns the torques, N m or N, (nv,) or (N, nv); float32 where the arrays are
            float32.
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.rnea(q).shape
        (7,)
        """

    @overload
    def mass(self, q: NDArray[np.float32]) -> NDArray[np.float32]: ...
    @overload
    def mass(self, q: ArrayLike) -> NDArray[np.float64]:
        """The mass matrix M, reflected inertias of rotors included.

        q: configuration, (nq,) or (N, nq).
        Returns (nv, nv) or (N, nv, nv), kg m^2, kg m and kg; float32 where q is float32.
        Cost: O(n d), d being the depth of the tree; composite bodies.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.mass(q).shape
        (7, 7)
        """

    def mass_r87(self, q: ArrayLike) -> NDArray[np.float64]:
        """The mass matrix by equation (32) of R87 as it is printed: slower than `mass`, and
        a check of it.

        q: configuration, (nq,) or (N, nq).
        Returns (nv, nv) or (N, nv, nv).
        Cost: O(n d).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> bool(abs(arm.mass_r87(q) - arm.mass(q)).max() < 1e-12)
        True
        """

    def minv(self, q: ArrayLike) -> NDArray[np.float64]:
        """The inverse of the mass matrix, computed without M: equation (83) of R87 for
        trees.

        q: configuration, (nq,) or (N, nq).
        Returns (nv, nv) or (N, nv, nv).
        Cost: O(n^2), the size of the answer.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.minv(q).shape
        (7, 7)
        """

    def mass_mul(self, q: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """M x, without M.

        q: configuration, (nq,) or (N, nq).
        x: a vector of nv numbers, (nv,) or (N, nv).
        Returns (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.mass_mul(q, [1.0] * 7).shape
        (7,)
        """

    def minv_mul(self, q: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """M^-1 x, without M or its inverse.

        q: configuration, (nq,) or (N, nq).
        x: a vector of nv numbers, (nv,) or (N, nv).
        Returns (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.minv_mul(q, [1.0] * 7).shape
        (7,)
        """

    def bias_torque(self, q: ArrayLike, v: ArrayLike | None = None) -> NDArray[np.float64]:
        """C v + g + friction + spring: `rnea` with zero acceleration.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        Returns torques, N m or N, (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.bias_torque(q).shape
        (7,)
        """

    def gravity_torque(self, q: ArrayLike) -> NDArray[np.float64]:
        """The torques of gravity alone, springs not included.

        q: configuration, (nq,) or (N, nq).
        Returns N m or N, (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.gravity_torque(q).shape
        (7,)
        """

    def coriolis_mul(self, q: ArrayLike, v: ArrayLike, w: ArrayLike) -> NDArray[np.float64]:
        """C(q, v) w, C being the factor for which dM/dt - 2 C is skew.

        q: configuration, (nq,) or (N, nq).
        v, w: speeds, rad/s or m/s, (nv,) or (N, nv).
        Returns torques, N m or N, (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.coriolis_mul(q, [1.0] * 7, [1.0] * 7).shape
        (7,)
        """

    def aba_derivatives(self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None,
                        wrenches: Sequence[Wrench] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Derivatives of `aba`; row i: acceleration i, column j: coordinate j of the tangent
        space. Coulomb friction's jump is left out.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        tau: torques and forces of the joints, N m or N, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns da/dq, da/dv and da/dtau = M^-1, each (nv, nv) or (N, nv, nv).
        Cost: O(n^2).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> [d.shape for d in arm.aba_derivatives(q)]
        [(7, 7), (7, 7), (7, 7)]
        """

    def rnea_derivatives(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None,
                         wrenches: Sequence[Wrench] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Derivatives of `rnea`; row i: torque i, column j: coordinate j of the tangent
        space. Coulomb friction's jump is left out.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        a: accelerations of the joints, rad/s^2 or m/s^2, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns dtau/dq, dtau/dv and dtau/da = M, each (nv, nv) or (N, nv, nv).
        Cost: O(n d) and the size of the answer.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> [d.shape for d in arm.rnea_derivatives(q)]
        [(7, 7), (7, 7), (7, 7)]
        """

    def pose(self, q: ArrayLike, frame: str | int) -> NDArray[np.float64]:
        """The pose of a frame in the world.

        q: configuration, (nq,) or (N, nq).
        frame: name or number of a frame; 0 is the world.
        Returns the homogeneous matrix (rotation, position in m), (4, 4) or (N, 4, 4).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.pose(q, "link7").shape
        (4, 4)
        """

    def velocity(self, q: ArrayLike, v: ArrayLike | None, frame: str | int, axes: Axes = "world"
    ) -> NDArray[np.float64]:
        """The velocity of a frame at its origin, angular part first.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        frame: name or number of a frame; 0 is the world.
        axes: "world" or "body", those of the frame itself.
        Returns rad/s, then m/s, (6,) or (N, 6).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.velocity(q, [1.0] * 7, "link7").shape
        (6,)
        """

    def acceleration(self, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, frame: str | int,
                     axes: Axes = "world") -> NDArray[np.float64]:
        """The classical acceleration of a frame at its origin, as a person measures it,
        without gravity; angular part first.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        a: accelerations of the joints, rad/s^2 or m/s^2, (nv,) or (N, nv); None: zero.
        frame: name or number of a frame; 0 is the world.
        axes: "world" or "body", those of the frame itself.
        Returns rad/s^2, then m/s^2, (6,) or (N, 6).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.acceleration(q, [1.0] * 7, None, "link7").shape
        (6,)
        """

    def acceleration_spatial(self, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, frame: str | int,
                             axes: Axes = "world") -> NDArray[np.float64]:
        """The spatial acceleration of a frame (rate of its velocity in the axes of its
        body): the classical one less [0; w x v].

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        a: accelerations of the joints, rad/s^2 or m/s^2, (nv,) or (N, nv); None: zero.
        frame: name or number of a frame; 0 is the world.
        axes: "world" or "body", those of the frame itself.
        Returns rad/s^2, then m/s^2, (6,) or (N, 6).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.acceleration_spatial(q, [1.0] * 7, None, "link7").shape
        (6,)
        """

    def jacobian(self, q: ArrayLike, frame: str | int, axes: Axes = "world") -> NDArray[np.float64]:
        """The Jacobian J of a frame at its origin: its velocity is J v, angular rows first.

        q: configuration, (nq,) or (N, nq).
        frame: name or number of a frame; 0 is the world.
        axes: "world" or "body", those of the frame itself.
        Returns (6, nv) or (N, 6, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.jacobian(q, "link7").shape
        (6, 7)
        """

    def jacobian_mul(self, q: ArrayLike, frame: str | int, x: ArrayLike, axes: Axes = "world") -> NDArray[np.float64]:
        """J x, without J.

        q: configuration, (nq,) or (N, nq).
        frame: name or number of a frame; 0 is the world.
        x: a vector of nv numbers, (nv,) or (N, nv).
        axes: "world" or "body", those of the frame itself.
        Returns (6,) or (N, 6).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.jacobian_mul(q, "link7", [1.0] * 7).shape
        (6,)
        """

    def jacobian_transpose_mul(self, q: ArrayLike, frame: str | int, f: ArrayLike, axes: Axes = "world"
    ) -> NDArray[np.float64]:
        """J' f, without J: the joint torques that a wrench on a frame amounts to.

        q: configuration, (nq,) or (N, nq).
        frame: name or number of a frame; 0 is the world.
        f: moment (N m), then force (N), (6,) or (N, 6).
        axes: "world" or "body", those of the frame itself.
        Returns N m or N, (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.jacobian_transpose_mul(q, "link7", [0, 0, 0, 0, 0, 1]).shape
        (7,)
        """

    def jacobian_dot_v(self, q: ArrayLike, v: ArrayLike | None, frame: str | int, axes: Axes = "world"
    ) -> NDArray[np.float64]:
        """(dJ/dt) v: the classical acceleration of a frame when the joints do not
        accelerate, so that `acceleration` is J a + (dJ/dt) v in the same axes.

        J is that of world axes: with axes "body" the result is the same vector written in
        the frame's axes, R' (dJ/dt) v. The rate of the frame's own Jacobian, J_b = R' J,
        times v is less: by [0; w x v], w and v being `velocity` in these axes.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        frame: name or number of a frame; 0 is the world.
        axes: "world" or "body", those of the frame itself.
        Returns rad/s^2, then m/s^2, (6,) or (N, 6).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.jacobian_dot_v(q, [1.0] * 7, "link7").shape
        (6,)
        """

    def compliance(self, q: ArrayLike, frames: str | int | Sequence[str | int], axes: Axes = "world"
    ) -> NDArray[np.float64]:
        """Omega = J M^-1 J' of one or several frames: their accelerations due to wrenches on
        them. Equation (20) of RJK91.

        q: configuration, (nq,) or (N, nq).
        frames: one frame or a sequence of K frames, by name or number.
        axes: "world" or "body", those of the frame itself.
        Returns (6 K, 6 K) or (N, 6 K, 6 K).
        Cost: O(n), then O(d) for each pair of frames; no J, M or inverse is formed.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.compliance(q, ["link3", "link7"]).shape
        (12, 12)
        """

    def jjt(self, q: ArrayLike, frames: str | int | Sequence[str | int], axes: Axes = "world") -> NDArray[np.float64]:
        """J J' of one or several frames.

        q: configuration, (nq,) or (N, nq).
        frames: one frame or a sequence of K frames, by name or number.
        axes: "world" or "body", those of the frame itself.
        Returns (6 K, 6 K) or (N, 6 K, 6 K).
        Cost: O(n), then O(d) for each pair of frames; J is not formed.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.jjt(q, "link7").shape
        (6, 6)
        """

    def energy(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Any, Any]:
        """Kinetic and potential energy of the moving bodies; gravity's is zero at the
        world's origin, springs are included.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        Returns (kinetic, potential), J: two floats for one state, two arrays (N,) for
            many.
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.energy(q)[0]
        0.0
        """

    def centre_of_mass(self, q: ArrayLike, v: ArrayLike | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The centre of mass of the moving bodies and its velocity, world axes.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        Returns (position in m, velocity in m/s), each (3,) or (N, 3).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.centre_of_mass(q)[0].shape
        (3,)
        """

    def momentum(self, q: ArrayLike, v: ArrayLike | None = None) -> NDArray[np.float64]:
        """The momentum of the moving bodies about their centre of mass, world axes, angular
        part first.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        Returns N m s, then N s, (6,) or (N, 6).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.momentum(q, [1.0] * 7).shape
        (6,)
        """

    def centroidal_momentum_matrix(self, q: ArrayLike) -> NDArray[np.float64]:
        """The matrix A for which `momentum` is A v.

        q: configuration, (nq,) or (N, nq).
        Returns (6, nv) or (N, 6, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.centroidal_momentum_matrix(q).shape
        (6, 7)
        """

    def regressor(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> NDArray[np.float64]:
        """The matrix Y with M a + C v + g = Y pi, without rotors, friction and springs; pi:
        `Model.inertial_parameters`.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        a: accelerations of the joints, rad/s^2 or m/s^2, (nv,) or (N, nv); None: zero.
        Returns (nv, 10 bodies) or (N, nv, 10 bodies).
        Cost: O(n d) and the size of Y.

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.regressor(q).shape
        (7, 70)
        """

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> NDArray[np.float64]:
        """The configuration reached from q with the constant speeds v in the time dt (s);
        quaternions stay unit.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv).
        dt: the time, s, the same for all states.
        Returns (nq,) or (N, nq).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.integrate(q, [1.0] * 7, 0.5).shape
        (7,)
        """

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> NDArray[np.float64]:
        """The speeds that take q0 to q1 in the time 1, quaternions by the shorter way; the
        reverse of `integrate`.

        q0, q1: configurations, (nq,) or (N, nq).
        Returns (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.difference(q, q).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        """

    def normalise(self, q: ArrayLike) -> NDArray[np.float64]:
        """q with quaternions made unit; other methods refuse those that are not unit to
        1e-6.

        q: configuration, (nq,) or (N, nq).
        Returns (nq,) or (N, nq).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.normalise(q).shape
        (7,)
        """

    def q_rate(self, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
        """dq/dt from the speeds: quaternion rates for spherical and free joints.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv).
        Returns (nq,) or (N, nq).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.q_rate(q, [1.0] * 7).shape
        (7,)
        """

    def acceleration_parts(self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None,
                           wrenches: Sequence[Wrench] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The parts of `aba` due to torques, to forces (velocity, wrenches, weight) and to
        bias accelerations; their sum is `aba`. Equations (69) and (70) of R87.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        tau: torques and forces of the joints, N m or N, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns three arrays, rad/s^2 or m/s^2, each (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> [part.shape for part in arm.acceleration_parts(q)]
        [(7,), (7,), (7,)]
        """

    def mass_factor_mul(self, q: ArrayLike, factor: int, x: ArrayLike) -> NDArray[np.float64]:
        """A factor of the mass matrix times a vector; `Model.mass_factor_mul` takes the
        factor by name.

        q: configuration, (nq,) or (N, nq).
        factor: number of the factor, 0 to 7: L, L*, inv(L), inv(L)*, root, root*,
            inv(root), inv(root)*.
        x: a vector of nv numbers, (nv,) or (N, nv).
        Returns (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.mass_factor_mul(q, "root", [1.0] * 7).shape
        (7,)
        """

    def nu_from_v(self, q: ArrayLike, v: ArrayLike | None = None) -> NDArray[np.float64]:
        """Residual rates nu = root* L* v: the kinetic energy is nu.nu / 2. RJK91, section 6;
        not for mimic joints.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        Returns (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.nu_from_v(q, [1.0] * 7).shape
        (7,)
        """

    def nu_to_v(self, q: ArrayLike, nu: ArrayLike) -> NDArray[np.float64]:
        """The speeds of residual rates; the reverse of `nu_from_v`.

        q: configuration, (nq,) or (N, nq).
        nu: residual rates, (nv,) or (N, nv).
        Returns rad/s or m/s, (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.nu_to_v(q, [1.0] * 7).shape
        (7,)
        """

    def nu_bias(self, q: ArrayLike, nu: ArrayLike) -> NDArray[np.float64]:
        """mu in the equation of motion dnu/dt + mu(q, nu) = eps; nu.mu is zero.

        q: configuration, (nq,) or (N, nq).
        nu: residual rates, (nv,) or (N, nv).
        Returns (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.nu_bias(q, [1.0] * 7).shape
        (7,)
        """

    def nu_force(self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None,
                 wrenches: Sequence[Wrench] = ()) -> NDArray[np.float64]:
        """eps in the equation of motion dnu/dt + mu(q, nu) = eps, from all torques, gravity,
        springs, friction and wrenches.

        q: configuration, (nq,) or (N, nq).
        v: speeds of the joints, rad/s or m/s, (nv,) or (N, nv); None: zero.
        tau: torques and forces of the joints, N m or N, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> arm.nu_force(q).shape
        (7,)
        """

    def nu_rate(self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike | None = None, wrenches: Sequence[Wrench] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What an integrator of (q, nu) needs: the speeds v (`q_rate` gives dq/dt) and
        dnu/dt = eps - mu.

        q: configuration, (nq,) or (N, nq).
        nu: residual rates, (nv,) or (N, nv).
        tau: torques and forces of the joints, N m or N, (nv,) or (N, nv); None: zero.
        wrenches: soa.Wrench objects on bodies, the same for all states.
        Returns (v, dnu/dt), each (nv,) or (N, nv).
        Cost: O(n).

        >>> import soa
        >>> arm = soa.Model.open("arm7")
        >>> q = arm.neutral() + 0.1
        >>> [part.shape for part in arm.nu_rate(q, [1.0] * 7)]
        [(7,), (7,)]
        """

"""States and results in the conventions of Pinocchio and MuJoCo, and back.

| | soa | Pinocchio | MuJoCo |
|---|---|---|---|
| free joint, q | position, quaternion w x y z | position, quaternion x y z w | position, quaternion w x y z |
| free joint, v | angular, linear; body axes | linear, angular; body axes | linear in world axes, angular in body axes |
| spherical joint, q | quaternion w x y z | quaternion x y z w | quaternion w x y z |
| joint without limits, q | angle | cosine, sine (URDF type continuous) | angle |
| six-vectors | angular first | linear first | angular and linear apart |
| order of joints | as in the file, depth first | by name at each branch | as in the file |

`Pinocchio` and `MuJoCo` convert whole vectors. Give them the other program's model, so that the order of its joints is
taken from there; joints are matched by name. Neither program needs to be installed: without its model the joints are
taken in the order of soa.

>>> import soa
>>> from soa import convert
>>> dog = soa.Model.open("quadruped")
>>> q = dog.integrate(dog.neutral(), [0.1] * dog.nv)
>>> to_pin = convert.Pinocchio(dog)         # with Pinocchio: convert.Pinocchio(dog, pin_model)
>>> bool((to_pin.q_to(q)[3:7] == q[[4, 5, 6, 3]]).all())
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array

if TYPE_CHECKING:
    from .model import Body, Model

_SWAP_SIX = [3, 4, 5, 0, 1, 2]
_TO_XYZW = [1, 2, 3, 0]
_TO_WXYZ = [3, 0, 1, 2]
_CONVERTED = ("revolute", "prismatic", "helical", "spherical", "free")
_MUJOCO_JOINTS = {"free": (0, 7, 6), "spherical": (1, 4, 3), "prismatic": (2, 1, 1), "revolute": (3, 1, 1)}  # mjtJoint


def _numbers(name: str, given: ArrayLike, length: int, axis: int = -1) -> Array:
    """The argument as float64, `length` being its size along `axis`."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {array.dtype}, expected float64")
    if array.ndim == 0 or not -array.ndim <= axis < array.ndim or array.shape[axis] != length:
        raise ValueError(f"{name} has shape {array.shape}, expected {length} numbers along axis {axis}")
    return np.asarray(array, dtype=np.float64)


def xyzw(quaternion: ArrayLike) -> Array:
    """Quaternions w x y z, shape (..., 4), as x y z w.

    >>> from soa import convert
    >>> convert.xyzw([1, 0, 0, 0]).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    return _numbers("quaternion", quaternion, 4)[..., _TO_XYZW]


def wxyz(quaternion: ArrayLike) -> Array:
    """Quaternions x y z w, shape (..., 4), as w x y z.

    >>> from soa import convert
    >>> convert.wxyz([0, 0, 0, 1]).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    return _numbers("quaternion", quaternion, 4)[..., _TO_WXYZ]


def swap_six(x: ArrayLike, axis: int = -1) -> Array:
    """Six-vectors with the angular and the linear part exchanged along `axis`; the same call converts back.

    For the rows of a Jacobian (6, nv) give axis=0.

    >>> from soa import convert
    >>> convert.swap_six([1, 2, 3, 4, 5, 6]).tolist()
    [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    """
    return np.take(_numbers("x", x, 6, axis), _SWAP_SIX, axis=axis)


@dataclass(frozen=True)
class _Place:
    """Where the coordinates of a joint are, here and in the other program."""

    body: Body
    q: slice
    v: slice


class _Layout:
    """The joints of a model and their places in the other program's vectors."""

    def __init__(self, model: Model, places: Iterable[_Place], program: str) -> None:
        self.model = model
        self.places = list(places)
        self.nq = sum(place.q.stop - place.q.start for place in self.places)
        self.nv = sum(place.v.stop - place.v.start for place in self.places)
        if self.nv != model.nv:
            raise ValueError(f"soa's model has nv {model.nv} and {program}'s joints of the same names have nv {self.nv}; "
                             "expected the same (ideal=True makes mimic joints independent)")

    def v_take(self, x: Array, to: bool) -> Array:
        result = np.empty_like(x)
        for place in self.places:
            swap = _SWAP_SIX if place.body.type == "free" else list(range(place.v.stop - place.v.start))
            source, target = (place.body.v, place.v) if to else (place.v, place.body.v)
            result[..., target] = x[..., source][..., swap]
        return result


def _moving(model: Model, program: str) -> list[Body]:
    """The joints that have coordinates, checked."""
    bodies = [body for body in model.bodies if body.v.stop > body.v.start]
    for body in bodies:
        if body.type not in _CONVERTED:
            raise ValueError(f"joint {body.joint} is {body.type}: {program} has another form of it, which is not converted; "
                             f"expected {', '.join(_CONVERTED)}")
    return bodies


def _in_order(bodies: list[Body]) -> list[_Place]:
    """Places one after another."""
    places, q, v = [], 0, 0
    for body in bodies:
        nq, nv = body.q.stop - body.q.start, body.v.stop - body.v.start
        places.append(_Place(body, slice(q, q + nq), slice(v, v + nv)))
        q, v = q + nq, v + nv
    return places


def _by_name(bodies: list[Body], theirs: dict[str, tuple[int, int, int, int]], program: str) -> list[_Place]:
    """Places by names; `theirs`: q, nq, v, nv of each joint. A free joint is found whatever its name, if there is only one."""
    places, left = [], dict(theirs)
    for body in bodies:
        name = body.joint
        if name not in left and body.type == "free":
            name = next((other for other, place in left.items() if place[1::2] == (7, 6)), name)
        if name not in left:
            raise ValueError(f"joint {body.joint} is not in {program}'s model, which has {', '.join(theirs)}")
        q, nq, v, nv = left.pop(name)
        if nv != body.v.stop - body.v.start:
            raise ValueError(f"joint {body.joint} has nv {body.v.stop - body.v.start} here and {nv} in {program}'s model")
        places.append(_Place(body, slice(q, q + nq), slice(v, v + nv)))
    if left:
        raise ValueError(f"joint {next(iter(left))} of {program}'s model is not in soa's, which has "
                         f"{', '.join(body.joint for body in bodies)}")
    return places


class Pinocchio:
    """Converts between soa and Pinocchio: `..._to` gives Pinocchio's numbers, `..._from` soa's.

    model: the model in soa, opened with ideal=True unless it has no mimic joints.
    peer: the `pinocchio.Model` of the same machine; None: joints in the order of soa, and angles as one number.

    Arrays are one vector or many, (..., n).

    >>> import numpy as np, soa
    >>> from soa import convert
    >>> dog = soa.Model.open("quadruped")
    >>> to_pin = convert.Pinocchio(dog)
    >>> q = dog.random(np.random.default_rng(1))
    >>> bool((to_pin.q_from(to_pin.q_to(q)) == q).all())
    True
    """

    def __init__(self, model: Model, peer: Any = None) -> None:
        bodies = _moving(model, "Pinocchio")
        if peer is None:
            places = _in_order(bodies)
        else:
            joints = list(zip(peer.names, peer.joints))[1:]  # the first is the universe
            theirs = {str(name): (joint.idx_q, joint.nq, joint.idx_v, joint.nv) for name, joint in joints}
            places = _by_name(bodies, theirs, "Pinocchio")
        self._layout = _Layout(model, places, "Pinocchio")
        self.model = model
        self.nq, self.nv = self._layout.nq, self._layout.nv

    def q_to(self, q: ArrayLike) -> Array:
        """A configuration for Pinocchio: quaternions x y z w; cosine and sine where Pinocchio has two numbers for an angle.

        >>> import soa
        >>> from soa import convert
        >>> convert.Pinocchio(soa.Model.open("quadruped")).q_to(soa.Model.open("quadruped").neutral())[:7].tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        """
        given = _numbers("q", q, self.model.nq)
        result = np.empty((*given.shape[:-1], self.nq))
        for place in self._layout.places:
            mine = given[..., place.body.q]
            if place.body.type == "free":
                mine = np.concatenate([mine[..., :3], mine[..., 3:][..., _TO_XYZW]], axis=-1)
            elif place.body.type == "spherical":
                mine = mine[..., _TO_XYZW]
            elif place.q.stop - place.q.start == 2:
                mine = np.concatenate([np.cos(mine), np.sin(mine)], axis=-1)
            result[..., place.q] = mine
        return result

    def q_from(self, q: ArrayLike) -> Array:
        """A configuration of Pinocchio's; angles that it gives as cosine and sine are from -pi to pi.

        >>> import soa
        >>> from soa import convert
        >>> dog = soa.Model.open("quadruped")
        >>> convert.Pinocchio(dog).q_from([0, 0, 0, 0, 0, 0, 1] + [0] * 12)[:7].tolist()
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        """
        given = _numbers("q", q, self.nq)
        result = np.empty((*given.shape[:-1], self.model.nq))
        for place in self._layout.places:
            theirs = given[..., place.q]
            if place.body.type == "free":
                theirs = np.concatenate([theirs[..., :3], theirs[..., 3:][..., _TO_WXYZ]], axis=-1)
            elif place.body.type == "spherical":
                theirs = theirs[..., _TO_WXYZ]
            elif place.q.stop - place.q.start == 2:
                theirs = np.arctan2(theirs[..., 1:], theirs[..., :1])
            result[..., place.body.q] = theirs
        return result

    def v_to(self, v: ArrayLike) -> Array:
        """Velocities, accelerations or torques for Pinocchio: its order of joints, free joints linear part first.

        >>> import soa
        >>> from soa import convert
        >>> convert.Pinocchio(soa.Model.open("quadruped")).v_to(range(18))[:6].tolist()
        [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]
        """
        return self._layout.v_take(_numbers("v", v, self.nv), True)

    def v_from(self, v: ArrayLike) -> Array:
        """Velocities, accelerations or torques of Pinocchio's."""
        return self._layout.v_take(_numbers("v", v, self.nv), False)

    def matrix_to(self, matrix: ArrayLike) -> Array:
        """A matrix (..., nv, nv) for Pinocchio: a mass matrix, its inverse, derivatives of accelerations or torques.

        >>> import numpy as np, soa
        >>> from soa import convert
        >>> to_pin = convert.Pinocchio(soa.Model.open("quadruped"))
        >>> bool((to_pin.matrix_to(np.eye(18)) == np.eye(18)).all())
        True
        """
        columns = self.v_to(_numbers("matrix", matrix, self.nv, -2))
        return np.swapaxes(self.v_to(np.swapaxes(columns, -1, -2)), -1, -2)

    def matrix_from(self, matrix: ArrayLike) -> Array:
        """A matrix (..., nv, nv) of Pinocchio's; of a mass matrix give both triangles."""
        columns = self.v_from(_numbers("matrix", matrix, self.nv, -2))
        return np.swapaxes(self.v_from(np.swapaxes(columns, -1, -2)), -1, -2)

    def jacobian_to(self, jacobian: ArrayLike) -> Array:
        """A Jacobian (..., 6, nv) for Pinocchio: rows linear first, columns in its order."""
        return self.v_to(swap_six(jacobian, axis=-2))

    def jacobian_from(self, jacobian: ArrayLike) -> Array:
        """A Jacobian (..., 6, nv) of Pinocchio's."""
        return self.v_from(swap_six(jacobian, axis=-2))


class MuJoCo:
    """Converts between soa and MuJoCo: `..._to` gives MuJoCo's numbers, `..._from` soa's.

    model: the model in soa. Free joints must hang on the world without a placement, as MuJoCo's do.
    peer: the `mujoco.MjModel` of the same machine; None: joints in the order of soa.

    MuJoCo's linear velocity of a free joint is in world axes, so that velocities need q, and accelerations v as well. These
    q and v are always soa's. Arrays are one vector or many, (..., n).

    >>> import numpy as np, soa
    >>> from soa import convert
    >>> dog = soa.Model.open("quadruped")
    >>> to_mujoco = convert.MuJoCo(dog)
    >>> rng = np.random.default_rng(1)
    >>> q, v = dog.random(rng), rng.normal(size=dog.nv)
    >>> qvel = to_mujoco.v_to(q, v)
    >>> bool(np.allclose(qvel[:3], dog.velocity(q, v, dog.body(1).link)[3:]))   # linear, world axes
    True
    >>> bool(np.allclose(to_mujoco.v_from(q, qvel), v))
    True
    """

    def __init__(self, model: Model, peer: Any = None) -> None:
        bodies = _moving(model, "MuJoCo")
        for body in bodies:
            if body.type == "helical":
                raise ValueError(f"joint {body.joint} is helical: MuJoCo has no such joint")
            if body.type == "free" and (body.parent != 0 or not np.array_equal(body.placement, np.eye(4))):
                raise ValueError(f"free joint {body.joint} has a placement or a moving parent: MuJoCo's hang on the world")
        if peer is None:
            places = _in_order(bodies)
        else:
            theirs = {}
            sizes = {kind: (nq, nv) for kind, nq, nv in _MUJOCO_JOINTS.values()}
            for number in range(peer.njnt):
                nq, nv = sizes[int(peer.jnt_type[number])]
                theirs[str(peer.joint(number).name)] = int(peer.jnt_qposadr[number]), nq, int(peer.jnt_dofadr[number]), nv
            places = _by_name(bodies, theirs, "MuJoCo")
        self._layout = _Layout(model, places, "MuJoCo")
        self.model = model
        self.nq, self.nv = self._layout.nq, self._layout.nv

    def q_to(self, q: ArrayLike) -> Array:
        """`qpos` of a configuration.

        >>> import soa
        >>> from soa import convert
        >>> convert.MuJoCo(soa.Model.open("quadruped")).q_to(soa.Model.open("quadruped").neutral())[:7].tolist()
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        """
        given = _numbers("q", q, self.model.nq)
        result = np.empty((*given.shape[:-1], self.nq))
        for place in self._layout.places:
            result[..., place.q] = given[..., place.body.q]
        return result

    def q_from(self, qpos: ArrayLike) -> Array:
        """The configuration of a `qpos`."""
        given = _numbers("qpos", qpos, self.nq)
        result = np.empty((*given.shape[:-1], self.model.nq))
        for place in self._layout.places:
            result[..., place.body.q] = given[..., place.q]
        return result

    def v_to(self, q: ArrayLike, v: ArrayLike) -> Array:
        """`qvel` of velocities."""
        return self._turn(q, self._layout.v_take(_numbers("v", v, self.nv), True), True)

    def v_from(self, q: ArrayLike, qvel: ArrayLike) -> Array:
        """The velocities of a `qvel`."""
        return self._layout.v_take(self._turn(q, _numbers("qvel", qvel, self.nv), False), False)

    def a_to(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """`qacc` of accelerations: the rate of the linear velocity in world axes is R (a + omega x v).

        >>> import numpy as np, soa
        >>> from soa import convert
        >>> dog = soa.Model.open("quadruped")
        >>> v = np.zeros(18)
        >>> v[:6] = [0, 0, 1, 2, 0, 0]              # turns about z at 1 rad/s, 2 m/s along x
        >>> convert.MuJoCo(dog).a_to(dog.neutral(), v, np.zeros(18))[:3].tolist()
        [0.0, 2.0, 0.0]
        """
        return self.v_to(q, _numbers("a", a, self.nv) + self._turning(_numbers("v", v, self.nv)))

    def a_from(self, q: ArrayLike, v: ArrayLike, qacc: ArrayLike) -> Array:
        """The accelerations of a `qacc`; v is soa's."""
        return self.v_from(q, qacc) - self._turning(_numbers("v", v, self.nv))

    def tau_to(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """`qfrc_applied` of torques: moments of free joints in body axes, their forces in world axes.

        For `qfrc_bias` see `bias_to`.
        """
        return self.v_to(q, tau)

    def tau_from(self, q: ArrayLike, force: ArrayLike) -> Array:
        """The torques of a `qfrc_applied` or another force of MuJoCo's joints."""
        return self.v_from(q, force)

    def bias_to(self, q: ArrayLike, v: ArrayLike) -> Array:
        """`qfrc_bias` at a state: what `rnea` needs where MuJoCo's accelerations are zero.

        It differs from the converted `bias_torque` by the mass matrix times omega x v of the free joints.

        >>> import numpy as np, soa
        >>> from soa import convert
        >>> arm = soa.Model.open("arm7")
        >>> bool(np.allclose(convert.MuJoCo(arm).bias_to([0.3] * 7, [1.0] * 7), arm.bias_torque([0.3] * 7, [1.0] * 7)))
        True
        """
        given = _numbers("v", v, self.nv)
        return self.tau_to(q, self.model.rnea(np.asarray(q, dtype=np.float64), given, -self._turning(given)))

    def matrix_to(self, q: ArrayLike, matrix: ArrayLike) -> Array:
        """The mass matrix (..., nv, nv) or its inverse in MuJoCo's velocities; as `mj_fullM` gives it."""
        return self._both_sides(q, _numbers("matrix", matrix, self.nv, -2), True)

    def matrix_from(self, q: ArrayLike, matrix: ArrayLike) -> Array:
        """The mass matrix (..., nv, nv) of MuJoCo's, or its inverse."""
        return self._both_sides(q, _numbers("matrix", matrix, self.nv, -2), False)

    def _both_sides(self, q: ArrayLike, matrix: Array, to: bool) -> Array:
        rows = _numbers("q", q, self.model.nq)[..., None, :]
        turn = self.v_to if to else self.v_from
        return np.swapaxes(turn(rows, np.swapaxes(turn(rows, matrix), -1, -2)), -1, -2)

    def _turning(self, v: Array) -> Array:
        """omega x v in the linear rows of free joints, otherwise zeros."""
        result = np.zeros_like(v)
        for place in self._layout.places:
            if place.body.type == "free":
                start = place.body.v.start
                result[..., start + 3:start + 6] = np.cross(v[..., start:start + 3], v[..., start + 3:start + 6])
        return result

    def _turn(self, q: ArrayLike, x: Array, to: bool) -> Array:
        """MuJoCo's vector with the linear rows of free joints turned from body to world axes (to) or back."""
        given = _numbers("q", q, self.model.nq)
        result = np.broadcast_to(x, (*np.broadcast_shapes(given.shape[:-1], x.shape[:-1]), self.nv)).copy()
        for place in self._layout.places:
            if place.body.type == "free":
                R = _rotation(given[..., place.body.q][..., 3:])
                linear = slice(place.v.start, place.v.start + 3)
                result[..., linear] = np.einsum("...ij,...j->...i" if to else "...ji,...j->...i", R, x[..., linear])
        return result


def _rotation(quaternion: Array) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions w x y z (..., 4)."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    rows = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


__all__ = ["MuJoCo", "Pinocchio", "swap_six", "wxyz", "xyzw"]

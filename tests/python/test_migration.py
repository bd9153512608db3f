"""Each row of the tables 'From Pinocchio' and 'From MuJoCo' of docs/python.md, against the packages themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soa
from numpy.typing import NDArray
from soa import convert

Array = NDArray[np.float64]
PAGE = Path(__file__).parents[2] / "docs" / "python.md"
TOLERANCE = 1e-12

# Branches whose names are not in the order of the file, a joint without limits, inertias out of the link's axes.
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{0}_link"/><origin xyz="0.1 0.2 {3}" rpy="0.3 {3} 0.1"/>
<axis xyz="{4}"/><limit lower="-2" upper="2" effort="9" velocity="9"/><dynamics damping="0.5" friction="0.1"/></joint>
<link name="{0}_link"><inertial><origin xyz="0.05 {3} -0.1" rpy="0.2 0.1 0.4"/><mass value="1.5"/>
<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0.002" iyz="-0.001"/></inertial></link>"""
URDF = ("""<robot name="tree"><link name="base"><inertial><origin xyz="0.01 0.02 0.03"/><mass value="3"/>
<inertia ixx="0.1" iyy="0.12" izz="0.15" ixy="0.01" ixz="0" iyz="0.005"/></inertial></link>"""
        + JOINT.format("z_first", "revolute", "base", 0.3, "0 0 1") + JOINT.format("c_wheel", "continuous", "z_first_link", 0.2, "0 1 0")
        + JOINT.format("a_second", "revolute", "base", -0.2, "0.6 0 0.8") + JOINT.format("b_slide", "prismatic", "a_second_link", 0.1, "1 0 0")
        + "</robot>")
MUJOCO_FREE = """<link name="world"/><joint name="root" type="floating"><parent link="world"/><child link="base"/></joint></robot>"""


def near(found: Any, expected: Any) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= TOLERANCE * max(1.0, float(np.abs(expected).max()))


def symmetric(upper: Array) -> Array:
    return np.triu(upper) + np.triu(upper, 1).T


class State:
    """A machine in soa and in the other program, at one random state."""

    def __init__(self, file: Path, floating: bool) -> None:
        self.file, self.floating = file, floating
        self.model = soa.Model.open(file, floating=floating, ideal=True)
        rng = np.random.default_rng(7)
        self.q = self.model.random(rng)
        self.v, self.a, self.tau = rng.normal(size=(3, self.model.nv))


class PinocchioState(State):
    def __init__(self, file: Path, floating: bool) -> None:
        super().__init__(file, floating)
        import pinocchio as pin

        self.pin = pin
        self.peer = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer()) if floating else \
            pin.buildModelFromUrdf(str(file))
        self.data = self.peer.createData()
        self.there = convert.Pinocchio(self.model, self.peer)
        self.pq = self.there.q_to(self.q)
        self.pv, self.pa, self.ptau = (self.there.v_to(x) for x in (self.v, self.a, self.tau))
        self.frame = self.peer.getFrameId("b_slide_link", pin.BODY)


def pin_opens(s: PinocchioState) -> None:
    assert (s.peer.nv, s.there.nq) == (s.model.nv, s.peer.nq)
    masses = sum(inertia.mass for inertia in s.peer.inertias)
    assert masses == pytest.approx(3 + 4 * 1.5)


def pin_sizes(s: PinocchioState) -> None:
    continuous = 1
    assert (s.peer.nq, s.peer.nv) == (s.model.nq + continuous, s.model.nv)
    wheel = s.peer.joints[s.peer.getJointId("c_wheel")]
    angle = s.q[s.model.joint("c_wheel").q]
    near(s.pq[wheel.idx_q:wheel.idx_q + 2], np.concatenate([np.cos(angle), np.sin(angle)]))


def pin_order(s: PinocchioState) -> None:
    """The children of a link by the names of their joints, those of their links being in the other order."""
    joints = ["a_second", "b_slide", "z_first", "c_wheel"]
    assert [name for name in s.peer.names[1:] if name in joints] == joints
    assert [name for name in s.model.joint_names if name in joints] == ["z_first", "c_wheel", "a_second", "b_slide"]
    swapped = s.file.with_name("swapped.urdf")
    swapped.write_text(re.sub("(a_second|z_first)_link", lambda m: {"a_second": "z", "z_first": "a"}[m[1]] + "_link", URDF))
    assert list(s.pin.buildModelFromUrdf(str(swapped)).names[1:]) == joints
    slide = s.peer.joints[s.peer.getJointId("b_slide")]
    near(s.pq[slide.idx_q], s.q[s.model.joint("b_slide").q][0])


def pin_neutral(s: PinocchioState) -> None:
    near(s.there.q_to(s.model.neutral()), s.pin.neutral(s.peer))
    near(s.there.q_from(s.pin.neutral(s.peer)), s.model.neutral())


def pin_integrate(s: PinocchioState) -> None:
    q1 = s.model.integrate(s.q, 0.3 * s.v)
    near(s.there.q_to(q1), s.pin.integrate(s.peer, s.pq, 0.3 * s.pv))
    near(s.there.v_to(s.model.difference(s.q, q1)), s.pin.difference(s.peer, s.pq, s.there.q_to(q1)))


def pin_derivatives(s: PinocchioState) -> None:
    aba = s.pin.computeABADerivatives(s.peer, s.data, s.pq, s.pv, s.ptau)
    rnea = s.pin.computeRNEADerivatives(s.peer, s.data, s.pq, s.pv, s.pa)
    for ours, theirs in zip(s.model.aba_derivatives(s.q, s.v, s.tau), (aba[0], aba[1], symmetric(aba[2])), strict=True):
        near(s.there.matrix_to(ours), theirs)
    for ours, theirs in zip(s.model.rnea_derivatives(s.q, s.v, s.a), (rnea[0], rnea[1], symmetric(rnea[2])), strict=True):
        near(s.there.matrix_to(ours), theirs)


def pin_jacobian(s: PinocchioState, axes: Any, reference: Any) -> None:
    near(s.there.jacobian_to(s.model.jacobian(s.q, "b_slide_link", axes)),
         s.pin.computeFrameJacobian(s.peer, s.data, s.pq, s.frame, reference))


def pin_velocity(s: PinocchioState) -> None:
    s.pin.forwardKinematics(s.peer, s.data, s.pq, s.pv, s.pa)
    s.pin.updateFramePlacements(s.peer, s.data)
    near(s.model.pose(s.q, "b_slide_link"), s.data.oMf[s.frame].homogeneous)
    world = s.pin.LOCAL_WORLD_ALIGNED
    near(convert.swap_six(s.model.velocity(s.q, s.v, "b_slide_link")), s.pin.getFrameVelocity(s.peer, s.data, s.frame, world).vector)
    near(convert.swap_six(s.model.acceleration(s.q, s.v, s.a, "b_slide_link")),
         s.pin.getFrameClassicalAcceleration(s.peer, s.data, s.frame, world).vector)


def pin_energy(s: PinocchioState) -> None:
    kinetic, _ = s.model.energy(s.q, s.v)
    near(kinetic, s.pin.computeKineticEnergy(s.peer, s.data, s.pq, s.pv))


def pin_potential(s: PinocchioState) -> None:
    other = s.model.integrate(s.q, s.v)
    near(s.model.energy(other)[1] - s.model.energy(s.q)[1],
         s.pin.computePotentialEnergy(s.peer, s.data, s.there.q_to(other)) - s.pin.computePotentialEnergy(s.peer, s.data, s.pq))


def pin_centroidal(s: PinocchioState) -> None:
    if s.floating:
        near(s.model.centre_of_mass(s.q)[0], s.pin.centerOfMass(s.peer, s.data, s.pq))
    near(convert.swap_six(s.model.momentum(s.q, s.v))[:3], s.pin.computeCentroidalMomentum(s.peer, s.data, s.pq, s.pv).linear)
    if s.floating:
        near(convert.swap_six(s.model.momentum(s.q, s.v)), s.pin.computeCentroidalMomentum(s.peer, s.data, s.pq, s.pv).vector)
        near(s.there.jacobian_to(s.model.centroidal_momentum_matrix(s.q)), s.pin.computeCentroidalMap(s.peer, s.data, s.pq))


def pin_forces(s: PinocchioState) -> tuple[Any, list[soa.Wrench]]:
    """Forces on all bodies, as there in the axes of their joints, and as here."""
    forces = [s.pin.Force(six) for six in np.random.default_rng(8).normal(size=(s.peer.njoints, 6))]
    fext = s.pin.StdVec_Force()
    for force in forces:
        fext.append(force)
    names = list(s.peer.names)
    return fext, [soa.Wrench(body.link, convert.swap_six(forces[names.index(name)].vector), "body")
                  for body in s.model.bodies
                  for name in [body.joint if body.joint in names else "root_joint"]]


def pin_fext(s: PinocchioState) -> None:
    fext, wrenches = pin_forces(s)
    near(s.there.v_to(s.model.aba(s.q, s.v, s.tau, wrenches=wrenches)), s.pin.aba(s.peer, s.data, s.pq, s.pv, s.ptau, fext))
    near(s.there.v_to(s.model.rnea(s.q, s.v, s.a, wrenches=wrenches)), s.pin.rnea(s.peer, s.data, s.pq, s.pv, s.pa, fext))


def pin_static(s: PinocchioState) -> None:
    fext, wrenches = pin_forces(s)
    near(s.there.v_to(s.model.rnea(s.q, None, None, wrenches=wrenches)), s.pin.computeStaticTorque(s.peer, s.data, s.pq, fext))


def pin_world_jacobian(s: PinocchioState) -> None:
    place = soa.pose(s.model.pose(s.q, "b_slide_link")[:3, 3])
    ours = soa.spatial.motion_to_parent(place, s.model.jacobian(s.q, "b_slide_link").T).T
    near(s.there.jacobian_to(ours), s.pin.computeFrameJacobian(s.peer, s.data, s.pq, s.frame, s.pin.WORLD))


def pin_spatial_acceleration(s: PinocchioState) -> None:
    s.pin.forwardKinematics(s.peer, s.data, s.pq, s.pv, s.pa)
    near(convert.swap_six(s.model.acceleration_spatial(s.q, s.v, s.a, "b_slide_link", "body")),
         s.pin.getFrameAcceleration(s.peer, s.data, s.frame, s.pin.LOCAL).vector)


def pin_drift(s: PinocchioState) -> None:
    s.pin.forwardKinematics(s.peer, s.data, s.pq, s.pv, 0 * s.pv)
    near(convert.swap_six(s.model.jacobian_dot_v(s.q, s.v, "b_slide_link")),
         s.pin.getFrameClassicalAcceleration(s.peer, s.data, s.frame, s.pin.LOCAL_WORLD_ALIGNED).vector)


def pin_coriolis(s: PinocchioState) -> None:
    s.pin.computeCoriolisMatrix(s.peer, s.data, s.pq, s.pv)
    near(s.there.v_to(s.model.coriolis_mul(s.q, s.v, s.v)), s.data.C @ s.pv)


def pin_random(s: PinocchioState) -> None:
    low, high = s.model.lower, s.model.upper
    for q in s.model.random(9, n=20):
        angles = np.concatenate([q[body.q] for body in s.model.bodies if body.type in ("revolute", "prismatic")])
        where = np.concatenate([np.arange(body.v.start, body.v.stop) for body in s.model.bodies
                                if body.type in ("revolute", "prismatic")])
        assert ((angles >= low[where]) & (angles <= high[where])).all()
        near(s.there.q_from(s.there.q_to(q))[s.model.joint("b_slide").q], q[s.model.joint("b_slide").q])
        near(s.pin.normalize(s.peer, s.there.q_to(q)), s.there.q_to(q))


PARAMETERS_THERE = [0, 1, 2, 3, 4, 7, 5, 8, 9, 6]  # m, m c, xx xy yy xz yz zz


def pin_regressor(s: PinocchioState) -> None:
    theirs = s.pin.computeJointTorqueRegressor(s.peer, s.data, s.pq, s.pv, s.pa)
    ours = s.model.regressor(s.q, s.v, s.a)
    parameters = s.model.inertial_parameters()
    names = list(s.peer.names)[1:]
    for body in s.model.bodies:
        at = names.index(body.joint if body.joint in names else "root_joint")
        block = ours[:, 10 * (body.number - 1):10 * body.number][:, PARAMETERS_THERE]
        near(np.array([s.there.v_to(column) for column in block.T]).T, theirs[:, 10 * at:10 * at + 10])
        near(parameters[10 * (body.number - 1):10 * body.number][PARAMETERS_THERE],
             s.peer.inertias[at + 1].toDynamicParameters())


def pin_log(s: PinocchioState) -> None:
    X = s.model.pose(s.q, "b_slide_link")
    near(convert.swap_six(soa.spatial.log(X)), s.pin.log6(s.pin.SE3(X)).vector)
    near(soa.spatial.exp(soa.spatial.log(X)), s.pin.exp6(s.pin.log6(s.pin.SE3(X))).homogeneous)


def pin_wrap(s: PinocchioState) -> None:
    """A continuous joint beyond half a turn: there the way back is shorter, here it is the angle."""
    q0, q1 = np.array(s.q), np.array(s.q)
    wheel = s.model.joint("c_wheel")
    q0[wheel.q], q1[wheel.q] = -2.0, 2.0
    near(s.model.difference(q0, q1)[wheel.v], [4.0])
    there = s.pin.difference(s.peer, s.there.q_to(q0), s.there.q_to(q1))
    near(s.there.v_from(there)[wheel.v], [4.0 - 2 * np.pi])


FROM_PINOCCHIO: dict[str, Callable[[PinocchioState], None]] = {
    "pin.buildModelFromUrdf(file)": pin_opens,
    "pin.buildModelFromUrdf(file, pin.JointModelFreeFlyer())": pin_opens,
    "model.nq": pin_sizes,
    "model.names[1:]": pin_order,
    "q": lambda s: near(s.there.q_from(s.pq), s.q),
    "v": lambda s: near(s.there.v_from(s.pv), s.v),
    "pin.neutral(model)": pin_neutral,
    "pin.integrate(model, q, v)": pin_integrate,
    "pin.aba(model, data, q, v, tau)": lambda s: near(
        s.there.v_to(s.model.aba(s.q, s.v, s.tau)), s.pin.aba(s.peer, s.data, s.pq, s.pv, s.ptau)),
    "pin.rnea(model, data, q, v, a)": lambda s: near(
        s.there.v_to(s.model.rnea(s.q, s.v, s.a)), s.pin.rnea(s.peer, s.data, s.pq, s.pv, s.pa)),
    "pin.nonLinearEffects(model, data, q, v)": lambda s: near(
        s.there.v_to(s.model.bias_torque(s.q, s.v)), s.pin.nonLinearEffects(s.peer, s.data, s.pq, s.pv)),
    "pin.computeGeneralizedGravity(model, data, q)": lambda s: near(
        s.there.v_to(s.model.gravity_torque(s.q)), s.pin.computeGeneralizedGravity(s.peer, s.data, s.pq)),
    "pin.crba(model, data, q)": lambda s: near(
        s.there.matrix_to(s.model.mass(s.q)), symmetric(s.pin.crba(s.peer, s.data, s.pq))),
    "pin.computeMinverse(model, data, q)": lambda s: near(
        s.there.matrix_to(s.model.minv(s.q)), symmetric(s.pin.computeMinverse(s.peer, s.data, s.pq))),
    "pin.computeABADerivatives": pin_derivatives,
    "pin.computeFrameJacobian(..., pin.LOCAL_WORLD_ALIGNED)": lambda s: pin_jacobian(s, "world", s.pin.LOCAL_WORLD_ALIGNED),
    "pin.computeFrameJacobian(..., pin.LOCAL)": lambda s: pin_jacobian(s, "body", s.pin.LOCAL),
    "data.oMf[id]": pin_velocity,
    "pin.computeKineticEnergy": pin_energy,
    "pin.computePotentialEnergy": pin_potential,
    "pin.centerOfMass": pin_centroidal,
    "pin.aba(model, data, q, v, tau, fext)": pin_fext,
    "pin.computeStaticTorque(model, data, q, fext)": pin_static,
    "pin.computeFrameJacobian(..., pin.WORLD)": pin_world_jacobian,
    "pin.getFrameAcceleration(model, data, id, pin.LOCAL)": pin_spatial_acceleration,
    "pin.forwardKinematics(model, data, q, v, 0 * v)": pin_drift,
    "pin.computeCoriolisMatrix(model, data, q, v) @ v": pin_coriolis,
    "pin.randomConfiguration(model)": pin_random,
    "pin.computeJointTorqueRegressor(model, data, q, v, a)": pin_regressor,
    "pin.log6(M)": pin_log,
    "pin.difference(model, q0, q1)": pin_wrap,
}


class MuJoCoState(State):
    def __init__(self, file: Path, floating: bool) -> None:
        super().__init__(file, floating)
        import mujoco

        self.mujoco = mujoco
        self.peer = mujoco.MjModel.from_xml_string(URDF.replace("</robot>", MUJOCO_FREE) if floating else URDF)
        self.peer.dof_damping[:] = 0
        self.peer.dof_frictionloss[:] = 0
        self.peer.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.peer.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        self.data = mujoco.MjData(self.peer)
        self.there = convert.MuJoCo(self.model, self.peer)
        self.data.qpos[:], self.data.qvel[:] = self.there.q_to(self.q), self.there.v_to(self.q, self.v)
        self.data.qfrc_applied[:] = self.there.tau_to(self.q, self.tau)
        mujoco.mj_forward(self.peer, self.data)


def mujoco_state(s: MuJoCoState) -> None:
    near(s.there.q_from(s.data.qpos), s.q)
    near(s.there.v_from(s.q, s.data.qvel), s.v)
    if not s.floating:
        near(s.data.qvel, s.v)


def mujoco_mass(s: MuJoCoState) -> None:
    M = np.zeros((s.peer.nv, s.peer.nv))
    s.mujoco.mj_fullM(s.peer, s.data, M)
    near(s.there.matrix_to(s.q, s.model.mass(s.q)), M)
    near(s.model.mass(s.q), s.there.matrix_from(s.q, M))


def mujoco_bias(s: MuJoCoState) -> None:
    result = np.zeros(s.peer.nv)
    s.mujoco.mj_rne(s.peer, s.data, 0, result)
    near(s.there.bias_to(s.q, s.v), result)
    near(s.there.bias_to(s.q, s.v), s.data.qfrc_bias)
    plain = s.there.tau_to(s.q, s.model.bias_torque(s.q, s.v))
    assert np.allclose(plain, result) is not s.floating  # a moving free joint makes the difference


def mujoco_products(s: MuJoCoState) -> None:
    x, product, solution = np.random.default_rng(3).normal(size=s.peer.nv), np.zeros(s.peer.nv), np.zeros((1, s.peer.nv))
    s.mujoco.mj_mulM(s.peer, s.data, product, x)
    s.mujoco.mj_solveM(s.peer, s.data, solution, x[None])
    mine = s.there.v_from(s.q, x)
    near(s.there.v_to(s.q, s.model.mass_mul(s.q, mine)), product)
    near(s.there.v_to(s.q, s.model.minv_mul(s.q, mine)), solution[0])


def mujoco_integrate(s: MuJoCoState) -> None:
    dt = 0.1
    qpos, qvel = s.data.qpos.copy(), np.zeros(s.peer.nv)
    s.mujoco.mj_integratePos(s.peer, qpos, s.data.qvel, dt)
    ours = s.there.q_to(s.model.integrate(s.q, s.v, dt))
    s.mujoco.mj_differentiatePos(s.peer, qvel, 1.0, s.data.qpos, ours)
    difference = s.there.v_to(s.q, s.model.difference(s.q, s.there.q_from(ours)))
    if not s.floating:
        near(ours, qpos)
        near(difference, qvel)
        return
    near(ours[3:], qpos[3:])
    near(difference[3:], qvel[3:])
    near(qpos[:3], s.data.qpos[:3] + dt * s.data.qvel[:3])  # MuJoCo: a straight line; soa: a screw
    assert 1e-4 < np.abs(ours[:3] - qpos[:3]).max() < dt**2 * np.abs(s.v[:6]).max() ** 2
    straight = np.array(s.v)
    straight[:3] = 0
    qpos = s.data.qpos.copy()
    s.mujoco.mj_integratePos(s.peer, qpos, s.there.v_to(s.q, straight), dt)
    near(s.there.q_to(s.model.integrate(s.q, straight, dt)), qpos)  # without turning they agree


def mujoco_inverse(s: MuJoCoState) -> None:
    s.data.qacc[:] = s.there.a_to(s.q, s.v, s.a)
    s.mujoco.mj_inverse(s.peer, s.data)
    near(s.there.tau_to(s.q, s.model.rnea(s.q, s.v, s.a)), s.data.qfrc_inverse)


def mujoco_jacobian(s: MuJoCoState) -> None:
    linear, angular = np.zeros((3, s.peer.nv)), np.zeros((3, s.peer.nv))
    s.mujoco.mj_jacBody(s.peer, s.data, linear, angular, s.peer.body("b_slide_link").id)
    near(s.there.v_to(s.q, s.model.jacobian(s.q, "b_slide_link")), np.vstack([angular, linear]))


def mujoco_pose(s: MuJoCoState) -> None:
    body, pose = s.data.body("b_slide_link"), s.model.pose(s.q, "b_slide_link")
    near(pose[:3, 3], body.xpos)
    near(pose[:3, :3].ravel(), body.xmat)


def mujoco_energy(s: MuJoCoState) -> None:
    s.mujoco.mj_energyVel(s.peer, s.data)
    kinetic, potential = s.model.energy(s.q, s.v)
    near(kinetic, s.data.energy[1])
    near(potential - s.model.energy(s.model.neutral())[1], s.data.energy[0] - mujoco_neutral_potential(s))


def mujoco_neutral_potential(s: MuJoCoState) -> float:
    data = s.mujoco.MjData(s.peer)
    data.qpos[:] = s.there.q_to(s.model.neutral())
    s.mujoco.mj_forward(s.peer, data)
    return float(data.energy[0])


FROM_MUJOCO: dict[str, Callable[[MuJoCoState], None]] = {
    "data.qpos": mujoco_state,
    "mujoco.mj_fullM(model, data, M)": mujoco_mass,
    "mujoco.mj_rne(model, data, 0, result)": mujoco_bias,
    "mujoco.mj_forward": lambda s: near(s.there.a_to(s.q, s.v, s.model.aba(s.q, s.v, s.tau)), s.data.qacc),
    "mujoco.mj_inverse": mujoco_inverse,
    "mujoco.mj_mulM": mujoco_products,
    "mujoco.mj_jacBody(model, data, linear, angular, body)": mujoco_jacobian,
    "data.body(link).xpos": mujoco_pose,
    "data.energy": mujoco_energy,
    "mujoco.mj_integratePos": mujoco_integrate,
}


def rows(section: str) -> list[str]:
    """The first code of each row of a section's table."""
    if not PAGE.exists():
        pytest.skip("docs/python.md is not here: NO row was compared")
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [match.group(1) for match in re.finditer(r"^\| `([^`]*)`", text, re.MULTILINE)]


def test_each_row_is_checked() -> None:
    assert rows("From Pinocchio") == list(FROM_PINOCCHIO)
    assert rows("From MuJoCo") == list(FROM_MUJOCO)


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    file = tmp_path / "tree.urdf"
    file.write_text(URDF)
    return file


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("row", FROM_PINOCCHIO)
def test_pinocchio(row: str, floating: bool, urdf: Path) -> None:
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed: NO row of docs/python.md was compared (tests/python/peers.txt)")
    FROM_PINOCCHIO[row](PinocchioState(urdf, floating))


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("row", FROM_MUJOCO)
def test_mujoco(row: str, floating: bool, urdf: Path) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: NO row of docs/python.md was compared (tests/python/peers.txt)")
    FROM_MUJOCO[row](MuJoCoState(urdf, floating))


def test_conversions_of_many_states(urdf: Path) -> None:
    model = soa.Model.open(urdf, floating=True, ideal=True)
    rng = np.random.default_rng(5)
    q = np.array([model.random(rng) for _ in range(4)])
    v, a = rng.normal(size=(2, 4, model.nv))
    mujoco, pinocchio = convert.MuJoCo(model), convert.Pinocchio(model)
    mass = model.mass(q)
    for i in range(4):
        near(mujoco.a_to(q, v, a)[i], mujoco.a_to(q[i], v[i], a[i]))
        near(mujoco.matrix_to(q, mass)[i], mujoco.matrix_to(q[i], mass[i]))
        near(mujoco.bias_to(q, v)[i], mujoco.bias_to(q[i], v[i]))
    near(mujoco.a_from(q, v, mujoco.a_to(q, v, a)), a)
    near(mujoco.matrix_from(q, mujoco.matrix_to(q, mass)), mass)
    assert (pinocchio.q_from(pinocchio.q_to(q)) == q).all()
    assert (pinocchio.matrix_from(pinocchio.matrix_to(mass)) == mass).all()
    jacobian = np.array([model.jacobian(one, "b_slide_link") for one in q])
    assert (pinocchio.jacobian_from(pinocchio.jacobian_to(jacobian)) == jacobian).all()


def test_refusals() -> None:
    arm = soa.Model.open("arm7")
    with pytest.raises(ValueError, match="expected 7 numbers"):
        convert.Pinocchio(arm).q_to(np.zeros(6))
    with pytest.raises(TypeError, match="expected float64"):
        convert.swap_six(["a"] * 6)
    planar = next(model for model in (soa.Model.open(f"random-ideal:{seed}") for seed in range(1, 50))
                  if any(body.type == "planar" for body in model.bodies))
    for program in (convert.Pinocchio, convert.MuJoCo):
        with pytest.raises(ValueError, match="is not converted"):
            program(planar)

"""What a user of the package is told: fields of results, names of coordinates, messages about wrong names and arguments."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import warnings
from typing import Any

import numpy as np
import pytest
import soa
from soa.grasp import Contact, Grasp, GraspWarning

LINK = """<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
GRIPPER = ("""<robot name="gripper"><link name="world"/>
<joint name="leader" type="prismatic"><origin xyz="1 0 0"/><parent link="world"/><child link="left"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="2" effort="5" velocity="3"/></joint>
<joint name="follower" type="prismatic"><parent link="left"/><child link="right"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="5" velocity="3"/><mimic joint="leader" multiplier="-0.5" offset="0.125"/></joint>
<joint name="tool_joint" type="fixed"><parent link="right"/><child link="tool"/></joint>"""
           + LINK.format("left") + LINK.format("right") + LINK.format("tool") + "</robot>")


@pytest.fixture(scope="module")
def gripper() -> soa.Model:
    return soa.Model.from_urdf(GRIPPER)


def _dataclasses() -> list[type[Any]]:
    found = []
    for info in pkgutil.iter_modules(soa.__path__):
        if info.name in ("_core", "__main__"):
            continue
        module = importlib.import_module("soa." + info.name)
        found += [one for name, one in vars(module).items()
                  if inspect.isclass(one) and one.__module__ == module.__name__ and dataclasses.is_dataclass(one)
                  and not name.startswith("_")]
    return found


@pytest.mark.parametrize("kind", _dataclasses(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_fields_are_documented(kind: type[Any]) -> None:
    said = "\n".join(base.__doc__ or "" for base in kind.__mro__ if dataclasses.is_dataclass(base))
    missing = [field.name for field in dataclasses.fields(kind)
               if not field.name.startswith("_") and not re.search(rf"(?<!\w){re.escape(field.name)}(?!\w)", said)]
    assert not missing, f"help({kind.__name__}) does not say what {', '.join(missing)} is"


# --- names of coordinates -------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(name for name in soa.stock_models() if ":" not in name) + ["random:3", "chain:4"])
def test_names_of_coordinates(name: str) -> None:
    model = soa.Model.open(name)
    assert (len(model.q_names), len(model.v_names)) == (model.nq, model.nv)
    assert len(set(model.q_names)) == model.nq and len(set(model.v_names)) == model.nv
    for names, where in ((model.q_names, "q"), (model.v_names, "v")):
        for body in model.bodies:
            assert all(one.split(".")[0] == body.joint or one.startswith(body.joint) for one in names[getattr(body, where)])


def test_names_of_coordinates_are_those_of_records() -> None:
    parts = [{"name": name, "model": name, "limits": False} for name in ("quadruped", "arm7")]
    record = soa.Scenario.from_dict({"name": "names", "duration": 0.01, "parts": parts}).run()
    for part in parts:
        model = soa.Model.open(str(part["model"]))
        assert {f"q.{part['name']}.{name}" for name in model.q_names} <= set(record.signals)
        assert {f"v.{part['name']}.{name}" for name in model.v_names} <= set(record.signals)


def test_followers_name_their_leader(gripper: soa.Model) -> None:
    follower, leader = gripper.joint("follower"), gripper.joint("leader")
    assert (follower.leader, follower.mimic_ratio, follower.mimic_offset) == ("leader", -0.5, 0.125)
    assert follower.mimic == leader.number and leader.leader is None
    q = gripper.neutral()
    q[leader.q] = 0.4
    assert q[follower.q].size == 0 and gripper.q_names == gripper.v_names == ["leader"]
    moved = gripper.pose(q, "right")[0, 3] - gripper.pose(q, "left")[0, 3]
    assert moved == pytest.approx(follower.mimic_ratio * 0.4 + follower.mimic_offset, abs=1e-15)


def test_mimic_joints_where_they_are_not_possible(gripper: soa.Model) -> None:
    calls = (lambda: gripper.nu_from_v(gripper.neutral(), np.zeros(1)),
             lambda: gripper.mass_factor_mul(gripper.neutral(), "L", np.zeros(1)))
    for call in calls:
        with pytest.raises(soa.InputError, match=r"mimic joints \('follower'\) are not in this form; open the model ideal=True"):
            call()


def test_a_root_link_that_is_called_world(gripper: soa.Model) -> None:
    assert gripper.frame_names[:2] == ["world", "world"] and gripper.find_frame("world") == 1
    assert np.array_equal(gripper.pose(gripper.neutral(), 0), gripper.pose(gripper.neutral(), 1))
    floating = soa.Model.from_urdf(GRIPPER, floating=True)
    assert floating.frame("world").body == 1 and floating.frame(0).body == 0


# --- arrays of properties -------------------------------------------------------------------------


def test_properties_are_read_only() -> None:
    arm = soa.Model.open("arm7")
    for name in ("gravity", "lower", "upper", "max_speed", "max_effort"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(arm, name)[0] = 1.0
    world = soa.Scenario.open("slope").world()
    shape = soa.collision.Shape.hull(np.vstack([np.zeros(3), np.eye(3)]))
    body, frame = arm.body(2), arm.frame("link7")
    for array in (world.q, world.v, world.tau, shape.vertices, body.com, body.axis, body.inertia, body.placement, frame.placement):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    world.set_state(world.q + 0.0, world.v)
    with pytest.raises(AttributeError, match=r"model\.with_gravity"):
        arm.gravity = np.zeros(3)
    assert arm.with_gravity(2 * arm.gravity).gravity.tolist() == [0, 0, 2 * -9.81]


# --- messages -------------------------------------------------------------------------------------


def test_unknown_names(gripper: soa.Model) -> None:
    q = gripper.neutral()
    for call, said in ((lambda: gripper.joint("leadr"), "did you mean 'leader'"),
                       (lambda: gripper.joint("left"), "'left' is a link; its joint is 'leader'"),
                       (lambda: gripper.joint("tool_joint"), "no joint 'tool_joint' that moves"),
                       (lambda: gripper.body("rihgt"), "did you mean 'right'"),
                       (lambda: gripper.frame("follower"), "'follower' is a joint; its link is 'right'"),
                       (lambda: gripper.pose(q, "follower"), "'follower' is a joint; its link is 'right'"),
                       (lambda: gripper.pose(q, "tol"), "did you mean 'tool'")):
        with pytest.raises(soa.UnknownNameError, match=said) as caught:
            call()
        assert isinstance(caught.value, KeyError) and isinstance(caught.value, soa.InputError)
        assert caught.value.status == "SOA_E_NAME" and not str(caught.value).startswith(("'", '"'))


def test_wrenches_that_are_none() -> None:
    arm = soa.Model.open("arm7")
    q = arm.neutral()
    given: list[Any] = [arm, 5, {}, {"link7": np.zeros(6)}, "link7", soa.Wrench("link7")]
    for wrenches in given:
        for call in (lambda w: arm.aba(q, None, None, wrenches=w), lambda w: arm.joint_forces(q, wrenches=w)):
            with pytest.raises(TypeError, match="wrenches is a (single soa.Wrench|[A-Za-z]+, expected a list of soa.Wrench)"):
                call(wrenches)
    for wrong in ([5], ["link7"]):
        for call in (lambda w: arm.aba(q, None, None, wrenches=w), lambda w: arm.joint_forces(q, wrenches=w)):
            with pytest.raises(TypeError, match="expected a soa.Wrench"):
                call(wrong)
    assert arm.aba(q, None, None, wrenches=[]).shape == arm.aba(q, None, None, wrenches=()).shape == (7,)


def test_texts_and_files_of_urdf() -> None:
    with pytest.raises(soa.InputError, match=r"Model\.from_urdf\(text\)"):
        soa.Model.open(GRIPPER)
    for text in ("file.urdf", ""):
        with pytest.raises(soa.InputError, match=r"Model\.open\(file\)"):
            soa.Model.from_urdf(text)


# --- grasps that are not closed -------------------------------------------------------------------


def _both_hands() -> tuple[soa.Model, Grasp, Any, list[str]]:
    both = soa.Model.open("two-puma-object")
    grasp = Grasp(both)
    for number in (6, 12):
        grasp.add(Contact("rigid", both.body(number).link, both.body(18).link))
    arms = [body.joint for body in both.bodies[:12]]
    return both, grasp, both.neutral(), arms


def test_an_open_grasp_is_warned_of() -> None:
    both, grasp, q, _ = _both_hands()
    with pytest.warns(GraspWarning, match=r"contact 1 \('right_link6' with 'object'\) is open by 0\.65"):
        answer = grasp.fd(q)
    gaps = [np.linalg.norm(both.pose(q, f"{side}_link6")[:3, 3] - both.pose(q, "object")[:3, 3]) for side in ("left", "right")]
    assert 0.1 < answer.gap <= max(gaps) + 1e-9 and answer.rate == 0
    grasp.switch(1, False)
    with pytest.warns(GraspWarning, match="contact 0 "):
        assert grasp.fd(q).gap < answer.gap


def test_a_grasp_that_comes_apart_is_warned_of() -> None:
    both, grasp, q, _ = _both_hands()
    grasp.remove(1)
    closing = soa.Constraints(both)
    grasp.constrain(closing)
    q = closing.assemble(q + 0.1)
    v = np.zeros(both.nv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        still = grasp.fd(q, v)
    assert still.gap < 1e-6 and still.rate == 0
    v[both.joint(both.body(16).joint).v] = 0.5
    with pytest.warns(GraspWarning, match="contact 0 .* comes apart at"):
        moving = grasp.fd(q, v)
    assert moving.rate > 0.1
    together = closing.project(q, v)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grasp.fd(together.q, together.v).rate < 1e-6


def test_frames_that_are_not_on_the_object() -> None:
    _, grasp, q, _ = _both_hands()
    for call in (lambda: grasp.map(q, "left_link6"), lambda: grasp.internal_basis(q, "left_link6"),
                 lambda: grasp.distribute(q, "left_link6", np.zeros(6)), lambda: grasp.object_state("left_link6", q)):
        with pytest.raises(soa.InputError, match="'left_link6', expected a frame of the object .* 'object'"):
            call()


def test_signals_that_a_record_does_not_have() -> None:
    record = soa.Scenario.open("slope").run(until=0.02)
    with pytest.raises(KeyError, match=r"no signal matches 'zzz\*'; it has 'q\.rough\.root\.x', .*Record\.signals lists all"):
        record.match("zzz*")
    with pytest.raises(soa.SoaError, match=r"the record has no signal 'q\.smoth\.root\.x'; did you mean 'q\.smooth\.root\.x'"):
        record["q.smoth.root.x"]


# --- expressions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Mass.inv() T", "Mass @ T", "Mass.T"])
def test_expressions_as_other_languages_write_them(text: str) -> None:
    arm = soa.Model.open("arm7", ideal=True)
    with pytest.raises(soa.InputError, match=r"inv\(Mass\) T"):
        arm.op(text, q=arm.neutral())


@pytest.mark.parametrize(("text", "same"), [("Mass^-1", "inv(Mass)"), ("Mass^{-1} T", "inv(Mass) T"),
                                            ("phi^T", "phi'"), ("phi^*", "phi'")])
def test_expressions_as_papers_write_them(text: str, same: str) -> None:
    arm = soa.Model.open("arm7", ideal=True)
    q, tau = arm.neutral() + 0.3, np.arange(7.0)
    assert str(soa.operators.parse(text)) == same
    np.testing.assert_array_equal(arm.op(text, q=q, tau=tau), arm.op(same, q=q, tau=tau))
    if text == "Mass^-1":
        assert np.allclose(arm.op(text, q=q), arm.minv(q))


def test_arrays_are_no_factors_of_expressions() -> None:
    from soa.operators import Mass

    arm, x = soa.Model.open("arm7", ideal=True), np.arange(7.0)
    calls: tuple[Any, ...] = (lambda: Mass @ x, lambda: x @ Mass, lambda: Mass * x, lambda: x * Mass)
    for call in calls:
        with pytest.raises(TypeError, match=r"'Mass' [@*] ndarray: .*model\.op\(\"\(Mass\) x\", q=q, x=array\)"):
            call()
    assert np.allclose(arm.op("(Mass) x", q=arm.neutral(), x=x), arm.mass(arm.neutral()) @ x)


def test_the_default_tip_is_the_last_leaf() -> None:
    dog = soa.Model.open("quadruped", ideal=True)
    q, force = dog.neutral(), np.arange(1.0, 7.0)
    parents = {body.parent for body in dog.bodies}
    leaf = [body for body in dog.bodies if body.number not in parents][-1]
    found = dog.op("H phi B f0", q=q, f0=force)
    assert np.abs(found - dog.op("H phi B f0", q=q, f0=force, tips=[leaf.link])).max() == 0
    assert np.abs(found - dog.jacobian(q, leaf.link, "body").T @ force).max() < 1e-12 * np.abs(found).max()


def test_effective_inertia_of_a_held_object() -> None:
    """The recipe of docs/python.md against M_o + sum X' Lambda X, from Jacobians and the inverse mass matrix."""
    seed = 46
    print("seed", seed)
    rng = np.random.default_rng(seed)
    both = soa.Model.open("two-puma-object", ideal=True)
    q = both.neutral() + rng.uniform(0.2, 0.6, both.nq)
    grasp, hands = Grasp(both), ("left_link6", "right_link6")
    for hand in hands:
        place = soa.spatial.inverse(both.pose(q, "object")) @ both.pose(q, hand)
        grasp.add(Contact("rigid", hand, "object", place_object=place))

    def acceleration(wrench: Any) -> Any:
        found = grasp.fd(q, wrenches=[soa.Wrench("object", wrench)])
        assert found.gap < 1e-12
        return both.acceleration(q, None, found.qdd, "object")

    rest = acceleration(np.zeros(6))
    effective = np.linalg.inv(np.column_stack([acceleration(unit) - rest for unit in np.eye(6)]))
    expected = np.zeros((6, 6))
    for frame in ("object", *hands):
        J = both.jacobian(q, frame)
        arm = soa.pose(both.pose(q, frame)[:3, 3] - both.pose(q, "object")[:3, 3])
        X = soa.spatial.motion_to_child(arm, np.eye(6)).T
        expected += X.T @ np.linalg.inv(J @ both.minv(q) @ J.T) @ X
    assert np.abs(effective - expected).max() < 1e-8 * np.abs(expected).max()


def test_values_of_warnings_are_short_and_have_a_unit() -> None:
    document = {"name": "shakes", "duration": 1, "control": {"rate": 500}, "parts": [{"name": "arm", "model": "arm7"}]}
    arm = soa.Scenario.from_dict(document).world().model
    goal = arm.neutral() + 0.2
    control = soa.Control(arm)
    with pytest.warns(soa.ScenarioWarning, match="chatter: arm.joint7") as said:
        soa.Scenario.from_dict(document).run(
            controller=lambda t, q, v: control.joint_pd(q, v, goal, stiffness=500.0, damping=50.0))
    lines = [str(one.message) for one in said if str(one.message).startswith("chatter: arm.joint7")]
    assert lines
    for line in lines:
        assert re.match(r"chatter: arm\.joint7: [0-9.e+]{1,9} N m; torque jumps by [0-9.e+]{1,9} N m from tick to tick", line), line

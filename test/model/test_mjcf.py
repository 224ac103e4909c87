"""Models read from MJCF against MuJoCo itself: mass matrix, bias force, inverse dynamics, poses, constraints."""

import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.compare import relative

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.readers import read_equalities
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError, DescriptionWarning

mujoco = pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")

mujoco.set_mju_user_warning(lambda text: None)  # or MuJoCo writes a file

SOLID = "<geom type='box' size='.1 .2 .05' pos='.1 0 .05' euler='20 30 40' mass='1.5'/>"
ARM = f"""
<mujoco model="arm"><option gravity="0.5 -1 -9"/><worldbody>
  <body name="base" pos="0.1 0.2 0.3" euler="10 20 30">{SOLID}
    <body name="upper" pos="0 0 0.2" euler="0 40 0">
      <joint name="shoulder" axis="0 1 1" pos="0.05 0 -0.1" ref="30" range="-90 120" armature="0.1" damping="2"/>{SOLID}
      <body name="fore" pos="0.4 0 0"><joint name="slide" type="slide" axis="1 0 1" ref="0.2" frictionloss="3"/>
        <joint name="wrist" axis="0 0 1" pos="0.1 0.1 0" actuatorfrcrange="-7 7"/>
        <joint name="roll" axis="1 0 0"/>{SOLID}
        <site name="tip" pos="0.1 0.2 0.3" euler="30 0 0"/>
        <body pos="0 0.1 0" euler="0 0 90">{SOLID}</body>
      </body>
    </body>
  </body></worldbody></mujoco>"""
HUMANOID = f"""
<mujoco><compiler angle="radian"/><worldbody>
  <body name="torso" pos="0 0 1.5"><freejoint/>{SOLID}
    <inertial pos="0.1 0.2 0" mass="4" fullinertia="0.5 0.6 0.7 0.1 0.02 -0.1"/>
    <body name="left" pos="0 0.3 0.1"><joint type="ball" name="hip" pos="0 0 0.2" armature="0.3"/>{SOLID}
      <body name="foot" pos="0 0 -0.5"><joint axis="0 1 0" pos="0 0 0.1" ref="0.3"/>{SOLID}</body>
    </body>
  </body>
  <body name="ball" pos="1 0 1"><joint type="ball"/>{SOLID}</body></worldbody></mujoco>"""
EQUALITIES = """
<equality>
  <connect name="held" body1="fore" body2="world" anchor="0.1 0 0.2"/>
  <weld name="glued" body1="fore" body2="base" anchor="0.1 0.2 0.3" relpose="0.1 0.2 0.3 0.8 0.6 0 0"/>
  <weld name="sites" site1="tip" site2="mark"/>
  <joint name="gear" joint1="shoulder" joint2="roll" polycoef="0.1 -2 0 0 0"/>
  <joint name="fixed" joint1="wrist" polycoef="0.4 0 0 0 0"/>
  <joint name="curve" joint1="wrist" joint2="roll" polycoef="0 1 2 0 0"/>
  <connect name="off" body1="fore" body2="world" anchor="0 0 0" active="false"/>
</equality></mujoco>"""
CLOSED = ARM.replace("</worldbody></mujoco>", "<site name='mark' pos='1 0 0' euler='0 0 50'/></worldbody>") + EQUALITIES
ASSETS = Path(spec.origin).parent / "envs/mujoco/assets" if (spec := find_spec("gymnasium")) else None
MISSING = pytest.param("", marks=pytest.mark.skip(reason="gymnasium, whose models are read, is not installed"))
SHIPPED = sorted(ASSETS.glob("*.xml")) if ASSETS else [MISSING]


def quietly(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        return ld.Model.from_mjcf(source)


class Both:
    """A model and MuJoCo's, at one state, in which MuJoCo's free joints begin with position and linear velocity."""

    def __init__(self, source, rng):
        self.model = quietly(source).with_joint_terms(armature=True)
        path = Path(source) if not str(source).lstrip().startswith("<") else None
        self.mj = mujoco.MjModel.from_xml_path(str(path)) if path else mujoco.MjModel.from_xml_string(source)
        self.mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.mj.opt.density = self.mj.opt.viscosity = 0.0
        self.mj.dof_damping[:] = self.mj.jnt_stiffness[:] = 0.0
        self.data = mujoco.MjData(self.mj)
        self.q = self.model.random(rng)
        self.qd, self.qdd = rng.normal(size=(2, self.model.nv))
        qpos = np.array(self.data.qpos)
        turn = np.eye(self.model.nv)  # our rates are turn @ MuJoCo's
        for joint in self.model.joints:
            mine = self.q[joint.q_slice]
            start = self.mj.jnt_qposadr[self.mj.joint(joint.index).id]
            if joint.kind == "free":
                qpos[start : start + 7] = [*mine[4:], mine[3], *mine[:3]]
                pose = ld.frame_pose(self.model, self.q, joint.body)
                block = np.zeros((6, 6))
                block[:3, 3:], block[3:, :3] = np.eye(3), pose[:3, :3].T
                turn[joint.v_slice, joint.v_slice] = block
            elif joint.kind == "spherical":
                qpos[start : start + 4] = [mine[3], *mine[:3]]
            else:
                qpos[start] = mine[0]
        self.turn = turn
        self.data.qpos[:], self.data.qvel[:] = qpos, np.linalg.solve(turn, self.qd)
        mujoco.mj_forward(self.mj, self.data)

    def inverse(self, qacc):
        self.data.qacc[:] = qacc
        mujoco.mj_inverse(self.mj, self.data)
        return np.linalg.solve(self.turn.T, self.data.qfrc_inverse)

    def acceleration(self):
        """MuJoCo's qacc for our qdd: the linear part of a free joint is that of the origin, along the world's axes."""
        qacc = np.linalg.solve(self.turn, self.qdd)
        for joint in self.model.joints:
            if joint.kind == "free":
                w, v = self.qd[joint.v_slice][:3], self.qd[joint.v_slice][3:]
                rotation = ld.frame_pose(self.model, self.q, joint.body)[:3, :3]
                qacc[joint.v_slice.start : joint.v_slice.start + 3] += rotation @ np.cross(w, v)
        return qacc


@pytest.mark.parametrize("source", [ARM, HUMANOID, *SHIPPED], ids=lambda s: s.stem if isinstance(s, Path) else s[9:30])
def test_the_same_as_mujoco(source, rng):
    for _ in range(3):
        both = Both(source, rng)
        model, mj, data = both.model, both.mj, both.data
        assert (model.nq, model.nv) == (mj.nq, mj.nv)
        M = np.zeros((mj.nv, mj.nv))
        mujoco.mj_fullM(mj, data, M)
        inverse_turn = np.linalg.inv(both.turn)
        assert relative(ld.mass_matrix(model, both.q), inverse_turn.T @ M @ inverse_turn) < 1e-12
        tau = ld.inverse_dynamics(model, both.q, both.qd, both.qdd)
        assert relative(tau, both.inverse(both.acceleration())) < 1e-11
        if all(joint.kind != "free" for joint in model.joints):
            assert relative(ld.bias_force(model, both.q, both.qd), data.qfrc_bias) < 1e-11
        for k in range(mj.nbody):
            name = mj.body(k).name or f"body{k}"
            pose = ld.frame_pose(model, both.q, name)
            assert relative(pose[:3, 3], data.xpos[k]) < 1e-12 and relative(pose[:3, :3].ravel(), data.xmat[k]) < 1e-12
        for k in range(mj.nsite):
            assert relative(ld.frame_pose(model, both.q, mj.site(k).name)[:3, 3], data.site_xpos[k]) < 1e-12


def test_limits_and_losses():
    model = ld.Model.from_mjcf(
        mujoco.MjModel.from_xml_string(ARM.replace("<geom ", "<geom contype='0' conaffinity='0' "))
    )
    assert model.joint_names == ("shoulder", "slide", "wrist", "roll")
    limits = model.limits
    assert np.allclose(limits.lower[0], -np.pi / 2) and np.allclose(limits.upper[0], 2 * np.pi / 3)
    assert limits.armature.tolist() == [0.1, 0, 0, 0] and limits.damping.tolist() == [2, 0, 0, 0]
    assert limits.friction.tolist() == [0, 3, 0, 0] and limits.effort.tolist() == [np.inf, np.inf, 7, np.inf]
    assert model.gravity.tolist() == [0.5, -1, -9]


def test_constraints_are_those_of_mujoco(rng):
    """By how far they are off: both measure it at the same points, and rotations are zero together."""
    model = quietly(CLOSED)
    with pytest.warns(DescriptionWarning, match="'curve' has powers of a coordinate; 'off' is switched off"):
        whole = ld.ConstraintSet.from_mjcf(model, CLOSED)
    with pytest.warns(DescriptionWarning):
        found = {made.name: made for made in read_equalities(CLOSED)}
    mj = mujoco.MjModel.from_xml_string(CLOSED)
    data = mujoco.MjData(mj)
    assert list(found) == ["held", "glued", "sites", "gear", "fixed"]
    for _ in range(3):
        q = data.qpos[:] = model.random(rng)
        mujoco.mj_forward(mj, data)
        equality = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        for k, made in enumerate(found.values()):
            ours = ld.constraint_error(model, ld.ConstraintSet(model, [made]), q)
            theirs = data.efc_pos[equality & (data.efc_id == k)]
            assert len(ours) == len(theirs) == {"held": 3, "glued": 6, "sites": 6}.get(made.name, 1)
            place = np.linalg.norm(ours[:3]), np.linalg.norm(theirs[:3])
            assert np.isclose(*place, rtol=1e-12), made.name
        assert len(ld.constraint_error(model, whole, q)) == 17


def test_a_weld_keeps_the_orientation_that_mujoco_keeps(rng):
    """At a configuration where MuJoCo finds no error there is none, and a turn away from it is one."""
    weld = "<equality><weld name='w' body1='fore' body2='base' anchor='.1 .2 .3'/></equality>"  # as they are at qpos0
    text = ARM.replace("</mujoco>", weld + "</mujoco>")
    model, mj = quietly(text), mujoco.MjModel.from_xml_string(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        welded = ld.ConstraintSet.from_mjcf(model, text)
    assert np.abs(ld.constraint_error(model, welded, mj.qpos0)).max() < 1e-12
    assert np.abs(ld.constraint_error(model, welded, [*mj.qpos0[:3], 0.1])).max() > 0.05


def test_what_is_left_out_is_named():
    text = ARM.replace("</worldbody>", "</worldbody><actuator><motor name='motor' joint='roll'/></actuator>")
    with pytest.warns(DescriptionWarning, match="model: actuators 'motor'; contacts"):
        ld.Model.from_mjcf(text)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("<mujoco><nonsense/></mujoco>", "MuJoCo says: .*nonsense"),
        ("/no/such/file.xml", "no file '/no/such/file.xml'"),
        ("<mujoco>\ud800</mujoco>", "character 9 is half of a pair"),
        (3, "XML text, bytes, a path or an MjModel expected, got int"),
    ],
)
def test_what_is_refused(source, says):
    with pytest.raises(DescriptionError, match=says):
        ld.Model.from_mjcf(source)


def test_a_file_is_read(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    assert quietly(tmp_path / "arm.xml").joint_names == quietly(ARM).joint_names


def test_a_model_without_joints_is_read():
    model = quietly("<mujoco><worldbody><body name='still' pos='1 2 3'><geom size='.1'/></body></worldbody></mujoco>")
    assert model.nv == 0 and model.frame("still").placement[:3, 3].tolist() == [1, 2, 3]


def test_written_as_urdf_it_is_the_same_robot(rng):
    model = quietly(ARM)
    again = ld.Model.from_urdf(model.to_urdf(without_armature=True), gravity=model.gravity)
    assert again.joint_names == model.joint_names
    q, qd, qdd = model.random(rng), *rng.normal(size=(2, model.nv))
    assert relative(ld.inverse_dynamics(again, q, qd, qdd), ld.inverse_dynamics(model, q, qd, qdd)) < 1e-13


def test_what_mujoco_warns_of_is_a_warning_and_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    handler = mujoco.get_mju_user_warning()
    with pytest.warns(DescriptionWarning, match="MuJoCo says: .*settotalmass"):
        ld.Model.from_mjcf(ARM.replace("<option", "<compiler settotalmass='3'/><option"))
    assert not list(tmp_path.iterdir()) and mujoco.get_mju_user_warning() == handler


def test_rotors_of_a_ball_are_those_of_mujoco(rng):
    text = f"<mujoco><worldbody><body><joint type='ball' name='b' armature='.7'/>{SOLID}</body></worldbody></mujoco>"
    model, compiled = quietly(text).with_joint_terms(armature=True), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(compiled)
    q, qd, qdd = model.random(rng), *rng.normal(size=(2, 3))
    data.qpos[:], data.qvel[:], data.qacc[:] = np.roll(q, 1), qd, qdd
    mujoco.mj_inverse(compiled, data)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), data.qfrc_inverse) < 1e-12
    with pytest.raises(DescriptionError, match="joint 'b': armature that differs"):
        model.with_armature([0.1, 0.2, 0.1])


def test_rotors_and_damping_of_actuators_are_those_of_mujoco(rng):
    text = (
        f"<mujoco><worldbody><body><joint name='h'/>{SOLID}<body pos='.3 0 0'>{SOLID}<joint name='s' type='slide' "
        f"axis='0 1 0' armature='.2' damping='.1'/><body>{SOLID}<joint name='b' type='ball'/></body></body></body>"
        "</worldbody><actuator><motor joint='h' gear='3' armature='.5' damping='.7'/><motor jointinparent='s' gear='-2'"
        " armature='.3'/><motor joint='s' armature='.1' damping='.2'/>{}</actuator></mujoco>"
    )
    try:
        compiled = mujoco.MjModel.from_xml_string(text.format(""))
    except ValueError:
        pytest.skip("this MuJoCo has no armature of actuators")
    compiled.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    with pytest.warns(DescriptionWarning, match="armature of actuators 'odd'; actuators"):
        model = ld.Model.from_mjcf(text.format("<motor name='odd' joint='b' gear='1 2 0' armature='1'/>"))
    model, data = model.with_joint_terms(armature=True, damping=True), mujoco.MjData(compiled)
    q, qd, qdd = model.random(rng), *rng.normal(size=(2, 5))
    data.qpos[:], data.qvel[:], data.qacc[:] = [*q[:2], *np.roll(q[2:], 1)], qd, qdd
    mujoco.mj_inverse(compiled, data)
    assert relative(ld.inverse_dynamics(model, q, qd, qdd), data.qfrc_inverse) < 1e-12


@pytest.mark.parametrize("head", ["\n <?xml version='1.0'?>", "<!-- x -->\n<?xml version='1.0'?>", "\ufeff \n<?xml?>"])
def test_a_declaration_need_not_be_first(tmp_path, head):
    """In texts, files and what they include, with meshes in a folder beside."""
    body = "<body><joint/><geom type='mesh' mesh='m'/></body>"
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    (tmp_path / "in.xml").write_text(f"{head}<mujocoinclude>{body}</mujocoinclude>")
    (tmp_path / "out.xml").write_text(
        f"{head}<mujoco><compiler meshdir='meshes'/><asset><mesh name='m' file='m.obj'/></asset><worldbody>"
        "<include file='in.xml'/></worldbody></mujoco>"
    )
    assert quietly(tmp_path / "out.xml").nv == 1
    text = head + ARM.strip()
    assert quietly(text).nv == quietly(text.encode()).nv == 4

"""MuJoCo as the machine: a servo hexapod with springy rods, its motors driven by planned angles and torques."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics import SpatialInertia
from lie_dynamics_ros.lie_dynamics.stewart import StewartTracker, semi_regular_rotary_platform
from lie_dynamics_ros.lie_dynamics.stewart.command import CommandLimits, PlatformLoad, plan_motion, smooth_path

mujoco = pytest.importorskip("mujoco", reason="the simulator that judges, mujoco, is not installed")

STEP, ROTOR, ROD = 1e-4, 3e-4, 2e5  # [s, kg m^2, N/m]
MASS, CENTER, INERTIA = 0.4, [0.004, -0.003, 0.015], [3e-4, 4e-4, 5e-4]


def machine(platform):
    """Horns without weight on motors with rotors, rods as springs without mass, a free platform."""
    horns, motors, rods = "", "", ""
    for k, (c, z, x) in enumerate(zip(platform.base_points, platform.axes, platform.frames[..., 0], strict=True)):
        tip = platform.horns[k] * x
        at = lambda v: " ".join(map(repr, v.tolist()))  # noqa: E731
        horns += f"""<body pos="{at(c)}"><joint name="m{k}" axis="{at(z)}" armature="{ROTOR}"/>
            <inertial pos="0 0 0" mass="1e-9" diaginertia="1e-12 1e-12 1e-12"/>
            <site name="a{k}" pos="{at(tip)}"/></body>"""
        motors += f'<motor joint="m{k}"/>'
        rods += f"""<spatial name="r{k}" stiffness="{ROD}" damping="100" springlength="{platform.rods[k]}">
            <site site="a{k}"/><site site="b{k}"/></spatial>"""
    sites = "".join(f'<site name="b{k}" pos="{x} {y} {z}"/>' for k, (x, y, z) in enumerate(platform.platform_points))
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><option timestep="{STEP}" gravity="0 0 -9.81" integrator="implicitfast"/>
        <worldbody>{horns}<body name="top"><freejoint/>{sites}<inertial pos="{CENTER[0]} {CENTER[1]} {CENTER[2]}"
            mass="{MASS}" diaginertia="{INERTIA[0]} {INERTIA[1]} {INERTIA[2]}"/></body></worldbody>
        <tendon>{rods}</tendon><actuator>{motors}</actuator></mujoco>""")
    data = mujoco.MjData(model)
    T = platform.home_pose
    turn = Rotation.from_matrix(T[:3, :3]).as_quat()
    data.qpos[:] = [*platform.home_angles, *T[:3, 3], turn[3], *turn[:3]]
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("pattern", ["coplanar", "radial"])
def test_planned_torques_move_the_machine_and_its_angles_tell_the_pose(pattern):
    platform = semi_regular_rotary_platform(
        0.062, 0.05, 0.2269, 0.2, 0.02, 0.11, pattern=pattern, home_angles=0.2, angle_limits=(-1.2, 1.2)
    )
    home = platform.home_pose
    poses = [home]
    for shift, turn in (([4e-3, 2e-3, 3e-3], [0.1, 0.05, 0.1]), ([-3e-3, 3e-3, -2e-3], [-0.05, 0.1, -0.1])):
        there = home.copy()
        there[:3, 3] += shift
        there[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
        poses.append(there)
    limits = CommandLimits(platform, rate=4.0, acceleration=50.0, condition=50.0)
    load = PlatformLoad(SpatialInertia(MASS, np.array(CENTER), np.diag(INERTIA)))
    motion = plan_motion(smooth_path(np.stack(poses)), limits, load)
    model, data = machine(platform)
    tracker = StewartTracker(platform, home)
    plan = motion.at(np.arange(0.0, motion.duration, STEP))
    wrong, size, apart = [], [], []
    for k in range(len(plan.lengths)):
        sent = plan.forces[k] + ROTOR * plan.accelerations[k]
        more = 20.0 * (plan.lengths[k] - data.qpos[:6]) + 0.1 * (plan.rates[k] - data.qvel[:6])
        data.ctrl[:] = sent + more
        mujoco.mj_step(model, data)
        wrong.append(np.linalg.norm(more))
        size.append(np.linalg.norm(sent))
        if k % 20 == 0:
            found = tracker.update(data.qpos[:6].copy())
            top = Rotation.from_quat([*data.qpos[10:13], data.qpos[9]]).as_matrix()
            apart.append(np.abs(found.pose[:3, 3] - data.qpos[6:9]).max())
            apart.append(0.05 * np.abs(found.pose[:3, :3] - top).max())
            assert found.continued
    assert np.ptp(plan.lengths, axis=0).max() > 0.2 and np.ptp(size) > 0.2 * size[0]
    assert max(apart) < 5e-5  # rods give by 1 N over their stiffness, 5 um, several times over on the platform
    late = len(wrong) // 20  # the springs first take up the weight
    assert np.median(wrong[late:]) < 0.05 * np.median(size) and max(wrong[late:]) < 0.2 * max(size)
    assert np.abs(data.qpos[:6] - plan.lengths[-1]).max() < 2e-3

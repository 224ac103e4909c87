"""Mechanisms of MJCF as machines that MuJoCo moves: its own poses and efforts against those that the motors alone tell.

MuJoCo's loops are springs and give way: how far is measured, too.
"""

import numpy as np
import pytest

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.lie import so3

mujoco = pytest.importorskip("mujoco", reason="the oracle, mujoco, is not installed")

# Loops as stiff as the step of integration lets them be.
HEAD = """<mujoco><compiler angle="radian" autolimits="true"/>
<option timestep="1e-4" integrator="implicitfast" iterations="200" tolerance="1e-14"><flag contact="disable"/></option>
<default><equality solref="0.0004 1" solimp="0.9999 0.9999 0.001"/></default>"""
ROD = '<inertial pos="{c} 0 0" mass="{m}" diaginertia="{i} {j} {j}"/>'


def rod(length, mass):
    return ROD.format(c=0.5 * length, m=mass, i=1e-4 * mass, j=mass * length**2 / 12)


SPIN = 5.0
"""Of rods on ball joints, about themselves [rad/s]."""

FIVE_BAR = f"""{HEAD}<worldbody>
  <body name="left" pos="-0.1 0 0"><joint name="left" axis="0 -1 0"/>{rod(0.25, 0.5)}
    <body name="left_rod" pos="0.25 0 0"><joint name="left_elbow" axis="0 -1 0"/>{rod(0.35, 0.3)}
      <site name="tip" pos="0.35 0 0"/></body></body>
  <body name="right" pos="0.1 0 0"><joint name="right" axis="0 -1 0"/>{rod(0.25, 0.5)}
    <body name="right_rod" pos="0.25 0 0"><joint name="right_elbow" axis="0 -1 0"/>{rod(0.35, 0.3)}
      <site name="end" pos="0.35 0 0"/></body></body>
</worldbody><equality><connect name="hinge" site1="tip" site2="end"/></equality></mujoco>"""


def delta(ball=False):
    """Three arms, six rods on universal joints, or on ball joints at both ends, a platform that floats."""
    arms, sites, ends = "", "", ""
    for k in range(3):
        turn = 2.0 * np.pi * k / 3.0
        rods = ""
        for side, y in (("left", 0.05), ("right", -0.05)):
            name = f"rod_{k}_{side}"
            joints = f'<joint name="{name}_a" axis="0 1 0"/><joint name="{name}_b" axis="0 0 1"/>'
            if ball:
                joints = f'<joint name="{name}" type="ball"/>'
            rods += (
                f'<body name="{name}" pos="0.3 {y} 0">{joints}{rod(0.8, 0.05)}'
                f'<site name="{name}" pos="0.8 0 0"/></body>'
            )
            x = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ [0.05, y]
            sites += f'<site name="{name}_end" pos="{x[0]:.17g} {x[1]:.17g} 0"/>'
            ends += f'<connect name="{name}" site1="{name}_end" site2="{name}"/>'
        c, s = np.cos(turn), np.sin(turn)
        arms += (
            f'<body name="arm_{k}" pos="{0.2 * c:.17g} {0.2 * s:.17g} 0" euler="0 0 {turn:.17g}">'
            f'<joint name="arm_{k}" axis="0 1 0"/>{rod(0.3, 0.5)}{rods}</body>'
        )
    plate = '<inertial pos="0 0 0" mass="0.3" diaginertia="2e-4 2e-4 4e-4"/>'
    return (
        f'{HEAD}<worldbody><body name="platform"><freejoint name="platform"/>{plate}{sites}</body>{arms}</worldbody>'
        f"<equality>{ends}</equality></mujoco>"
    )


MACHINES = {
    "five-bar": (
        FIVE_BAR,
        ("left", "right"),
        "tip",
        {"left": 2.2, "left_elbow": -1.4, "right": 0.94, "right_elbow": 1.4},
    ),
    "delta": (delta(), ("arm_0", "arm_1", "arm_2"), "platform", {"arm_0": 0.3, "arm_1": 0.3, "arm_2": 0.3}),
    "ball rods": (delta(True), ("arm_0", "arm_1", "arm_2"), "platform", {"arm_0": 0.3, "arm_1": 0.3, "arm_2": 0.3}),
}


def started(name):
    """The machine in MuJoCo, and what was read of it, with a closed configuration."""
    text, motors, frame, guess = MACHINES[name]
    machine = mujoco.MjModel.from_xml_string(text)
    model = ld.Model.from_mjcf(text)
    constraints = ld.ConstraintSet.from_mjcf(model, text)
    q = model.neutral()
    for joint, position in guess.items():
        q[model.joint(joint).q_slice] = position
    if name != "five-bar":
        q[model.joint("platform").q_slice.stop - 1] = -0.8
        for joint in model.joints:
            if joint.name.endswith("_a") or joint.kind == "spherical":
                q[joint.q_slice] = [0.0, np.sin(0.9), 0.0, np.cos(0.9)] if joint.kind == "spherical" else 1.8
    found = ld.assemble(model, constraints, q, held=motors)
    assert found.converged
    return machine, model, constraints, found.q, motors, frame


def swung(name, seconds=0.12, every=20):
    """Yield states of a machine that its motors swing: positions, rates, accelerations, efforts, pose, gap."""
    machine, model, _, q, motors, frame = started(name)
    data = mujoco.MjData(machine)
    order = [mujoco.mj_name2id(machine, mujoco.mjtObj.mjOBJ_JOINT, joint.name) for joint in model.joints]
    for joint, number in zip(model.joints, order, strict=True):
        part, place = q[joint.q_slice], machine.jnt_qposadr[number]
        if joint.kind == "free":  # position, then w, x, y, z
            data.qpos[place : place + 7] = [*part[4:], part[3], *part[:3]]
        elif joint.kind == "spherical":  # the rod spins about itself from the start
            data.qpos[place : place + 4] = [part[3], *part[:3]]
            data.qvel[machine.jnt_dofadr[number]] = SPIN
        else:
            data.qpos[place] = part[0]
    at = [mujoco.mj_name2id(machine, mujoco.mjtObj.mjOBJ_JOINT, motor) for motor in motors]
    places, dofs = machine.jnt_qposadr[at], machine.jnt_dofadr[at]
    start, steps = data.qpos[places].copy(), round(seconds / machine.opt.timestep)
    for k in range(steps):
        t = k * machine.opt.timestep
        wish = start + 0.2 * (1.0 - np.cos(12.0 * t + 0.5 * np.arange(len(places)) * np.sin(6.0 * t)))
        tau = 400.0 * (wish - data.qpos[places]) - 6.0 * data.qvel[dofs]
        data.qfrc_applied[dofs] = tau
        mujoco.mj_forward(machine, data)
        if k % every == 0:
            site = mujoco.mj_name2id(machine, mujoco.mjtObj.mjOBJ_SITE, frame)
            body = mujoco.mj_name2id(machine, mujoco.mjtObj.mjOBJ_BODY, frame)
            pose = (data.site_xpos[site], data.site_xmat[site]) if site >= 0 else (data.xpos[body], data.xmat[body])
            gap = np.abs(data.efc_pos[: data.ne]).max()
            motion = data.qpos[places].copy(), data.qvel[dofs].copy(), data.qacc[dofs].copy()
            yield *motion, tau, np.copy(pose[0]), np.copy(pose[1]).reshape(3, 3), gap
        mujoco.mj_step(machine, data)


@pytest.mark.parametrize("name", MACHINES)
def test_poses_and_efforts_are_those_of_the_machine_in_the_file(name):
    _, model, constraints, q, motors, frame = started(name)
    tracker = ld.ClosedLoopTracker(model, constraints, q, motors)
    assert sum(idle.count for idle in tracker.idle) == (6 if name == "ball rods" else 0)
    places = [model.joint(motor).v_slice.start for motor in motors]
    largest, moved, gaps, errors = 0.0, 0.0, [], []
    start = q[[model.joint(motor).q_slice.start for motor in motors]]
    for y, yd, ydd, tau, position, rotation, gap in swung(name):
        state = tracker.update(y).require()
        pose = state.pose(frame)
        gaps.append(gap)
        assert np.abs(pose[:3, 3] - position).max() < 1e-6
        assert np.linalg.norm(so3.log(pose[:3, :3].T @ rotation)) < 1e-5
        rates = state.rates(yd)
        qdd = state.accelerations(rates, ydd)
        found = ld.constrained_inverse_dynamics(model, constraints, state.q, rates, qdd, actuated=motors).tau[places]
        errors.append(np.abs(found - tau).max())
        largest, moved = max(largest, np.abs(tau).max()), max(moved, np.abs(y - start).max())
    assert max(gaps) < 1e-6, "the loops of the machine give way"
    assert max(errors) < 5e-3 * largest
    assert moved > 0.1

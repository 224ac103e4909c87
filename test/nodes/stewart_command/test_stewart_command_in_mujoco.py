"""MuJoCo as the machine: forces of stewart_command, with the platform's mass, are what its motors need.

The platform is a free body, its legs are tendons without mass between sites, with a motor each that pushes along it.
The motors add a stiff controller of lengths to the forces that the node sends; it must have nothing to do.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from stewart_command_runs import HOME, PLATFORM, Run, core_of, pose, to

mujoco = pytest.importorskip("mujoco", reason="the simulator that judges, mujoco, is not installed")

STEP = 1e-4
MASS, CENTER, INERTIA = 40.0, [0.03, -0.02, 0.06], [0.9, 0.05, -0.04, 1.1, 0.06, 1.6]  # xx, xy, xz, yy, yz, zz
GRAVITY = [1.5, -1.0, -9.5]
STIFFNESS, DAMPING = MASS / 6.0 * 50.0**2, MASS / 6.0 * 100.0  # of errors: 50 rad/s


class Machine:
    """A platform that hangs on six motors."""

    def __init__(self):
        xx, xy, xz, yy, yz, zz = INERTIA
        sites = lambda points, name: "".join(  # noqa: E731
            f'<site name="{name}{k}" pos="{x} {y} {z}"/>' for k, (x, y, z) in enumerate(points)
        )
        legs = "".join(f'<spatial name="{k}"><site site="a{k}"/><site site="b{k}"/></spatial>' for k in range(6))
        motors = "".join(f'<motor tendon="{k}"/>' for k in range(6))
        model = mujoco.MjModel.from_xml_string(f"""
            <mujoco><option timestep="{STEP}" gravity="{" ".join(map(str, GRAVITY))}" integrator="RK4"/>
            <worldbody>{sites(PLATFORM.base_points, "a")}
              <body><freejoint/>{sites(PLATFORM.platform_points, "b")}
                <inertial pos="{" ".join(map(str, CENTER))}" mass="{MASS}" fullinertia="{xx} {yy} {zz} {xy} {xz} {yz}"/>
              </body></worldbody>
            <tendon>{legs}</tendon><actuator>{motors}</actuator></mujoco>""")
        self._model, self.data = model, mujoco.MjData(model)
        turn = Rotation.from_matrix(HOME[:3, :3]).as_quat()
        self.data.qpos[:] = [*HOME[:3, 3], turn[3], *turn[:3]]
        mujoco.mj_forward(model, self.data)

    def drive(self, before, after):
        """Follow set points from one to the next; return what the motors push with, and what of it was not sent."""
        data = self.data
        more = STIFFNESS * (before.lengths - data.ten_length) + DAMPING * (before.rates - data.ten_velocity)
        pushed = 0.5 * (before.forces + after.forces) + more
        data.ctrl[:] = pushed
        mujoco.mj_step(self._model, data)
        mujoco.mj_forward(self._model, data)
        return pushed, more


def judge(targets, **values):
    """Follow targets, one under way to the other; return the largest force."""
    run = Run(core_of(rate=1.0 / STEP, mass=MASS, center_of_mass=CENTER, inertia=INERTIA, gravity=GRAVITY,
                      max_rate=1.0, max_acceleration=8.0, **values))  # fmt: skip
    machine, asked, rows = Machine(), list(targets), []
    points = run.core.step(STEP)
    while asked or run.core.phase == "following":
        if asked and len(rows) % 2400 == 0:
            run.ask(asked.pop(0))
        run.tick()
        before, points = points, run.points
        pushed, more = machine.drive(before, points)
        rows.append([np.linalg.norm(more), np.linalg.norm(pushed), np.abs(pushed).max()])
    assert not run.core.refusal and np.ptp(np.array(run.lengths), axis=0).max() > 0.03
    assert np.abs(machine.data.ten_length - run.lengths[-1]).max() < 5e-5
    wrong, size, largest = np.array(rows).T
    assert np.ptp(size) > 0.1 * size[0]  # it is not the weight alone
    assert (wrong < 5e-3 * size).all()
    return largest.max()


def test_forces_are_those_of_the_motors_and_limits_of_force_are_kept_there():
    tool = np.eye(4)
    tool[:3, 3] = [0.1, 0.0, 0.3]
    here, there = (
        pose([0.04, -0.02, 0.03], [0.1, 0.1, -0.1]) @ tool,
        pose([-0.03, 0.03, -0.02], [-0.1, 0.0, 0.2]) @ tool,
    )
    goals = [to(here), to(there), to(HOME @ tool, here, shape="smooth")]
    values = {"tool_pose": [0.1, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0]}
    free = judge(goals, **values)
    assert judge(goals, max_force=0.8 * free, **values) < 0.8 * free

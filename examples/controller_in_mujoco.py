"""The controller of the node computed_torque moves an arm in MuJoCo, without ROS: ten lines close the loop.

MuJoCo's arm has rotors, friction and a load that the controller is not told of.
"""

from pathlib import Path

import mujoco
import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros import Controller

URDF = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
START = np.array([0.0, 0.0, 0.0, -1.7, 0.0, 1.8, 0.5])
GOAL = START + np.array([0.6, 0.4, -0.5, 0.5, 0.4, -0.3, 0.8])


def main():
    spec = mujoco.MjSpec.from_file(str(URDF))
    spec.compiler.fusestatic, spec.option.timestep = False, 0.001
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    load = spec.body("panda_link7").add_body(name="load", pos=[0.0, 0.0, 0.15], mass=0.3, explicitinertial=True)
    load.inertia = [4e-4] * 3
    arm = spec.compile()
    arm.dof_armature, arm.dof_frictionloss = 0.1, 0.3
    data = mujoco.MjData(arm)
    data.qpos = START

    controller = Controller(URDF, mode="passivity_based")
    errors = []
    while data.time < 3.0:
        out = controller.update(data.time, data.qpos, data.qvel)
        if not errors:
            controller.follow([2.0], [GOAL], [np.zeros(7)])
        data.qfrc_applied = out.effort
        mujoco.mj_step(arm, data)
        errors.append(np.abs(out.desired_position - data.qpos).max())
    print(f"{controller.phase}: {controller.reason}")
    print(f"largest error on the way {1e3 * max(errors):.0f} mrad, at the end {1e3 * errors[-1]:.0f} mrad")

    controller.stop("the example is over")
    effort = controller.end(data.time, data.qpos, data.qvel)
    print("last efforts [N m]", np.array2string(effort, precision=1, suppress_small=True))


if __name__ == "__main__":
    main()

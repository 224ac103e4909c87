"""Two arms on a torso that lifts, turns and leans, and Pinocchio's whole robot to hold parts of it against."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import lie_dynamics_ros

LIFTING = (Path(lie_dynamics_ros.__file__).parent / "urdf" / "two_pandas.urdf").read_text()
CARRIERS = ("torso_lift", "torso_turn", "torso_lean")
LEFT = tuple(f"left_panda_joint{k}" for k in range(1, 8))
RIGHT = tuple(f"right_panda_joint{k}" for k in range(1, 8))
_INERTIAL = (
    '<inertial><origin xyz="0.02 0.01 0.1"/><mass value="6"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.08" iyz="0" izz="0.05"/></inertial>'
)
_MORE = f"""
  <link name="column">{_INERTIAL}</link><link name="waist">{_INERTIAL}</link>
  <joint name="torso_turn" type="continuous"><parent link="column"/><child link="waist"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0.1" rpy="0.1 0 0.2"/></joint>
  <joint name="torso_lean" type="revolute"><parent link="waist"/><child link="torso"/><axis xyz="0 2 1"/>
    <origin xyz="0 0.05 0.1"/><limit lower="0.1" upper="1.5" velocity="2" effort="2000"/></joint>
</robot>"""
LEANING = LIFTING.replace('<child link="torso"/>', '<child link="column"/>').replace("</robot>", _MORE)
LEANING = LEANING.replace('<link name="stand"/>', f'<link name="stand">{_INERTIAL}</link>')


class Whole:
    """The whole robot by Pinocchio, on a base that is fixed or free; joints by name, angular parts first."""

    def __init__(self, pin, text: str, free: bool = False) -> None:
        self.pin = pin
        self.model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(text)
        self.data = self.model.createData()
        self.q, self.v, self.a = pin.neutral(self.model), np.zeros(self.model.nv), np.zeros(self.model.nv)

    def at(self, name: str) -> int:
        """Place of a joint among the velocities."""
        return int(self.model.joints[self.model.getJointId(name)].idx_v)

    def move(self, names, position, velocity, acceleration=None) -> None:
        """Set joints by name."""
        for k, name in enumerate(names):
            joint = self.model.joints[self.model.getJointId(name)]
            turns = joint.nq == 2
            value = (np.cos(position[k]), np.sin(position[k])) if turns else position[k]
            self.q[joint.idx_q : joint.idx_q + joint.nq] = value
            self.v[joint.idx_v] = velocity[k]
            self.a[joint.idx_v] = 0.0 if acceleration is None else acceleration[k]

    def move_base(self, quaternion, place, twist, rate) -> None:
        """Set the free base: quaternion x, y, z, w, and twists (angular, linear) in its own frame."""
        self.q[:7] = [*place, *quaternion]
        self.v[:6], self.a[:6] = [*twist[3:], *twist[:3]], [*rate[3:], *rate[:3]]

    def efforts(self, names, wrenches=None) -> np.ndarray:
        """Efforts of joints for the motion that was set; `base_wrench` is that on the free base."""
        forces = self.pin.StdVec_Force()
        for _ in range(self.model.njoints):
            forces.append(self.pin.Force.Zero())
        for link, (moment, force) in (wrenches or {}).items():
            frame = self.model.frames[self.model.getFrameId(link)]
            forces[frame.parentJoint] += frame.placement.act(self.pin.Force(np.array(force), np.array(moment)))
        found = self.pin.rnea(self.model, self.data, self.q, self.v, self.a, forces)
        self.base_wrench = np.array([*found[3:6], *found[:3]])
        return np.array([found[self.at(name)] for name in names])

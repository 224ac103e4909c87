"""Mechanisms in MuJoCo with the controller of their motors, in lock step."""

from dataclasses import replace

import numpy as np
from support.control.control_loop import ControlLoop
from support.cores import options
from support.mechanisms.mujoco_mechanism import MujocoMechanism, believed

from lie_dynamics_ros.core.mechanism import MechanismParameters, TrackedMechanism
from lie_dynamics_ros.lie_dynamics import mechanism
from lie_dynamics_ros.nodes.computed_torque.core import ComputedTorqueCore

DEFAULTS = MechanismParameters.defaults()


def tracked(made, **values) -> TrackedMechanism:
    """What parameters say of a mechanism whose motors are measured."""
    given = {"measured_joints": list(made.actuated), "start_positions": made.q.tolist(), "joint_prefix": "", **values}
    return TrackedMechanism.from_values(made.model, made.constraints, {**DEFAULTS, **given})


def controller(made, loops=None, friction=None, **values) -> ComputedTorqueCore:
    """A core for the motors of a mechanism."""
    values.setdefault("gravity", [*made.model.gravity])
    core = ComputedTorqueCore(made.model, options(**values), friction, loops or tracked(made))
    core.start()
    return core


class MotorMachine(MujocoMechanism):
    """As `ControlLoop` wants an arm, at rest under the efforts `held` until the first answer acts."""

    q, qd = MujocoMechanism.positions, MujocoMechanism.rates

    def gravity(self, _) -> np.ndarray:
        return self.held

    held = 0.0

    def advance(self, effort, steps: int = 1) -> None:
        """Go on under efforts."""
        self.data.qfrc_applied[self.model.jnt_dofadr[self._motors]] = effort
        for _ in range(steps):
            super().advance()


def loop_of(name: str, rate: float, delay: float, step: float = 2.5e-4, dimensions=None, **values) -> ControlLoop:
    """A mechanism by name at home, at rest, and its controller, which knows what MuJoCo's least bodies weigh."""
    made = mechanism(name, **(dimensions or {}))
    made = replace(made, model=believed(made.model))
    machine, core = MotorMachine(made, step), controller(made, **values)
    machine.held = core.dynamics.gravity_force(core.dynamics.neutral())
    return ControlLoop(machine, core, rate, delay)

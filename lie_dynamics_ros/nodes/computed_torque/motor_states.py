"""States of a closed robot as the controller of its motors sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.errors import KINDS, MessageError
from ...core.mechanism import MechanismFollower, TrackedMechanism
from ...core.robot_state import RobotState
from ...lie_dynamics import JointFriction, Model, MotorDynamics
from ...lie_dynamics.arrays import all_finite
from ...lie_dynamics.tracking import TrackingStatus

#: Proven steps from one state to the next, some 5 us each: deltas take ten for a milliradian, others one.
MOST_STEPS = 200


class MotorStates:
    """Makes states of the motors of those of the measured joints; `robot` stands where the mechanism was followed to.

    `lost` is why it could not be followed in the last state; empty where it could.
    """

    def __init__(self, model: Model, mechanism: TrackedMechanism) -> None:
        self.robot = MotorDynamics(model, mechanism.constraints, mechanism.start, mechanism.motors, idle=mechanism.idle)
        self.follower, self.lost = MechanismFollower(model, mechanism, MOST_STEPS), ""
        self._motors = np.array([model.joint(name).q_slice.start for name in mechanism.motors])
        self._places = np.array([model.joint(name).v_slice.start for name in mechanism.motors])
        self.same = mechanism.motors == mechanism.measured

    def friction(self, friction: JointFriction | None) -> JointFriction | None:
        """Return what the motors lose, of what all joints do."""
        if friction is None:
            return None
        return JointFriction(**{name: getattr(friction, name)[..., self._places] for name in friction.__dict__})

    def forget(self) -> None:
        """Forget where the mechanism is: the next state is followed from the start."""
        self.follower.forget()
        self.robot.stand(self.follower.mechanism.start)
        self.lost = ""

    def at(self, state: RobotState) -> RobotState:
        """Return the state of the motors, and let the robot stand there.

        Where the mechanism cannot be followed it stands where that could be last. Raises MessageError where no state
        could be followed since the start, or rates are not finite.
        """
        follower, robot, begun = self.follower, self.robot, self.follower.begun
        tracked = follower.follow(state)
        self.lost = "" if tracked.status is TrackingStatus.TRACKED else tracked.message
        if not tracked.valid:
            if not begun:
                raise MessageError(KINDS[tracked.status], f"from the start: {tracked.message}")
            q = robot.q
            robot.stand(q, lost=True)
            if self.same:
                return replace(state, position=follower.unwound(state.position))
            return replace(state, position=q[self._motors], velocity=np.zeros(len(self._motors)))
        robot.stand(tracked.q)
        velocity = state.velocity if self.same else tracked.rates(state.velocity)[self._places]
        if not all_finite(velocity):
            raise MessageError("not finite", "the state leads to rates that are not finite")
        return replace(state, position=tracked.q[self._motors], velocity=velocity)

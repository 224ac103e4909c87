"""Control of a tool's pose by the node computed_torque: targets in, wanted efforts out; no ROS in here."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ...core.errors import MessageError
from ...core.turns import Turns
from ...lie_dynamics import (
    JointFriction,
    LieDynamicsError,
    Model,
    bias_force,
    frame_pose,
    inverse_dynamics,
    mass_matrix,
)
from ...lie_dynamics.arrays import Array, all_finite
from ...lie_dynamics.control import PoseReference, SoftLimits, TaskTorque, impedance, operational_space
from ...lie_dynamics.control.limits import MotionBounds
from ...lie_dynamics.control.task_space.operational_space import ImpedanceTorque, stiffened
from ...lie_dynamics.lie import so3
from ...lie_dynamics.texts import quoted
from .gains import Gains
from .laws import LawEffort
from .tool_options import AXES, TOOL_MODES, ToolOptions

TARGETS = "targets"  # name under which refused targets are counted
FARTHEST = 1e6  # beyond this positions and speeds of targets are taken for mistakes [m, rad/s, m/s]
USED_SPEED = 0.5  # part of their velocity limits that joints move at for the tool's desired motion
ALLOWED_SPEED = 0.8  # part of their velocity limits beyond which joints are not accelerated
LEAD = 0.15  # part of the error limit by which the desired pose leads the tool before it waits
NEARER = 0.25  # part of its distance from the tool that the way ahead must take off for it to go on, where it is far
USUAL_LIMIT = 0.5  # taken for the error limit there where none is given [rad, m]
#: Weight of the tool's motion over that of joints where limits hold joints, and lever of turns [m/rad].
TOOL_FIRST, LEVER = 100.0, 0.3
LONGEST_PERIOD = 1.0  # time for which the desired pose goes on at once: what is beyond was no period [s]
HALF_TURN = 3.0  # angle beyond which the way back is not clear any more [rad]
#: Part of what is new in unexplained accelerations that a state adds: a load is known within some five of them.
NEW_SHARE = 0.3
LONGEST_KNOWN = 0.05  # longest period of states by which they are found [s]


class UnexplainedAcceleration:
    """Accelerations beyond those commanded, by contacts and unknown loads, smoothed: tau_ext = M times `value` (n,).

    A spring that holds a load commands a large acceleration, though nothing moves. Limits of motion hold for the sum.
    """

    def __init__(self, size: int) -> None:
        self._zero = np.zeros(size)
        self.forget()

    def forget(self) -> None:
        """Begin anew, with nothing unexplained."""
        self.value = self._zero
        self._velocity: Array | None = None
        self._commanded = [self._zero, self._zero]  # by the last answer, and the one before

    def update(self, period: float, velocity: Array, delay: float) -> None:
        """Take in the velocity of a state (n,), ``period`` [s] after the last; efforts act ``delay`` periods late."""
        last, self._velocity = self._velocity, velocity
        if last is None or not 0.0 < period <= LONGEST_KNOWN:
            return
        late = min(max(delay, 0.0), 1.0)
        acted = (1.0 - late) * self._commanded[0] + late * self._commanded[1]
        self.value = self.value + NEW_SHARE * ((velocity - last) / period - acted - self.value)

    def note(self, commanded: Array) -> None:
        """Take note of the acceleration (n,) that an answer commands."""
        self._commanded = [commanded, self._commanded[0]]


@dataclass(slots=True)
class TargetState:
    """Targets of the tool as they came last."""

    pose: Array | None = None  # where the tool is wanted at the last state (4, 4)
    new: tuple[int, Array] | None = None  # time [ns] and pose of a target that came since
    rates: Array = field(default_factory=lambda: np.zeros(6))  # of the target (6,)
    change: Array = field(default_factory=lambda: np.zeros(6))  # of these (6,)
    in_tool: bool = False  # whether these are in the axes of the tool
    stamp: int = 0  # of these [ns]
    since: int = 0  # since when they count [ns]


class ToolTargets:
    """Takes in targets of the tool's pose and twist; twists count no more after a timeout [s], 0 for never."""

    def __init__(self, model: Model, frame: str, timeout: float) -> None:
        self._model, self._frame, self._timeout, self.state = model, frame, timeout, TargetState()

    def aim(self, frame: str, pose: Array, stamp: int) -> None:
        """Take in a target pose (4, 4) in a frame fixed to the base, of a time [ns]; raises MessageError."""
        base = self._base(frame)
        if base is None:
            raise MessageError(
                TARGETS, f"a target pose in frame {quoted(frame)}; expected one that is fixed to the robot's base"
            )
        if not np.abs(pose[:3, 3]).max() < FARTHEST:
            raise MessageError(TARGETS, f"a target pose at {pose[:3, 3].tolist()}, out of anybody's reach")
        self.state.new = stamp, base @ pose

    def drive(self, frame: str, twist: Array, stamp: int, now: int) -> None:
        """Take in a target twist (6,), of the tool's origin and in the axes of a frame; raises MessageError.

        It counts from its stamp [ns], or from now where that lies ahead: a clock that is wrong keeps no tool moving.
        """
        if not (all_finite(twist) and np.abs(twist).max() < FARTHEST):
            raise MessageError(TARGETS, f"a target twist of {twist.tolist()}; expected finite, moderate numbers")
        base, s = self._base(frame), self.state
        in_tool = base is None and frame.removeprefix("/") == self._frame
        if base is None and not in_tool:
            raise MessageError(
                TARGETS,
                f"a target twist in the axes of {quoted(frame)}; expected the tool {quoted(self._frame)}, or a frame "
                "that is fixed to the robot's base",
            )
        rates = twist if base is None else np.concatenate([base[:3, :3] @ twist[:3], base[:3, :3] @ twist[3:]])
        since = stamp - s.stamp
        known = s.stamp and in_tool == s.in_tool and 0 < since <= (1e9 * self._timeout or since)
        s.change = (rates - s.rates) / (since * 1e-9) if known else np.zeros(6)
        s.rates, s.in_tool, s.stamp, s.since = rates, in_tool, stamp, min(stamp, now)

    def _base(self, frame: str) -> Array | None:
        """Return the pose of a frame that is fixed to the base, or None where it is no such frame."""
        name = frame.removeprefix("/")
        if not name:
            return np.eye(4)
        found = self._model.frame(name) if name in self._model.frames else None
        return found.placement if found is not None and found.body < 0 else None

    def update(self, reference: PoseReference, stamp: int, period: float) -> tuple[Array, Array]:
        """Aim the desired pose at the target of a time [ns], ``period`` [s] later; return rates and their change."""
        s, timeout = self.state, self._timeout
        rates, change = s.rates, s.change
        if timeout and stamp - s.since > 1e9 * timeout:
            rates = change = np.zeros(6)
        elif s.in_tool:
            R = reference.pose[:3, :3]
            rates, change = ((R @ x.reshape(2, 3, 1)).ravel() for x in (rates, change))
        since, moved = period, bool(rates.any())
        if s.new is not None:
            begun, s.pose = s.new
            since = min(max(0.0, (stamp - begun) * 1e-9), timeout or math.inf)
            s.new, moved = None, True
        if s.pose is not None and moved:
            target = np.array(s.pose)
            target[:3, :3] = so3.exp(since * rates[:3]) @ target[:3, :3]
            target[:3, 3] += since * rates[3:]
            s.pose = target
            reference.aim(target)
        return rates, change


class ToolControl:
    """State and laws of modes operational_space and impedance.

    Errors of the tool's pose beyond ``limit`` stop the robot [rad, m], 0 for none; joints have limits of velocity,
    infinite for none, and soft ones of position. Friction is compensated at the joints' desired velocities: those that
    move the tool as desired, without feedback.

    Attributes
    ----------
    frame, base : str
        The tool, and the link that poses are seen from.
    share, pace, damped : float, float, int
        `ImpedanceTorque.share`, `TaskTorque.pace` and `TaskTorque.damped` of the last answer.
    reference : PoseReference or None
        The desired pose; None before the first state.
    rate, acceleration : ndarray, shape (n,)
        Desired joint motion of the last answer.
    scaling : float
        Part of its speed that the desired pose is allowed, 0 to 1.
    held : bool
        Whether limits of joints changed what the last answer requested.
    """

    def __init__(
        self,
        model: Model,
        options: ToolOptions,
        limit: float,
        fastest: Array,
        soft: SoftLimits,
        usual: str,
        friction: JointFriction | None,
    ) -> None:
        options.check_model(model)
        self.model, self.options, self._limit = model, options, limit
        self.frame, self._numbers = options.tool_link or usual, options.axis_numbers
        frames = model.frames.items()  # a root link "world" is the world, and links fixed to it may lie elsewhere
        roots = (name for name, found in frames if found.body < 0 and np.array_equal(found.placement, np.eye(4)))
        self.base = next((name for name in roots if name != "world"), "world")
        self._axes: Literal["body", "world"] = "world" if options.tool_axes == AXES[0] else "body"
        self.reference: PoseReference | None = None
        self._posture = np.array(options.posture) if len(options.posture) > 1 else None  # None: the next position
        self.targets = ToolTargets(model, self.frame, options.target_timeout)
        self._task: TaskTorque | None = None  # of the last answer
        self._anew = False  # whether the desired pose is to go on from where the tool is
        self._speed = USED_SPEED * fastest
        self._lead = LEAD * (limit or USUAL_LIMIT)
        self._stops = MotionBounds(soft.lower, soft.upper, np.full(model.nv, np.inf))
        self._bounds = MotionBounds(soft.lower, soft.upper, ALLOWED_SPEED * fastest)
        self._friction, self._turns = friction, Turns.of(model, model.joint_names)
        self._unexplained, self._period = UnexplainedAcceleration(model.nv), 0.0
        self.share, self.pace, self.damped, self.scaling, self.held = 1.0, 1.0, 0, 1.0, False
        self.rate = self.acceleration = np.zeros(model.nv)

    def adopt(self, other: ToolControl, same_mode: bool = True) -> bool:
        """Go on where another one was, with other options; False where that controls another frame.

        In another mode the desired pose goes on from where the tool is in the next state, and so does the posture.
        """
        if other.frame != self.frame or other.reference is None:
            return False
        self.reference, self.targets.state = copy.deepcopy(other.reference), replace(other.targets.state)
        self._anew = not same_mode
        self.rate, self.acceleration = other.rate, other.acceleration
        self.reference.set_limits(self.options.speed, self.options.acceleration)
        if same_mode and len(self.options.posture) == len(other.options.posture) == 1:
            self._posture = other._posture
        return True

    def forget(self) -> None:
        """Forget targets; begin anew, at rest, where the tool is in the next state."""
        self.reference, self.pace = None, 1.0
        self._unexplained.forget()
        self.rate = self.acceleration = np.zeros(self.model.nv)
        self.rest()

    def _start(self, q: Array) -> PoseReference:
        pose = frame_pose(self.model, q, self.frame)
        self.reference = PoseReference(pose, self.options.speed, self.options.acceleration)
        if len(self.options.posture) == 1:
            self._posture = None
        return self.reference

    def rest(self) -> None:
        """Forget targets and come to rest."""
        self.targets.state = TargetState(in_tool=self.targets.state.in_tool)
        if self.reference is not None:
            self.reference.aim(None)

    @property
    def moving(self) -> bool:
        """Whether the desired pose moves."""
        return self.reference is not None and self.reference.moving

    def follow(self, stamp: int, period: float, q: Array) -> str:
        """Move the desired pose on to the time of a state [ns], ``period`` [s] after the one before.

        Return why the robot is to be stopped; empty where it is not.
        """
        self._period = period
        try:
            reference, pose = self.reference or self._start(q), frame_pose(self.model, q, self.frame)
            if self._anew:
                reference.pose, self._anew = pose.copy(), False
            rates, change = self.targets.update(reference, stamp, period)
            patience = _patience(self.targets.state.pose, reference.pose, pose, rates, self._lead)
            pace = min(self.pace, self.scaling, patience)
            reference.advance(min(period, LONGEST_PERIOD), rates, change, pace)
        except LieDynamicsError as error:
            return f"the tool has no finite desired pose: {error}"
        away, turned, limit = math.dist(pose[:3, 3], reference.pose[:3, 3]), _angle(pose, reference.pose), self._limit
        if turned > HALF_TURN or (limit and turned * self.share > limit):  # the same moment with a softer spring
            return f"tool {self.frame} is turned {turned:.3g} rad from its desired pose"
        if limit and away > limit:
            return f"tool {self.frame} is {away:.3g} m from its desired pose, farther than error_limit"
        return ""

    # The law.

    def torque(self, mode: str, reference: PoseReference, q: Array, qd: Array, gains: Gains) -> TaskTorque:
        """Return the output of a mode at a reference, within no limits of joints; raises LieDynamicsError."""
        g, options, M = gains.tool, self.options, mass_matrix(self.model, q)
        stiffness, ratio, _ = self._numbers
        if self._posture is None:
            self._posture = np.array(q)
        posture = self._posture + self._turns.between(self._posture, q) if self._turns.any else self._posture
        motion = reference.pose, reference.twist, reference.acceleration
        common: dict[str, Any] = {
            "null_torque": M @ (-g.posture_kd * qd), "null_spring": M @ (g.posture_kp * (posture - q)),
            "axes": self._axes, "speed": self._speed, "singular": options.singularity, "yielding": gains.slide,
        }  # fmt: skip
        if mode == TOOL_MODES[0]:
            task = operational_space(self.model, q, qd, self.frame, *motion, kp=g.kp, kd=g.kd, lever=LEVER, **common)
            return stiffened(
                task, reference.pose, stiffness=stiffness, damping_ratio=ratio, fastest=g.fastest, kp=g.kp,
                axes=self._axes,
            )  # fmt: skip
        common |= {"stiffness": stiffness, "damping_ratio": ratio, "fastest": g.fastest}
        return impedance(self.model, q, qd, self.frame, *motion, **common)

    def wanted(self, mode: str, q: Array, qd: Array, gains: Gains, lead: float) -> LawEffort:
        """Return the output of a mode, for an effort that acts ``lead`` [s] after the state.

        The state is taken as the desired motion changes it until then.
        """
        reference, x, v = self.reference, q, qd
        assert reference is not None
        if lead and reference.moving:
            reference = reference.ahead(lead)
            x = q + lead * self.rate + (0.5 * lead * lead) * self.acceleration
            v = qd + lead * self.acceleration
        tool = self.torque(mode, reference, x, v, gains)
        self.pace, self.damped, self._task = tool.pace, tool.damped, tool
        self.rate, self.acceleration = tool.task_rate, tool.task_acceleration
        self.share = tool.share if isinstance(tool, ImpedanceTorque) else 1.0
        self._unexplained.update(self._period, qd, gains.delay)
        allowed = self._allowed(tool, x, v, gains)
        self._unexplained.note(allowed)
        effort, friction, self.held = tool.torque, None, allowed is not tool.acceleration
        if self.held:
            effort = effort + tool.mass @ (allowed - tool.acceleration)
        if self._friction is not None:
            friction = self._friction.force(self.rate, inverse_dynamics(self.model, x, self.rate, self.acceleration))
            effort = effort + friction
        return LawEffort(effort, qd, np.zeros(len(q)), effort - bias_force(self.model, q, qd), friction)

    def _allowed(self, tool: TaskTorque, x: Array, v: Array, gains: Gains) -> Array:
        """Return the acceleration within limits of joints; the one that is wanted itself where that is.

        Limits hold for how joints move, which what touches has a part in: a spring that holds a load moves nothing.

        An impedance meets limits of position as stops, by which it stays passive. Then its posture yields to the tool,
        and all motion to limits of velocity: as stops these let a posture that falls fast turn the tool.
        """
        limits, others = (x, v, gains.slide, gains.slow), self._unexplained.value
        wanted = total = tool.acceleration + others
        if isinstance(tool, ImpedanceTorque):
            free = wanted - tool.pull
            first = self._stops.nearest(lambda: tool.mass, free, *limits)
            wanted = wanted if first is free else first + tool.pull
        found = self._bounds.nearest(lambda: _metric(tool), wanted, *limits)
        return tool.acceleration if found is total else found - others

    @property
    def shares(self) -> Array:
        """Part of the stiffness requested along each axis of `tool_axes` that the last answer had (6,), turning first.

        As far as the tool gives way along the same axis: a load is held at the stiffness requested times this.
        """
        if not isinstance(self._task, ImpedanceTorque) or self.reference is None:
            return np.ones(6)
        turn = self.reference.pose[:3, :3] if self._axes == "world" else np.eye(3)
        yields = np.linalg.pinv(self._task.spring, hermitian=True)
        along = np.concatenate([np.diagonal(turn @ yields[k : k + 3, k : k + 3] @ turn.T) for k in (0, 3)])
        return np.asarray(np.minimum(1.0, 1.0 / (self._numbers[0] * along)))

    def loop(self, mode: str, q: Array, gains: Gains) -> tuple[Array, Array]:
        """Return Kp and Kd (n, n) of the loop around a pose at rest."""
        tool = self.torque(mode, self.reference or self._start(q), q, np.zeros(len(q)), gains)
        Kp = tool.stiffness + gains.tool.posture_kp * tool.spring_space @ tool.mass
        rate = gains.tool.posture_kd + tool.given_up * gains.slide
        return Kp, tool.damping + rate * tool.null_space @ tool.mass


def _metric(tool: TaskTorque) -> Array:
    """Return in what metric accelerations under limits of joints are nearest to those wanted.

    In that of the mass a posture pushes the tool away where a limit holds a joint, and a tool beyond reach turns far.
    The tool counts as far as it is controlled.
    """
    mobility = tool.jacobian @ tool.weighted
    scale = np.array([LEVER**2] * 3 + [1.0] * 3)
    total = float(scale @ np.diagonal(mobility))
    if not total > 0.0:
        return tool.mass
    J = mobility @ tool.inverse @ tool.jacobian
    return np.asarray(tool.mass + J.T @ ((TOOL_FIRST * 6.0 / total) * scale[:, None] * J))


def _angle(a: Array, b: Array) -> float:
    """Return the angle between two poses [rad]."""
    return math.acos(max(-1.0, min(1.0, 0.5 * (float((a[:3, :3] * b[:3, :3]).sum()) - 1.0))))


def _patience(target: Array | None, desired: Array, pose: Array, rates: Array, lead: float) -> float:
    """Return at what part of its speed the desired pose may move on: it waits for a tool that is left behind."""
    away, turned = desired[:3, 3] - pose[:3, 3], _angle(desired, pose)
    behind = max(math.sqrt(away @ away), turned)
    if behind <= lead:
        return 1.0
    leads = _leads(away, rates[3:] if target is None else target[:3, 3] - desired[:3, 3], lead)
    if not leads and turned > lead:
        back = away @ away > lead**2  # ahead lies the way back to a tool that may be turned for want of reach
        away = so3.log(desired[:3, :3] @ pose[:3, :3].T)
        ahead = rates[:3] if target is None else so3.log(target[:3, :3] @ desired[:3, :3].T)
        leads = bool(away @ ahead > 0.0) if back else _leads(away, ahead, lead)
    return max(0.0, 2.0 - behind / lead) if leads else 1.0


def _leads(away: Array, ahead: Array, lead: float) -> bool:
    """Return whether going on leads away from the tool, or, where that is far, not well nearer to it."""
    square = away @ away
    return bool(away @ ahead > (-NEARER * square if square > lead**2 else 0.0))

"""Parameters of the node computed_torque, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ...core.errors import ParameterError
from ...core.robot_options import EFFORT_SETTINGS, RobotOptions
from ...core.setting import Setting, per_joint
from ...lie_dynamics import Model
from ...lie_dynamics.control import is_robust, largest_period
from .tool.tool_options import TOOL_MODES, TOOL_SETTINGS, ToolOptions
from .trajectories.judging import JUDGEMENTS
from .trajectories.moving_end import ALLOWED

CONTROL_MODES = ("computed_torque", "gravity_compensation", "passivity_based", "adaptive", *TOOL_MODES)
MOTOR_MODES = CONTROL_MODES[:2]
"""Those of robots with loops."""
POLICIES = ("scale", "clip")
NUMBERS = (
    "kp", "kd", "ki", "integral_limit", "convergence_rate", "sliding_rate", "sliding_damping", "guiding_damping",
    "acceleration_limit", "effort_rate_limit", "path_tolerance", "goal_tolerance",
)  # fmt: skip
"""Parameters with one number for all joints, or one for each."""
REACTIONS = ("none", "stop", "gravity_compensation", "retract")
CONTROL_SETTINGS = (
    Setting("mode", CONTROL_MODES[0], "Controller.", choices=CONTROL_MODES),
    per_joint("kp", 100.0, "Stiffness of the error in mode computed_torque [1/s^2].", high=1e6),
    per_joint("kd", 20.0, "Damping of the error in mode computed_torque [1/s].", high=1e4),
    per_joint("ki", 0.0, "Gain of the integral of the error in mode computed_torque [1/s^3].", high=1e8),
    per_joint("integral_limit", 50.0, "Largest acceleration by the integral [rad/s^2, m/s^2].", high=1e6),
    per_joint("convergence_rate", 15.0, "Lambda of modes passivity_based and adaptive [1/s].", high=1e4),
    per_joint(
        "sliding_rate",
        20.0,
        "Damping of modes passivity_based and adaptive over the mass matrix [1/s].",
        high=1e4,
    ),
    per_joint(
        "sliding_damping",
        5.0,
        "Damping of modes passivity_based and adaptive besides that, as far as the sampled loop can carry it "
        "[N m s/rad, N s/m].",
        high=1e6,
    ),
    per_joint(
        "guiding_damping",
        0.5,
        "Damping of mode gravity_compensation, as far as the sampled loop can carry it [N m s/rad, N s/m].",
        high=1e6,
    ),
    Setting(
        "adaptation_weight",
        0.03,
        "The smaller, the faster mode adaptive learns, as far as damping lets it [J].",
        low=1e-6,
        high=1e6,
    ),
    Setting(
        "adaptation_memory",
        0.5,
        "Time over which mode adaptive looks back at what efforts did; 0: it learns by tracking errors alone [s].",
        high=60.0,
    ),
    Setting(
        "learn_drives",
        True,
        "Modes that follow paths learn friction and load, not only rotors, and push joints that do not follow.",
    ),
    Setting("adapted_bodies", [""], "Links whose inertia mode adaptive learns; [''] stands for the last link."),
    Setting(
        "largest_payload",
        3.0,
        "Mass that an adapted link may carry besides its own; bounds what mode adaptive learns [kg].",
        low=1e-3,
        high=1e6,
    ),
    Setting(
        "payload_reach",
        0.15,
        "How far from the link's centre of mass such a payload may lie [m].",
        low=1e-3,
        high=100.0,
    ),
    Setting(
        "rate",
        0.0,
        "Joint states per second that the gains must suit; 0: gains are held against the measured rate alone [Hz].",
        high=1e5,
    ),
    Setting(
        "delay",
        1.0,
        "From a state until its effort acts, in periods; more where states are found to be older.",
        high=8.0,
    ),
    Setting(
        "least_delay",
        0.0,
        "From a state until its effort acts, in periods, at the least; what is desired is commanded for the middle "
        "between this and delay.",
        high=8.0,
    ),
    Setting("blend_time", 0.5, "In which efforts pass over to another mode, gains or model [s].", high=60.0),
    per_joint("effort_rate_limit", 0.0, "Largest change of commanded efforts [N m/s, N/s]; 0: no limit.", high=1e9),
    *EFFORT_SETTINGS,
    Setting(
        "effort_policy",
        POLICIES[0],
        "How efforts are limited: what exceeds gravity compensation by one factor, or each joint separately.",
        choices=POLICIES,
    ),
    Setting("queue_trajectories", False, "Begin a trajectory when those before it have ended, not in their place."),
    per_joint(
        "acceleration_limit",
        0.0,
        "Largest acceleration of trajectories [rad/s^2, m/s^2]; 0: no limit.",
        high=1e9,
    ),
    Setting(
        "check_dynamics",
        True,
        "Refuse trajectories whose inverse dynamics exceed the effort limits; only with saturate_efforts.",
    ),
    Setting(
        "start_tolerance",
        0.1,
        "Largest distance from the desired position to a first point at time 0 [rad, m].",
        high=100.0,
    ),
    Setting(
        "error_limit",
        0.5,
        "Stop when a joint is farther from its desired position [rad, m]. 0: no limit.",
        high=100.0,
    ),
    Setting(
        "velocity_tolerance",
        0.2,
        "Stop when a joint moves faster than its limit in the URDF by more than this part of it.",
        high=100.0,
    ),
    Setting(
        "position_tolerance",
        0.05,
        "Stop when a joint moves on beyond its limit in the URDF by more than this [rad, m].",
        high=100.0,
    ),
    Setting(
        "stop_time",
        0.3,
        "Time in which ~/hold and a cancelled goal bring desired motions to rest; longer where limits want that [s].",
        low=0.001,
        high=10.0,
    ),
    Setting(
        "on_infeasible",
        JUDGEMENTS[0],
        "What becomes of trajectories beyond limits of velocity, acceleration, jerk or effort.",
        choices=JUDGEMENTS,
    ),
    Setting(
        ALLOWED,
        False,
        "Take trajectories whose last point has a velocity, and bring them to rest behind it.",
    ),
    Setting(
        "allow_partial_joints_goal",
        True,
        "Take goals that name some of the joints; else these are rejected.",
    ),
    per_joint(
        "path_tolerance",
        0.0,
        "Largest error on the way of a goal that gives none [rad, m]; 0: no limit but error_limit.",
        high=100.0,
    ),
    per_joint(
        "goal_tolerance",
        0.05,
        "Largest error at the end of a goal that gives none [rad, m]; 0: no limit.",
        high=100.0,
    ),
    Setting(
        "goal_time_tolerance",
        1.0,
        "How long after its end a goal that gives none may take to come within its tolerance [s]; 0: no limit.",
        high=3600.0,
    ),
    Setting(
        "silence_timeout",
        1.0,
        "Silence of joint states that is longer drops trajectories and goals [s]; a shorter one, beyond state_timeout, "
        "pauses them. Simulated time where that is used. 0: state_timeout alone counts.",
        high=3600.0,
    ),
    Setting("feedback_rate", 20.0, "Feedback of goals per second [Hz].", low=0.1, high=200.0),
    Setting(
        "speed_scaling",
        1.0,
        "Rate at which desired motions run; 0: they pause. ~/speed_scaling multiplies it.",
        high=1.0,
    ),
    Setting("speed_scaling_time", 0.5, "In which most of a change of that rate is made [s].", low=0.01, high=60.0),
    Setting(
        "contact_reaction",
        REACTIONS[0],
        "Reaction of the robot to a contact on ~/contact: nothing; a stop; give way under gravity compensation until "
        "~/hold; or go back along its path.",
        choices=REACTIONS,
    ),
    Setting("retract_time", 0.5, "Of motion that the robot goes back over [s].", low=0.01, high=10.0),
    *TOOL_SETTINGS,
)


@dataclass(frozen=True)
class ComputedTorqueOptions(RobotOptions):
    """Options that may change at run time; see the parameters of the node.

    Attributes
    ----------
    numbers : dict
        Those of `NUMBERS`, as they were given: one or one for each joint.
    gap, silence : float
        Time without states beyond which motions pause, and beyond which trajectories and goals are dropped [s]; where
        the first is 0, time between states has no limit, where the second is less, motions never pause.
    """

    mode: str
    numbers: dict[str, tuple[float, ...]]
    adaptation_weight: float
    adaptation_memory: float
    learn_drives: bool
    adapted_bodies: tuple[str, ...]
    largest_payload: float
    payload_reach: float
    rate: float
    delay: float
    least_delay: float
    blend_time: float
    driver_compensates_gravity: bool
    saturate: bool
    effort_policy: str
    queue: bool
    check_dynamics: bool
    start_tolerance: float
    error_limit: float
    velocity_tolerance: float
    position_tolerance: float
    stop_time: float
    on_infeasible: str
    allow_nonzero_velocity_at_trajectory_end: bool
    allow_partial_joints_goal: bool
    goal_time_tolerance: float
    speed_scaling: float
    speed_scaling_time: float
    contact_reaction: str
    retract_time: float
    gap: float
    silence: float
    tool: ToolOptions

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that parameter values stand for; raises ParameterError."""
        numbers = {name: tuple(values[name]) for name in NUMBERS}
        for name, entries in numbers.items():
            if not entries:
                raise ParameterError(f"{name} is empty; expected one number, or one for each joint")
        if values["least_delay"] > values["delay"]:
            raise ParameterError(f"least_delay: at most delay, {values['delay']:g}, got {values['least_delay']:g}")
        _check_gains(numbers, values["rate"], values["delay"])
        if values["on_infeasible"] == "slow_down" and find_spec("toppra") is None:
            raise ParameterError("on_infeasible is slow_down, which needs the package toppra: pip install toppra")
        return {
            **super().read(values),
            "numbers": numbers,
            "adapted_bodies": tuple(name for name in values["adapted_bodies"] if name),
            "saturate": values["saturate_efforts"],
            "queue": values["queue_trajectories"],
            "gap": values["state_timeout"],
            "silence": values["silence_timeout"],
            "tool": ToolOptions.read(values),
        }

    def apply(self, model: Model) -> Model:
        """Return the model with all this included; raises ParameterError where that cannot be."""
        for name, entries in self.numbers.items():
            if len(entries) not in (1, model.nv):
                raise ParameterError(f"{name} has {len(entries)} entries; expected 1 or {model.nv}, one for each joint")
        unknown = [name for name in self.adapted_bodies if name not in model.frames]
        if unknown:
            raise ParameterError(f"adapted_bodies: the robot has no link {', '.join(unknown)}")
        return super().apply(model)


def _check_gains(numbers: Mapping[str, tuple[float, ...]], rate: float, delay: float) -> None:
    """Refuse gains that no sampled loop can carry, or not the declared one; raises ParameterError."""
    size = max(len(numbers[name]) for name in ("kp", "kd", "ki"))
    each = [numbers[name] if len(numbers[name]) > 1 else numbers[name] * size for name in ("kp", "kd", "ki")]
    a, b = max(numbers["sliding_rate"]), max(numbers["convergence_rate"])
    loops = {f"kp {p:g}, kd {d:g}, ki {i:g}": (p, d, i) for p, d, i in zip(*each, strict=False)}
    loops[f"sliding_rate {a:g}, convergence_rate {b:g}"] = (a * b, a + b, 0.0)
    for name, (kp, kd, ki) in loops.items():
        longest = largest_period(kp, kd, ki, delay)
        if longest == 0.0:
            raise ParameterError(f"{name}: unstable at any rate; expected kd > 0 and ki below kp kd / 2")
        if rate and not is_robust(1.0 / rate, delay, kp, kd, ki):
            raise ParameterError(
                f"{name}: a loop of {rate:g} Hz with a delay of {delay:g} periods cannot carry that; "
                f"it takes {1.0 / longest:.0f} Hz at least, or lower gains"
            )

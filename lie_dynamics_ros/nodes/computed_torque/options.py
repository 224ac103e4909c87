"""Parameters of the node computed_torque, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...core.errors import ParameterError
from ...core.parameters import parameter, per_joint
from ...core.robot_options import EffortParameters, RobotOptions, StateAge
from ...lie_dynamics import Model
from ...lie_dynamics.control import is_robust, largest_period
from .tool_options import TOOL_MODES, ToolOptions
from .trajectories.judging import JUDGEMENTS

CONTROL_MODES = ("computed_torque", "gravity_compensation", "passivity_based", "adaptive", *TOOL_MODES)
MOTOR_MODES = CONTROL_MODES[:2]  # those of robots with loops
POLICIES = ("scale", "clip")
REACTIONS = ("none", "stop", "gravity_compensation", "retract")


@dataclass(frozen=True)
class ComputedTorqueOptions(ToolOptions, EffortParameters, RobotOptions, StateAge):
    """Parameters of the controller, besides those of all robots."""

    mode: str = parameter(CONTROL_MODES[0], "Controller.", choices=CONTROL_MODES)
    kp: tuple[float, ...] = per_joint(100.0, "Stiffness of the error in mode computed_torque [1/s^2].", high=1e6)
    kd: tuple[float, ...] = per_joint(20.0, "Damping of the error in mode computed_torque [1/s].", high=1e4)
    ki: tuple[float, ...] = per_joint(
        0.0, "Gain of the integral of the error in mode computed_torque [1/s^3].", high=1e8
    )
    integral_limit: tuple[float, ...] = per_joint(
        50.0, "Largest acceleration by the integral [rad/s^2, m/s^2].", high=1e6
    )
    convergence_rate: tuple[float, ...] = per_joint(
        15.0, "Lambda of modes passivity_based and adaptive [1/s].", high=1e4
    )
    sliding_rate: tuple[float, ...] = per_joint(
        20.0, "Damping of modes passivity_based and adaptive over the mass matrix [1/s].", high=1e4
    )
    sliding_damping: tuple[float, ...] = per_joint(
        5.0,
        "Damping of modes passivity_based and adaptive besides that, as far as the sampled loop can carry it [N m "
        "s/rad, N s/m].",
        high=1e6,
    )
    guiding_damping: tuple[float, ...] = per_joint(
        0.5,
        "Damping of mode gravity_compensation, as far as the sampled loop can carry it [N m s/rad, N s/m].",
        high=1e6,
    )
    adaptation_weight: float = parameter(
        0.03, "The smaller, the faster mode adaptive learns, as far as damping lets it [J].", low=1e-6, high=1e6
    )
    adaptation_memory: float = parameter(
        0.5,
        "Time over which mode adaptive looks back at what efforts did; 0: it learns by tracking errors alone [s].",
        high=60.0,
    )
    learn_drives: bool = parameter(
        True, "Modes that follow paths learn friction and load, not only rotors, and push joints that do not follow."
    )
    adapted_bodies: tuple[str, ...] = parameter(
        [""], "Links whose inertia mode adaptive learns; [''] stands for the last link."
    )
    largest_payload: float = parameter(
        3.0,
        "Mass that an adapted link may carry besides its own; bounds what mode adaptive learns [kg].",
        low=1e-3,
        high=1e6,
    )
    payload_reach: float = parameter(
        0.15, "How far from the link's centre of mass such a payload may lie [m].", low=1e-3, high=100.0
    )
    rate: float = parameter(
        0.0,
        "Joint states per second that the gains must suit; 0: gains are held against the measured rate alone [Hz].",
        high=1e5,
    )
    delay: float = parameter(
        1.0, "From a state until its effort acts, in periods; more where states are found to be older.", high=8.0
    )
    least_delay: float = parameter(
        0.0,
        "From a state until its effort acts, in periods, at the least; what is desired is commanded for the middle "
        "between this and delay, until motions show the delay.",
        high=8.0,
    )
    blend_time: float = parameter(0.5, "In which efforts pass over to another mode, gains or model [s].", high=60.0)
    effort_rate_limit: tuple[float, ...] = per_joint(
        0.0, "Largest change of commanded efforts [N m/s, N/s]; 0: no limit.", high=1e9
    )
    effort_policy: str = parameter(
        POLICIES[0],
        "How efforts are limited: what exceeds gravity compensation by one factor, or each joint separately.",
        choices=POLICIES,
    )
    queue_trajectories: bool = parameter(
        False, "Begin a trajectory when those before it have ended, not in their place."
    )
    acceleration_limit: tuple[float, ...] = per_joint(
        0.0, "Largest acceleration of trajectories [rad/s^2, m/s^2]; 0: no limit.", high=1e9
    )
    check_dynamics: bool = parameter(
        True, "Refuse trajectories whose inverse dynamics exceed the effort limits; only with saturate_efforts."
    )
    start_tolerance: float = parameter(
        0.1, "Largest distance from the desired position to a first point at time 0 [rad, m].", high=100.0
    )
    error_limit: float = parameter(
        0.5, "Stop when a joint is farther from its desired position [rad, m]. 0: no limit.", high=100.0
    )
    velocity_tolerance: float = parameter(
        0.2, "Stop when a joint moves faster than its limit in the URDF by more than this part of it.", high=100.0
    )
    position_tolerance: float = parameter(
        0.05, "Stop when a joint moves on beyond its limit in the URDF by more than this [rad, m].", high=100.0
    )
    stop_time: float = parameter(
        0.3,
        "Time in which ~/hold and a cancelled goal bring desired motions to rest; longer where limits want that [s].",
        low=0.001,
        high=10.0,
    )
    on_infeasible: str = parameter(
        JUDGEMENTS[0],
        "What becomes of trajectories beyond limits of velocity, acceleration, jerk or effort.",
        choices=JUDGEMENTS,
    )
    allow_nonzero_velocity_at_trajectory_end: bool = parameter(
        False, "Take trajectories whose last point has a velocity, and bring them to rest behind it."
    )
    allow_partial_joints_goal: bool = parameter(
        True, "Take goals that name some of the joints; else these are rejected."
    )
    path_tolerance: tuple[float, ...] = per_joint(
        0.0, "Largest error on the way of a goal that gives none [rad, m]; 0: no limit but error_limit.", high=100.0
    )
    goal_tolerance: tuple[float, ...] = per_joint(
        0.05, "Largest error at the end of a goal that gives none [rad, m]; 0: no limit.", high=100.0
    )
    goal_time_tolerance: float = parameter(
        1.0,
        "How long after its end a goal that gives none may take to come within its tolerance [s]; 0: no limit.",
        high=3600.0,
    )
    silence_timeout: float = parameter(
        1.0,
        "Silence of joint states that is longer drops trajectories and goals [s]; a shorter one, beyond "
        "state_timeout, pauses them. Simulated time where that is used. 0: state_timeout alone counts.",
        high=3600.0,
    )
    speed_scaling: float = parameter(
        1.0, "Rate at which desired motions run; 0: they pause. ~/speed_scaling multiplies it.", high=1.0
    )
    speed_scaling_time: float = parameter(
        0.5, "In which most of a change of that rate is made [s].", low=0.01, high=60.0
    )
    contact_reaction: str = parameter(
        REACTIONS[0],
        "Reaction of the robot to a contact on ~/contact: nothing; a stop; give way under gravity compensation until "
        "~/hold; or go back along its path.",
        choices=REACTIONS,
    )
    retract_time: float = parameter(0.5, "Of motion that the robot goes back over [s].", low=0.01, high=10.0)

    def check(self) -> None:
        """Check values against each other; raises ParameterError."""
        super().check()
        for name, entries in self.numbers.items():
            if not entries:
                raise ParameterError(f"{name} is empty; expected one number, or one for each joint")
        if self.least_delay > self.delay:
            raise ParameterError(f"least_delay: at most delay, {self.delay:g}, got {self.least_delay:g}")
        _check_gains(self.numbers, self.rate, self.delay)
        if self.mode == TOOL_MODES[0] and self.rate:
            self.check_rates(self.rate, self.delay)

    @property
    def numbers(self) -> dict[str, tuple[float, ...]]:
        """Parameters that are one number for all joints, or one for each."""
        return {name: getattr(self, name) for name in NUMBERS}

    @property
    def bodies(self) -> tuple[str, ...]:
        """Those of `adapted_bodies` that are named."""
        return tuple(name for name in self.adapted_bodies if name)

    def apply(self, model: Model) -> Model:
        """Return the model with all this included; raises ParameterError where that cannot be."""
        for name, entries in self.numbers.items():
            if len(entries) not in (1, model.nv):
                raise ParameterError(f"{name} has {len(entries)} entries; expected 1 or {model.nv}, one for each joint")
        unknown = [name for name in self.bodies if name not in model.frames]
        if unknown:
            raise ParameterError(f"adapted_bodies: the robot has no link {', '.join(unknown)}")
        return super().apply(model)


CONTROL_SETTINGS = ComputedTorqueOptions.settings()
#: Parameters with one number for all joints, or one for each.
NUMBERS = tuple(setting.name for setting in CONTROL_SETTINGS if setting.by_joint and setting.name != "rotors")


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

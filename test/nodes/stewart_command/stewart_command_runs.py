"""A core of stewart_command that ticks, and what it is told: for tests of set points tick by tick."""

import numpy as np
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform, reference_platform
from lie_dynamics_ros.nodes.stewart_command.core import CommandParameters, StewartCommandCore, StewartCommandOptions
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget

REFERENCE = reference_platform()
PLATFORM = StewartPlatform(
    REFERENCE.base_points, REFERENCE.platform_points, (0.4, 0.7), home_pose=REFERENCE.home_pose
)  # fmt: skip
HOME = PLATFORM.home_pose
LEGS = [f"leg_{k}" for k in range(1, 7)]
DEFAULTS = CommandParameters.defaults()
LEAD = 0.04


def core_of(**values):
    """A core that holds the home pose."""
    core = StewartCommandCore(StewartCommandOptions.from_values(PLATFORM, {**DEFAULTS, **values}), LEGS)
    assert core.begin(PLATFORM.leg_lengths(HOME), np.zeros(6))
    return core


def pose(shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    made = HOME.copy()
    made[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    made[:3, 3] += shift
    return made


def to(*poses, **kwargs):
    return PathTarget(np.stack(poses), (False,) * len(poses), **kwargs)


class Run:
    """A core that ticks, with what it said."""

    def __init__(self, core, late=0):
        self.core, self.late = core, late
        self.period = 1.0 / core.options.given.rate
        self.lengths, self.efforts, self.rates, self.poses = [], [], [], []
        self._plans = []

    def ask(self, target):
        plan = self.core.ask(target, LEAD)
        if plan is not None:
            self._plans.append([self.late, plan.make()])

    def tick(self, count=1):
        for _ in range(count):
            waiting = self.core.due()
            if waiting is not None:
                self.ask(waiting)
            self.points = points = self.core.step(self.period)
            assert np.array_equal(self.core.pose, points.pose)  # services read it beside the ticks
            for field in points:
                assert np.isfinite(field).all()
            self.lengths.append(points.lengths)
            self.rates.append(points.rates)
            self.efforts.append(points.forces)
            self.poses.append(points.pose)
            for entry in self._plans:
                entry[0] -= 1
            for entry in [x for x in self._plans if x[0] < 0]:
                self._plans.remove(entry)
                self.core.take(entry[1])

    def until_rest(self, most=5000):
        for _ in range(most):
            self.tick()
            idle = not self._plans and not self.core.waits and self.core.phase not in ("following", "stopping")
            if idle and not self.rates[-1].any():
                return
        raise AssertionError(f"no rest: {self.core.phase}, {self.core.reason}, {self.core.refusal}")

    def check(self):
        """Differences of lengths are means of rates and accelerations: they keep the same limits."""
        values, lengths = self.core.options, np.array(self.lengths)
        limits = values.limits
        assert (lengths >= limits.stroke[:, 0]).all() and (lengths <= limits.stroke[:, 1]).all()
        rates = np.diff(lengths, axis=0) / self.period
        assert np.abs(rates).max() <= limits.rate[0] * (1.0 + 1e-9)
        accelerations = np.diff(rates, axis=0) / self.period
        assert np.abs(accelerations).max() <= limits.acceleration[0] * (1.0 + 1e-6)
        assert np.abs(np.array(self.rates)).max() <= limits.rate[0]

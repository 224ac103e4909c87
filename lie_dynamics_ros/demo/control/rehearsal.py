"""Plays the acts without ROS: whether a robot can be played is known before, with the reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ...core.commanding.phases import STOPPED, STOPPING
from ...core.commands import EFFORT
from ...core.errors import NodeError
from ...core.joint_points import JointPoints
from ...core.robot_options import MODEL_SETTINGS, RobotOptions
from ...core.robot_state import RobotState
from ...core.setting import Setting
from ...lie_dynamics import LieDynamicsError
from ...nodes.computed_torque.core import ComputedTorqueCore
from ...nodes.computed_torque.options import CONTROL_SETTINGS, ComputedTorqueOptions
from ...nodes.simulated_robot.core import RobotSimulation, SimulationOptions
from ...nodes.simulated_robot.settings import SETTINGS as ROBOT_SETTINGS
from ..errors import ShortfallError
from .play import LEAD, RATE, Play

AHEAD, PAUSE = 0.3, 0.2
"""Rest before and after each trajectory [s]."""
SUBSTEPS = 2
"""Of the simulation in a period, as the node's."""

Options = TypeVar("Options", bound=RobotOptions)


def rehearse(play: Play) -> list[float]:
    """Play all acts under the nodes' defaults.

    Returns
    -------
    list of float
        Of each act's motion, the tracking error of the joint that is farthest off, rms [rad, m].

    Raises
    ------
    ShortfallError
        The controller stops the robot, or it cannot be simulated; says in which act, and why.
    """
    model, start = play.model, tuple(play.motion.center.tolist())
    arm = RobotSimulation(model, _options(SimulationOptions, ROBOT_SETTINGS, {}), 1.0 / (RATE * SUBSTEPS), start, 0)
    settings = (*CONTROL_SETTINGS, *MODEL_SETTINGS)
    core = ComputedTorqueCore(model, _options(ComputedTorqueOptions, settings, {}))
    core.start()
    arm.told[:] = EFFORT
    now, period, errors = 10**9, round(1e9 / RATE), []
    for act in play.acts:
        if act.robot:
            arm.set_options(_options(SimulationOptions, ROBOT_SETTINGS, act.robot))
        core = core.with_options(_options(ComputedTorqueOptions, settings, act.controller))
        times, states = play.points(act.duration)
        way, begin = JointPoints(np.arange(model.nv), times, *states), now + round(AHEAD * 1e9)
        first, last = begin + round(LEAD * 1e9), begin + round((LEAD + act.duration) * 1e9)
        end, farthest = last + round(PAUSE * 1e9), []
        while now < end:
            try:
                answer = core.answer(RobotState(now, *(x.copy() for x in arm.state)))
                if core.phase in (STOPPING, STOPPED):
                    raise ShortfallError(f"in act {act.name} the controller stops it: {core.reason}")
                if way is not None:
                    core.follow(way, begin)
                    way = None
                arm.value[:] = answer.total
                arm.advance(SUBSTEPS)
            except (LieDynamicsError, NodeError) as error:
                raise ShortfallError(f"act {act.name}: {error}") from error
            if first <= now <= last:
                farthest.append(float(np.abs(answer.error).max()))
            now += period
        errors.append(math.sqrt(sum(e * e for e in farthest) / len(farthest)))
    return errors


def _options(kind: type[Options], settings: Sequence[Setting], values: Mapping[str, Any]) -> Options:
    defaults = {setting.name: setting.default for setting in settings}
    options = kind.from_values({**defaults, "state_timeout": 0.1, **values})
    assert isinstance(options, kind)
    return options

"""The services ~/check_trajectory and ~/plan_motion: motions checked, retimed or found, and not followed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from ....core.errors import MessageError, RequestError
from ....core.joint_mapping import JointMapping
from ....lie_dynamics import Model, MotionCost
from ....lie_dynamics.arrays import Array
from ....lie_dynamics.control.feasibility import KINDS
from ....ros.inputs.commands import read_joint_trajectory
from ....ros.node.answering_node import AnsweringNode
from ....ros.node.worker import SideNode
from ....ros.wire.serialized import let_go
from ..core import ComputedTorqueCore
from ..trajectories.judging import FEEDBACK
from ..trajectories.trajectory_piece import Desired, Piece
from .standard_interfaces import make_point

CHECK = "~/check_trajectory"


class CheckService:
    """Answers CheckTrajectory, beside the executor; requests are taken on the thread of the side node."""

    def __init__(self, node: AnsweringNode[ComputedTorqueCore], side: SideNode) -> None:
        self._node = node
        node.offers.offer("CheckTrajectory", CHECK, self._check, node.worker, side)

    def _check(self, request: Any, response: Any) -> None:
        core = self._node.require_core()
        names, player, zero = core.model.joint_names, core.player, core.zero
        desired = Desired(core.model.neutral(), zero, zero, zero) if player is None else player.desired
        try:
            _, points = read_joint_trajectory(request.trajectory, JointMapping(names))
        finally:
            let_go(request.trajectory)
        try:
            core.judge.require_end(points)
        except MessageError as error:
            response.reason = str(error)
        points = core.turns.near(points, desired.position)
        points = core.judge.brought_to_rest(points, desired.position)
        path = Piece(0, points, desired if points.times[0] > 0.0 else None).path(desired.position)
        found = core.judge.report(path)
        response.feasible = found.feasible and not response.reason
        response.reason = response.reason if found.excess is None else str(found.excess)
        response.joint_names, response.factor = list(names), 1.0
        for kind in KINDS:
            setattr(response, f"{kind}_use", [float(x) for x in np.nan_to_num(found.use(kind))])
        if request.retime and not response.feasible:
            slow = core.judge.slowed(path)
            response.factor = slow.factor
            moved = [names[k] for k in points.joints]
            response.retimed = to_message(moved, slow.times, slow.q, slow.qd, slow.qdd, slow.effort)


def to_message(
    names: list[str], times: Array, q: Array, qd: Array, qdd: Array | None, effort: Array | None
) -> JointTrajectory:
    """Return the points of a path as a message."""
    none = np.empty((len(times), 0))
    rows = q, qd, none if qdd is None else qdd, none if effort is None else effort
    points = [make_point(*row, after=float(time)) for time, *row in zip(times, *rows, strict=True)]
    return JointTrajectory(joint_names=names, points=points)


PLAN = "~/plan_motion"
QUICKEST_PLAN, SLOWEST_PLAN = 0.1, 60.0  # between which a time is found that is not given [s]
MOST_LISTED = 5  # names that an error lists, at most
PLANNING_TIME = 60.0  # within which a motion is to be found [s]
_PLANNING = """
import os, pickle, sys
out = os.fdopen(os.dup(1), "wb")
if hasattr(os, "SCHED_IDLE"):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # states come first
os.dup2(2, 1)  # what is printed is no answer
from lie_dynamics_ros.lie_dynamics import LieDynamicsError, optimal_motion
args, options = pickle.load(sys.stdin.buffer)
error, found = "", None
try:
    path = optimal_motion(*args, **options)
    found = path.time, path.q, path.qd, path.qdd, float(path.cost), bool(path.converged), path.reason
except LieDynamicsError as refused:
    error = str(refused)
out.write(pickle.dumps((error, found)))
out.close()
"""
PLANNED_SHARE = 0.98  # share of limits that a planned motion uses: between its points it is not quite what was planned


class PlanService:
    """Answers PlanMotion, beside the executor; requests are taken on the thread of the side node."""

    def __init__(self, node: AnsweringNode[ComputedTorqueCore], side: SideNode) -> None:
        self._node = node
        self._process: subprocess.Popen[bytes] | None = None
        node.offers.offer("PlanMotion", PLAN, self._plan, node.worker, side)

    def _plan(self, request: Any, response: Any) -> None:
        core = self._node.require_core()
        if not isinstance(core.dynamics, Model):
            raise RequestError("motions are planned for robots without loops only")
        model = core.dynamics.with_joint_terms(armature=True, damping=core.options.include_damping)
        names = list(request.joint_names) or list(model.joint_names)
        places = _places(names, model.joint_names)
        here = model.neutral() if core.player is None else core.player.desired.position
        start = here if not request.start else _filled(here, places, request.start, "start")
        goal = _filled(start, places, request.goal, "goal")
        parts = np.asarray(request.waypoint_parts, dtype=float)
        between = np.asarray(request.waypoints, dtype=float)
        if between.size != parts.size * len(names):
            shape = f"{parts.size} rows of {len(names)} positions"
            raise RequestError(f"waypoints: {shape} are expected, got {between.size} numbers")
        through = [_filled(start, places, row, "waypoints") for row in between.reshape(parts.size, len(names))]
        before = start
        for place in (*through, goal):  # the short way, as trajectories begin at the nearest turn
            place += core.turns.between(place, before)
            before = place
        waypoints = (parts, np.array(through)) if through else None
        found = self._found(
            model, start, goal, _duration(request), cost=_cost(request, core), waypoints=waypoints,
            smooth_ends=True, limits=_limits(core), tolerance=1e-3,
        )  # fmt: skip
        *motion, response.cost, response.converged, response.reason = found
        response.trajectory = to_message(list(model.joint_names), *motion, None)

    def _found(self, *args: Any, **options: Any) -> Any:
        """Return what `optimal_motion` finds, in a process: the interpreter of the node has states to answer."""
        paths = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        with subprocess.Popen([sys.executable, "-c", _PLANNING], stdin=pipe, stdout=pipe, env=environment) as process:
            self._process = process
            try:
                answer, _ = process.communicate(pickle.dumps((args, options)), PLANNING_TIME)
            except subprocess.TimeoutExpired:
                raise RequestError(f"no motion was found within {PLANNING_TIME:g} s") from None
            finally:
                process.kill()
                self._process = None
        if not answer:
            raise RequestError("the process that plans has ended without an answer")
        error, found = pickle.loads(answer)
        if error:
            raise RequestError(error)
        return found

    def close(self) -> None:
        """End a search under way."""
        process = self._process
        if process is not None:
            process.kill()


def _places(names: Sequence[str], joints: Sequence[str]) -> list[int]:
    """Return where the joints of a request stand in the robot; raises RequestError."""
    unknown = [name for name in names if name not in joints][:MOST_LISTED]
    twice = [name for name, count in Counter(names).items() if count > 1][:MOST_LISTED]
    if unknown or twice:
        problem = f"does not have {', '.join(unknown)}" if unknown else f"has each once, but twice: {', '.join(twice)}"
        raise RequestError(f"joint_names: the robot {problem}; its joints are {', '.join(joints)}")
    return [joints.index(name) for name in names]


def _filled(base: Array, places: list[int], values: Sequence[float], name: str) -> Array:
    """Return a configuration with the positions of a request; raises RequestError."""
    if len(values) != len(places):
        raise RequestError(f"{name}: {len(places)} positions, one for each joint, are expected, got {len(values)}")
    found = base.copy()
    found[places] = values
    return found


def _duration(request: Any) -> float | tuple[float, float]:
    """Return the time that is given, or between which it is found; raises RequestError."""
    short, long = request.duration, request.longest
    if not (np.isfinite([short, long]).all() and short >= 0.0 and (long == 0.0 or long >= short)):
        expected = "0 <= duration <= longest, or longest 0, is expected"
        raise RequestError(f"duration, longest: {expected}, got {short} and {long} s")
    if short > 0.0 and long in (0.0, short):
        return float(short)
    return float(short or QUICKEST_PLAN), float(long or SLOWEST_PLAN)


def _cost(request: Any, core: ComputedTorqueCore) -> MotionCost:
    """Return the weights, for effort and power in parts of their limits."""
    effort, speed = (_usual(x) for x in (core.judge.limits.effort, core.judge.limits.velocity))
    weights = {name: getattr(request, f"{name}_weight") for name in ("power", "energy", "acceleration", "jerk", "time")}
    free = request.duration == 0.0 or request.longest > request.duration
    torque = request.effort_weight
    if torque == 0.0 and not any(weights.values()):
        torque, weights["time"] = 1.0, 1.0 if free else 0.0
    return MotionCost(
        torque=torque / effort**2,
        power=weights["power"] / (effort * speed) ** 2,
        energy=weights["energy"] / (effort * speed),
        acceleration=weights["acceleration"],
        jerk=weights["jerk"],
        time=weights["time"],
    )


def _usual(limits: Array) -> Array:
    """Return limits, 1 where there is none."""
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, 1.0)


def _limits(core: ComputedTorqueCore) -> Any:
    """Return the limits of a motion: those of trajectories, and of efforts what friction and feedback leave."""
    own, friction = core.judge.limits, core.model.limits.friction if core.options.include_friction else 0.0
    taken = friction if core.friction is None else np.abs(core.friction.friction).max(axis=0)
    effort = np.maximum((1.0 - FEEDBACK) * own.effort - taken, 0.5 * own.effort)
    names = ("velocity", "acceleration", "deceleration", "jerk")
    most = {name: PLANNED_SHARE * getattr(own, name) for name in names}
    return replace(core.model.limits, lower=own.lower, upper=own.upper, effort=PLANNED_SHARE * effort, **most)

"""Joint states of one robot in arrays: of one message, or put together from those of several publishers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import MessageError, WaitingError
from ...core.joint_mapping import JointMatch
from ...core.parameters import Parameters, parameter
from ...lie_dynamics.arrays import Array
from ...lie_dynamics.control import VelocityFilter
from ...lie_dynamics.control.kernels.signals import BAD_POSITION, BAD_VELOCITY, UNKNOWN_VELOCITY, check_state
from ...lie_dynamics.control.plausibility import StateCheck
from ..wire.messages import read_efforts, read_field

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sensor_msgs.msg import JointState


# Joint states into arrays: position and velocity by joint, with nothing in them that is no number but NaN.

IMPLAUSIBLE = "implausible"
"""Name under which states that no motion explains are counted."""


class StateFields:
    """Position and velocity of a joint state in arrays that stay, each of shape (size,)."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.position, self.velocity = np.zeros(size), np.zeros(size)
        self._position, self._velocity = memoryview(self.position), memoryview(self.velocity)

    def fill(self, message: JointState, match: JointMatch) -> None:
        """Copy the fields in model order; velocities that are absent are NaN.

        Raises MessageError where joints are missing or named twice, or a field has the wrong length.
        """
        position, velocity = message.position, message.velocity
        size, given = self._size, len(velocity)
        if match.identity and len(position) == size and (given == size or not given):
            # Copies of bytes between views cost a fraction of what numpy takes to look at an array.
            self._position[:] = position
            if given:
                self._velocity[:] = velocity
            else:
                self.velocity.fill(nan)
            return
        if not match.complete:
            raise MessageError("missing joints" if match.missing else "ambiguous joints", match.problem)
        self.position[:] = read_field(position, match, "position")
        self.velocity[:] = read_field(velocity, match, "velocity") if given else nan


class JointStateReader:
    """Reads joint states of one robot into arrays that it fills again and again.

    What a state left in the arrays stays until the second good state after it; a state that is refused, as by a check
    of what no motion explains, changes nothing that was returned.
    """

    def __init__(self, size: int, check: StateCheck | None = None, names: Sequence[str] = ()) -> None:
        self._free, self._used = StateFields(size), StateFields(size)
        self._check, self._names = check, names
        check_state(self._free.position, self._free.velocity)  # what needs compiling is compiled now

    @property
    def relocated(self) -> bool:
        """Whether the last state is where the robot was not expected, so that velocities are to be found anew."""
        return self._check is not None and self._check.relocated

    def forget(self) -> None:
        """Forget the last state: the robot may be anywhere in the next one."""
        if self._check is not None:
            self._check.forget()

    def read(self, message: JointState, match: JointMatch, stamp: int = 0) -> tuple[Array, Array, bool]:
        """Positions and velocities (n,) [rad or m, per s] of a state of a time [ns], and whether any is unknown.

        Velocities are NaN where they are absent: ros2_control leaves out the field, or sends NaN for single joints. The
        caller may change them.

        Raises
        ------
        MessageError
            Joints are missing or named twice, a field has the wrong length, a position is not finite or a velocity
            is infinite, for which numbers beyond `LARGEST` of `control.kernels.signals` count; or a lone state that no
            motion explains.
        """
        fields = self._free
        fields.fill(message, match)
        found = check_state(fields.position, fields.velocity)
        if found == BAD_POSITION:
            raise MessageError("not finite", "positions that are not finite numbers")
        if found == BAD_VELOCITY:
            raise MessageError("not finite", "velocities that are infinite")
        if self._check is not None and (bad := self._check.find(stamp, fields.position, fields.velocity)):
            joint, what = bad
            told = f"joint {self._names[joint]}: {what} {getattr(fields, what)[joint]:.4g}"
            raise MessageError(IMPLAUSIBLE, f"{told}, to which no motion leads from the state before")
        self._free, self._used = self._used, fields
        return fields.position, fields.velocity, found == UNKNOWN_VELOCITY


# States of one robot from several publishers, each of which has some of its joints.

MOST_PARTS = 16
"""Different lists of joints that are kept; beyond, all are forgotten, so that rubbish takes no memory."""
LONGEST_WAIT = 1_000_000_000
"""Longest silence in which other states are waited for [ns], however old those that are put together may be."""

RATE_RATIO = 1.7
"""A publisher that sends so many times as often as another is the faster of the two."""


@dataclass(frozen=True)
class PartialStateParameters(Parameters):
    """Merging of states that have some joints each."""

    joint_age_limit: float = parameter(
        0.1,
        "Largest difference of the time stamps of joint states that name some joints each and are put together [s]. "
        "0: no limit.",
        high=3600.0,
    )


class JointGroup:
    """The joints of one list of names, and their last state; the arguments are those of `PartialStates`.

    Attributes
    ----------
    joints : ndarray of int
        Places of these joints among the robot's.
    reads_all : bool
        Whether it reads by what reads states of all joints, ``whole``, as a list that names them all does.
    stamp, period : int
        Time of the last state, and between the last two [ns].
    """

    def __init__(
        self,
        match: JointMatch,
        turns: NDArray[np.bool_],
        fastest: Array | None = None,
        names: Sequence[str] = (),
        whole: tuple[JointStateReader, VelocityFilter] | None = None,
    ) -> None:
        self.joints = np.flatnonzero(match.indices >= 0)
        self.reads_all = whole is not None and not match.missing
        if whole is not None and self.reads_all:
            self._match, (self._reader, self.velocities) = match, whole
        else:
            self._match = JointMatch(match.indices[self.joints], match.size, False, (), (), match.unknown)
            check = None if fastest is None else StateCheck(fastest[self.joints], turns[self.joints])
            self._reader = JointStateReader(len(self.joints), check, [names[k] for k in self.joints] if names else ())
            self.velocities = VelocityFilter(len(self.joints), 1.0, turns[self.joints])
        self.stamp, self.period, self.filled = 0, 0, False
        self.position = self.velocity = self.effort = np.zeros(len(self.joints))

    def read(self, message: JointState, stamp: int, acceleration: Array | None, source: str, effort: bool) -> set[str]:
        """Take in a state of a time [ns]; return what was absent in it and taken as zero, or "filter"."""
        position, velocity, unknown = self._reader.read(message, self._match, stamp)
        if self._reader.relocated:
            self.velocities.forget()
        told = set()
        if unknown and source == "measured":
            velocity[np.isnan(velocity)] = 0.0
            told.add("velocities")
        expected = None if acceleration is None else acceleration[self.joints]
        self.filled = self.velocities.fill(stamp, position, velocity, expected, source == "filtered") > 0
        if self.filled:
            told.add("filter")
        self.effort = np.zeros(len(self.joints))
        if effort:
            self.effort, assumed = read_efforts(message, self._match)
            if assumed:
                told.add("measured efforts")
        self.period = stamp - self.stamp if self.stamp else 0
        self.stamp, self.position, self.velocity = stamp, position, velocity
        return told


class PartialStates:
    """Puts states together: what a message does not name is taken from the last one that did, moved on to its time.

    Messages of one publisher lead: each of them makes a state. Another one leads as soon as it sends two in a row, so
    the fastest does, whatever came first; where both know the same joints, only if it is the faster of the two, or the
    other has fallen silent. What several send is taken from the one that leads, then the last received. Joints that
    mimic others follow them where no state names them.

    Parameters
    ----------
    names : tuple of str
        Joints of the robot.
    turns : ndarray of bool, shape (n,)
        Those whose position may jump by a turn.
    fastest : ndarray, shape (n,), optional
        Velocity limits, by which states that no motion explains are refused [rad/s, m/s].
    mimics : sequence of (int, int, float, float)
        Joints that follow another one: their place, its place, multiplier and offset; what is followed before what
        follows it.
    whole : tuple of JointStateReader and VelocityFilter, optional
        What reads states of all joints.

    Attributes
    ----------
    followers : tuple of str
        Joints that last followed another one, for no state named them.
    age_limit : int
        Largest difference of the times that are put together [ns]; 0 for no limit.
    time : float
        Time constant of velocities that are found in positions [s].
    """

    def __init__(
        self,
        names: tuple[str, ...],
        turns: NDArray[np.bool_],
        fastest: Array | None = None,
        mimics: Sequence[tuple[int, int, float, float]] = (),
        whole: tuple[JointStateReader, VelocityFilter] | None = None,
    ) -> None:
        self._names, self._turns, self._fastest = names, turns, fastest
        self._mimics, self._whole = tuple(mimics), whole
        self.followers: tuple[str, ...] = ()
        self.age_limit, self.time = 0, 1.0
        self._parts: dict[bytes, JointGroup] = {}
        self._lead, self._others, self._last = b"", set[bytes](), 0

    @property
    def parts(self) -> tuple[JointGroup, ...]:
        """Lists of joints that have been received."""
        return tuple(self._parts.values())

    @property
    def filled(self) -> bool:
        """Whether velocities of any joint were last found in its positions."""
        return any(part.filled for part in self._parts.values())

    @property
    def led(self) -> bool:
        """Whether messages of any publisher lead."""
        return bool(self._lead)

    @property
    def patience(self) -> int:
        """For how long other states are waited for in silence [ns]."""
        return min(self.age_limit or LONGEST_WAIT, LONGEST_WAIT)

    def forget(self) -> None:
        """Forget all, because its age is no longer known."""
        self._parts.clear()
        self._lead, self._others, self._last = b"", set[bytes](), 0

    def read(
        self,
        message: JointState,
        match: JointMatch,
        stamp: int,
        acceleration: Array | None,
        source: str,
        effort: bool,
    ) -> tuple[Array, Array, Array, set[str]]:
        """Return positions, velocities and efforts (n,) of all joints at the time of a message, and what it lacked.

        Raises
        ------
        WaitingError
            The message is kept for those of another publisher.
        MessageError
            The message holds no state of some of the joints, or those of others are missing or too old.
        """
        told, key = self.take(message, match, stamp, acceleration, source, effort)
        if key != self._lead and self._lead and (key not in self._others or not self._may_lead(key)):
            self._others.add(key)
            raise WaitingError(f"kept for the states of {len(match.missing)} other joints")
        self._lead = key
        self._others.clear()
        return *self.at(stamp), told

    def _may_lead(self, key: bytes) -> bool:
        """Return whether a list that was received twice in a row may lead in place of the one that does."""
        lead, part = self._parts.get(self._lead), self._parts[key]
        if lead is None or not np.intersect1d(lead.joints, part.joints).size:
            return True
        silent = abs(part.stamp - lead.stamp)
        return silent > LONGEST_WAIT or lead.period <= 0 or 0 < RATE_RATIO * part.period <= lead.period

    def take(
        self,
        message: JointState,
        match: JointMatch,
        stamp: int,
        acceleration: Array | None,
        source: str,
        effort: bool,
    ) -> tuple[set[str], bytes]:
        """Keep a message for others; return what it lacked, and what distinguishes its joints from those of others."""
        key = match.indices.tobytes() + match.size.to_bytes(8, "little")  # with other names beside, it is another list
        part = self._parts.get(key)
        if part is None:
            if match.duplicated or len(match.missing) == len(self._names):
                raise MessageError("missing joints" if match.missing else "ambiguous joints", match.problem)
            if len(self._parts) >= MOST_PARTS:
                self.forget()
            taken = any(other.reads_all for other in self._parts.values())
            whole = None if taken else self._whole
            part = JointGroup(match, self._turns, self._fastest, self._names, whole)
        part.velocities.time = self.time
        told = part.read(message, stamp, acceleration, source, effort)
        self._parts.pop(key, None)
        self._parts[key] = part  # the last received is the last
        return told, key

    def at(self, stamp: int) -> tuple[Array, Array, Array]:
        """Return positions, velocities and efforts (n,) of all joints at a time [ns]; errors as in `read`."""
        if 0 < self._last - stamp <= self.patience:
            raise WaitingError("a state of a later time was answered before")
        found = self._put_together(stamp)
        self._last = stamp
        return found

    def _put_together(self, stamp: int) -> tuple[Array, Array, Array]:
        n = len(self._names)
        position, velocity, effort, times = np.full(n, np.nan), np.empty(n), np.empty(n), np.zeros(n)
        for part in self._parts.values():
            late = (stamp - part.stamp) * 1e-9
            position[part.joints] = part.position + late * part.velocity
            velocity[part.joints], effort[part.joints], times[part.joints] = part.velocity, part.effort, late
        missing = np.isnan(position)
        if missing.any():
            self._follow(position, velocity, effort, times)
            missing = np.isnan(position)
        if missing.any():
            where = "the message" if len(self._parts) == 1 else "all messages"
            raise MessageError("missing joints", f"joints missing from {where}: {_of(self._names, missing)}")
        old = np.abs(times) * 1e9 > (self.age_limit or np.inf)
        if old.any():
            worst = float(np.abs(times).max())
            raise MessageError(
                "joints too old",
                f"{_of(self._names, old)} were told {worst:.3f} s before or after the others; "
                f"joint_age_limit is {self.age_limit * 1e-9:g} s",
            )
        return position, velocity, effort

    def _follow(self, position: Array, velocity: Array, effort: Array, times: Array) -> None:
        """Put joints that no state names where those that they mimic have them; these bear their efforts, too."""
        followers = []
        for joint, leader, multiplier, offset in self._mimics:
            if np.isnan(position[joint]) and not np.isnan(position[leader]):
                position[joint] = multiplier * position[leader] + offset
                velocity[joint], effort[joint], times[joint] = multiplier * velocity[leader], 0.0, times[leader]
                followers.append(self._names[joint])
        self.followers = tuple(followers)


def _of(names: Sequence[str], some: NDArray[np.bool_]) -> str:
    return ", ".join(name for name, is_one in zip(names, some.tolist(), strict=True) if is_one)

"""Checks of the time stamps of states."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import MessageError

BACKWARDS = "time ran backwards"
"""Kind of the error for a state that is older than the one before."""
STALE = "stale"
"""Kind of the error for a state that is too old when it arrives."""
EARLY = "from the future"
"""Kind of the error for a state that is ahead of the node's clock."""
MOST_TRACKED = 64
"""Publishers, with joints, whose times are kept; beyond, all are forgotten: who comes and goes takes no memory."""


class StateTimes:
    """Refuses states that are too old, from the future, or older than one of the same publisher that was answered.

    Where a publisher sends several lists of joints, each list has times of its own.

    Only states that were answered count as the last: what is refused, for its time or for what it holds, refuses no
    other. A state without a time stamp (zero) is taken as fresh.

    Attributes
    ----------
    timeout : int
        Oldest age [ns] of a state that is answered; 0 switches the check against the clock off.
    went_back : int
        How far time went back [ns] when last it did.
    """

    def __init__(self) -> None:
        self.timeout = 0
        self.went_back = 0
        self._tracks: dict[tuple[bytes | str, ...], _Track] = {}
        self._checked: tuple[_Track, int] | None = None

    def reset(self) -> None:
        """Forget the last states."""
        self._tracks.clear()

    def check(self, stamp: int, now: int, publisher: bytes = b"", joints: Sequence[str] = ()) -> int:
        """Return the age [ns] of a state stamped ``stamp`` [ns] at the time ``now`` [ns]; 0 for no stamp.

        Parameters
        ----------
        publisher : bytes
            Who sent it; publishers whose clocks differ do not refuse each other's states.
        joints : sequence of str
            Of whom it tells; each may be measured at a time of its own, and sent in any order.

        Raises
        ------
        MessageError
            The state must not be answered. After a jump back in time, states are accepted again as soon as their
            time runs forwards.
        """
        self._checked = None
        if stamp == 0:
            return 0
        key = publisher, *joints
        track = self._tracks.get(key)
        if track is None:
            track = self._begin(key)
        if stamp < track.last and (not track.back or stamp < track.back):
            track.back = stamp
            self.went_back = track.last - stamp
            raise MessageError(BACKWARDS, f"the time stamp went back by {self.went_back * 1e-9:.6f} s")
        age = now - stamp
        if self.timeout:
            if age > self.timeout:
                raise MessageError(
                    STALE, f"a state was {age * 1e-9:.3f} s old; state_timeout is {self.timeout * 1e-9:.3f} s"
                )
            if -age > self.timeout:
                raise MessageError(
                    EARLY,
                    f"a state was stamped {-age * 1e-9:.3f} s ahead of this node's clock "
                    "(clocks not synchronised, or use_sim_time set on one side only)",
                )
        self._checked = track, stamp
        return age

    def answered(self) -> None:
        """Take note that the state checked last was answered: older ones of its list are refused from now on."""
        if self._checked is not None:
            track, track.last = self._checked
            track.back = 0

    def _begin(self, key: tuple[bytes | str, ...]) -> _Track:
        if len(self._tracks) >= MOST_TRACKED:
            self._tracks.clear()
        track = self._tracks[key] = _Track()
        return track


class _Track:
    """Times of a publisher's list of joints [ns]: of its last state that was answered, of its last that went back."""

    __slots__ = ("back", "last")

    def __init__(self) -> None:
        self.last = self.back = 0

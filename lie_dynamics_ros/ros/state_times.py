"""Whether a state may be answered, judged by time stamps."""

from __future__ import annotations

from .errors import MessageError

BACKWARDS = "time ran backwards"
"""Kind of the error for a state that is older than the one before."""
STALE = "stale"
"""Kind of the error for a state that is too old when it arrives."""


class StateTimes:
    """Refuses states that are too old, from the future, or older than the one before.

    A state without a time stamp (zero) is taken as fresh.

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
        self._last = 0

    def reset(self) -> None:
        """Forget the last state."""
        self._last = 0

    def check(self, stamp: int, now: int) -> int:
        """Return the age [ns] of a state stamped ``stamp`` [ns] at the time ``now`` [ns]; 0 for no stamp.

        Raises
        ------
        MessageError
            The state must not be answered. After a jump back in time, states are accepted again as soon as their
            time runs forwards.
        """
        if stamp == 0:
            return 0
        last, self._last = self._last, stamp
        age = now - stamp
        if stamp < last:
            self.went_back = last - stamp
            raise MessageError(BACKWARDS, f"the time stamp went back by {(last - stamp) * 1e-9:.6f} s")
        if self.timeout:
            if age > self.timeout:
                raise MessageError(
                    STALE, f"a state was {age * 1e-9:.3f} s old; state_timeout is {self.timeout * 1e-9:.3f} s"
                )
            if -age > self.timeout:
                raise MessageError(
                    "from the future",
                    f"a state was stamped {-age * 1e-9:.3f} s ahead of this node's clock "
                    "(clocks not synchronised, or use_sim_time set on one side only)",
                )
        return age

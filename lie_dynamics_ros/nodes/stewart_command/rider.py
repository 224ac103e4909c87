"""Rides as the node has them: what the vehicle sends, the ride under way, and what is wrong with either."""

from __future__ import annotations

from typing import Any

from ...core.commanding.phases import OFF, UNTIL_HOLD
from ...core.errors import MessageError
from ...ros.outputs import diagnostics
from ...ros.outputs.diagnostics import Report
from .core import StewartCommandCore
from .planner import Planner
from .requests import read_vehicle
from .riding import Ride
from .targets import PathTarget


class Rider:
    """The ride under way, if there is one.

    Parameters
    ----------
    logger : of the node
    """

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._ride: Ride | None = None
        self._bad, self._silent = "", False

    @property
    def riding(self) -> bool:
        """Whether there is one."""
        return self._ride is not None

    def begin(self, core: StewartCommandCore, now: float) -> None:
        """Follow the vehicle from now on; raises MessageError where that cannot be."""
        not_now = core.not_now()
        if not_now:
            raise MessageError("ride", not_now)
        self._ride, self._bad, self._silent = Ride(core.options, now), "", False

    def end(self) -> None:
        """Follow the vehicle no more."""
        self._ride = None

    def home(self, core: StewartCommandCore) -> PathTarget:
        """Return the target of the platform's home pose; raises MessageError where nothing is followed."""
        not_now = core.not_now()
        if not_now:
            raise MessageError("ride", not_now)
        home = core.options.platform.home_pose
        assert home is not None
        return PathTarget((home @ core.ways.frames.tool)[None], (False,), word="the end of a ride")

    def hear(self, message: Any, now: int, arrived: float) -> None:
        """Take a message of the vehicle at a time [ns], which arrived [s] on a steady clock."""
        if self._ride is None:
            return
        try:
            self._ride.hear(*read_vehicle(message, now, self._ride.timeout), arrived)
        except MessageError as error:
            self._bad = str(error)
        else:
            self._bad = ""

    def go_on(self, core: StewartCommandCore, planner: Planner, now: float) -> None:
        """Let the filters go on, and have planned what follows them; a stop ends the ride."""
        ride = self._ride
        if ride is None:
            return
        if core.phase == OFF or core.phase in UNTIL_HOLD:
            self.end()
            return
        ride.advance(now)
        if ride.silent(now) != self._silent:
            self._silent = not self._silent
            if self._silent:
                self._logger.warning(self._silence(ride))
            else:
                self._logger.info("the vehicle is heard")
        if planner.idle and core.free:
            target = ride.target(now, planner.lead, bool(core.refusal))
            if target is not None:
                planner.ask(core, target)

    def _silence(self, ride: Ride) -> str:
        return f"nothing of the vehicle for {ride.timeout:g} s: the platform returns to its home pose"

    def describe(self, report: Report, now: float) -> None:
        """Tell of the ride in the diagnostics."""
        ride = self._ride
        report.values["ride"] = "no" if ride is None else "yes"
        if ride is None:
            return
        if self._bad:
            report.add(diagnostics.WARN, self._bad)
        if ride.silent(now):
            report.add(diagnostics.WARN, self._silence(ride))

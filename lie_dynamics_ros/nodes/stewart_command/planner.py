"""Targets become motions beside the ticks."""

from __future__ import annotations

from collections.abc import Callable

from ...ros.node.background import Background, Job
from .core import Plan, StewartCommandCore
from .targets import Target

LEAST_LEAD, MOST_LEAD = 0.02, 1.0
"""Times that planning is given before a motion is left [s]; twice what it took last, between these."""


class Planner:
    """Has one target planned at a time; the last one counts.

    Parameters
    ----------
    now : callable
        Returns the time in which motions go on [s].

    Attributes
    ----------
    lead : float
        Time that planning is given [s].
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.lead = LEAST_LEAD
        self._background = Background("plans")
        self._plan: tuple[Job, float] | None = None
        self._waiting: Target | None = None

    def close(self) -> None:
        """End the thread."""
        self._background.close()

    def clear(self) -> None:
        """Forget what is being planned, and what waits."""
        self._plan = self._waiting = None

    def wait_no_more(self) -> None:
        """Forget what waits."""
        self._waiting = None

    @property
    def idle(self) -> bool:
        """Whether nothing is being planned."""
        return self._plan is None

    def ask(self, core: StewartCommandCore, target: Target) -> None:
        """Have a target planned, now or after the one that is."""
        self._waiting = None
        if self._plan is not None and not self._plan[0].done:
            self._waiting = target
            return
        plan = core.ask(target, self.lead)
        if plan is not None:
            job = Job(None, plan.make)
            self._plan = job, self._now()
            self._background.start(job)

    def go_on(self, core: StewartCommandCore) -> None:
        """Take what has been planned, and have planned what waits."""
        if self._plan is not None and self._plan[0].done:
            (job, asked), self._plan = self._plan, None
            self.lead = min(max(LEAST_LEAD, 2.0 * (self._now() - asked)), MOST_LEAD)
            plan: Plan = job.result()
            core.take(plan)
        if self._plan is None:
            target = self._waiting or core.due()
            if target is not None:
                self.ask(core, target)

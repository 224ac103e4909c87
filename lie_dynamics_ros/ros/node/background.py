"""Work that takes long, on a thread beside the executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Job:
    """Something to be made, and what became of it.

    Parameters
    ----------
    key : object
        Tells what it is made from: jobs with equal keys make the same.
    make : callable
        Returns the result, or raises.

    Attributes
    ----------
    done : bool
        Whether it has been made, or has failed.
    """

    def __init__(self, key: Any, make: Callable[[], Any]) -> None:
        self.key, self._make = key, make
        self.done = False
        self._result: Any = None
        self._error: Exception | None = None

    def run(self) -> None:
        """Make it; never raises."""
        try:
            self._result = self._make()
        except Exception as error:
            self._error = error
        self.done = True

    def result(self) -> Any:
        """Return what was made, or raise why it could not be."""
        if self._error is not None:
            raise self._error
        return self._result


class Background:
    """A thread that does one job after the other.

    Parameters
    ----------
    name : str
        Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    def start(self, job: Job) -> None:
        """Begin a job; `Job.done` is True when it is done."""
        self._thread.submit(job.run)

    def close(self) -> None:
        """Drop the jobs that wait; the one under way ends on its own."""
        self._thread.shutdown(wait=False, cancel_futures=True)

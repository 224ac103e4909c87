"""Tests on several workers, copies of the process that has collected them: nothing is imported or collected twice.

A worker takes the next file whenever it is free, in the order in which they were collected; the tests of a file stay
together. What a worker has to say of a test, it tells when the test is over, and this process says it as if it had run
the test itself. A worker that ends in the middle of a test fails that one, and another one does what is left.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import struct
import traceback
import warnings
from collections.abc import Iterator
from itertools import groupby
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest

FILE = struct.Struct("H")
"""How the number of a file is written, all of them into one pipe from which all workers read."""
LOOK = 2.0
"""How often to look whether a worker has ended without a word, though a process of a test keeps its pipe open [s]."""


class Recorder:
    """Keeps what hooks of reporting are called with."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._calls: list[tuple[str, Any]] = []

    def take(self) -> list[tuple[str, Any]]:
        """Return what was kept since the last time."""
        calls, self._calls = self._calls, []
        return calls

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._calls.append(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._calls.append(("pytest_runtest_logreport", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._calls.append(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        category = warning_message.category
        try:
            pickle.dumps(category)
        except (pickle.PicklingError, AttributeError):  # a class of a test's own
            category = UserWarning
        told = str(warning_message.message), category, warning_message.filename, warning_message.lineno
        given = {"when": when, "nodeid": nodeid, "location": location, "told": told}
        self._calls.append(("pytest_warning_recorded", given))


def say(config: pytest.Config, name: str, given: Any) -> None:
    """Call a hook of reporting as it was called in a worker."""
    if name == "pytest_warning_recorded":
        message, *rest = given.pop("told")
        given["warning_message"] = warnings.WarningMessage(message, *rest)
        config.hook.pytest_warning_recorded.call_historic(kwargs=given)
        return
    if name == "pytest_runtest_logreport":
        given = {"report": config.hook.pytest_report_from_serializable(config=config, data=given)}
    getattr(config.hook, name)(**given)


class Worker:
    """A copy of this process, and which tests it has taken."""

    def __init__(self, copies: Copies, session: pytest.Session, begun: list[int], number: int) -> None:
        self.left: list[int] = list(begun)
        context = multiprocessing.get_context("fork")
        self.told, tell = context.Pipe(duplex=False)
        heard = [self.told, *(worker.told for worker in copies.workers)]
        self.process = context.Process(target=copies.work, args=(session, begun, number, tell, heard))
        self.process.start()
        tell.close()

    def ended(self) -> bool:
        """Whether it has ended and has nothing more to say."""
        return not self.process.is_alive() and not self.told.poll()


class Copies:
    """The plugin: `count` workers."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._files: list[list[int]] = []
        self.workers: list[Worker] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        config = session.config
        if config.option.collectonly or (session.testsfailed and not config.option.continue_on_collection_errors):
            return None  # as without this plugin
        numbers = groupby(range(len(session.items)), key=lambda k: session.items[k].path)
        self._files = [list(file) for _, file in numbers]
        self._queue, write = os.pipe()
        os.write(write, b"".join(map(FILE.pack, range(len(self._files)))))
        os.close(write)
        if not config.option.verbose:
            config.pluginmanager.get_plugin("terminalreporter").showfspath = False  # files take turns
        config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        try:
            for number in range(min(self._count, len(self._files))):
                self.workers.append(Worker(self, session, [], number))
            self._listen(session)
        except Exception:
            for worker in self.workers:
                worker.process.terminate()
            raise
        finally:
            for worker in self.workers:
                worker.told.close()  # whoever still works ends with the next word
                worker.process.join()
            os.close(self._queue)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    # In this process.

    def _listen(self, session: pytest.Session) -> None:
        """Say what the workers tell, until all have ended."""
        running = list(self.workers)
        while running:
            heard = wait([worker.told for worker in running], LOOK)
            for worker in list(running):
                if worker.told in heard and self._hear(session, worker):
                    continue
                if worker.told in heard or worker.ended():
                    running.remove(worker)
                    worker.process.join()
                    if worker.left:
                        self._failed(session, worker)
                        self.workers.append(Worker(self, session, worker.left[1:], len(self.workers)))
                        running.append(self.workers[-1])
            if session.shouldfail or session.shouldstop:
                os.set_blocking(self._queue, False)
                while self._take():  # no worker is to find another file
                    pass

    def _hear(self, session: pytest.Session, worker: Worker) -> bool:
        """Take in one message of a worker; tell whether there was one."""
        try:
            what, told = worker.told.recv()
        except EOFError:
            return False
        if what == "took":
            worker.left += self._files[told]
        elif what == "over":
            worker.left.remove(told[0])
            for name, given in told[1]:
                say(session.config, name, given)
        elif what == "stopped":
            worker.left = []
        else:
            raise RuntimeError(f"a worker broke down:\n{told}")
        return True

    def _failed(self, session: pytest.Session, worker: Worker) -> None:
        """Report the test in which a worker ended as one that has failed."""
        item = session.items[worker.left[0]]
        text = f"the process of this test ended: exit code {worker.process.exitcode}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        session.config.hook.pytest_runtest_logreport(report=report)

    # In a worker.

    def _take(self) -> list[int]:
        """Return the tests of the next file, none where there is none left."""
        try:
            number = os.read(self._queue, FILE.size)
        except BlockingIOError:
            return []
        return self._files[FILE.unpack(number)[0]] if number else []

    def work(
        self, session: pytest.Session, begun: list[int], number: int, tell: Connection, heard: list[Connection]
    ) -> None:
        """Be the worker of that number; `begun` are tests that another one has left."""
        for end in heard:  # where only the first process listens: a worker is to notice that it is gone
            end.close()
        config = session.config
        capture = config.pluginmanager.get_plugin("capturemanager")
        capture.stop_global_capturing()  # into files that all copies would share
        capture.start_global_capturing()
        capture.suspend_global_capture()
        factory = config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = factory.getbasetemp() / f"worker{number}"
        factory._basetemp.mkdir(0o700)
        config.get_terminal_writer()._file = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")  # type: ignore[attr-defined]
        recorder = Recorder(config)
        config.pluginmanager.register(recorder, "recorder")
        recorder.take()  # warnings that have been recorded before are recorded to it, too

        def taken() -> Iterator[int]:
            yield from begun
            while file := self._take():
                tell.send(("took", self._files.index(file)))
                yield from file

        try:
            tests = taken()
            k = next(tests, None)
            while k is not None:
                following = next(tests, None)
                nextitem = None if following is None else session.items[following]
                config.hook.pytest_runtest_protocol(item=session.items[k], nextitem=nextitem)
                tell.send(("over", (k, recorder.take())))
                if session.shouldfail or session.shouldstop:
                    break
                k = following
            config.pluginmanager.get_plugin("runner").pytest_sessionfinish(session)
            tell.send(("stopped", None))
        except (KeyboardInterrupt, BrokenPipeError):  # it is told to end, or nobody listens any more
            config.pluginmanager.get_plugin("runner").pytest_sessionfinish(session)
        except BaseException:
            tell.send(("broken", traceback.format_exc()))

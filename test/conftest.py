"""Settings of all tests; being here also makes ``support`` importable from each of them.

With ``--require-all``, which continuous integration uses, a test that is skipped for any other reason than one of
`EXPLAINED` fails: a missing oracle, or a package that did not build, is no success.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import sys
import zlib
from functools import cache
from itertools import groupby
from pathlib import Path

# Before numpy is loaded: on small matrices and a busy machine threads of BLAS wait for each other, fifty times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

# Times vary with the machine and with what is compiled already: they are measured in benchmarks/, not here.
settings.register_profile("repository", deadline=None, print_blob=True)
settings.load_profile("repository")


TESTS = Path(__file__).parent


@pytest.fixture
def rng(request):
    """A random generator of the test's own: the same in every run, whatever other tests run."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


WAITING = ("demo", "nodes", "soak", "fuzz", "ros")
"""Folders whose tests wait most of the time, for other processes; those that take longest first."""
LONGEST = ("loop", "examples", "engine", "stewart", "optimal", "control", "geometry")
"""Folders of the others whose files take longest: no worker begins with them while the others have finished."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """More than cores: tests of nodes wait most of the time, for discovery and for reports.

    Not more than that: each collects all tests, and loads what it has not loaded yet, for 15 s of a core and more.
    """
    return 2 * (os.cpu_count() or 1)


def pytest_configure(config):
    """Let each worker begin to collect elsewhere, where it collects all: what one has compiled the others load."""
    if hasattr(config, "workerinput") and config.args == config.getini("testpaths"):
        folders = [str(path) for path in sorted(TESTS.iterdir()) if path.is_dir() and path.name[0] not in "._"]
        worker, workers = int(config.workerinput["workerid"][2:]), config.workerinput["workercount"]
        first = worker * len(folders) // workers
        config.args = folders[first:] + folders[:first]


@contextlib.contextmanager
def one_worker_at_a_time():
    """What the first of them finds and keeps in files, the others read there."""
    with Path(__file__).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Take files that wait and files that compute in turn, so that the ones use the cores that the others leave.

    Before, hypothesis looks for numbers in the sources of the package, and keeps them.
    """
    with one_worker_at_a_time():
        yield

    @cache
    def place(path):
        folders = path.relative_to(TESTS).parts
        computes = not set(WAITING) & set(folders)
        longest = LONGEST if computes else WAITING
        return computes, next((k for k, folder in enumerate(longest) if folder in folders), len(longest)), path

    items.sort(key=lambda item: place(item.path))
    turns = []
    for _, kind in groupby(items, key=lambda item: place(item.path)[0]):
        files = [list(file) for _, file in groupby(kind, key=lambda item: item.path)]
        turns += [((k + 0.5) / len(files), file) for k, file in enumerate(files)]
    items[:] = [item for _, file in sorted(turns, key=lambda turn: turn[0]) for item in file]


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """What is collected stays: looking through thousands of tests for garbage takes a tenth of the tests' time."""
    gc.disable()
    yield
    gc.collect()
    gc.freeze()
    gc.enable()


EXPLAINED = (
    "not among the ROS 2 wheels",  # launch and tf2: where they are installed, these tests run
    "no network namespaces here",  # not everybody may make them
    "only root can give files away",
    "chromium is not installed",  # a browser of the system; what it is shown is judged without one, too
    "too large to be among the tools of the tests",  # PyTorch, JAX: optional, a hundred megabytes and more
)
"""Parts of the reasons for which a test may be skipped everywhere."""


def pytest_addoption(parser):
    parser.addoption("--require-all", action="store_true", help="fail where a test is skipped without a good reason")


def _require(config, report):
    """Turn a report of a test or a file that was skipped into a failure, unless the reason is among the good ones."""
    if not (config.getoption("require_all") and report.skipped) or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(part in reason for part in EXPLAINED):
        report.outcome = "failed"
        report.longrepr = f"--require-all: skipped, which it must not be: {reason}"


def pytest_runtest_setup():
    """Judge every picture that a test saves, in tests that draw at all."""
    if "matplotlib" in sys.modules:
        from support.page.picture_judge import judge_figures

        judge_figures()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    _require(item.config, outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    outcome = yield
    _require(collector.config, outcome.get_result())

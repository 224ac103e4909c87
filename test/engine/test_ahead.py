"""Compilation ahead of time: all kernels, each once, whichever processes take them."""

import gc

import pytest

from lie_dynamics_ros.lie_dynamics.engine import ahead
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED


def test_each_module_is_part_of_one_job():
    modules = [kernel.py_func.__module__ for kernel in ahead.load_all()]
    jobs = ahead._jobs(modules)
    assert sorted(module for job in jobs for module in job) == sorted(set(modules))
    for job in jobs:
        assert len({module.rpartition(".")[0] for module in job}) == 1, job


@pytest.mark.skipif(not COMPILED, reason="plain Python compiles nothing")
@pytest.mark.parametrize("collects", [True, False])
def test_the_collection_of_garbage_is_left_as_it_was(collects):
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        compiling = ahead._compile_modules([ahead.load_all()[0].py_func.__module__], None)
        next(compiling)
        assert not gc.isenabled()
        compiling.close()  # as where whoever asked has seen enough
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()

"""Compilation ahead of time: all kernels, each once, whichever processes take them."""

from lie_dynamics_ros.lie_dynamics.engine import ahead


def test_each_module_is_part_of_one_job():
    modules = [kernel.py_func.__module__ for kernel in ahead.load_all()]
    jobs = ahead._jobs(modules)
    assert sorted(module for job in jobs for module in job) == sorted(set(modules))
    for job in jobs:
        assert len({module.rpartition(".")[0] for module in job}) == 1, job

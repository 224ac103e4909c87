"""Compilation ahead of time: all kernels, each once, whichever processes take them."""

import sys

from lie_dynamics_ros.lie_dynamics.kernels import ahead


def test_groups_name_modules_that_hold_kernels():
    ahead.load_all()
    modules = {name.rpartition(".")[2] for name in sys.modules if ".lie_dynamics." in name}
    named = [name for group in ahead.GROUPS for name in group.split()]
    assert len(named) == len(set(named))
    assert set(named) <= modules


def test_each_module_is_part_of_one_job():
    names = ["library.kernels.regressor", "library.users.new", "library.kernels.gravity", "library.kernels.regressor"]
    jobs = ahead._jobs(names)
    assert sorted(module for job in jobs for module in job) == sorted(set(names))
    assert jobs[-1] == ["library.users.new"]

"""A few cases of each target that needs no nodes, with a seed of their own; ``make fuzz`` has the long run."""

import pytest

from .__main__ import TARGETS, load, main
from .target import run_case

COUNTS = {"functions": 1500, "trajectories": 60, "urdf": 60, "yaml": 80}
NODES = {"lifecycle", "messages", "parameters", "services"}
"""Targets with real nodes, in the long run only."""


def test_all_targets_are_here():
    assert {*COUNTS, *NODES} == set(TARGETS)


@pytest.mark.parametrize("name", COUNTS)
def test_a_few_cases(name):
    with load(name) as target:
        for index in range(COUNTS[name]):
            run_case(target, 17, index)


def test_a_target_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no target nonsense; there are" in capsys.readouterr().err

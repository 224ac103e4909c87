"""The gains that the controller really has, in the exact sampled loop: no eigenvalue outside the unit circle."""

import pytest
from support import arms
from support.control.eigenvalue_sweep import GROWTH, RATES, growths
from support.grids import every_run


def judge(name, count, rng, rates=RATES):
    found = list(growths(name, count, rng, rates=rates))
    unstable = [(*what, growth) for what, growth in found if growth > GROWTH]
    some = unstable[:: max(1, len(unstable) // 5)][:6]
    assert not unstable, f"{len(unstable)} of {len(found)} unstable, such as {some}"


@pytest.mark.parametrize(
    ("name", "rate"),
    every_run([("panda", 250.0)], zip(("panda", "ur5", "xarm7"), RATES, strict=True)),
)
def test_no_mode_and_no_stop_is_unstable_where_axes_line_up(name, rate, rng):
    judge(name, 1, rng, [rate])


@pytest.mark.slow
@pytest.mark.parametrize("name", arms.NAMES)
def test_no_mode_and_no_stop_is_unstable_at_a_thousand_poses(name, rng):
    judge(name, 1000, rng)

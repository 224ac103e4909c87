"""Trajectories that a core of computed_torque is given: judged all along before they are taken."""

import numpy as np
import pytest
from core_loop import MIDDLE, ZERO, Loop, S, panda

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.lie_dynamics.control.feasibility import extremes

SPEED = panda().limits.velocity


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (([1.0], [MIDDLE], None, None, [[1e308] * 7]), "an effort of 1e\\+308"),
        (([1.0], [MIDDLE], None, None, [[90.0] + [0.0] * 6]), "an effort of 90 beyond the limits of panda_joint1"),
        (([1.0, 2.0], [MIDDLE, MIDDLE], [[1e200] * 7, ZERO]), "beyond the limits|not finite"),
        (([1.0, 2.0], [MIDDLE, MIDDLE], [[1e6] * 7, ZERO]), "beyond the limits"),
        (([1.0], [MIDDLE + 3.0], [ZERO]), "a position of"),
        (([0.1], [MIDDLE + 0.3], [ZERO]), "a velocity of"),  # 4.5 rad/s half-way, and rest at both ends
        (([0.5, 1.0], [MIDDLE - [0, 0, 0, 1.36, 0, 0, 0], MIDDLE], [-0.9 * SPEED, ZERO]), "a position of"),
        (([1.0], [MIDDLE - [0, 0, 0, 1.5, 0, 0, 0]], [ZERO]), "a position of"),
        (([0.3], [MIDDLE + 0.12 * np.eye(7)[1]], [ZERO], [ZERO]), "takes"),
        (([0.5], [MIDDLE + 0.12], [ZERO], [ZERO]), None),
    ],
)  # fmt: skip
def test_trajectories_are_judged_all_along_before_they_are_taken(points, reason):
    loop = Loop(acceleration_limit=[0.0])
    loop.step()
    before = loop.core.player.count
    if reason is None:
        loop.follow(*points)
        return
    if reason == "takes":  # fast enough for the URDF's velocities, too fast for the shoulder's torque with a payload
        loop.change(payload_frame="panda_link7", payload_mass=10.0)
        loop.step()
    with pytest.raises(MessageError, match=reason):
        loop.follow(*points)
    assert loop.core.player.count == before
    loop.step()


@pytest.mark.parametrize("share", [5e-324, 1e-310, 1e-200, 1e-17, 1e-16])
def test_the_largest_value_of_a_polynomial_with_a_tiny_leading_coefficient(share):
    """Of s (1 - s) and so on at 1/2; what is below round-off must not overflow in the roots."""
    for c, largest in (([0.0, 4.0, -4.0, 0.0, share], 1.0), ([1.0, -1.0, 0.0, share], 1.0), ([1e-300, share], 1e-300)):
        assert extremes.largest(np.array(c)) == pytest.approx(max(largest, c[0] + c[-1] * (len(c) == 2)))
    assert extremes.largest(np.array([0.0, np.inf])) == np.inf
    assert extremes.largest(np.zeros(4)) == 0.0


def test_accelerations_between_points_count_where_there_is_a_limit():
    loop = Loop(acceleration_limit=[5.0])
    loop.step()
    with pytest.raises(MessageError, match="an acceleration of"):
        loop.follow([0.5], [MIDDLE + 0.3], [ZERO])
    loop.follow([0.5], [MIDDLE + 0.2], [ZERO])


def test_a_trajectory_that_waits_and_cannot_begin_is_told():
    loop = Loop()
    loop.step()
    start = S + S // 10
    loop.follow([0.0, 1.0], [MIDDLE + 0.3, MIDDLE], [ZERO, ZERO], start=start)
    loop.run(0.2)
    ((told, _, reason),) = loop.core.player.dropped
    assert told == start and "start_tolerance" in reason
    np.testing.assert_allclose(loop.answers[-1].desired.position, MIDDLE)

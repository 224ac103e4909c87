"""Mechanisms that tests of closed loops go through."""

from functools import partial

import numpy as np

from lie_dynamics_ros.lie_dynamics import SpatialInertia, mechanism
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import delta_robot, five_bar, four_bar, gough_stewart
from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform


def platform_at_home():
    """A platform and a pose above its base."""
    angles = np.radians([-10, 10, 110, 130, 230, 250]), np.radians([-50, 50, 70, 170, 190, 290])
    base, top = (np.array([np.cos(x), np.sin(x), 0.0 * x]).T for x in angles)
    home = np.eye(4)
    home[2, 3] = 0.9
    return StewartPlatform(base, 0.5 * top), home


def stewart():
    return gough_stewart(*platform_at_home(), SpatialInertia(3.0, [0, 0, 0.05], 0.1 * np.eye(3)))


MADE = {"four-bar": four_bar, "five-bar": five_bar, "delta": delta_robot, "stewart": stewart}
#: Others, which are tracked, too.
MORE = {
    name: partial(mechanism, name)
    for name in ("6-RUS", "linear delta", "3-RPS", "four-bar arm", "planar 3-RRR", "6-UPS", "6-UCU")
}

"""Frames of external wrenches: by name, with a slash or without."""

from __future__ import annotations

import numpy as np
import pytest
from node_robots import ARM

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.expiring_values import ExternalWrenches
from lie_dynamics_ros.lie_dynamics import Model


def test_a_slash_before_a_frame_makes_no_other_frame_of_it():
    wrenches = ExternalWrenches(Model.from_urdf(ARM))
    wrenches.put("/panda_link8", np.ones(6), 0)
    wrenches.put("panda_link8", np.arange(6.0), 0)
    assert wrenches.frames == ("panda_link8",)
    (body,) = np.flatnonzero(wrenches.on_bodies(0, 1).any(axis=1))
    assert body == 6


def test_a_frame_that_the_robot_does_not_have_is_named_in_short():
    wrenches = ExternalWrenches(Model.from_urdf(ARM))
    with pytest.raises(MessageError, match="no link or frame 'xxx") as error:
        wrenches.put("x" * 10_000, np.ones(6), 0)
    assert len(str(error.value)) < 200

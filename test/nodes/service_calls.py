"""What tests of the dynamics nodes' services share."""

from __future__ import annotations

import numpy as np
import pytest

srv = pytest.importorskip("lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed")

from geometry_msgs.msg import WrenchStamped  # noqa: E402

WRENCH = np.array([3.0, -20.0, 15.0, 1.0, 2.0, -0.5])  # force, torque


def ask(nodes, kind, node="inverse_dynamics", **fields):
    bench, names = nodes
    type_ = getattr(srv, "Compute" + "".join(word.capitalize() for word in kind.split("_")))
    fields = {k: v.ravel().tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}
    return bench.call(type_, f"{names[node]}/compute_{kind}", type_.Request(**fields))


def wrench_on_flange():
    message = WrenchStamped()
    message.header.frame_id = "panda_link8"
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = WRENCH
    return message

"""Makes the picture of the page (wants chromium): PYTHONPATH=test python test/nodes/viewer/picture.py FILE."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from support.page.browser import Browser

from lie_dynamics_ros.demo.processes import Children
from lie_dynamics_ros.nodes.viewer.page import free_port
from lie_dynamics_ros.ros.node.domain import DomainReservation

SHOWN_AT = 12.0
"""Time of motion in the traces [s]."""
NODES = {
    "simulated_robot": ({"rate": 100.0}, {"~/joint_trajectory_point": "/inverse_dynamics/joint_trajectory_point"}),
    "inverse_dynamics": ({}, {}),
    "simulated_stewart": ({"rate": 100.0}, {"joint_states": "legs"}),
    "stewart_pose": ({}, {"joint_states": "legs"}),
}
SIZE = {"width": 1200, "height": 860, "deviceScaleFactor": 1, "mobile": False}
WITHOUT_WARNING = """
for (const e of document.querySelectorAll("[class*=Notification-root]")) e.style.display = "none"
"""
"""Hides what viser says of browsers that draw without a graphics card."""


def main(path: str) -> None:
    reservation = DomainReservation()
    reservation.apply(os.environ)
    port = free_port("127.0.0.1", 8080)
    with tempfile.TemporaryDirectory() as folder, Children(Path(folder)) as children:
        os.environ["ROS_LOG_DIR"] = folder
        for node, (parameters, topics) in NODES.items():
            children.start(node, {"thread_priority": 0, **parameters}, topics)
        children.start("viewer", {"port": port}, {})
        with Browser(Path(folder) / "profile") as browser:
            browser.wait(lambda: "page is at" in children.output("viewer"), "the page")
            browser.do("Emulation.setDeviceMetricsOverride", **SIZE)
            browser.open(f"http://127.0.0.1:{port}")
            browser.wait(lambda: "live" in browser.text, "the robot")
            end = time.monotonic() + SHOWN_AT
            browser.wait(lambda: time.monotonic() > end, "some motion")
            browser.do("Runtime.evaluate", expression=WITHOUT_WARNING)
            Path(path).write_bytes(browser.picture())


if __name__ == "__main__":
    main(*sys.argv[1:])

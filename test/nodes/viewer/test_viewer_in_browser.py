"""The viewer's page in a real browser: it draws, moves, survives a reload, and the loss and return of the node."""

import os
import signal
from importlib.util import find_spec

import numpy as np
import pytest
from node_robots import ARM, ARM_JOINTS
from support.page.browser import Browser, needs_chromium

if find_spec("viser") is None:  # not imported by all who collect tests
    pytest.skip("viser, which serves the viewer's page, is not installed", allow_module_level=True)

from lie_dynamics_ros.nodes.viewer.page import REPLAY, free_port
from lie_dynamics_ros.nodes.viewer.picture import JOINT

pytestmark = [needs_chromium, pytest.mark.slow]  # drawing without a graphics card takes a minute of a processor
POSITION = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.6, 0.8])


def robot_pixels(scene):
    """Where something of the colour of the arm's joints is: more red than green than blue, bright or in shadow."""
    red, green, blue = np.moveaxis(scene, -1, 0)
    assert JOINT[0] > JOINT[1] > JOINT[2]
    return (red - green > 15) & (green - blue > 15)


def connected(browser):
    """Whether the sign at the head of the panel is green."""
    sign = browser.pixels()[15:60, -392:-366]
    return bool(((sign[..., 1] - sign[..., 0] > 80) & (sign[..., 1] - sign[..., 2] > 80)).any())


def test_draws_moves_and_survives_a_reload_and_the_loss_of_the_node(bench, tmp_path):
    port = free_port("127.0.0.1", 8080)
    node = bench.start("viewer", port=port, fresh=True)
    bench.publish_description(ARM)
    position = POSITION.copy()

    def drive():
        state = bench.make_state(ARM_JOINTS, position)
        state.effort = [10.0] * 7
        bench.states.publish(state)

    with Browser(tmp_path / "profile") as browser:

        def sees(condition, what):
            return bench.send_until(drive, condition, f"{what}; the page says {browser.text!r}")

        bench.wait_status(node, lambda s, v: v["page"].endswith(f":{port}"), "the page's address")
        browser.open(f"http://127.0.0.1:{port}")
        sees(lambda: "live" in browser.text and "+10 of 87 N m" in browser.text, "the panel")
        sees(lambda: robot_pixels(browser.scene()).sum() > 500, "the arm drawn")
        assert connected(browser)
        before = robot_pixels(browser.scene())
        position[0] += 1.5
        position[1] += 0.8
        sees(lambda: (robot_pixels(browser.scene()) ^ before).sum() > 500, "a motion")
        browser.reload()
        sees(lambda: "live" in browser.text and robot_pixels(browser.scene()).sum() > 500, "the same after a reload")
        assert "replay the last minute" in browser.text
        browser.open(f"http://127.0.0.1:{port}{REPLAY}")
        sees(lambda: robot_pixels(browser.scene()).sum() > 500, "the replay")
        browser.open(f"http://127.0.0.1:{port}")
        bench.wait(lambda: "stale: no joint states" in browser.text, "the loss of the driver")
        (process,) = bench.processes
        os.kill(process.process.pid, signal.SIGINT)
        process.process.wait(60.0)
        bench.processes.clear()
        browser.wait(lambda: not connected(browser), "the page to show that the node is lost")
        assert robot_pixels(browser.scene()).sum() > 200  # the last picture stays
        bench.start("viewer", port=port, fresh=True)
        sees(lambda: connected(browser) and "live" in browser.text, "the node's return")
        sees(lambda: robot_pixels(browser.scene()).sum() > 500, "the robot again")
        assert not [said for said in browser.said if "exceptionDetails" in said]

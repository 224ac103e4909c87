"""The node stewart_command in this process, with ticks and a clock of ours."""

import numpy as np
import pytest
from node_platforms import HOME, LEGS, TEXT, lengths, pose_at
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from lie_dynamics_ros.nodes.stewart_command import node as module
from lie_dynamics_ros.nodes.stewart_command.targets import PathTarget


class Ticks:
    """An active node whose ticks and clock are ours."""

    def __init__(self, bench, monkeypatch, rate):
        values = {"autostart": False, "platform": TEXT + "\nleg_limits: [0.3, 0.8]\n", "rate": rate}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = module.StewartCommandNode(namespace=bench.namespace, parameter_overrides=overrides)
        assert self.node.trigger_configure().name == "SUCCESS", self.node.failure
        assert self.node.trigger_activate().name == "SUCCESS"
        self.core, self.now, self.period, self.sent = self.node.core, 0.0, 1.0 / rate, []
        monkeypatch.setattr(self.node, "waiting_time", lambda: self.now)
        keep = lambda m: self.sent.append((m.position[:], m.velocity[:]))  # noqa: E731
        monkeypatch.setattr(self.node._outputs.commands, "send", keep)
        self.hear()

    def hear(self):
        self.node.states.on_state(JointState(name=LEGS, position=lengths(HOME).tolist(), velocity=[0.0] * 6))

    def tick(self, count=1, heard=False):
        for _ in range(count):
            self.now += self.period
            if heard:
                self.hear()
            self.node._tick()

    def move(self):
        """Go at full speed."""
        self.core.take(self.core.ask(PathTarget(pose_at([0.06, 0.0, 0.5], [0, 0, 0])[None], (False,)), 0.02).make())
        self.tick(60, heard=True)
        assert np.abs(self.sent[-1][1]).max() > 0.05


@pytest.fixture
def ticks(bench, monkeypatch):
    made = []

    def make(rate):
        made.append(Ticks(bench, monkeypatch, rate))
        return made[-1]

    yield make
    for one in made:
        one.node.destroy_node()


@pytest.fixture
def at_once(monkeypatch):
    """Let plans be made as soon as they are asked for."""

    def make(run):
        monkeypatch.setattr(run.node.planner._background, "start", lambda job: job.run())

    return make

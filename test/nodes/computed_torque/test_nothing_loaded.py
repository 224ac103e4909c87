"""Nothing is read from disk or compiled once a controller is made: not for a motion, a stop or another mode either."""

from __future__ import annotations

from support.forked import run_in_copies

PROGRAM = """
from importlib.resources import files
import numpy as np
from lie_dynamics_ros import Controller

def events(mode, other, measured):
    robot = str(files("lie_dynamics_ros") / "urdf/panda_arm.urdf")
    controller = Controller(robot, mode=mode, on_infeasible="slow_down")
    q, none, time = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7]), np.zeros(7), [0.0]
    opened = []
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event in ("open", "compile", "import") else None)

    def states(count):
        for _ in range(count):
            controller.update(time[0], q, none if measured else None)
            time[0] += 0.002

    states(30)
    if mode in ("computed_torque", "passivity_based", "adaptive"):
        controller.follow([0.01, 0.4], [q + 1e-3, q], [none, none])  # the first part is too fast
    states(250)
    controller.set(mode=other)
    states(150)
    controller.stop("asked to")
    states(300)
    assert controller.phase == "stopped"
    controller.hold()
    states(100)
    after = list(opened)
    print(mode, "opened:", after)
    assert not after

in_copies(events)
"""
#: Mode at first and later, and whether velocities are told.
MODES = [
    ("computed_torque", "adaptive", True),
    ("passivity_based", "impedance", False),
    ("operational_space", "computed_torque", True),
]


def test_a_course_of_events_loads_nothing():
    run_in_copies(PROGRAM, MODES)

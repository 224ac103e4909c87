"""However a controller ends in mid motion, its last command holds the arm up: drivers keep what came last."""

import signal

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from mujoco_driver import MujocoDriver
from rounds import judged_apart
from support import arms

CLOSE = 0.05
"""To gravity compensation of the last state [N m]."""


def in_mid_motion(bench, controllers, arm="panda_arm", **parameters):
    arm = arms.load(arm)
    q = arm.aligned(2)
    driver = MujocoDriver(bench, arm, controllers, q, **parameters)
    goal = np.clip(q + 0.6, arm.lower + 0.1, arm.upper - 0.1)
    driver.follow(goal, 0.8)
    driver.run(lambda: np.abs(driver.simulated.qd).max() > 0.7, "the arm moved")
    for node in driver.nodes:
        assert driver.off_gravity(node) > 10 * CLOSE  # an ordinary command is far from gravity compensation
    return driver


def ends(driver, node):
    """Take a process out of the bench's care, and return it; wait with `wait_end`."""
    process = driver.processes[node]
    driver.bench.processes.remove(process)
    return process


def wait_end(driver, node, process, states=1):
    driver.bench.wait(lambda: process.process.poll() is not None, f"{node} to end")
    quiet, known = 0, -1  # what it sent before it ended is here already
    while quiet < 20:
        driver.bench.executor.spin_once(timeout_sec=0.01)
        quiet, known = (quiet + 1, known) if len(driver.commands[node]) == known else (0, len(driver.commands[node]))
    # Fast DDS may lock up where a publisher is destroyed while its subscriber is just leaving.
    driver.bench.wait(lambda: driver.paths[node].get_subscription_count() == 0, f"{node} to be forgotten")
    off = driver.off_gravity(node, states)
    assert off < CLOSE, f"{node}: last command off by {off} N m\n{process.output}"
    assert process.process.returncode == 0 and "Traceback" not in process.output, process.output


def test_signals_deactivation_and_shutdown_leave_the_arm_held_up(bench):
    """SIGTERM is below."""
    driver = in_mid_motion(bench, 3)
    interrupted, deactivated, shut = driver.nodes
    processes = {interrupted: ends(driver, interrupted)}
    processes[interrupted].process.send_signal(signal.SIGINT)
    assert bench.change_state(deactivated, "deactivate") and bench.change_state(shut, "shutdown")
    for node, process in processes.items():
        wait_end(driver, node, process)
    for node in (deactivated, shut):
        bench.wait(lambda n=node: driver.off_gravity(n) < CLOSE, f"{node}'s last command to hold the arm")
    assert bench.state(deactivated) == "inactive" and bench.state(shut) == "finalized"
    commands = len(driver.commands[deactivated])
    driver.send()
    assert bench.change_state(deactivated, "activate")  # it answers no state in between
    assert len(driver.commands[deactivated]) == commands


ENOUGH = 400
"""States within which an arm comes to rest, 0.8 s; a machine that stalls may answer fewer within the second for it."""
ENDS = {
    "SIGINT": lambda bench, node, process: process.process.send_signal(signal.SIGINT),
    "SIGTERM": lambda bench, node, process: process.process.send_signal(signal.SIGTERM),
    "deactivate": lambda bench, node, process: ask(bench, node, label="deactivate"),
    "shutdown by id": lambda bench, node, process: ask(bench, node, id=Transition.TRANSITION_ACTIVE_SHUTDOWN),
}


def ask(bench, node, **transition):
    return bench.start_call(ChangeState, node, "change_state", ChangeState.Request(transition=Transition(**transition)))


@pytest.mark.parametrize(
    "how", [pytest.param(x, marks=() if x == "SIGTERM" else pytest.mark.slow) for x in ENDS]
)
def test_an_arm_in_motion_is_brought_to_rest_before_its_node_ends(bench, how):
    """By the efforts on ~/commands, which an effort controller would keep; both outputs end with the same."""
    driver = in_mid_motion(bench, 1)
    (node,) = driver.nodes
    process = ends(driver, node) if how.startswith("SIG") else driver.processes[node]
    commands, efforts = driver.commands[node], driver.efforts[node]
    fastest, states = float(np.abs(driver.simulated.qd).max()), 0
    asked = ENDS[how](bench, node, process)

    def over():
        return process.process.poll() is not None if asked is None else asked.done()

    while not over():
        driver.send()
        bench.wait(lambda: driver._answered(node) or over(), "an answer, or the end")
        if over():
            break
        states += 1
        driver.simulated.advance(np.array(commands[-1].data), 4)
    bench.wait(lambda: driver.off_gravity(node, 2) < CLOSE, "the last command")
    bench.wait(lambda: np.array_equal(efforts[-1].effort, commands[-1].data), "the last efforts")
    assert np.abs(driver.simulated.qd).max() < 0.05 * fastest or states < ENOUGH, states


@pytest.mark.slow
@pytest.mark.parametrize("k", range(17))
def test_a_hundred_signals_at_any_moment(k):
    judged_apart("test_controller_ends", "signals_at_any_moment", k)


def signals_at_any_moment(bench, k):
    """Before a state, while it is answered, after the answer: six controllers."""
    k = int(k)
    rng = np.random.default_rng(k)
    driver = in_mid_motion(bench, 6)
    for _ in range(int(rng.integers(0, 20))):
        driver.step()
    processes = {node: ends(driver, node) for node in driver.nodes}
    kinds = (signal.SIGINT, signal.SIGTERM)
    for number, process in enumerate(processes.values()):
        if number == 3:
            driver.send()
        if number > 3:  # at any moment of its answer
            for _ in range(int(rng.integers(0, 50))):
                bench.executor.spin_once(timeout_sec=0.0)
        process.process.send_signal(kinds[(number + k) % 2])
    for node, process in processes.items():
        wait_end(driver, node, process, states=2)  # the last state may have come too late for it

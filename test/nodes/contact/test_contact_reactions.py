"""An arm in MuJoCo runs into a wall under computed_torque, and reacts when the node contact feels it: in lock step."""

import numpy as np
import pytest
from support.arms import load
from support.cores import make_core
from test_contact_core import REST, S, core_of

from lie_dynamics_ros.core.commands import JointPoints
from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.core.robot_state import RobotState

RADIUS = 0.05
GOAL = REST + 1.2 * np.eye(7)[0]


class Run:
    """The arm swings about its first axis into a wall; noise of sensors, 1 kHz, efforts act at once."""

    def __init__(self, **parameters):
        arm = load("panda_arm")
        self.sim = arm.simulated(ball=("panda_link8", (0.0, 0.0, 0.0), RADIUS), integrator="implicitfast")
        self.sim.set(REST + 0.6 * np.eye(7)[0], np.zeros(7))
        y = self.sim.data.body("panda_link8").xpos[1]
        self.sim.set(REST, np.zeros(7))
        self.sim.put_wall([0.5, y + RADIUS + 0.02, 0.5])
        self.control = make_core(arm.model, **parameters)
        self.control.start()
        self.contact = core_of(velocity_noise=1e-3, effort_noise=0.02, efforts_are="held")
        self.rng, self.k, self.effort = np.random.default_rng(0), 0, self.sim.gravity(REST)
        self.met = self.felt = self.reacted = None
        self.deaf = False
        self.force, self.path, self.desired = [], [], []

    def step(self):
        q, qd = self.sim.q, self.sim.qd + 1e-3 * self.rng.normal(size=7)
        stamp = S + self.k * 10**6
        answer = self.control.answer(RobotState(stamp, q, qd))
        effort = self.effort + 0.02 * self.rng.normal(size=7)
        found = self.contact.answer(RobotState(stamp, q, qd, effort=effort))
        if self.felt is not None and self.reacted is None:
            self.reacted = self.k  # with the state after that in which it was felt
        if found is not None and found.found.begun and self.felt is None:
            self.felt = self.k
        if found is not None and not self.deaf:
            self.control.touched(found.found.touching)
        self.path.append(q)
        self.desired.append(np.array(answer.desired.position))
        self.effort = np.array(answer.effort)
        self.sim.advance(self.effort, 2)
        self.force.append(self.sim.contact_force())
        self.k += 1
        if self.met is None and np.linalg.norm(self.force[-1]) > 0.0:
            self.met = self.k - 1
        return answer

    def run(self, seconds):
        for _ in range(round(seconds * 1000)):
            answer = self.step()
        return answer

    def swing(self, seconds=1.0):
        """Follow the swing until some time after the wall was met."""
        self.run(0.1)
        self.control.follow(JointPoints(np.arange(7), np.array([2.0]), GOAL[None], np.zeros((1, 7)), np.zeros((1, 7))))
        while self.met is None and self.k < 3000:
            self.step()
        assert self.met is not None and self.felt is None
        return self.run(seconds)

    @property
    def push(self):
        """Mean force in the last tenth of a second [N]."""
        return np.linalg.norm(np.mean(self.force[-100:], axis=0))


@pytest.mark.slow
def test_without_a_reaction_the_arm_pushes_on():
    run = Run(learn_drives=False)  # else it pushes harder, and for longer
    answer = run.swing()
    assert np.linalg.norm(run.force[run.met : run.met + 200], axis=1).mean() > 20.0
    assert answer.phase == "stopped" and "error_limit" in answer.reason  # the wrist gives way


@pytest.mark.parametrize("reaction", ["stop", "gravity_compensation", "retract"])
def test_a_contact_is_felt_and_reacted_to_within_10_ms(reaction):
    run = Run(contact_reaction=reaction)
    answer = run.swing({"stop": 0.6, "gravity_compensation": 0.5}.get(reaction, 1.0))
    assert run.felt - run.met <= 8 and run.reacted - run.met <= 10
    if reaction == "stop":
        assert answer.phase == "stopped" and "contact" in answer.reason
        assert np.linalg.norm(np.mean(run.force[run.met + 450 : run.met + 550], axis=0)) < 0.5 and run.push < 0.5
        assert np.abs(run.desired[-1] - run.path[run.met + 300]).max() < 5e-3  # it is held where it came to rest
        with pytest.raises(MessageError, match="contact"):
            run.control.follow(JointPoints(np.arange(7), np.array([2.0]), GOAL[None]))
    if reaction == "gravity_compensation":
        assert answer.phase == "yielding" and answer.mode == "gravity_compensation"
        assert run.push < 5.0
        run.control.hold()
        assert run.run(0.1).phase == "holding"
    if reaction == "retract":
        assert answer.phase == "holding" and run.push == 0.0 and run.reacted - run.met <= 3
        assert np.linalg.norm(run.force[run.met + 100 :]) == 0.0
        past = np.array(run.desired[: run.felt + 1])
        moving = np.flatnonzero(np.abs(np.diff(past, axis=0)).max(axis=1) > 1e-6)
        assert np.abs(run.desired[-1] - past[-500]).max() < 5e-3 and len(moving) > 500
        back = np.array(run.path[run.felt :])
        away = np.abs(back[:, None, 0] - past[None, ::5, 0])  # along the way that it came
        assert np.abs(back[:, 1:] - past[away.argmin(axis=1) * 5, 1:]).max() < 0.05
        answer = run.run(0.3)
        assert np.abs(run.path[-1] - run.desired[-1]).max() < 5e-3


@pytest.mark.slow
def test_a_stop_for_another_reason_gives_way_to_a_contact_too():
    run = Run(contact_reaction="stop")
    run.deaf = True
    run.run(0.1)
    run.control.follow(JointPoints(np.arange(7), np.array([2.0]), GOAL[None], np.zeros((1, 7)), np.zeros((1, 7))))
    while run.met is None and run.k < 3000:
        run.step()
    run.control.stop("a test")
    run.run(0.005)
    run.control.touched(True)
    answer = run.run(0.5)
    assert run.push < 0.5 and answer.phase == "stopped" and answer.reason == "a test"


def test_a_contact_that_lasts_is_reacted_to_once():
    run = Run(contact_reaction="gravity_compensation")
    run.deaf = True
    run.run(0.1)
    run.control.touched(True)
    assert run.run(0.01).phase == "yielding"
    run.control.hold()
    run.control.touched(True)
    assert run.run(0.01).phase == "holding"
    run.control.touched(False)
    run.control.touched(True)
    assert run.run(0.01).phase == "yielding"


def test_at_rest_there_is_no_way_back_and_the_arm_stays():
    run = Run(contact_reaction="retract")
    run.run(0.1)
    run.control.touched(True)
    assert run.run(0.1).phase == "holding" and np.abs(run.path[-1] - REST).max() < 1e-3


def test_goals_end_with_a_contact_and_tool_modes_stop():
    run = Run(contact_reaction="retract", mode="impedance")
    run.run(0.1)
    run.control.touched(True)
    assert run.run(0.01).phase == "stopping"
    free = Run(contact_reaction="retract", mode="gravity_compensation")
    free.run(0.1)
    free.control.touched(True)
    assert free.run(0.01).phase == "holding"


class Ideal:
    """The arm does as it is told."""

    def __init__(self, **parameters):
        self.control = make_core(load("panda_arm").model, **{"contact_reaction": "retract", **parameters})
        self.control.start()
        self.k, self.q, self.qd = 0, REST, np.zeros(7)
        self.run(50)
        self.control.follow(JointPoints(np.arange(7), np.array([2.0]), GOAL[None], np.zeros((1, 7)), np.zeros((1, 7))))
        self.run(1000)

    def run(self, states):
        """Return positions of the first joint."""
        path = []
        for _ in range(states):
            self.k += 1
            answer = self.control.answer(RobotState(S + self.k * 10**6, self.q, self.qd))
            self.q, self.qd = answer.desired.position, answer.desired.velocity
            path.append(self.q[0])
        return np.array(path)


@pytest.mark.parametrize("every", [1, pytest.param(200, marks=pytest.mark.slow), 700])
def test_no_way_back_leads_to_what_was_touched(every):
    """A flag that flickers, or another contact during or after the way back."""
    arm = Ideal()
    met = arm.q[0]
    arm.control.touched(True)
    path = []
    for _ in range(1400 // every):
        path.extend(arm.run(every))
        arm.control.touched(False)
        arm.control.touched(True)
    assert max(path[100:]) < met - 0.02 and path[-1] < met - 0.2
    assert arm.control.phase == "holding"


def test_a_path_that_was_left_is_no_way_back():
    arm = Ideal()
    arm.control.stop("a test")
    arm.run(900)
    arm.q, arm.qd = arm.q + 0.02, np.zeros(7)  # it was pushed away, too
    arm.run(10)
    arm.control.hold()
    held = arm.run(10)[-1]
    arm.control.touched(True)
    np.testing.assert_allclose(arm.run(500), held, rtol=0.0, atol=1e-9)
    assert arm.control.phase == "holding"


@pytest.mark.parametrize(
    ("reaction", "touching", "given"),
    [("stop", True, 300), pytest.param("stop", False, 0, marks=pytest.mark.slow), ("none", True, 0)],
)
def test_a_stop_gives_way_for_a_while_then_holds_what_sinks(reaction, touching, given):
    """Once, however often the flag flickers."""
    arm = Ideal(contact_reaction=reaction)
    arm.control.touched(touching)
    arm.control.stop("a test")
    arm.qd = np.zeros(7)
    errors = []
    for _ in range(400):
        arm.k += 1
        arm.q = arm.q + 2e-5  # by no more than what efforts within the limits hold
        arm.control.touched(False)
        arm.control.touched(touching)
        answer = arm.control.answer(RobotState(S + arm.k * 10**6, arm.q, arm.qd))
        assert answer.phase == "stopping" or len(errors) >= given
        errors.append(np.abs(answer.error).max())
    assert max(errors[:given], default=0.0) == 0.0 and min(errors[given + 1 :]) > 1e-5
    np.testing.assert_allclose(errors[-1], 2e-5 * (399 - given), rtol=0.02)

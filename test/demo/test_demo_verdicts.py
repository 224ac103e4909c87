"""What the demo makes of a recording: a good one passes, a bad one fails with the reason."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("matplotlib", reason="matplotlib, which draws the demo's picture, is not installed")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from support.grids import every_run

from lie_dynamics_ros.demo import stewart
from lie_dynamics_ros.demo.arm import Account, ArmRecorder, ArmShowcase, judge
from lie_dynamics_ros.demo.arm import draw as draw_torques
from lie_dynamics_ros.demo.processes import ShortfallError
from lie_dynamics_ros.demo.showcase import Answer, Moment
from lie_dynamics_ros.demo.stewart import Estimate, StewartRecorder, StewartShowcase
from lie_dynamics_ros.demo.stewart import draw as draw_poses
from lie_dynamics_ros.demo.watch import Reports, Screen
from lie_dynamics_ros.lie_dynamics import Model, inverse_dynamics
from lie_dynamics_ros.ros.inputs.model_loading import read_description

ARM = "package://lie_dynamics_ros/urdf/panda_arm.urdf"
OK, ERROR = DiagnosticStatus.OK, DiagnosticStatus.ERROR


@pytest.fixture(scope="module")
def model():
    return Model.from_urdf(read_description(ARM))


@pytest.fixture
def recording(model):
    """A faultless recording: 100 states, each answered with an acceleration that was sent."""
    rng = np.random.default_rng(1)
    recorder = ArmRecorder()
    recorder.names = list(reversed(model.joint_names))
    for k in range(100):
        q, qd, qdd = rng.uniform(-1, 1, (3, 7))
        pushed = rng.uniform(-1, 1, 7)
        efforts = inverse_dynamics(model, q, qd, qdd) - pushed
        recorder.accelerations.add(qdd.tobytes())
        recorder.states[k + 1] = (list(model.joint_names), q, qd)
        recorder.answers[k + 1] = Answer(efforts[::-1].copy(), 1e-3)
        recorder.accounts[k + 1] = Account(list(model.joint_names), q, qd.copy(), qdd.copy(), pushed, efforts)
    return recorder


def test_accepts_a_faultless_recording(recording, model):
    verdict = judge(recording, model)
    assert verdict.shortfalls == []
    assert (verdict.states, verdict.answered) == (100, 100)
    assert verdict.error < 1e-14


def test_finds_one_torque_that_is_off(recording, model):
    recording.answers[40].values[3] *= 1.0 + 1e-9
    off, other = judge(recording, model).shortfalls
    assert "1 of 100 torque messages differ" in off and "1 of 100 torque messages are not those of" in other


def test_finds_torques_that_are_not_numbers(recording, model):
    recording.answers[40].values[3] = np.nan
    assert "differ" in judge(recording, model).shortfalls[0]


def test_finds_answers_to_another_state_or_to_accelerations_that_nobody_sent(recording, model):
    account = recording.accounts[40]
    account.velocity[2] += 0.1
    account.input[5] += 0.1
    account.effort = inverse_dynamics(model, account.position, account.velocity, account.input) - account.wrench_effort
    recording.answers[40].values[:] = account.effort[::-1]
    state, acceleration = judge(recording, model).shortfalls
    assert "answer another state" in state and "accelerations that nobody sent" in acceleration


def test_finds_answers_that_are_not_accounted_for(recording, model):
    del recording.accounts[50]
    (shortfall,) = judge(recording, model).shortfalls
    assert "99 of 100 answers came with what they were computed from" in shortfall
    recording.accounts.clear()
    assert "0 of 100 answers" in judge(recording, model).shortfalls[0]


def test_says_what_it_cannot_judge_without_the_interface_package(recording, model):
    recording.accounts.clear()
    recording.accountable = False
    verdict = judge(recording, model)
    assert verdict.shortfalls == [] and verdict.judged == 0
    assert "lie_dynamics_interfaces is not installed" in verdict.remarks[0]


def test_unanswered_states_are_the_machines_doing(recording, model):
    for stamp in range(10, 90):
        del recording.answers[stamp], recording.accounts[stamp]
    verdict = judge(recording, model)
    assert verdict.shortfalls == [] and (verdict.states, verdict.answered) == (100, 20)


def test_says_when_there_is_nothing_to_judge(recording, model):
    recording.answers.clear()
    with pytest.raises(ShortfallError, match="received 100 joint states and 0 answers"):
        judge(recording, model)


@pytest.fixture
def poses():
    """A recording of 1000 poses whose errors have the covariance that comes with them."""
    rng = np.random.default_rng(2)
    root = 1e-5 * rng.normal(size=(6, 6))
    recorder = StewartRecorder()
    for k in range(1, 1001):
        turn = 0.3 * rng.normal(size=3)
        true = _pose(rng.uniform(-0.1, 0.1, 3), turn)
        error = root @ rng.normal(size=6)
        estimate = _pose(true[:3, 3] + error[:3], turn)
        estimate[:3, :3] = _pose(np.zeros(3), error[3:])[:3, :3] @ true[:3, :3]
        recorder.states[k] = true
        recorder.answers[k] = Estimate(estimate, 1e-3, root @ root.T)
        recorder.true_twists[k] = rng.normal(size=6)
        recorder.twists[k] = recorder.true_twists[k] + 1e-4
    return recorder


def _pose(position, turn):
    """Homogeneous matrix of a position and a rotation vector, by the Rodrigues formula."""
    angle = np.linalg.norm(turn)
    x, y, z = turn / angle if angle else turn
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    T[:3, 3] = position
    return T


def test_accepts_poses_whose_errors_are_what_they_say(poses):
    verdict = stewart.judge(poses)
    assert verdict.shortfalls == []
    assert (verdict.states, verdict.answered) == (1000, 1000)
    assert 5.5 < verdict.square < 6.5


def test_finds_one_pose_on_another_branch(poses):
    poses.answers[500].values[2, 3] += 1e-2
    shortfalls = stewart.judge(poses).shortfalls
    assert "1 of 1000 poses are further from the truth" in shortfalls[0]


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_finds_covariances_that_are_wrong(poses, factor):
    for estimate in poses.answers.values():
        estimate.covariance = factor * estimate.covariance
    assert any("not what the covariances say" in shortfall for shortfall in stewart.judge(poses).shortfalls)


def test_finds_poses_that_are_not_numbers(poses):
    poses.answers[500].values[0, 0] = np.nan
    assert "1 of 1000 poses" in stewart.judge(poses).shortfalls[0]


def test_finds_missing_twists_and_missing_answers(poses):
    poses.twists.clear()
    assert "0 came with a twist" in stewart.judge(poses).shortfalls[0]
    for k in range(10, 900):
        del poses.answers[k]
    assert (stewart.judge(poses).states, stewart.judge(poses).answered) == (1000, 110)
    poses.answers.clear()
    with pytest.raises(ShortfallError, match="1000 true poses and 0 estimates"):
        stewart.judge(poses)


def test_pictures_are_drawn_and_can_be_read(recording, model, poses, tmp_path):
    """Whether they can be read `support.page.picture_judge` says."""
    draw_torques(judge(recording, model), model, tmp_path / "torques.png")
    draw_poses(stewart.judge(poses), tmp_path / "poses.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("torques.png", "poses.png"))


class Terminal:
    def __init__(self, tty):
        self.tty, self.text = tty, ""

    def isatty(self):
        return self.tty

    def write(self, text):
        self.text += text

    def flush(self):
        pass


SCREENS = [(lines, tty) for lines in (60, 24, 8, 2) for tty in (True, False)]


@pytest.mark.parametrize(("lines", "tty"), every_run([(60, True), (24, False), (8, True), (2, True)], SCREENS))
def test_shows_torques_and_poses_within_the_terminal(model, recording, poses, tty, lines, monkeypatch):
    monkeypatch.setenv("LINES", str(lines))
    monkeypatch.setenv("COLUMNS", "200")
    out = Terminal(tty)
    arm, platform = ArmShowcase(model, ARM, 250.0, "error"), StewartShowcase(250.0)
    recording.answers[100].values[:] = [0.0, 0.0, 0.0, 0.0, 3.0, -41.5, 0.0]  # from the last joint to the first
    arm.recorder, platform.recorder = recording, poses
    moment = Moment(500.0, 0.995, (2e-4, 5e-4))
    Screen(out).show(1.0, 10.0, [(arm, moment), (platform, moment)])
    if not tty:
        assert "-41.5" in out.text and "panda_joint2" in out.text and "one sigma" in out.text
    assert ("\x1b" in out.text) == tty
    if tty:
        assert out.text.count("\n") < lines
    if tty and lines >= 24:
        assert "-41.5" in out.text and "panda_joint7" in out.text and "yaw" in out.text
        assert " 99.5 % answered" in out.text and "p50 200 us" in out.text


def report(level, message="", **dropped):
    values = {"lifecycle state": "active", "last problem": "why"}
    values |= {f"dropped: {kind.replace('_', ' ')}": str(count) for kind, count in dropped.items()}
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticArray(status=[DiagnosticStatus(name="node", level=level, message=message, values=pairs)])


def test_a_machine_that_stands_still_for_a_moment_is_no_fault():
    reports = Reports()
    for k in range(10):
        late = k in (2, 3, 7)
        reports.on_message(report(ERROR, "2 messages dropped", stale=2) if late else report(OK, stale=2))
    assert reports.faults() == [] and reports.remarks() == ["node: 2 states were too old"]


def test_a_machine_that_is_late_all_the_time_is_no_fault():
    reports = Reports()
    for k in range(10):
        reports.on_message(report(ERROR, f"{k} messages dropped: a state was 0.2 s old", stale=k + 1))
        reports.on_message(report(ERROR, "stale: no state received on /joint_states for 1.4 s", stale=k + 1))
    assert reports.faults() == [] and reports.remarks() == ["node: 10 states were too old"]
    for k in range(3):
        reports.on_message(report(ERROR, "2 messages dropped: a NaN", stale=11 + k, not_finite=1 + k))
    assert len(reports.faults()) == 2


def test_states_before_their_clock_are_no_fault():
    """States and the clock are two topics: on a busy machine a state may come first."""
    reports = Reports()
    for k in range(10):
        reports.on_message(
            report(ERROR, "1 messages dropped: a state was stamped 0.8 s ahead", **{"from_the_future": k + 1})
        )
    assert reports.faults() == []
    assert reports.remarks() == ["node: 10 states were there before the clock that they live by"]


def test_an_error_that_lasts_is_a_fault():
    reports = Reports()
    for _ in range(3):
        reports.on_message(report(ERROR, "no state received"))
    reports.on_message(report(OK))
    assert reports.faults() == ["node: no state received"]


def test_a_message_without_result_is_a_fault():
    reports = Reports()
    reports.on_message(report(ERROR, "1 messages dropped", no_result=1, stale=5))
    assert reports.faults() == ["node: 1 messages dropped: no result; the last problem: why"]

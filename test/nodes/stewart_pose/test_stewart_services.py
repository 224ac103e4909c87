"""Services of the stewart_pose node: answers held against the legs, requests that make no sense, no stream held up."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip(
    "lie_dynamics_interfaces.srv", reason="lie_dynamics_interfaces is not installed (pip install it from its folder)"
)

from geometry_msgs.msg import Pose, PoseWithCovarianceStamped, Twist
from node_platforms import BRANCH, HOME, LEGS, TEXT, TRUE, as_numbers, jacobian, lengths, matrix_of, motion

from lie_dynamics_interfaces.srv import StewartAssemblyModes, StewartForwardKinematics, StewartInverseKinematics

FK, IK, MODES = StewartForwardKinematics, StewartInverseKinematics, StewartAssemblyModes
LIMITS = [0.4, 0.7]


@pytest.fixture(scope="module")
def shared(module_bench):
    """A node that tracks the true pose of the paper, and its poses."""
    node = module_bench.start("stewart_pose", platform=TEXT + f"\nleg_limits: {LIMITS}\n", max_batch=5000)
    poses = module_bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
    module_bench.ask(lambda: module_bench.make_state(LEGS, lengths(TRUE)), poses)
    return module_bench, node, poses


def message_of(T):
    message = Pose()
    p, q = message.position, message.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = as_numbers(T)
    return message


def forward(shared, method, poses, guess=(), **fields):
    bench, node, _ = shared
    wanted = np.ravel([lengths(T) for T in poses]).tolist()
    request = FK.Request(method=method, lengths=wanted, guess=[message_of(T) for T in guess], **fields)
    return bench.call(FK, f"{node}/forward_kinematics", request)


def near(found, expected, atol=1e-10):
    np.testing.assert_allclose([matrix_of(pose) for pose in found], expected, rtol=0, atol=atol)


POSES = [motion(t) for t in (0.1, 0.25, 0.5)]


@pytest.mark.parametrize("method", [FK.Request.TRACKED, FK.Request.FROM_HOME, FK.Request.FROM_GUESS])
def test_forward_kinematics_of_several_states(shared, method):
    guess = [HOME] if method == FK.Request.FROM_GUESS else []
    response = forward(shared, method, POSES, guess)
    assert response.success, response.message
    assert (response.count, list(response.valid), len(response.reasons)) == (3, [True] * 3, 3)
    near(response.poses, POSES)
    assert max(response.residuals) < 1e-10
    assert all(1.0 <= number < 20.0 for number in response.condition_numbers)


def test_forward_kinematics_takes_legs_in_any_order(shared):
    bench, node, _ = shared
    order = [3, 1, 5, 0, 4, 2]
    request = FK.Request(
        method=FK.Request.FROM_HOME, leg_names=[LEGS[i] for i in order], lengths=lengths(POSES[0])[order].tolist()
    )
    near(bench.call(FK, f"{node}/forward_kinematics", request).poses, POSES[:1])


def test_the_method_decides_on_the_branch(shared):
    home = forward(shared, FK.Request.FROM_HOME, [TRUE])
    near(home.poses, [TRUE])
    other = forward(shared, FK.Request.FROM_HOME, [TRUE], [BRANCH])
    near(other.poses, [BRANCH], atol=1e-4)
    guessed = forward(shared, FK.Request.FROM_GUESS, [TRUE, TRUE], [BRANCH, TRUE])
    near(guessed.poses, [BRANCH, TRUE], atol=1e-4)
    near(forward(shared, FK.Request.TRACKED, [TRUE]).poses, [TRUE])


def test_calls_leave_what_is_tracked_alone(shared):
    bench, _, poses = shared
    forward(shared, FK.Request.TRACKED, [motion(0.5)])
    forward(shared, FK.Request.FROM_GUESS, [TRUE], [BRANCH])
    answer = bench.ask(lambda: bench.make_state(LEGS, lengths(TRUE)), poses)
    near([answer.pose.pose], [TRUE])


@pytest.mark.parametrize("method", [FK.Request.TRACKED, FK.Request.FROM_HOME, FK.Request.FROM_GUESS])
def test_says_which_state_has_no_pose(shared, method):
    bench, node, _ = shared
    impossible = lengths(TRUE)
    impossible[3] = 0.2
    wanted = [*lengths(TRUE), *impossible, *lengths(HOME)]
    guess = [message_of(HOME)] if method == FK.Request.FROM_GUESS else []
    request = FK.Request(method=method, lengths=wanted, guess=guess)
    response = bench.call(FK, f"{node}/forward_kinematics", request)
    assert not response.success and "state 1" in response.message
    assert list(response.valid) == [True, False, True]
    near([response.poses[0], response.poses[2]], [TRUE, HOME])
    assert np.isfinite([matrix_of(pose) for pose in response.poses]).all()
    assert np.isfinite(response.residuals).all() and np.isfinite(response.condition_numbers).all()


def test_finds_all_assembly_modes(shared):
    bench, node, _ = shared
    response = bench.call(MODES, f"{node}/assembly_modes", MODES.Request(lengths=lengths(TRUE).tolist()))
    assert response.success and response.certain and not response.self_motion
    assert (len(response.poses), response.complex_count) == (4, 28)
    found = np.array([matrix_of(pose) for pose in response.poses])
    for T in found:
        np.testing.assert_allclose(lengths(T), lengths(TRUE), rtol=0, atol=1e-12)
    assert min(np.abs(found - TRUE).max(axis=(1, 2))) < 1e-10
    assert min(np.abs(found - BRANCH).max(axis=(1, 2))) < 1e-4
    assert len(response.proven) == len(response.residuals) == len(response.condition_numbers) == 4


def test_inverse_kinematics_with_rates_and_limits(shared):
    bench, node, _ = shared
    rng = np.random.default_rng(1)
    low = HOME.copy()
    low[2, 3] = 0.3
    poses = [*POSES, low]
    twists = rng.normal(size=(4, 6))
    request = IK.Request(leg_names=list(reversed(LEGS)), poses=[message_of(T) for T in poses])
    for values in twists:
        twist = Twist()
        twist.linear.x, twist.linear.y, twist.linear.z = values[:3].tolist()
        twist.angular.x, twist.angular.y, twist.angular.z = values[3:].tolist()
        request.twists.append(twist)
    response = bench.call(IK, f"{node}/inverse_kinematics", request)
    assert response.success and list(response.leg_names) == list(reversed(LEGS)) and response.count == 4
    found = np.array(response.lengths).reshape(4, 6)[:, ::-1]
    np.testing.assert_allclose(found, [lengths(T) for T in poses], rtol=1e-12)
    rates = np.array(response.rates).reshape(4, 6)[:, ::-1]
    # 1e-8: the Jacobian is made of differences.
    expected = [jacobian(T) @ v for T, v in zip(poses, twists, strict=True)]
    np.testing.assert_allclose(rates, expected, rtol=0, atol=1e-8)
    inside = [(LIMITS[0] <= lengths(T)).all() and (lengths(T) <= LIMITS[1]).all() for T in poses]
    assert list(response.within_limits) == inside and not inside[3]
    assert "leg_1 is" in response.reasons[3] and not response.reasons[0]


ONE = lengths(TRUE).tolist()
BAD_FORWARD = {
    "no lengths": ({}, "no states"),
    "five lengths": ({"lengths": ONE[:5]}, "expected 6"),
    "wrong count": ({"lengths": ONE, "count": 2}, "expected 12"),
    "too many": ({"lengths": ONE, "count": 5001}, "max_batch"),
    "NaN": ({"lengths": [*ONE[:5], math.nan]}, "leg_6 in state 0 is nan"),
    "negative": ({"lengths": [*ONE[:2], -0.5, *ONE[3:]]}, "leg_3"),
    "unknown leg": ({"lengths": ONE, "leg_names": [*LEGS[:5], "leg_9"]}, "leg_6"),
    "leg twice": ({"lengths": ONE, "leg_names": [*LEGS[:5], "leg_1"]}, "leg_1"),
    "method": ({"lengths": ONE, "method": 7}, "method is 7"),
    "guess for tracked": ({"lengths": ONE, "guess": [message_of(HOME)]}, "takes no guess"),
    "no guess": ({"lengths": ONE, "method": 2}, "one guess for all"),
    "guesses": ({"lengths": ONE * 3, "method": 2, "guess": [message_of(HOME)] * 2}, "one guess for all"),
    "homes": ({"lengths": ONE * 2, "method": 1, "guess": [message_of(HOME)] * 2}, "one home pose"),
    "no rotation": ({"lengths": ONE, "method": 2, "guess": [Pose()]}, ""),
    "NaN guess": ({"lengths": ONE, "method": 2, "guess": [message_of(HOME * math.nan)]}, "not finite"),
}
BAD_FORWARD["no rotation"][0]["guess"][0].orientation.w = 0.0


@pytest.mark.parametrize("what", BAD_FORWARD)
def test_refuses_forward_requests_that_make_no_sense(shared, what):
    bench, node, _ = shared
    fields, reason = BAD_FORWARD[what]
    response = bench.call(FK, f"{node}/forward_kinematics", FK.Request(**fields))
    assert not response.success
    assert response.message and reason in response.message
    assert not response.poses and not response.valid


def test_refuses_other_requests_that_make_no_sense(shared):
    bench, node, _ = shared
    for wanted, reason in (([], "expected 6"), (ONE * 2, "expected 6"), ([0.0] * 6, "positive"), ([1e300] * 6, "")):
        response = bench.call(MODES, f"{node}/assembly_modes", MODES.Request(lengths=wanted))
        assert reason in response.message and np.isfinite(response.residuals).all()
        assert not response.success or not reason
    home = message_of(HOME)
    for fields, reason in (
        ({}, "no poses"),
        ({"poses": [home], "twists": [Twist(), Twist()]}, "2 twists for 1 poses"),
        ({"poses": [home], "leg_names": list(LEGS[:5])}, "leg_6"),
        ({"poses": [home], "leg_names": [*LEGS, "x"]}, "7 names"),
        ({"poses": [home] * 5001}, "max_batch"),
        ({"poses": [message_of(HOME * math.nan)]}, "poses[0]"),
    ):
        response = bench.call(IK, f"{node}/inverse_kinematics", IK.Request(**fields))
        assert not response.success and reason in response.message


def random_number(rng, value):
    special = (math.nan, math.inf, -1.0, 0.0, 1e308, 1e-308, 1e160, 50.0)
    return float(rng.choice(special)) if rng.random() < 0.1 else value


def random_pose(rng):
    """A pose as broken clients send it, or a good one."""
    numbers = [random_number(rng, x) if rng.random() < 0.1 else x for x in as_numbers(motion(rng.uniform(0, 10)))]
    message = Pose()
    p, q = message.position, message.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = numbers
    return message


def random_request(rng):
    """A service and a request as broken clients send it, or a good one."""
    count = int(rng.integers(0, 4))
    names = [str(n) for n in rng.permutation([*LEGS, "leg_1", ""])[: rng.integers(5, 9)]]
    fields = {"leg_names": names if rng.random() < 0.2 else list(rng.permutation(LEGS)) if rng.random() < 0.5 else []}
    fields["leg_names"] = [str(name) for name in fields["leg_names"]]
    poses = [random_pose(rng) for _ in range(count)]
    if rng.random() < 0.3:
        twist = Twist()
        twist.linear.x, twist.angular.y = random_number(rng, 0.1), random_number(rng, 0.2)
        twists = [twist] * int(rng.choice([0, count, 1]))
        return IK, "inverse_kinematics", {**fields, "poses": poses, "twists": twists}
    lengths_ = [random_number(rng, float(x)) for _ in range(count) for x in lengths(motion(rng.uniform(0, 10)))]
    if rng.random() < 0.1:
        lengths_ = lengths_[:-1]
    if rng.random() < 0.3:
        return MODES, "assembly_modes", {**fields, "lengths": lengths_[:6]}
    guess = [random_pose(rng) for _ in range(int(rng.choice([0, 1, count])))]
    return FK, "forward_kinematics", {**fields, "lengths": lengths_, "guess": guess, "method": int(rng.integers(0, 4))}


@pytest.mark.parametrize("count", [150, pytest.param(600, marks=pytest.mark.slow)])
def test_random_requests_are_answered_with_finite_numbers_or_a_reason(shared, count):
    bench, node, poses = shared
    rng = np.random.default_rng(43)
    answered = 0
    for _ in range(count):
        type_, name, fields = random_request(rng)
        response = bench.call(type_, f"{node}/{name}", type_.Request(**fields))
        assert response.success or response.message
        assert "Error:" not in response.message, (response.message, fields)
        for field, kind in response.get_fields_and_field_types().items():
            if "double" in kind:
                assert np.isfinite(np.asarray(getattr(response, field))).all(), (field, fields)
        for pose in getattr(response, "poses", ()):
            assert np.isfinite(matrix_of(pose)).all()
        answered += response.success
    assert answered > count / 10
    near([bench.ask(lambda: bench.make_state(LEGS, lengths(TRUE)), poses).pose.pose], [TRUE])


def test_answers_before_there_is_anything_to_answer_from(bench):
    node = bench.start("stewart_pose", autostart=False)
    request = FK.Request(lengths=ONE)
    response = bench.call(FK, f"{node}/forward_kinematics", request)
    assert not response.success and "not configured" in response.message
    assert bench.change_state(node, "configure")
    response = bench.call(FK, f"{node}/forward_kinematics", request)
    assert not response.success and "nothing is tracked yet" in response.message
    response = bench.call(MODES, f"{node}/assembly_modes", MODES.Request(lengths=ONE))
    assert response.success and len(response.poses) == 4


@pytest.mark.parametrize("executor", ["events", pytest.param("single_threaded", marks=pytest.mark.slow)])
def test_poses_go_on_while_calls_are_served(bench, executor):
    node = bench.start("stewart_pose", executor=executor, max_batch=5000)
    poses = bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
    send = lambda: bench.make_state(LEGS, lengths(TRUE))  # noqa: E731
    bench.ask(send, poses)
    # Hundreds of cold starts take a good while; poses come in the meantime.
    request = FK.Request(method=FK.Request.FROM_HOME, lengths=ONE * 300)
    meanwhile = 0

    def served():
        """Another call; counts the poses that come before its answer."""
        nonlocal meanwhile
        future = bench.start_call(FK, node, "forward_kinematics", request)
        while not future.done():
            bench.ask(send, poses)
            meanwhile += not future.done()
        assert future.result().success
        return meanwhile >= 5

    bench.wait(served, "poses while calls are served")

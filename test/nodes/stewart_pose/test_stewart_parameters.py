"""Parameters and platform files of the Stewart nodes: checked as a whole, named when wrong, mended at run time."""

from __future__ import annotations

import math

import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped
from node_platforms import LEGS, TEXT, TRUE, lengths

SINGULAR = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]  # all legs in one plane


@pytest.fixture(scope="module")
def shared(module_bench):
    """A node that refuses all that these tests ask of it, and so stays as it is."""
    node = module_bench.start("stewart_pose")
    module_bench.wait_state(node, "active")
    return module_bench, node


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"start_pose": [0.0, 0.0, 0.5]}, "3 numbers"),
        ({"start_pose": [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0]}, "quaternion has length 0"),
        ({"start_pose": [0.0, 0.0, math.nan, 0.0, 0.0, 0.0, 1.0]}, "finite"),
        ({"start_pose": SINGULAR}, "singular"),
        ({"leg_noise": [1e-5] * 5}, "one or six"),
        ({"leg_noise": [-1e-5]}, "leg_noise holds -1e-05; expected 0 to 1"),
        ({"max_steps": 0}, "max_steps"),
        ({"state_timeout": -1.0}, "state_timeout"),
        ({"legs": ["a"] * 6}, "while the node is unconfigured"),
        ({"platform": "x"}, "while the node is unconfigured"),
        ({"publish_tf": False}, "read-only"),
        ({"max_steps": 500, "leg_noise": []}, ""),
    ],
)
def test_refuses_what_makes_no_sense(shared, values, reason):
    bench, node = shared
    before = bench.get(node, "max_steps")
    result = bench.set(node, **values)
    assert not result.successful
    assert reason in result.reason
    assert bench.state(node) == "active"
    assert bench.get(node, "max_steps") == before


def test_leg_noise_changes_the_covariance_at_run_time(bench):
    node = bench.start("stewart_pose", leg_noise=[1e-5])
    poses = bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
    send = lambda: bench.make_state(LEGS, lengths(TRUE))  # noqa: E731
    before = bench.ask(send, poses).pose.covariance
    assert bench.set(node, leg_noise=[2e-5]).successful
    after = bench.ask(send, poses).pose.covariance
    assert after == pytest.approx(4.0 * before, rel=1e-12)


POINTS = TEXT.split("platform_points:")[0]
BAD = {
    "no such file": ("/no/such/platform.yaml", "/no/such/platform.yaml"),
    "no such package": ("package://no_such_package/platform.yaml", "no_such_package"),
    "five legs": (TEXT.replace("  - [0.289778, -0.077646, 0.0]\n", ""), "base_points has 5 points"),
    "one side missing": (POINTS, "has no platform_points"),
    "unknown key": (TEXT + "\nleg_limit: [0.3, 0.8]\n", "leg_limit"),
    "not YAML": ("a: [", "not valid YAML"),
    "singular design": (
        "semi_regular: {base_radius: 0.3, platform_radius: 0.2, base_half_angle: 0.5, platform_half_angle: 0.5471976}",
        "architecturally singular",
    ),
    "singular home": (TEXT.replace("[0.0, 0.0, 0.5]", "[0.0, 0.0, 0.0]"), ""),
}


GOOD = {
    "platform": TEXT, "legs": list(LEGS), "base_frame": "a", "platform_frame": "b", "length_offsets": [0.0]
}  # fmt: skip
SENSELESS = {
    **{what: ({"platform": text}, reason) for what, (text, reason) in BAD.items()},
    "two legs": ({"legs": ["a", "b"]}, "six different names"),
    "a leg twice": ({"legs": ["a", "b", "c", "d", "e", "a"]}, "six different names"),
    "one frame": ({"base_frame": "x", "platform_frame": "x"}, "both 'x'"),
    "slash": ({"base_frame": "/x"}, "without a leading slash"),
    "two offsets": ({"length_offsets": [0.0, 0.1]}, "one or six"),
}


@pytest.fixture(scope="module")
def unconfigured(module_bench):
    """A node that several tests share, and leave unconfigured."""
    return module_bench, module_bench.start("stewart_pose", "unconfigured", autostart=False)


@pytest.mark.parametrize("what", SENSELESS)
def test_does_not_configure_with_what_makes_no_sense_says_why_and_does_with_what_does(unconfigured, what):
    bench, node = unconfigured
    values, reason = SENSELESS[what]
    result = bench.set(node, **values)
    if result.successful:
        assert not bench.change_state(node, "configure")
        bench.wait_status(node, lambda s, v: s.level == b"\x02" and reason in s.message, reason)
    else:  # refused at once, where the value alone makes no sense
        assert reason in result.reason
    assert bench.state(node) == "unconfigured"
    assert bench.set(node, **GOOD).successful
    assert bench.change_state(node, "configure") and bench.change_state(node, "cleanup")


def test_starts_with_a_bad_platform_says_why_and_can_be_mended(bench):
    node = bench.start("stewart_pose", platform="/no/such/platform.yaml", legs=["a", "b"])
    bench.wait_status(node, lambda s, v: s.level == b"\x02" and "six different names" in s.message, "the legs")
    assert bench.set(node, **GOOD).successful
    bench.wait_state(node, "active")
    poses = bench.listen(PoseWithCovarianceStamped, f"{node}/pose")
    bench.ask(lambda: bench.make_state(LEGS, lengths(TRUE)), poses)


def test_reads_the_platform_from_a_file(bench, tmp_path):
    path = tmp_path / "my platform.yaml"
    path.write_text(TEXT)
    for module, source in (("stewart_pose", str(path)), ("simulated_stewart", f"file://{path}")):
        bench.wait_state(bench.start(module, platform=source), "active")

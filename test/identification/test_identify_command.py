"""From a bag to files: what `identify` reads, writes and refuses; bags by rosbags' own writer."""

import re

import numpy as np
import pytest
from known_robots import guess_of
from support.bag_files import Bag, write_bag
from test_bad_recordings import ARM, recording

from lie_dynamics_ros.identify.bag import BagError, read_bag
from lie_dynamics_ros.identify.command import main
from lie_dynamics_ros.lie_dynamics import JointFriction, Model
from lie_dynamics_ros.lie_dynamics.model.urdf_inertias import with_inertias

NAMES = ("turn", "lift", "bend")


@pytest.fixture(scope="module")
def made():
    model = Model.from_urdf(ARM)
    return model, *recording(model, np.random.default_rng(2))


@pytest.fixture
def drawn(made, tmp_path):
    """The path of a URDF whose inertias are wrong."""
    guess = guess_of(made[0], np.random.default_rng(3), 0.3)
    path = tmp_path / "in.urdf"
    path.write_bytes(with_inertias(ARM, {name: guess.inertia(name) for name in guess.body_names}))
    return path


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_one_command(made, drawn, tmp_path, storage, capsys):
    _, time, q, effort = made
    write_bag(tmp_path / "bag", storage, NAMES, time, q, effort)
    assert main([str(tmp_path / "bag"), "--urdf", str(drawn), "--out", str(tmp_path / "new")]) == 0
    said = capsys.readouterr()
    assert "200 states a second" in said.out and "s left" in said.err
    for joint in NAMES:
        before, after = map(float, re.search(rf"{joint}: ([\d.]+) %, ([\d.]+) %", said.out).groups())
        assert after < 2.0 and after < before
    model = Model.from_urdf(tmp_path / "new" / "robot.urdf")
    law = JointFriction.from_yaml(tmp_path / "new" / "friction.yaml", model)
    assert law.friction.mean(axis=0) == pytest.approx([0.5] * 3, abs=0.05)
    page = (tmp_path / "new" / "report.html").read_text()
    assert page.count("data:image/png;base64,iVBORw0KGgo") == 3
    for words in (
        "What the motion could not see",
        "regions of 95 %",
        "Errors of position",
        "later than the motion",
        "lift",
    ):
        assert words in page


def test_states_of_several_publishers_with_other_joints_gaps_and_commands_apart(made, tmp_path):
    """Each joint from where it is told; order and period differ; efforts are commands, which hold until the next."""
    model, time, q, effort = made
    with Bag(tmp_path / "bag") as bag:
        for k, t in enumerate(time):
            if 1.0 < t < 1.5:
                continue  # a gap: what comes after it is longer
            bag.state("/arm", t, ["bend", "gripper", "turn"], [q[k, 2], 0.7, q[k, 0]], [0.0, 0.0, 0.0])
            if k % 2 == 0:
                bag.state("/lift", t, ["lift"], [np.nan if k == 400 else q[k, 1]])
            if k % 4 == 0:
                bag.command("/effort_controller/commands", t, effort[k])
                bag.command("/gripper/commands", t, [1.0])
    found = read_bag(tmp_path / "bag", model)
    assert found.time[1] - found.time[0] == pytest.approx(0.005)
    start = 1.5
    assert found.time[-1] == pytest.approx(time[-4] - start, abs=0.02)
    at = start + found.time
    truth = np.array([np.interp(at, time, x) for x in q.T]).T
    assert np.abs(found.q - truth).max() < 2e-3
    held = effort[4 * np.floor((at + 1e-6) / 0.02).astype(int)]
    assert np.mean(found.effort == held) > 0.99
    said = " ".join(found.remarks)
    assert "/effort_controller/commands" in said and "missing in between" in said and "200 states" in said


def test_simulated_clocks_and_states_without_stamps(made, tmp_path):
    model, time, q, effort = made
    for stamped, name in ((True, "a"), (False, "b")):
        with Bag(tmp_path / name) as bag:
            for k in range(400):
                bag.state("/joint_states", time[k], NAMES, q[k], (), effort[k], stamped=stamped)
        found = read_bag(tmp_path / name, model)
        np.testing.assert_allclose(found.q, q[:400], atol=1e-9)
        assert ("times of receipt" in " ".join(found.remarks)) is not stamped


def test_refused(made, drawn, tmp_path, capsys):
    model, time, q, effort = made
    with Bag(tmp_path / "half") as bag:
        for k in range(200):
            bag.state("/joint_states", time[k], ["turn", "lift"], q[k, :2], (), effort[k, :2])
    with pytest.raises(BagError, match=r"no positions of 'bend'; topics there are: /joint_states"):
        read_bag(tmp_path / "half", model)
    with Bag(tmp_path / "bare") as bag:
        for k in range(200):
            bag.state("/joint_states", time[k], NAMES, q[k])
    with pytest.raises(BagError, match="no efforts of 'turn', 'lift', 'bend'"):
        read_bag(tmp_path / "bare", model)
    with pytest.raises(BagError, match="no such file"):
        read_bag(tmp_path / "nowhere", model)
    (tmp_path / "broken.mcap").write_bytes(b"\x89MCAP0\r\nrubbish")
    with pytest.raises(BagError, match="cannot be read"):
        read_bag(tmp_path / "broken.mcap", model)
    write_bag(tmp_path / "wrong", "mcap", NAMES, time, q, -effort)
    assert main([str(tmp_path / "wrong"), "--urdf", str(drawn), "--out", str(tmp_path / "new")]) == 1
    assert "all efforts have the wrong sign" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_joint_that_no_state_names_is_locked(drawn, tmp_path):
    """What it carries is part of the body before it, and the change is shared by both links."""
    locked = {"bend": 0.0}
    built = Model.from_urdf(ARM, locked=locked)
    time, q, effort = recording(built, np.random.default_rng(6))
    write_bag(tmp_path / "bag", "mcap", NAMES[:2], time, q, effort)
    given = [str(tmp_path / "bag"), "--urdf", str(drawn), "--out", str(tmp_path / "new")]
    assert main(given) == 1
    assert main([*given, "--lock", "bend"]) == 0
    before, after = (Model.from_urdf(path, locked=locked) for path in (drawn, tmp_path / "new" / "robot.urdf"))
    moments = [m.inertia("b").mass * m.inertia("b").com for m in (before, after, built)]
    assert np.linalg.norm((moments[1] - moments[2])[[0, 2]]) < 0.05 * np.linalg.norm((moments[0] - moments[2])[[0, 2]])
    alone = Model.from_urdf(tmp_path / "new" / "robot.urdf")
    assert alone.inertia("c").mass > 0.0
    alone.inertia("c").check()


def test_a_payload(made, tmp_path, drawn, capsys):
    model, time, q, effort = made
    _, _, loaded = recording(model.with_payload("c", 1.0, [0.1, 0.0, 0.2]), np.random.default_rng(2))
    write_bag(tmp_path / "without", "mcap", NAMES, time, q, effort)
    write_bag(tmp_path / "loaded", "mcap", NAMES, time, q, loaded)
    bags = [str(tmp_path / "without"), "--loaded", str(tmp_path / "loaded")]
    assert main([*bags, "--urdf", str(drawn), "--payload-frame", "c"]) == 0
    mass = float(re.search(r"payload on c: ([\d.]+)", capsys.readouterr().out).group(1))
    assert mass == pytest.approx(1.0, abs=0.01)

"""From a bag to files: what `identify` reads, writes and refuses; bags by rosbags' own writer."""

import json
import os
import re
import struct
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from known_robots import ARM, guess_of, recording
from support.bag_files import Bag, write_bag
from support.page.left_out import leave_out_pictures

from lie_dynamics_ros.identify.bag import MAX_METADATA, STATES, BagError, read_bag
from lie_dynamics_ros.identify.command import _locked, main
from lie_dynamics_ros.lie_dynamics import InputError, JointFriction, Model
from lie_dynamics_ros.lie_dynamics.identification import identify_robot, write_report
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


def test_one_command(made, drawn, tmp_path, capsys):
    _, time, q, effort = made
    write_bag(tmp_path / "bag", "sqlite3", NAMES, time, q, effort)
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
    assert "--states" not in said and "/effort_controller/commands" in said
    assert "missing in between" in said and "200 states" in said


def test_another_topic_with_the_same_joints_is_told(made, tmp_path):
    """As where two robots were recorded; the one is not mixed with the other."""
    model, time, q, effort = made
    time, q, effort = time[:500], q[:500], effort[:500]
    with Bag(tmp_path / "bag") as bag:
        for k, t in enumerate(time):
            bag.state("/right/joint_states", t, NAMES, q[k], (), effort[k])
            bag.state("/left/joint_states", t + 1e-4, NAMES, -q[k], (), -effort[k])
    for given, sign, other in (("", 1.0, "left"), ("/left/joint_states", -1.0, "")):
        found = read_bag(tmp_path / "bag", model, given)
        np.testing.assert_allclose(found.q, sign * q, atol=1e-9)
        np.testing.assert_allclose(found.effort, sign * effort, atol=1e-9)
        told = [remark for remark in found.remarks if "--states" in remark]
        assert [f"'/{other}/joint_states'" in remark for remark in told] == [True] * bool(other)


def test_simulated_clocks_and_states_without_stamps(made, tmp_path):
    model, time, q, effort = made
    for stamped, name in ((True, "a"), (False, "b")):
        with Bag(tmp_path / name) as bag:
            for k in range(400):
                bag.state("/joint_states", time[k], NAMES, q[k], (), effort[k], stamped=stamped)
        found = read_bag(tmp_path / name, model)
        np.testing.assert_allclose(found.q, q[:400], atol=1e-9)
        assert ("times of receipt" in " ".join(found.remarks)) is not stamped


def test_bursts_and_states_that_come_in_pairs(made, tmp_path):
    """The period is that of the robot, not that between states that come together."""
    model, time, q, effort = made
    for name, at, twice in (("burst", time[np.arange(600) // 10 * 10], False), ("pairs", time[:600], True)):
        with Bag(tmp_path / name) as bag:
            for k, t in enumerate(at):
                bag.state("/joint_states", t + 1e-6 * (k % 10), NAMES, q[k], (), effort[k], stamped=False)
                if twice:
                    bag.state("/joint_states", t + 2e-5, NAMES, q[k], (), effort[k], stamped=False)
        found = read_bag(tmp_path / name, model)
        assert found.time[-1] == pytest.approx(2.95, abs=0.1)
        assert len(found.time) < 1300


def test_stretches(made, tmp_path):
    """Neither efforts that are missing nor a clock that was set back are in a stretch; each arm has its own efforts."""
    model, time, q, effort = made
    with Bag(tmp_path / "bag") as bag:
        for k, t in enumerate(time[:1200]):
            clock, gone = (t, 0.0) if k < 400 else (t - 2.0, 2.0)
            x, tau = q[k], np.where(k > 1000, np.nan, effort[k])
            bag.state("/left", clock, NAMES[:2], x[:2], (), tau[:2], late=gone)
            bag.state("/right", clock, NAMES[2:], x[2:], (), tau[2:], late=gone)
            for later in (0.0, 0.002):
                bag.command("/commands", t + later, [1.0, 2.0, 3.0])
    found = read_bag(tmp_path / "bag", model)  # the first state of /left after that stands alone: /right follows
    assert found.q[0] == pytest.approx(q[401], abs=1e-9) and found.q[-1] == pytest.approx(q[1000], abs=1e-9)
    assert found.effort == pytest.approx(effort[401:1001], abs=1e-9)
    assert "go back" in " ".join(found.remarks) and "missing" in " ".join(found.remarks)


def test_more_states_than_memory_should_hold_and_locked_joints(made, tmp_path, monkeypatch):
    _, time, q, effort = made
    write_bag(tmp_path / "bag", "mcap", NAMES, time[:400], q[:400], effort[:400])
    monkeypatch.setattr("lie_dynamics_ros.identify.bag.MOST_STATES", 300)
    rest = Model.from_urdf(ARM, locked={"bend": 0.0})
    found = read_bag(tmp_path / "bag", rest, locked={"bend": 0.0})
    assert len(found.time) == 300 and found.q == pytest.approx(q[:300, :2])
    said = " ".join(found.remarks)
    assert "first 300 states" in said and "'bend' is locked at 0" in said


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
    write_bag(tmp_path / "wrong", "mcap", NAMES, time, q, 1000.0 * effort)
    assert main([str(tmp_path / "wrong"), "--urdf", str(drawn), "--out", str(tmp_path / "new")]) == 1
    assert "not in N m and N" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_what_cannot_be_written_is_said_before_anything_is_read(drawn, tmp_path, capsys, out):
    (tmp_path / "file").write_text("mine")
    assert main(["nowhere", "--urdf", str(drawn), "--out", str(tmp_path / out)]) == 1
    assert f"--out '{tmp_path / out}': '{tmp_path / 'file'}' is no folder" in capsys.readouterr().err
    for rate in ("0", "nan", "-1"):
        with pytest.raises(SystemExit):
            main(["nowhere", "--urdf", str(drawn), "--bandwidth", rate])
        assert "a positive rate is expected" in capsys.readouterr().err


def test_nothing_is_left_or_somebody_interrupts(drawn, tmp_path, capsys, monkeypatch):
    given = ["nowhere", "--urdf", str(drawn), "--out", str(tmp_path / "new")]
    assert main([*given, "--lock", *NAMES]) == 1
    assert "no joint is left that moves" in capsys.readouterr().err

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("lie_dynamics_ros.identify.command.read_bag", interrupted)
    assert main(given) == 130
    assert "interrupted" in capsys.readouterr().err and not (tmp_path / "new").exists()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(given) == 1
    assert "matplotlib" in capsys.readouterr().err


def test_a_joint_that_no_state_names_is_locked(drawn, tmp_path, monkeypatch):
    """What it carries is part of the body before it, and the change is shared by both links."""
    leave_out_pictures(monkeypatch)
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


@pytest.mark.slow  # in every run identify_robot leaves such a joint out, in test_bad_recordings
@pytest.mark.parametrize("nothing", [0.0, np.nan])
def test_a_joint_without_efforts_is_left_out(made, drawn, tmp_path, capsys, nothing):
    _, time, q, effort = made
    write_bag(tmp_path / "bag", "mcap", NAMES, time, q, effort * [1.0, 1.0, nothing])
    assert main([str(tmp_path / "bag"), "--urdf", str(drawn), "--out", str(tmp_path / "new")]) == 0
    assert "warning: joint 'bend': its effort is always 0; its efforts are left out" in capsys.readouterr().out


def test_names_are_only_names(made, tmp_path):
    """In pages they are no elements, in pictures no formulas and no hidden labels, in YAML no structure."""
    _, *arrays = made
    odd = {'"turn"': "a$\\foo$<script>alert(1)</script>", '"lift"': "_x: {y} # 'z'", '"bend"': "yes", '"c"': "<b>$_{"}
    text = ARM
    for name, other in odd.items():
        text = text.replace(name, quoteattr(other))
    model = Model.from_urdf(text)
    found = identify_robot(model, *(rows[:1400] for rows in arrays))
    urdf, friction = found.write(tmp_path, text)
    assert Model.from_urdf(urdf).joint_names == model.joint_names
    assert JointFriction.from_yaml(friction, model).friction == pytest.approx(found.friction.friction)
    page = write_report(found, tmp_path / "report.html", ["<script>"]).read_text()
    assert "<script" not in page and "<b>" not in page


def both(*models):
    """The same motion of two models."""
    return [recording(model, np.random.default_rng(2), 7.0) for model in models]


@pytest.mark.slow  # in every run one of known mass, in the next test, and in test_payload_from_recording
def test_a_payload(made, tmp_path, drawn, capsys):
    model, *_ = made
    (time, q, effort), (_, _, loaded) = both(model, model.with_payload("c", 1.0, [0.1, 0.0, 0.2]))
    write_bag(tmp_path / "without", "mcap", NAMES, time, q, effort)
    write_bag(tmp_path / "loaded", "mcap", NAMES, time, q, loaded)
    bags = [str(tmp_path / "without"), "--loaded", str(tmp_path / "loaded")]
    assert main([*bags, "--urdf", str(drawn), "--payload-frame", "c"]) == 0
    mass = float(re.search(r"payload on c: ([\d.]+)", capsys.readouterr().out).group(1))
    assert mass == pytest.approx(1.0, abs=0.01)


def test_gains_of_drives_by_a_payload_of_known_mass(made, tmp_path, drawn, capsys):
    model, *_ = made
    (time, q, effort), (_, _, loaded) = both(model, model.with_payload("c", 2.0, [0.1, 0.0, 0.2]))
    true = np.array([11.0, 14.0, -9.0])
    write_bag(tmp_path / "without", "mcap", NAMES, time, q, effort / true)
    write_bag(tmp_path / "loaded", "mcap", NAMES, time, q, loaded / true)
    bags = [str(tmp_path / "without"), "--loaded", str(tmp_path / "loaded")]
    given = [*bags, "--urdf", str(drawn), "--payload-frame", "c", "--payload"]
    assert main([*given, "2", "0.1", "0", "0.2", "--leave-out", "turn"]) == 0
    told = dict(re.findall(r"(\w+): (\S+) \+- ", capsys.readouterr().out))
    assert set(told) == {"lift", "bend"}
    assert [float(told[name]) for name in ("lift", "bend")] == pytest.approx(true[1:], rel=0.05)
    for wrong in (["2"], ["0", "0", "0", "0"], ["nan", "0", "0", "0"]):
        assert main([*given, *wrong]) == 1
        assert "--payload: a mass, three coordinates" in capsys.readouterr().err
    assert main([bags[0], "--urdf", str(drawn), "--payload", "2", "0", "0", "0"]) == 1
    assert "--loaded, a bag with it" in capsys.readouterr().err


def test_a_lock_has_a_position_or_zero():
    assert [_locked(text) for text in ("a", "b=0.5", "c=d=-1e-1")] == [("a", 0.0), ("b", 0.5), ("c=d", -0.1)]
    for text in ("a=", "=1", "a=nan", "a=x", ""):
        with pytest.raises(InputError, match="JOINT=POSITION"):
            _locked(text)


def test_bags_with_what_blocks_or_never_ends_are_refused_before_they_are_read(tmp_path):
    model = Model.from_urdf(ARM)
    for number, make in enumerate((os.mkfifo, lambda path: path.symlink_to("/dev/zero"))):
        for name in ("metadata.yaml", "bag_0.mcap"):
            folder = tmp_path / f"{number}{name}"
            folder.mkdir()
            make(folder / name)
            for path in (folder, folder / name):
                with pytest.raises(BagError, match=rf"{name}' is a device, FIFO or socket"):
                    read_bag(path, model)
    (tmp_path / "metadata.yaml").write_bytes(b"#" * (MAX_METADATA + 1))
    with pytest.raises(BagError, match=f"cannot be read: it holds more than {MAX_METADATA} bytes"):
        read_bag(tmp_path, model)


def told(folder, name, mode):
    """Write metadata of one file, compressed by zstd."""
    says = {"relative_file_paths": [name], "compression_mode": mode, "compression_format": "zstd" if mode else ""}
    (folder / "metadata.yaml").write_text(json.dumps({"rosbag2_bagfile_information": says}))


def packed_mcap(path, kind, packed, size):
    """Write MCAP with one chunk and without an index."""
    chunk = struct.pack("<QQQII4sQ", 0, 1, size, 0, len(kind), kind, len(packed)) + packed
    head, foot = struct.pack("<I4sI", 4, b"ros2", 0), struct.pack("<QQI", 0, 0, 0)
    records = (struct.pack("<BQ", op, len(data)) + data for op, data in ((1, head), (6, chunk), (2, foot)))
    path.write_bytes(b"\x89MCAP0\r\n" + b"".join(records) + b"\x89MCAP0\r\n")


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
def test_compressed_recordings(made, tmp_path, mode):
    """The same as what was packed, whose messages another process unpacks."""
    model, time, q, effort = made
    with Bag(tmp_path / "bag", "sqlite3", mode) as bag:
        for k in range(200):
            bag.state("/joint_states", time[k], NAMES, q[k], (), effort[k])
    found = read_bag(tmp_path / "bag", model)
    assert found.q == pytest.approx(q[:200], abs=1e-12) and found.effort == pytest.approx(effort[:200], abs=1e-12)


def test_what_swells_is_refused_before_it_is_unpacked(tmp_path):
    zstd = pytest.importorskip("backports.zstd", reason="bags are read by the standard library's zstd here")
    model = Model.from_urdf(ARM)
    (tmp_path / "bag_0.db3.zstd").write_bytes(zstd.compress(bytes(8 << 20)))
    told(tmp_path, "bag_0.db3.zstd", "file")
    with pytest.raises(BagError, match=r"'bag_0.db3.zstd' unpacks to more than 1000 times its size"):
        read_bag(tmp_path, model)
    with Bag(tmp_path / "bag", "sqlite3") as bag:
        bag.raw("/joint_states", STATES, zstd.compress(bytes(8 << 20)))
    told(tmp_path / "bag", "bag.db3", "message")
    with pytest.raises(BagError, match=r"a message of '/joint_states' has more than 1048576 bytes"):
        read_bag(tmp_path / "bag", model)
    packed_mcap(tmp_path / "one.mcap", b"zstd", zstd.compress(bytes(300 << 20)), 300 << 20)
    with pytest.raises(BagError, match="more than 256 MB of memory"):
        read_bag(tmp_path / "one.mcap", model)
    packed_mcap(tmp_path / "one.mcap", b"zstd", zstd.compress(bytes(100)), 1)
    with pytest.raises(BagError, match=r"cannot be read: .*Chunk size"):
        read_bag(tmp_path / "one.mcap", model)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ("[]", "does not name the files"),
        ("rosbag2_bagfile_information: {relative_file_paths: [1]}", "does not name the files"),
        ("rosbag2_bagfile_information: {relative_file_paths: [a.db3]}", "names 'a.db3', which is not there"),
        ("rosbag2_bagfile_information: {relative_file_paths: [], compression_mode: file}", "compression 'file' by ''"),
        ("a: &a [*a]", "anchors and aliases"),
        ("[" * 50, "nested deeper than 20"),
    ],
)
def test_metadata_of_no_bag(tmp_path, metadata, words):
    (tmp_path / "metadata.yaml").write_text(metadata)
    with pytest.raises(BagError, match=words):
        read_bag(tmp_path, Model.from_urdf(ARM))


def test_a_bag_of_ros_1(tmp_path):
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    types = store.types
    with rosbag1.Writer(tmp_path / "one.bag") as bag:
        connection = bag.add_connection("/states", STATES, typestore=store)
        for k in range(50):
            at = types["builtin_interfaces/msg/Time"](1 + k, 0)
            numbers = np.arange(3.0) + k
            message = types[STATES](types["std_msgs/msg/Header"](k, at, ""), NAMES, numbers, numbers[:0], 0.1 * numbers)
            bag.write(connection, at.sec * 10**9, store.serialize_ros1(message, STATES))
    found = read_bag(tmp_path / "one.bag", Model.from_urdf(ARM))
    assert found.q[-1] == pytest.approx([49.0, 50.0, 51.0]) and found.effort[0] == pytest.approx([0.0, 0.1, 0.2])

"""From a recording to poses: the node runs on the two files that the command `calibrate_stewart` writes."""

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from node_platforms import BASE, HOME, LEGS, TEXT, TOP, matrix_of, pose_at
from support.bag_files import Bag

from lie_dynamics_ros.identify.calibrate_command import main

RATE, STAND, MOVE = 20.0, 26, 6  # states a second, of a stand and of a motion


def machine(rng):
    """As built: what its encoders read at a pose."""
    base, top = BASE + rng.normal(scale=2e-3, size=(6, 3)), TOP + rng.normal(scale=2e-3, size=(6, 3))
    offsets = rng.normal(scale=1e-3, size=6)
    return lambda T: np.linalg.norm(top @ T[:3, :3].T + T[:3, 3] - base, axis=1) - offsets


def record(path, readings, seen):
    """Stands and motions between them, and what a tracker sees in the middle of each stand."""
    with Bag(path) as bag:
        for k, (reading, pose) in enumerate(zip(readings, seen, strict=True)):
            after = readings[min(k + 1, len(readings) - 1)]
            for step in range(STAND + MOVE):
                time = (k * (STAND + MOVE) + step) / RATE
                bag.state("/joint_states", time, LEGS, reading + max(step - STAND, 0) / MOVE * (after - reading))
                if 6 < step < STAND - 1 and step % 6 == 3:
                    bag.pose("/tracker", time, "PoseStamped", pose)


def relative(first, second):
    """Angle between two poses, and how far the origin went, seen from the first [rad, m]: for any frame of the base."""
    T = np.linalg.inv(first) @ second
    return np.arccos(np.clip(0.5 * (np.trace(T[:3, :3]) - 1.0), -1.0, 1.0)), np.linalg.norm(T[:3, 3])


def test_poses_of_a_machine_off_its_drawing_are_right_on_what_the_command_writes(bench, tmp_path):
    """2 mm off, with encoders 1 mm off: other motions than those of the calibration within 0.3 mm and mrad."""
    rng = np.random.default_rng(4)
    read = machine(rng)
    poses = [HOME @ pose_at(rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.3, 0.3, 3)) for _ in range(30)]
    drawing, out = tmp_path / "drawing.yaml", tmp_path / "new"
    drawing.write_text(TEXT)
    record(tmp_path / "bag", [read(T) for T in poses], poses)  # the tracker looks at the platform's own frame
    assert main([str(tmp_path / "bag"), "--platform", str(drawing), "--out", str(out)]) == 0
    others = [HOME, *(HOME @ pose_at(rng.uniform(-0.06, 0.06, 3), rng.uniform(-0.2, 0.2, 3)) for _ in range(4))]
    found = {}
    for name, arguments in (
        ("drawn", ["-p", f"platform:={drawing}", "-p", f"legs:=[{', '.join(LEGS)}]"]),
        ("calibrated", ["--params-file", str(out / "stewart_pose.yaml")]),
    ):
        node = bench.start("stewart_pose", arguments=arguments)
        heard, told = bench.listen(PoseWithCovarianceStamped, f"{node}/pose"), []
        for before, after in zip([HOME, *others], others, strict=False):
            for reading in np.linspace(read(before), read(after), 10):  # as a platform moves
                answer = bench.ask(lambda reading=reading: bench.make_state(LEGS, reading), heard)
            told.append(matrix_of(answer.pose.pose))
        off = [np.subtract(relative(told[0], t), relative(HOME, T)) for t, T in zip(told[1:], others[1:], strict=True)]
        found[name] = np.abs(off).max()
        bench.processes.pop().stop()
    assert found["calibrated"] < 3e-4 < found["drawn"], found

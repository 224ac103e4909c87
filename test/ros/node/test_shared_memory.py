"""Files in shared memory that killed processes left unfinished are removed, and nothing else."""

import os
import time

from lie_dynamics_ros.ros.node.shared_memory import LONGEST_MAKING, remove_unfinished


def test_what_was_never_finished_is_removed_and_nothing_else(tmp_path):
    unfinished, finished = bytes(64), (2).to_bytes(4, "little") + bytes(60)
    left = {"fastdds_port7015": unfinished, "fastrtps_port7017": b"", "fastdds_port7": b"\1" + bytes(63)}
    kept = {
        "fastdds_port7019": finished,
        "fastdds_port7019_el": b"",
        "fastdds_0a35caab491234d0": unfinished,
        "mine": b"",
    }
    before = time.time() - 2.0 * LONGEST_MAKING
    for name, content in {**left, **kept}.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (before, before))
    (tmp_path / "fastdds_port7021").write_bytes(unfinished)  # it is just being made
    (tmp_path / "fastdds_port7023").symlink_to(tmp_path / "mine")
    assert remove_unfinished(tmp_path) == sorted(left)
    assert {file.name for file in tmp_path.iterdir()} == {*kept, "fastdds_port7021", "fastdds_port7023"}
    assert remove_unfinished(tmp_path / "nowhere") == []

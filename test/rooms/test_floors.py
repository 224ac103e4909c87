"""No floor of the house is so full that nobody finds anything on it."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 20
"""Modules of a folder."""


def test_no_folder_holds_more_modules_than_one_can_overlook():
    files = [file for top in ("lie_dynamics_ros", "test", "benchmarks", "tools") for file in (ROOT / top).rglob("*.py")]
    assert len(files) > 500
    floors = Counter(file.parent for file in files)
    assert not {str(floor.relative_to(ROOT)): count for floor, count in floors.items() if count > MOST}

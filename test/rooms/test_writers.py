"""Files are written by `lie_dynamics.files`: at once, and never through a link."""

import ast
import re
from pathlib import Path

import lie_dynamics_ros

ROOT = Path(lie_dynamics_ros.__file__).parent
WRITERS = {
    "write_text", "write_bytes", "savefig", "savez", "savez_compressed", "savetxt", "tofile", "imsave", "to_csv",
    "rename", "copyfile", "copy2", "symlink_to", "hardlink_to",
}  # fmt: skip
"""Calls that write a file which they are given."""
CALLED = re.compile(rf"\b({'|'.join(WRITERS)}|fdopen|open)\(")
HOMES = {"lie_dynamics/files.py", "lie_dynamics/engine/private_files.py"}
"""Where writing is at home, and what keeps the kernels' cache, in a folder of its own."""
OTHERS = {("identify/bag.py", "open"), ("ros/launch_files.py", "fdopen")}
"""What writes into memory, or into a pipe or file that it has just made."""


def writing(path):
    """Names of the calls of a module that write a file; mode "x" makes one anew or fails, so it follows no link."""
    text = path.read_text()
    for call in ast.walk(ast.parse(text if CALLED.search(text) else "")):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        given = [one.value for one in (*call.args, *(k.value for k in call.keywords)) if isinstance(one, ast.Constant)]
        modes = [one for one in given if isinstance(one, str) and one and set(one) <= set("rwxab+t")]
        if name in WRITERS or (name in ("open", "fdopen") and any(set(mode) & set("wa+") for mode in modes)):
            yield name


def test_files_are_written_in_one_place():
    found = {(str(path.relative_to(ROOT)), name) for path in ROOT.rglob("*.py") for name in writing(path)}
    assert {one for one in found if one[0] not in HOMES} == OTHERS

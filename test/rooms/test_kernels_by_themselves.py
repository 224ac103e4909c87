"""Kernels hold recursions: they import kernels, what the engine offers, layouts of tables and codes, no algorithm.

The direction of imports otherwise is import-linter's, see pyproject.toml.
"""

import ast
from pathlib import Path

from lie_dynamics_ros import lie_dynamics

LIBRARY = Path(lie_dynamics.__file__).parent
KERNELS = sorted(LIBRARY.glob("**/kernels/**/*.py"))


def imported(file):
    """Modules of the library that a file imports from, wherever in it, as paths from the library's folder."""
    folder = file.relative_to(LIBRARY).parent.parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*folder[: len(folder) - node.level + 1], *(node.module.split(".") if node.module else ()))
            yield from ((*base, alias.name) for alias in node.names)


def test_kernels_import_no_algorithm():
    assert len(KERNELS) > 40
    for file in KERNELS:
        for name in imported(file):
            low = name[0] in ("engine", "arrays", "tracking") or name[:2] == ("model", "layout")
            assert low or "kernels" in name, (file, name)


def test_kernels_are_given_the_whole_table():
    """`Model.rows` is a view of the table's rows; kernels read the columns behind them too."""
    calls = 0
    for file in sorted(LIBRARY.parent.rglob("*.py")):
        text = file.read_text()
        for node in ast.walk(ast.parse(text if ".table" in text or ".rows" in text else "")):
            if isinstance(node, ast.Call):
                names = [x.attr for x in node.args if isinstance(x, ast.Attribute) and "model" in ast.unparse(x.value)]
                assert "rows" not in names, (file, node.lineno)
                calls += "table" in names
    assert calls > 30

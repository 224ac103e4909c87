"""Every notebook runs from its first cell to its last, and what its cells end with shows itself."""

import ast
import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="notebooks draw pictures")

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def run(source, names):
    """Run a cell, and return what it ends with, as a notebook does; None for a statement."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(last, "cell", "eval"), names)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.stem == "platform" else pytest.mark.slow) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs(path):
    notebook = json.loads(path.read_text())
    names, pictures, tables = {"__name__": "__main__"}, 0, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None  # as committed
            shown = run("".join(cell["source"]), names)
            pictures += hasattr(shown, "_repr_png_") and shown._repr_png_().startswith(b"\x89PNG")
            tables += hasattr(shown, "_repr_html_") and "<table>" in (shown._repr_html_() or "")
    assert pictures >= 2 and tables >= 1


def test_there_are_two():
    assert len(NOTEBOOKS) == 2

"""Numba is known to the engine alone; the engine knows no robot and imports in no circle."""

import ast
from pathlib import Path

import pytest

from lie_dynamics_ros import lie_dynamics

LIBRARY = Path(lie_dynamics.__file__).parent
PACKAGE = LIBRARY.parent
ENGINE = LIBRARY / "engine"


def module_of(file):
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported(file):
    """Absolute names of all that a file imports, wherever in it."""
    package = module_of(file).split(".") if file.name == "__init__.py" else module_of(file).split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


FILES = sorted(PACKAGE.rglob("*.py"))
OUTSIDE = [file for file in FILES if ENGINE not in file.parents]
INSIDE = [file for file in FILES if ENGINE in file.parents]


def test_no_other_file_imports_numba():
    assert len(INSIDE) > 10 and len(OUTSIDE) > 200
    for file in OUTSIDE:
        assert not [name for name in imported(file) if name.split(".")[0] in ("numba", "llvmlite")], file


def test_the_engine_imports_nothing_else_of_the_library():
    for file in INSIDE:
        own = [name for name in imported(file) if name.startswith("lie_dynamics_ros")]
        assert all(name.startswith("lie_dynamics_ros.lie_dynamics.engine") for name in own), (file, own)


@pytest.mark.parametrize("files", [INSIDE], ids=["engine"])
def test_no_circles(files):
    arrows = {module_of(file): set(imported(file)) for file in files}
    arrows = {module: found & arrows.keys() - {module} for module, found in arrows.items()}
    while leaves := [module for module, found in arrows.items() if not found]:
        arrows = {m: found - set(leaves) for m, found in arrows.items() if m not in leaves}
    assert not arrows

"""The table of the papers leaves no number out, and what it names is there."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from support.grids import all_of

from lie_dynamics_ros import lie_dynamics

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "doc" / "papers.md").read_text()
ROOM = "../lie_dynamics_ros/lie_dynamics/reference"


def numbered(kind, last):
    return {(kind, k) for k in range(1, last + 1)}


#: What each paper numbers.
NUMBERS = {
    "Kim": numbered("", 92) | numbered("Table", 7) | numbered("Figure", 1),
    "PBP": numbered("", 83),
    "Ploen": numbered("", 38),
    "Stewart": numbered("", 30) | numbered("A", 2) | numbered("Table", 3) | numbered("Figure", 9)
    | numbered("Algorithm A", 2),
}  # fmt: skip
ITEM = re.compile(r"\((A?)(\d+)\)(?:-\(A?(\d+)\))?|(Table|Figure|Algorithm A)s? ?(\d+)(?:-(\d+))?")


def rows_of(paper):
    section = TEXT.split(f"\n## {paper}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


ROWS = [(paper, *row) for paper in NUMBERS for row in rows_of(paper)]


def items(cell):
    """All that the first column of a row names."""
    assert not re.sub("[, ]", "", ITEM.sub("", cell)), cell
    for letter, first, last, kind, one, end in ITEM.findall(cell):
        low, high = int(first or one), int(last or end or first or one)
        assert low <= high, cell
        yield from ((letter or kind, k) for k in range(low, high + 1))


@cache
def functions_in(file):
    tree = ast.parse((ROOT / "test" / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def find(name, room=""):
    """What a dotted name of the library, of one of its rooms or of the benchmarks stands for; imports what it needs."""
    name = room + name
    found, path = lie_dynamics, lie_dynamics.__name__
    if name.startswith("benchmarks."):
        path, _, name = name.partition(".")
        found = import_module(path)
    for part in name.split("."):
        path += f".{part}"
        if not hasattr(found, part):
            import_module(path)
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("paper", NUMBERS)
def test_every_number_is_there_once(paper):
    named = [item for cell, *_ in rows_of(paper) for item in items(cell)]
    assert sorted(NUMBERS[paper] - set(named)) == []
    assert sorted(set(named) - NUMBERS[paper]) == []
    assert len(named) == len(set(named)), sorted(item for item in set(named) if named.count(item) > 1)


@all_of("row", ROWS)
def test_functions_and_tests_exist(row):
    _, _, what, functions, reference, tests = row
    assert what and (functions or reference)
    fast, plain, places = (re.findall("`([^`]+)`", cell) for cell in (functions, reference, tests))
    assert all(find(name) is not None for name in fast)
    assert all(find(name, "reference.") is not None for name in plain)
    assert re.findall(r"\(([^)]+)\)", reference) == [f"{ROOM}/{name.split('.')[0]}.py" for name in plain]
    names = fast + plain
    assert bool(names) == bool(places), "a function is tested, and what is no function says why"
    for place in places:
        file, test = place.split("::")
        assert test.startswith("test_")
        assert test in functions_in(file), place
    texts = [(ROOT / "test" / place.split("::")[0]).read_text() for place in places]
    assert not names or any(name.split(".")[-1] in text for name in names for text in texts), "tests of something else"


def test_the_check_can_fail():
    with pytest.raises(ImportError):
        find("lie.no_such_function")
    with pytest.raises(AssertionError):
        list(items("(1)-(3), and more"))

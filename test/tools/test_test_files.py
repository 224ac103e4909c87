"""Rules of the tests of nodes that a reader of a single test would not see broken."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
NODES = TESTS / "nodes"
HARNESS = ("node_harness.py", "node_services.py", "witness.py")
FILES = sorted(path for path in NODES.rglob("*.py") if path.name not in HARNESS)
RACES = {
    "create_publisher": "Bench.publisher, which waits for a listener",
    "create_subscription": "Bench.listen",
    "create_client": "Bench.call, call_once or start_call, which lose no answer",
    "sleep": "Bench.wait for what is expected",
}
"""What waits for nothing, or for time to pass, and what to use instead."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_tests_of_nodes_talk_to_them_through_the_harness(path):
    text = path.read_text()
    tree = ast.walk(ast.parse(text)) if any(word in text for word in RACES) else ()
    for name in (n for n in tree if isinstance(n, (ast.Attribute, ast.Name))):
        word = name.attr if isinstance(name, ast.Attribute) else name.id
        assert word not in RACES, f"{path.name}:{name.lineno}: {word}; use {RACES[word]}"


def test_test_files_have_names_of_their_own():
    """Files of tests are imported by their names alone."""
    names = [path.name for path in TESTS.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))

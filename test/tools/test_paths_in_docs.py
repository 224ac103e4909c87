"""Files and folders that the documentation names are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("", "lie_dynamics_ros", "lie_dynamics_ros/lie_dynamics", "lie_dynamics_interfaces", "test")
"""What paths begin at, besides the folder of the page."""
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("doc/**/*.md"), *ROOT.glob("lie_dynamics_ros/**/*.md")])
ELSEWHERE = ("soak_output/", "demo_output/", "my_robot/", "my_platform/", "bin/", "lib/", "left/")
"""Folders that commands make, and a prefix of frames."""
SUFFIXES = (".py", ".md", ".yaml", ".toml", ".cfg", ".cmake", ".cff", ".rst", ".npz", ".urdf", ".pyi")


def named_paths(text):
    """Paths in backticks, without tests' names, placeholders, namespaces and addresses."""
    for words in re.findall(r"`([^`\n]+)`", text):
        for word in words.split():
            path = word.partition("::")[0]
            if (
                path.endswith((*SUFFIXES, "/"))
                and re.fullmatch(r"[\w.][\w./-]*", path)
                and not path.startswith(ELSEWHERE)
            ):
                yield path


def exists(page, path):
    if any((place / path).exists() for place in (page.parent, *(ROOT / room for room in ROOMS))):
        return True
    name = path.rstrip("/")  # a name alone: of a file or folder told before, somewhere in the checkout
    return "/" not in name and any(True for room in (*ROOMS[1:], "doc", "launch") for _ in (ROOT / room).rglob(name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_are_there(page):
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert not [link for link in links if not (page.parent / link).exists()]
    assert not [path for path in named_paths(text) if not exists(page, path)]


def test_there_are_pages_that_name_paths():
    assert len(PAGES) > 20 and sum(len(list(named_paths(page.read_text()))) for page in PAGES) > 100

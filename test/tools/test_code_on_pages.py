"""Python on the pages runs as it stands, block after block, from the checkout; YAML can be read."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page: page.read_text() for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("doc/**/*.md")])}
FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "yaml", "sh", "text"}


def blocks(page, language):
    return [code for kind, code in FENCE.findall(PAGES[page]) if kind == language]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_runs(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    for code in blocks(page, "python"):
        line = PAGES[page][: PAGES[page].index(code)].count("\n")
        exec(compile("\n" * line + code, name(page), "exec"), names)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=name)
def test_yaml_can_be_read(page):
    assert all(yaml.safe_load(code) for code in blocks(page, "yaml"))


def test_blocks_say_what_they_are():
    pages = sum(bool(blocks(page, "python")) for page in PAGES)
    assert pages >= 6
    for page, text in PAGES.items():
        assert {kind for kind, _ in FENCE.findall(text) if not kind.startswith("{")} <= LANGUAGES, page

"""Links of pages to what is no page: files and folders of the repository. On the site they are shown as paths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")


def paths_for_links(app: Any, name: str, text: list[str]) -> None:
    """Write the paths in place of links to files beyond the pages; a link to nothing is left, and then is a warning."""
    pages = Path(app.srcdir)
    page = Path(app.env.doc2path(name)).parent

    def shown(link: re.Match[str]) -> str:
        words, target = link.group(1), link.group(2).partition("#")[0]
        place = (page / target).resolve()
        if not target or "://" in target or not place.exists() or not place.is_relative_to(pages.parent):
            return link.group(0)
        if place.is_relative_to(pages) and (place.suffix == ".md" or not place.is_dir()):
            return link.group(0)
        path = place.relative_to(pages.parent).as_posix()
        return words if path == words.strip("`") else f"{words} (`{path}`)"

    text[0] = LINK.sub(shown, text[0])


def setup(app: Any) -> dict[str, bool]:
    """Read pages through it."""
    app.connect("source-read", paths_for_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

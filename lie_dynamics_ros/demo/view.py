"""The live view: the node viewer beside the showcases, which do not wait for it."""

from __future__ import annotations

import importlib.util
import re
import select
import sys
import time
from collections.abc import Sequence

from ..nodes.viewer.page import MISSING
from . import interruption
from .errors import ShortfallError
from .processes import Children
from .showcase import Showcase

OPENED = re.compile(r"the page is at (\S+)")
"""What the node logs once the page is open."""
PATIENCE = 600.0
"""Longest wait for the page [s], while the node runs: others may use the machine."""
SAID = 10.0
"""Period of the reminder that the page is waited for [s]."""
OPENING = 60.0
"""Longest wait for somebody to open the page [s]."""


def check_view() -> None:
    """Raise ShortfallError where there can be no page."""
    if importlib.util.find_spec("viser") is None:
        raise ShortfallError(MISSING)


def start_view(showcases: Sequence[Showcase], children: Children) -> str:
    """Start the node viewer for the first robot and platform among the showcases; return the page's address.

    Raises
    ------
    ShortfallError
        The page cannot be opened.
    """
    topics: dict[str, str] = {}
    for showcase in reversed(showcases):
        topics.update(showcase.viewed)
    children.start("viewer", {}, topics)
    start = time.monotonic()
    end, say = start + PATIENCE, start + SAID
    while (said := OPENED.search(children.output("viewer"))) is None:
        interruption.check()
        if children.ended() or time.monotonic() > end:
            raise ShortfallError(f"no page was opened; the node viewer printed\n{children.output('viewer')}")
        if time.monotonic() > say:
            say += SAID
            print(f"waiting for the page, {time.monotonic() - start:.0f} s so far ...", flush=True)
        time.sleep(0.05)
    return said[1]


def await_browser() -> None:
    """Wait for Enter at a terminal, a minute at most, so that the page is open; elsewhere go on at once."""
    if not sys.stdin.isatty():
        return
    print(f"open it, then press Enter; the show begins after {OPENING:.0f} s in any case", flush=True)
    end = time.monotonic() + OPENING
    while time.monotonic() < end:
        interruption.check()
        if select.select([sys.stdin], [], [], 0.2)[0]:
            sys.stdin.readline()
            return

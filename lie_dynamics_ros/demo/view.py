"""The live view: the node viewer beside the showcases, which do not wait for it."""

from __future__ import annotations

import importlib.util
import socket
import time
from collections.abc import Sequence

from ..nodes.viewer.page import MISSING, free_port
from . import interruption
from .errors import ShortfallError
from .processes import Children
from .showcase import Showcase

HOST, PORT = "127.0.0.1", 8080
PATIENCE = 60.0
"""Longest wait for the page [s]."""


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
    port = free_port(HOST, PORT)
    children.start("viewer", {"port": port, "address": HOST}, topics)
    end = time.monotonic() + PATIENCE
    while True:
        interruption.check()
        if children.ended() or time.monotonic() > end:
            raise ShortfallError(f"no page was opened; the node viewer printed\n{children.output('viewer')}")
        try:
            socket.create_connection((HOST, port), timeout=1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return f"http://{HOST}:{port}"

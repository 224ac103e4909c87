"""A headless Chromium, driven through its DevTools protocol."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no browser here: chromium is not installed")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",  # draws without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1000,700",
    "--remote-debugging-port=0",
)
DEADLINE = 120.0
"""Longest wait [s]; only a failing test waits that long."""


class Browser:
    """A browser with one page; a context manager that ends it.

    Parameters
    ----------
    folder : Path
        For its profile; must not exist.
    """

    def __init__(self, folder: Path) -> None:
        from websockets.sync.client import connect

        self._process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._count = 0
        self.said: list[str] = []
        try:
            port_file = folder / "DevToolsActivePort"
            port, path = self.wait(lambda: port_file.exists() and port_file.read_text().split(), "the browser")
            self._socket = connect(f"ws://127.0.0.1:{port}{path}", max_size=None)
            self._session = ""
            target = self.do("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime"):
                self.do(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait(self, condition: Any, what: str) -> Any:
        """Wait until a condition holds; return its value."""
        end = time.monotonic() + DEADLINE
        while not (value := condition()):
            assert time.monotonic() < end, f"waited {DEADLINE:.0f} s for {what}: {self.said[-5:]}"
            time.sleep(0.1)
        return value

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(DEADLINE))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                self.said.append(json.dumps(answer["params"])[:500])

    def open(self, url: str) -> None:
        self.do("Page.navigate", url=url)

    def reload(self) -> None:
        self.do("Page.reload")

    @property
    def text(self) -> str:
        """What is written on the page."""
        return self.do("Runtime.evaluate", expression="document.body.innerText")["result"].get("value") or ""

    def picture(self) -> bytes:
        """What the page looks like, as PNG."""
        return base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"])

    def pixels(self) -> np.ndarray:
        """The same, (height, width, 3)."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.picture())).convert("RGB"), dtype=int)

    def scene(self) -> np.ndarray:
        """The part of it without the panel and what the browser tells of itself."""
        return self.pixels()[160:, :-400]

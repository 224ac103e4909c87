"""Who looks at the viewer's page, without a browser: reads what its server sends, and keeps what it would show."""

from __future__ import annotations

import struct
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np
import zstandard
from websockets.sync.client import connect

PATIENCE = 600.0
"""How long a busy machine may take to open a connection [s]; only a failing test waits that long."""


class Watcher:
    """A client of a page; `read` takes in what has come.

    Attributes
    ----------
    nodes : dict
        Properties of what is in the scene, by name; position and wxyz among them.
    panel : dict
        Properties of what is beside it, by id.
    seen : list of dict
        All messages so far, with their arrays.
    """

    def __init__(self, url: str) -> None:
        protocol = "viser-v" + version("viser")
        address = url.replace("http", "ws")
        self.socket = connect(
            address, subprotocols=[protocol], open_timeout=PATIENCE, ping_interval=None, max_size=None, compression=None
        )
        self.nodes: dict[str, dict[str, Any]] = {}
        self.panel: dict[str, dict[str, Any]] = {}
        self.seen: list[dict[str, Any]] = []

    def read(self, timeout: float = 0.05) -> bool:
        """Take in one window of messages; tells whether one came in this time [s]."""
        try:
            data = self.socket.recv(timeout)
        except TimeoutError:
            return False
        assert isinstance(data, bytes)
        size, packed = struct.unpack_from("<QQ", data)
        content = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed], size))
        at, buffers = 16 + packed, []
        for length in content["binaryBufferLengths"]:
            at += -at % 8
            buffers.append(data[at : at + length])
            at += length
        for message in content["messages"]:
            self._take(_unpack(message, buffers))
        return True

    def _take(self, message: dict[str, Any]) -> None:
        self.seen.append(message)
        kind, name = message["type"], message.get("name")
        if kind == "RemoveSceneNodeMessage":
            self.nodes = {n: p for n, p in self.nodes.items() if n != name and not n.startswith(f"{name}/")}
        elif kind == "GuiRemoveMessage":
            self.panel.pop(message["uuid"], None)
        elif kind == "SetPositionMessage":
            self.nodes.setdefault(name, {})["position"] = message["position"]
        elif kind == "SetOrientationMessage":
            self.nodes.setdefault(name, {})["wxyz"] = message["wxyz"]
        elif kind == "SetSceneNodeVisibilityMessage":
            self.nodes.setdefault(name, {})["visible"] = message["visible"]
        elif "updates" in message:
            kept = self.nodes if name is not None else self.panel
            kept.setdefault(name or message["uuid"], {}).update(message["updates"])
        elif "props" in message and (name or message.get("uuid")):
            (self.nodes if name is not None else self.panel).setdefault(name or message["uuid"], {}).update(
                message["props"]
            )

    @property
    def text(self) -> str:
        """Everything written on the panel."""
        return "\n".join(str(part["content"]) for part in self.panel.values() if "content" in part)

    @property
    def traces(self) -> Any:
        """The data of the plot; None where there is none."""
        return next((part["data"] for part in self.panel.values() if "data" in part), None)

    def numbers(self) -> list[float]:
        """Every number that was sent so far."""
        return list(_numbers(self.seen))

    def send(self, message: dict[str, Any]) -> None:
        """Send a message as a page would, or would not."""
        self.socket.send(msgspec.msgpack.encode(message))

    def close(self) -> None:
        self.socket.close()


def _unpack(value: Any, buffers: list[bytes]) -> Any:
    if isinstance(value, dict):
        if "__binary_index" in value:
            return np.frombuffer(buffers[value["__binary_index"]], value["dtype"])
        return {key: _unpack(item, buffers) for key, item in value.items()}
    if isinstance(value, list):
        return [_unpack(item, buffers) for item in value]
    return value


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, float):
        yield value

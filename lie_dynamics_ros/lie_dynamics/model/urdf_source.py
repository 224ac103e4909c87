"""From what a user hands over as a URDF (text, path, URI) to the bytes of the file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from ..errors import DescriptionError


def read_source(source: object, package_dirs: Sequence[str | os.PathLike[str]] = ()) -> tuple[str | bytes, str]:
    """Return the XML and what to call its origin in messages; see `urdf.read_urdf` for what is accepted."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "URDF"
    if isinstance(source, str):
        text = source.lstrip("\ufeff \t\r\n")
        if not text:
            raise DescriptionError("URDF: the text is empty, XML or a path expected", value=source, expected="XML")
        if text.startswith("<"):
            return text, "URDF"
        if "\n" in text:
            raise DescriptionError(
                f"URDF: neither XML nor a path: it starts with {text[:40]!r}, and XML starts with '<'",
                value=text[:40],
                expected="XML or a path",
            )
        path = resolve(text.strip(), package_dirs)
    elif isinstance(source, os.PathLike):
        path = Path(source)
    else:
        message = f"URDF: XML text, bytes or a path expected, got {type(source).__name__}"
        raise DescriptionError(message, value=source, expected="XML or a path")
    return _read(path), str(path)


def resolve(uri: str, package_dirs: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Return the path that a plain path, a file:// or a package:// URI means.

    A package is looked for in `package_dirs`, then under `share` of each AMENT_PREFIX_PATH entry, then in
    ROS_PACKAGE_PATH; a folder matches if it holds the package or has its name.

    Raises
    ------
    DescriptionError
        If no such package or file is found; lists where it was looked for.
    """
    if uri.startswith("file://"):
        return Path(unquote(urlparse(uri).path))
    if not uri.startswith("package://"):
        return Path(uri).expanduser()
    package, _, inside = uri.removeprefix("package://").partition("/")
    folders = [Path(folder).expanduser() for folder in package_dirs]
    folders += [Path(prefix) / "share" for prefix in _paths("AMENT_PREFIX_PATH")]
    folders += [Path(folder) for folder in _paths("ROS_PACKAGE_PATH")]
    candidates = [folder / package / inside for folder in folders]
    candidates += [folder / inside for folder in folders if folder.name == package]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = ", ".join(str(folder) for folder in folders) or "no folder: package_dirs and AMENT_PREFIX_PATH are empty"
    raise DescriptionError(f"URDF: {uri} not found; looked in {looked}", name=uri, expected="an installed package")


def _paths(variable: str) -> list[str]:
    return [part for part in os.environ.get(variable, "").split(os.pathsep) if part]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DescriptionError(
            f"URDF: cannot read '{str(path)[:200]}': {reason} (XML text, which starts with '<', or the path of a file "
            "expected)",
            name=str(path),
            expected="the path of a URDF file",
        ) from error

"""From what a user hands over as a URDF (text, path, URI) to the bytes of the file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from ...errors import DescriptionError
from ...files import read_file
from ...texts import quoted

#: Largest description that is read unless a caller says otherwise [bytes]: some 10,000 links with their meshes.
MAX_SIZE = 16 * 2**20
FROM_YAML = "StewartPlatform.from_yaml reads platforms, ConstraintSet.from_yaml loops"


def read_source(
    source: object,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    max_size: int = MAX_SIZE,
    kind: str = "URDF",
) -> tuple[str | bytes, str]:
    """Return the XML and what to call its origin in messages; see `urdf.read_urdf` for what is accepted.

    `kind` is the name of the format that is expected.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        _refuse_large(memoryview(source).nbytes, max_size, kind)
        return bytes(source), kind
    if isinstance(source, str):
        _refuse_large(len(source), max_size, kind)
        text = source.lstrip("\ufeff \t\r\n")
        if not text:
            raise DescriptionError(f"{kind}: the text is empty, XML or a path expected", value=source, expected="XML")
        if text.startswith("<"):
            return source, kind
        if "\n" in text:
            raise DescriptionError(
                f"{kind}: neither XML nor a path: it starts with {text[:40]!r}, and XML starts with '<'; {FROM_YAML}",
                value=text[:40],
                expected="XML or a path",
            )
        path = resolve(text.strip(), package_dirs, kind)
    elif isinstance(source, os.PathLike):
        path = Path(source)
    else:
        message = f"{kind}: XML text, bytes or a path expected, got {type(source).__name__}"
        raise DescriptionError(message, value=source, expected="XML or a path")
    if path.suffix in (".yaml", ".yml"):
        raise DescriptionError(
            f"{kind}: {quoted(str(path))} is YAML, XML expected; {FROM_YAML}", name=str(path), expected="XML"
        )
    try:
        return read_file(path, max_size), str(path)
    except OSError as error:
        raise DescriptionError(
            f"{kind}: cannot read {quoted(str(path))}: {error.strerror or error} (XML text, which starts with '<', or "
            "the path of a file expected)",
            name=str(path),
            expected="the path of a file",
        ) from error


def resolve(uri: str, package_dirs: Sequence[str | os.PathLike[str]] = (), kind: str = "URDF") -> Path:
    """Return the path that a plain path, a file:// or a package:// URI means.

    A package is looked for in `package_dirs`, then under `share` of each AMENT_PREFIX_PATH entry, then in
    ROS_PACKAGE_PATH; a folder matches if it holds the package or has its name.

    Raises
    ------
    DescriptionError
        If no such package or file is found; lists where it was looked for.
    """
    try:
        if uri.startswith("file://"):
            return Path(unquote(urlparse(uri).path))
        if not uri.startswith("package://"):
            return Path(uri).expanduser()
    except (ValueError, RuntimeError) as error:  # no URI; no home folder of such a user
        message = f"{kind}: {quoted(uri)} is no path: {error}"
        raise DescriptionError(message, name=uri, expected="the path of a file") from error
    package, _, inside = uri.removeprefix("package://").partition("/")
    folders = [Path(folder).expanduser() for folder in package_dirs]
    folders += [Path(prefix) / "share" for prefix in _paths("AMENT_PREFIX_PATH")]
    folders += [Path(folder) for folder in _paths("ROS_PACKAGE_PATH")]
    candidates = [folder / package / inside for folder in folders]
    candidates += [folder / inside for folder in folders if folder.name == package]
    for candidate in candidates:
        if _is_file(candidate):
            return candidate
    looked = ", ".join(str(folder) for folder in folders) or "no folder: package_dirs and AMENT_PREFIX_PATH are empty"
    raise DescriptionError(
        f"{kind}: {quoted(uri)} not found; looked in {looked}", name=uri, expected="an installed package"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, a null character
        return False


def _paths(variable: str) -> list[str]:
    return [part for part in os.environ.get(variable, "").split(os.pathsep) if part]


def _refuse_large(size: int, max_size: int, kind: str) -> None:
    if size > max_size:
        raise DescriptionError(
            f"{kind}: a text of {size} bytes, at most {max_size} expected (the argument max_size)",
            value=size,
            expected=f"at most {max_size} bytes",
        )

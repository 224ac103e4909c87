"""Models that an SDF includes from other files, put in the places of their <include> elements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from ...errors import DescriptionError
from ...files import read_file
from ...texts import quoted
from .elements import read_sdf_element
from .scopes import UNIQUE_SINCE

MOST = 200
"""Files that one description may include, those in included files among them."""
DEEPEST = 20
"""Included files that may lie in each other."""


class Includes:
    """Puts included models in the place of their <include>, where they are found.

    Parameters
    ----------
    folders : sequence of path-like
        Where ``model://NAME`` is looked for, as NAME/model.sdf, or as the only file NAME/*.sdf.
    version : tuple of int
        Of the including file.
    max_size : int
        Of each file [bytes].
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]], version: tuple[int, int], max_size: int) -> None:
        self._folders = [Path(folder).expanduser() for folder in folders]
        self._version, self._max_size, self._count = version, max_size, 0

    def put_in(self, element: Element, within: Path | None = None, depth: int = 0) -> None:
        """Replace each <include> in <sdf>, <world> or <model> whose file is found.

        Raises
        ------
        DescriptionError
            For files that hold other than one model, or that are of a version with other rules for names; too many.
        """
        for place, child in enumerate(list(element)):
            if child.tag in ("world", "model"):
                self.put_in(child, within, depth)
            elif child.tag == "include" and (path := self._find(_text(child, "uri"), within)) is not None:
                self._count += 1
                if self._count > MOST or depth >= DEEPEST:
                    raise DescriptionError(
                        f"<include> of {quoted(str(path))}: too many files; at most {MOST}, and {DEEPEST} in each "
                        "other, expected",
                        name=str(path),
                    )
                element[place] = self._model(child, path, depth)

    def _find(self, uri: str, within: Path | None) -> Path | None:
        scheme, _, rest = uri.partition("://") if "://" in uri else ("", "", uri)
        if scheme == "file":
            candidates = [Path(rest)]
        elif scheme in ("model", "package"):
            candidates = [folder / rest for folder in self._folders]
        elif not scheme:
            candidates = [folder / uri for folder in (within, *self._folders) if folder is not None]
        else:
            candidates = []
        for candidate in candidates if self._folders else ():
            if candidate.is_file():
                return candidate
            if (candidate / "model.sdf").is_file():
                return candidate / "model.sdf"
            files = sorted(candidate.glob("*.sdf")) if candidate.is_dir() else []
            if len(files) == 1:
                return files[0]
        return None

    def _model(self, include: Element, path: Path, depth: int) -> Element:
        try:
            root, version = read_sdf_element(read_file(path, self._max_size), str(path))
        except OSError as error:
            message = f"<include> of {quoted(str(path))}: {error.strerror or error}"
            raise DescriptionError(message, name=str(path)) from error
        if (version >= UNIQUE_SINCE) != (self._version >= UNIQUE_SINCE):
            raise DescriptionError(
                f"<include> of {quoted(str(path))}: version {version[0]}.{version[1]} in a file of version "
                f"{self._version[0]}.{self._version[1]}, whose frames have other rules (`gz sdf -p FILE` prints it "
                "in a later version)",
                name=str(path),
                value=version,
            )
        self.put_in(root, path.parent, depth + 1)
        models = [child for child in root if child.tag == "model"]
        if len(models) != 1:
            message = f"<include> of {quoted(str(path))}: it holds {len(models)} models, one expected"
            raise DescriptionError(message, name=str(path), value=len(models), expected="one model")
        model = models[0]
        for key in ("name", "placement_frame"):
            if text := _text(include, key):
                model.set(key, text)
        for key in ("pose", "static"):
            told = include.find(key)
            if told is not None:
                for own in model.findall(key):
                    model.remove(own)
                model.append(told)
        return model


def _text(element: Element, tag: str) -> str:
    found = element.find(tag)
    return "" if found is None else (found.text or "").strip()

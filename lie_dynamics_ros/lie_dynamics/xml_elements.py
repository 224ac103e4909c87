"""From the bytes of a description in XML to the elements that its format has a use for.

There is no document type in these formats, and with it no entity: a hostile file can neither read other files nor blow
up. What a format has no use for is passed over while the text is read, so nothing in it can be slow, noisy or wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
from xml.etree.ElementTree import Element
from xml.parsers import expat

from .errors import DescriptionError
from .texts import MAX_NAME, quoted, shortened

#: Nesting beyond which a text is no robot.
MAX_DEPTH = 100
#: The most characters that an element may hold as its value; of longer ones one more is kept, which tells them.
MAX_TEXT = 2000


class ElementReader(ABC):
    """Builds elements from what expat tells; a base of the readers of formats.

    Parameters
    ----------
    origin : str
        What messages call the text.
    kind : str
        Name of the format, such as "URDF".
    namespaces : bool
        Whether names with a prefix are "{uri}name"; otherwise they are left as they are.
    """

    with_text = False
    """Whether elements hold their values as text, rather than as attributes."""

    def __init__(self, origin: str, kind: str, namespaces: bool = False) -> None:
        self._origin, self._kind, self._namespaces = origin, kind, namespaces
        self._open: list[Element] = []  # elements that are kept, from the root down to the innermost
        self._passed = 0  # how many elements further in, which are not

    @abstractmethod
    def checked(self, tag: str, attributes: dict[str, str]) -> str:
        """Return the name that an element shall have; raises DescriptionError for one that may not be there at all."""

    @abstractmethod
    def wanted(self, tag: str, depth: int) -> bool:
        """Tell whether an element is kept; all around it are. The root is at depth 0."""

    @abstractmethod
    def take(self, element: Element, depth: int) -> None:
        """Put an element, still empty, where it belongs."""

    def read(self, source: str | bytes) -> None:
        """Read XML text or bytes.

        Raises
        ------
        DescriptionError
            For malformed XML, with line and column; document types; nesting beyond `MAX_DEPTH`; xacro that was not
            expanded.
        """
        parser = expat.ParserCreate(namespace_separator="}" if self._namespaces else None)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        if self.with_text:
            parser.buffer_text = True
            parser.CharacterDataHandler = self._data
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            parser.Parse(source, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            if isinstance(error, DescriptionError):
                raise
            text = source if isinstance(source, str) else source.decode("utf-8", "replace")
            if "<xacro:" in text:
                raise self.raw_xacro() from error
            what = f"malformed XML: {error}" if text.strip() else "the text is empty, XML expected"
            raise DescriptionError(f"{self._origin}: {what}", name=self._origin, expected="well-formed XML") from error

    def raw_xacro(self) -> DescriptionError:
        """Return the error for xacro that was not expanded."""
        command = f"run `xacro {self._origin} > robot.{self._kind.lower()}` and pass its output"
        if self._origin == self._kind:
            command = "run `xacro` on the file and pass its output"
        message = f"{self._origin}: this is xacro that has not been expanded; {command}"
        return DescriptionError(message, name=self._origin, expected="the output of xacro")

    def wrong_root(self, tag: str, expected: str) -> DescriptionError:
        """Return the error for a text whose root element is that of something else."""
        known = {"robot": "URDF", "sdf": "SDF", "mujoco": "MJCF"}
        hint = f" (this is {known[tag]}, not {self._kind})" if tag in known else ""
        message = f"{self._origin}: the root element is <{shortened(tag)}>, <{expected}> expected{hint}"
        return DescriptionError(message, name=self._origin, value=tag, expected=f"<{expected}>")

    def _refuse_doctype(self, name: str, *_: Any) -> None:
        raise DescriptionError(
            f"{self._origin}: has a document type (<!DOCTYPE {shortened(name)}>), which {self._kind} may not", name=name
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        depth = len(self._open) + self._passed
        tag = self.checked(tag, attributes)
        if depth >= MAX_DEPTH:
            raise DescriptionError(
                f"{self._origin}: elements nested deeper than {MAX_DEPTH}, which no {self._kind} is",
                expected=self._kind,
            )
        if self._passed or not (depth == 0 or self.wanted(tag, depth)):
            self._passed += 1
            return
        if self._namespaces and "}" in "".join(attributes):
            attributes = {"{" + key if "}" in key else key: value for key, value in attributes.items()}
        element = Element(tag, attributes)
        self.take(element, depth)
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        if self._passed:
            self._passed -= 1
        else:
            self._open.pop()

    def _data(self, text: str) -> None:
        if not self._passed and self._open:
            element = self._open[-1]
            before = element.text or ""
            if len(before) <= MAX_TEXT and not len(element):
                element.text = (before + text)[: MAX_TEXT + 1]


def short_name(name: str, label: str) -> str:
    """Return a name that is short enough for messages; refuse another one with a `DescriptionError`."""
    if len(name) > MAX_NAME:
        raise DescriptionError(
            f"{label}: a name of {len(name)} characters ({quoted(name)}), at most {MAX_NAME} expected",
            value=name,
            expected=f"at most {MAX_NAME} characters",
        )
    return name

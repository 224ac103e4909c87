"""From the bytes of a description in XML to the elements that its format has a use for.

There is no document type in these formats, and with it no entity: a hostile file can neither read other files nor blow
up. What a format has no use for is passed over while the text is read, so nothing in it can be slow, noisy or wrong.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any
from xml.etree.ElementTree import Element
from xml.parsers import expat

from .errors import DescriptionError
from .texts import MAX_NAME, quoted, shortened

#: Nesting beyond which a text is no robot.
MAX_DEPTH = 100
#: The most characters that an element may hold as its value; of longer ones one more is kept, which marks them.
MAX_TEXT = 2000


#: What libraries of the formats take for an unbound prefix.
_UNBOUND = "urn:unbound:"
_ENTITY = r"(?:lt|gt|amp|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});"
_SECTION = re.compile(rf"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!{_ENTITY})", re.DOTALL)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z][\w.-]*)""")
_PREFIX = re.compile(r"[<\s/]([A-Za-z_][\w.-]*):[A-Za-z_]")


def lenient(source: str | bytes) -> str:
    """Return XML text as the formats' own libraries read it, which XML itself does not allow; lines stay lines.

    Comments are left out, with what may not stand in them; a ``&`` that begins no entity of XML stands for itself;
    blanks before the declaration are passed over; bytes that are no UTF-8 are as declared, else Latin-1; prefixes need
    not be declared.
    """
    if isinstance(source, str):
        told = source.removeprefix("\ufeff")
    else:
        declared = _DECLARED.match(source[:200])
        told = source.decode("latin-1")
        for encoding in (declared[1].decode() if declared else "latin-1", "utf-8-sig"):
            with suppress(UnicodeError, LookupError):
                told = source.decode(encoding)

    def mended(found: re.Match[str]) -> str:
        text = found.group()
        if text == "&":
            return "&amp;"
        return "\n" * text.count("\n") if text.startswith("<!--") and text.endswith("-->") else text

    text = _SECTION.sub(mended, told)
    head, mark, rest = text.partition("<?xml")
    if mark and not head.strip():  # lines in front of the declaration go behind it
        declaration, end, rest = rest.partition("?>")
        text = mark + declaration + end + "\n" * head.count("\n") + rest
    root = re.search(r"<[A-Za-z_][^\s/>]*", text)
    prefixes = {name for name in _PREFIX.findall(text) if name not in ("xml", "xmlns")}
    unbound = sorted(name for name in prefixes if f"xmlns:{name}" not in text)
    if root is not None and unbound:
        bound = "".join(f' xmlns:{name}="{_UNBOUND}{name}"' for name in unbound)
        text = text[: root.end()] + bound + text[root.end() :]
    return text


_UNQUOTED = re.compile(r"""([\w:.-]+)\s*=\s*([^\s"'<>=/][^\s"'<>]*?)(?=/?>|\s)""")


def _unquoted(text: str, error: Exception) -> str:
    """Return what is to be written where a value at the place of an error has no quotes, or nothing."""
    lines, line, column = text.split("\n"), getattr(error, "lineno", 0), getattr(error, "offset", 0)
    if 1 <= line <= len(lines):
        for found in _UNQUOTED.finditer(lines[line - 1]):
            if found.start(2) == column:
                return f'; values stand in quotes: {shortened(found[1])}="{shortened(found[2])}"'
    return ""


class ElementReader(ABC):
    """Builds elements from the events of expat; a base of the readers of formats.

    Messages call the text `origin` and its format `kind`, such as "URDF". With `namespaces`, names with a prefix are
    "{uri}name"; otherwise they are left as they are.
    """

    with_text = False
    """Whether elements hold their values as text, rather than as attributes."""

    def __init__(self, origin: str, kind: str, namespaces: bool = False) -> None:
        self._origin, self._kind, self._namespaces = origin, kind, namespaces
        self._open: list[Element] = []  # elements that are kept, from the root down to the innermost
        self._passed = 0  # how many elements further in, which are not

    @abstractmethod
    def checked(self, tag: str, attributes: dict[str, str]) -> str:
        """Return the name of an element; raises DescriptionError for one that may not be there at all."""

    @abstractmethod
    def wanted(self, tag: str, depth: int) -> bool:
        """Return whether an element is kept; all around it are. The root is at depth 0."""

    @abstractmethod
    def take(self, element: Element, depth: int) -> None:
        """Put the root, or an element in it, still empty, where it belongs; others go into those around them."""

    def read(self, source: str | bytes) -> None:
        """Read XML text or bytes; what the formats' own libraries read besides is read as well, see `lenient`.

        Raises DescriptionError for malformed XML, with line and column; document types; nesting beyond `MAX_DEPTH`;
        xacro that was not expanded.
        """
        before = dict(self.__dict__)
        try:
            self._parse(source)
        except (expat.ExpatError, ValueError, LookupError) as error:
            if isinstance(error, DescriptionError):
                raise
            self.__dict__.update({**before, "_open": [], "_passed": 0})
            for key in set(self.__dict__) - set(before):
                del self.__dict__[key]
        else:
            return
        text = lenient(source)
        try:
            self._parse(text)
        except (expat.ExpatError, ValueError) as error:
            if isinstance(error, DescriptionError):
                raise
            malformed = f"malformed XML: {error}{_unquoted(text, error)}"
            what = malformed if text.strip() else "the text is empty, XML expected"
            raise DescriptionError(f"{self._origin}: {what}", name=self._origin, expected="well-formed XML") from error

    def _parse(self, source: str | bytes) -> None:
        parser = expat.ParserCreate(namespace_separator="}" if self._namespaces else None)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        if self.with_text:
            parser.buffer_text = True
            parser.CharacterDataHandler = self._data
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.Parse(source, True)

    def raw_xacro(self) -> DescriptionError:
        """Return the error for xacro that was not expanded."""
        command = f"run `xacro {self._origin} > robot.{self._kind.lower()}` and pass its output"
        if self._origin == self._kind:
            command = "run `xacro` on the file and pass its output"
        message = (
            f"{self._origin}: this is xacro that has not been expanded; {command}. Where it is that output, remove the "
            "elements <xacro:...> that are left in it"
        )
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
        if depth > 1:
            self._open[-1].append(element)
        else:
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

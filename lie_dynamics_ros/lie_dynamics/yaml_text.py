"""YAML from users: plain values without aliases and tags, of limited size and depth.

What is read is the part of YAML 1.2 that JSON has too, in any style of writing: mappings with texts as keys, lists,
texts, decimal numbers, true, false and null. A quoted scalar is a text, whatever it looks like, and so is a plain one
that another version of YAML takes for a number or a boolean (yes, 0x10, 1_000, 010, 1:30).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from os import PathLike, fspath
from typing import Any, NoReturn

from .errors import LieDynamicsError
from .files import read_file
from .texts import MAX_NAME, plain_number, quoted, shortened

#: Largest text or file that is read [bytes], and deepest nesting.
MAX_SIZE = 256 * 2**10
MAX_DEPTH = 20
#: What messages call a text that is in no file.
TEXT = "the YAML text"

#: Makes the error that a reader raises of its message.
MakeError = Callable[[str], LieDynamicsError]

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_OCTAL = re.compile(r"[+-]?0[0-9]+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")


def is_yaml_text(source: str) -> bool:
    """Tell YAML text from the path of a file: it has a line break, or a colon followed by a space."""
    return "\n" in source or ": " in source


def load_yaml(source: str | PathLike[str], make_error: MakeError, max_size: int = MAX_SIZE) -> tuple[Any, str]:
    """Return what YAML text, or the YAML file with that path, holds, and what messages call it.

    Parameters
    ----------
    source : str or path-like
        See `is_yaml_text` for what counts as text.
    make_error : callable
        Makes the error to raise of a message that names the file and the place.
    max_size : int
        Largest text or file that is read [bytes].

    Raises
    ------
    LieDynamicsError
        As `make_error` makes it, for all that cannot be read, is no YAML, or is YAML outside this subset.
    """
    text, where = _text_of(source, make_error, max_size)
    return _Composer(text, where, make_error).content(), where


def _text_of(source: str | PathLike[str], make_error: MakeError, max_size: int) -> tuple[str, str]:
    """Return YAML text, and the name by which messages call it."""
    if isinstance(source, str) and is_yaml_text(source):
        if len(source) > max_size:
            raise make_error(f"{TEXT} has {len(source)} characters, at most {max_size} expected")
        return source.removeprefix("\ufeff"), TEXT
    try:
        path = fspath(source)
        where = f"file {shortened(str(path))}"
    except TypeError:
        raise make_error(f"YAML text or the path of a file expected, got {type(source).__name__}") from None
    try:
        return read_file(path, max_size).decode("utf-8-sig"), where
    except UnicodeDecodeError as error:
        raise make_error(f"{where} cannot be read: it is no text in UTF-8") from error
    except OSError as error:
        raise make_error(f"{where} cannot be read: {error.strerror or error}") from error


class _Composer:
    """Makes values of the events of PyYAML's parser, one after the other, so that nothing large is ever built."""

    def __init__(self, text: str, where: str, make_error: MakeError) -> None:
        import yaml  # type: ignore[import-untyped]

        self._yaml, self._text = yaml, text
        self._where, self._make_error = where, make_error

    def content(self) -> Any:
        yaml = self._yaml
        try:
            events = yaml.parse(self._text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            value, documents = None, 0
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        self._refuse(event, "a second document begins, one expected")
                    value = self._value(next(events), events, 0)
            return value
        except (yaml.YAMLError, UnicodeError, RecursionError, MemoryError) as error:
            mark = getattr(error, "problem_mark", None)
            place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
            problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
            if "nesting depth" in str(problem):  # libyaml's own limit, to which it comes first from 0.2.6 on
                raise self._make_error(f"{self._where}{place}: nested deeper than {MAX_DEPTH}") from error
            raise self._make_error(f"{self._where} is not valid YAML{place}: {shortened(str(problem))}") from error

    def _value(self, event: Any, events: Iterator[Any], depth: int) -> Any:
        yaml = self._yaml
        self._check(event)
        if isinstance(event, yaml.ScalarEvent):
            return event.value if event.style else self._plain(event)
        if depth >= MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH}")
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                items.append(self._value(event, events, depth + 1))
            return items
        return self._mapping(events, depth)

    def _mapping(self, events: Iterator[Any], depth: int) -> dict[str, Any]:
        yaml = self._yaml
        found: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            self._check(event)
            if not isinstance(event, yaml.ScalarEvent):
                self._refuse(event, "a list or mapping as a key, a text expected")
            if len(event.value) > MAX_NAME:
                self._refuse(event, f"a key of {len(event.value)} characters, at most {MAX_NAME} expected")
            if event.value in found:
                self._refuse(event, f"the key {quoted(event.value)} is there twice")
            found[event.value] = self._value(next(events), events, depth + 1)
        return found

    def _check(self, event: Any) -> None:
        if event.anchor is not None:  # of an alias, the anchor that it stands for
            self._refuse(event, "anchors and aliases (& and *) are not read; write the value out")
        if event.tag is not None:
            self._refuse(event, f"tags ({shortened(event.tag)}) are not read")

    def _plain(self, event: Any) -> Any:
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        if _OCTAL.fullmatch(text):
            return text
        value = plain_number(text)
        if value is None:
            return text
        return int(text) if _INTEGER.fullmatch(text) else value

    def _refuse(self, event: Any, problem: str) -> NoReturn:
        mark = event.start_mark
        raise self._make_error(f"{self._where} at line {mark.line + 1}, column {mark.column + 1}: {problem}")

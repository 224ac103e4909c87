"""YAML from users: plain values without aliases and tags, of limited size and depth, and mappings read by their kind.

What is read is the part of YAML 1.2 that JSON has too, in any style of writing: mappings with texts as keys, lists,
texts, decimal numbers, true, false and null. A quoted scalar is a text, whatever it looks like, and so is a plain one
that another version of YAML takes for a number or a boolean (yes, 0x10, 1_000, 010, 1:30).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .arrays import Array, ArrayLike
from .errors import LieDynamicsError
from .files import read_file
from .texts import LARGEST, MAX_NAME, listed, plain_number, quoted, shortened

if TYPE_CHECKING:
    from typing import Self

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
    """Return what YAML text (see `is_yaml_text`), or the YAML file with that path, holds, and what messages call it.

    At most `max_size` bytes are read. Raises the LieDynamicsError that `make_error` makes of a message, for all that
    cannot be read, is no YAML, or is YAML outside this subset.
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


_KINDS = {dict: "a mapping", list: "a list", str: "a text", bool: "a boolean", type(None): "nothing"}


def read_section(source: str | PathLike[str], keys: tuple[str, ...], make_error: MakeError) -> Section:
    """Return the mapping that YAML text, or the YAML file with that path, holds, of which `keys` are known at the top.

    Raises as `load_yaml`; besides for anything but a mapping, and for other keys.
    """
    content, where = load_yaml(source, make_error)
    if not isinstance(content, dict):
        raise make_error(f"{where} holds {_kind(content)} at the top, expected the keys {', '.join(keys)}")
    if where != TEXT and content and not any(key in keys for key in content):
        # A file of something else: what it holds does not belong into messages.
        raise make_error(f"{where} holds none of the keys {', '.join(keys)}")
    return Section(content, where, make_error).know(keys)


class Keys:
    """Keys of a mapping in a YAML text, and what messages call it: those that may, and that must be there.

    Every method raises the error of its reader, with a message that names the place, the key, the value and what was
    expected. `values` are as they stand there, `where` is the place.
    """

    def __init__(self, values: dict[str, Any], where: str, make_error: MakeError) -> None:
        self.values, self.where, self._make_error = values, where, make_error

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def names(self, key: str) -> bool:
        """Return whether a key is there, also with nothing as its value: most often one that was forgotten."""
        return key in self.values

    def refuse(self, message: str) -> NoReturn:
        """Raise, with a message that begins with the place."""
        raise self._make_error(f"{self.where}: {message}")

    def know(self, keys: tuple[str, ...]) -> Self:
        """Refuse keys that nobody reads: most often a slip of the pen."""
        unknown = [key for key in self.values if key not in keys]
        if unknown:
            self.refuse(f"unknown keys {listed(unknown)}; known are {', '.join(keys)}")
        return self

    def need(self, keys: tuple[str, ...], what: str) -> Self:
        """Refuse a mapping without one of the keys."""
        missing = [key for key in keys if key not in self]
        if missing:
            self.refuse(f"has no {', '.join(missing)} ({what})")
        return self

    def _expected(self, key: str, value: Any, expected: str) -> NoReturn:
        self.refuse(f"{shortened(key)} is {quoted(value)}, expected {expected}")


class Section(Keys):
    """A mapping in a YAML text, whose values are read by their kind; errors as `Keys`."""

    def text(self, key: str, default: str = "") -> str:
        """Return a text that is not empty, or the default."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or (not value and key in self.values) or len(value) > MAX_NAME:
            self._expected(key, value, f"a text of 1 to {MAX_NAME} characters; quotes make one of a number")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self._expected(key, value, "true or false")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        return float(self.numbers(key, (), default))

    def numbers(
        self, key: str, shape: tuple[int, ...] | None, default: ArrayLike | None = None, infinite: bool = False
    ) -> Array:
        """Return numbers in lists of lists as an array of a shape, of any for None.

        Without a default the key must be there. Where `infinite`, .inf and -.inf are numbers too.
        """
        if key not in self.values and default is not None:
            return np.asarray(default, dtype=np.float64)
        value = self.values.get(key)
        array = _array(value)
        if array is None or (shape is not None and array.shape != shape) or not _in_range(array, infinite):
            kind = f"numbers up to {LARGEST:g}, or .inf" if infinite else f"finite numbers up to {LARGEST:g}"
            self._expected(key, value, _SHAPES.get(shape, "{kind}, in lists of equal lengths").format(kind=kind))
        return array

    def section(self, key: str, keys: tuple[str, ...]) -> Section:
        """Return the mapping at a key, whose keys are known."""
        return self._part(f"{key} in {self.where}", self.values.get(key), keys)

    def sections(self, key: str, name: str) -> list[Section]:
        """Return the mappings in the list at a key, called `name` 1, 2, ... and by the name that each has."""
        entries = self.values.get(key)
        if entries is None:
            return []
        if not isinstance(entries, list):
            self._expected(key, entries, "a list, each entry after a dash")
        found = []
        for k, entry in enumerate(entries, start=1):
            called = entry.get("name") if isinstance(entry, dict) else None
            label = f" ({quoted(called)})" if isinstance(called, str) else ""
            found.append(self._part(f"{name} {k} in {self.where}{label}", entry, None))
        return found

    def named_sections(self, key: str, name: str, keys: tuple[str, ...]) -> dict[str, Section]:
        """Return the mappings, whose keys are known, in the mapping at a key, called `name` and what leads to each."""
        entries = self._part(f"{key} in {self.where}", self.values.get(key), None).values
        return {of: self._part(f"{name} {quoted(of)} in {self.where}", entry, keys) for of, entry in entries.items()}

    def text_or_section(self, key: str, keys: tuple[str, ...]) -> str | Section:
        """Return the text or the mapping at a key."""
        value = self.values.get(key)
        return self.text(key) if isinstance(value, str) else self.section(key, keys)

    def mapping_of_numbers(self, key: str) -> dict[str, float]:
        """Return the finite numbers of the mapping at a key, by key."""
        part = self._part(f"{key} in {self.where}", self.values.get(key), None)
        return {name: part.number(name) for name in part.values}

    def _part(self, where: str, value: Any, keys: tuple[str, ...] | None) -> Section:
        if not isinstance(value, dict):
            wanted = "keys with values" if keys is None else f"the keys {', '.join(keys)}"
            raise self._make_error(f"{where} is {_kind(value)}, {quoted(value)}; expected {wanted}")
        part = Section(value, where, self._make_error)
        return part if keys is None else part.know(keys)


_SHAPES: dict[tuple[int, ...] | None, str] = {
    (): f"a finite number up to {LARGEST:g}",
    (3,): "3 {kind}",
    (4,): "4 {kind}",
    (3, 3): "3 rows of 3 {kind}",
}


def _array(value: Any) -> Array | None:
    """Return numbers, in lists of lists, as an array; None for anything else."""
    if isinstance(value, list):
        rows = [_array(part) for part in value]
        if not rows or any(row is None or row.shape != rows[0].shape for row in rows):  # type: ignore[union-attr]
            return None
        return np.array(rows, dtype=np.float64)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return np.array(value, dtype=np.float64)


def _in_range(array: Array, infinite: bool) -> bool:
    return bool(((np.abs(array) <= LARGEST) | (np.isinf(array) & infinite)).all())


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")

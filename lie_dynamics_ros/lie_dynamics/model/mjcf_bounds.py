"""What MJCF would make, counted before MuJoCo makes it, whose time grows with the square of it; and files it names."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from pathlib import Path

from ..errors import DescriptionError
from ..files import read_file
from ..texts import quoted

#: Largest text or file of XML that is read, and largest other file that it may name [bytes].
MAX_SIZE, MAX_ASSET = 2**24, 2**28
#: Elements of a name that are compiled, copies counted, of names that are not here, and of all; a ball is 3 joints.
MOST, OTHERS, ALL = {"body": 3_000, "joint": 6_000, "default": 5_000, "replicate": 20_000}, 10_000, 100_000
#: Product of the numbers of an attribute that say how much is made.
LARGEST = {"numeric size": 10**6, "camera resolution": 2**24, "user dim": 10**4}
#: Pixels of all pictures that are made, and for how many of them one of a picture stands: six sides, heights in full.
PIXELS, PICTURES = 2**24, {"texture": ("width", "height", 6), "hfield": ("nrow", "ncol", 8)}
#: Numbers of a mesh that is made.
RESOLUTION = 500
#: Numbers of all keyframes, about, and of what users may add to each element.
KEY_NUMBERS, USER_NUMBERS = 2 * 10**7, 1000
#: Files of XML that one may include or attach, those in them among them; folders that files are looked for in.
FILES, FOLDERS = 100, 10

_TAG = re.compile(r"""<!--.*?(?:-->|\Z)|<(/?)([A-Za-z_]\w*)((?:[^<>"']+|"[^"]*"|'[^']*'){0,4000})""", re.DOTALL)
_ENDS = {"", "<", ">"}
_ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_MANY = re.compile(r"""\btype\s*=\s*["'](ball|free)\b""")
_LOOKED_AT = {"mesh", "replicate", "include", "model", "flexcomp", "composite", "size", "compiler"}
_LOOKED_AT |= {key.partition(" ")[0] for key in LARGEST} | set(PICTURES)


class MjcfBounds:
    """Counts what a text and the files that it includes make; raises DescriptionError for too much.

    Parameters
    ----------
    text : str
        MJCF.
    folder : path
        That its files are relative to.

    Attributes
    ----------
    files : set of str
        All that it names.
    text, included : str, dict of str to bytes
        The text and what it includes, by name, where a declaration that stands behind something else is left out.
    is_mended : bool
        Whether that was so anywhere.
    """

    def __init__(self, text: str, folder: Path) -> None:
        if len(text) > MAX_SIZE:
            raise _refusal(f"a text of {len(text)} characters, more than {MAX_SIZE}")
        self.files: set[str] = set()
        self._folder, self._dirs = folder, {""}
        self.included: dict[str, bytes] = {}
        self.is_mended, self._pixels = False, 0
        self.text = self._mended(text)
        made = self._count(self.text, 1)
        if made["key"] * made["body"] * 13 > KEY_NUMBERS:
            raise _refusal(f"{made['key']} keyframes of {made['body']} bodies")
        for name in self.files:
            for inside in sorted(self._dirs)[:FOLDERS]:
                self._refuse_special(folder / inside / name)

    def _count(self, text: str, copies: int) -> Counter[str]:
        """Return how many elements of each name there are, each as often as it is copied."""
        made: Counter[str] = Counter()
        attached: Counter[str] = Counter()
        around, number = [copies], 0
        for found in _TAG.finditer(text):
            closing, tag, inside = found.groups()
            if tag is not None and text[found.end() : found.end() + 1] not in _ENDS:
                raise _refusal(f"<{tag}> with thousands of attributes, or a quote that does not end")
            if closing:
                if tag == "replicate" and len(around) > 1:
                    around.pop()
                continue
            if tag is None:
                continue
            made[tag] += around[-1]
            number += 1
            if number > ALL:
                raise _refusal(f"more than {ALL} elements")
            if tag == "freejoint":
                made["joint"] += 6 * around[-1]
            elif tag == "joint" and (kind := _MANY.search(inside)):
                made["joint"] += (2 if kind[1] == "ball" else 5) * around[-1]
            if tag not in _LOOKED_AT and "file" not in inside:
                if made[tag] > OTHERS or made[tag] > MOST.get(tag, OTHERS):
                    self._judge(made)
                continue
            told = {name: first or second for name, first, second in _ATTRIBUTE.findall(inside)}
            if tag == "replicate" and not inside.rstrip().endswith("/"):
                around.append(around[-1] * _number(told.get("count", "1")))
                made[tag] += around[-1]
            elif tag in ("flexcomp", "composite"):
                made["body"] += around[-1] * _product(told.get("count", "1"))
            for name, value in told.items():
                if name.startswith("file"):
                    self.files.add(value)
                    if tag == "include":
                        made += self._count(self._other(value), around[-1])
                    elif tag == "model":
                        attached |= self._count(self._other(value), 1)  # the most of each that one of them makes
            self._judge_numbers(tag, told, made)
            self._judge(made)
        for name, count in attached.items():
            made[name] += made["attach"] * count
        self._judge(made)
        return made

    def _other(self, name: str) -> str:
        """Return the text of a file that is included or attached; of one that cannot be read MuJoCo says so."""
        path = self._folder / name
        self._refuse_special(path)
        if name in self.included or len(self.included) >= FILES:
            return ""
        try:
            text = self._mended(read_file(path, MAX_SIZE).decode("utf-8", "replace"))
        except OSError:
            return ""
        self.included[name] = text.encode()
        return text

    def _mended(self, text: str) -> str:
        """Return a text whose declaration is first, as MuJoCo wants it, or left out."""
        before, mark, _ = text.removeprefix("\ufeff").partition("<?xml")
        if not mark or not before:
            return text
        self.is_mended = True
        return re.sub(r"<\?xml\b.*?\?>", "", text, count=1, flags=re.DOTALL)

    def _judge(self, made: Counter[str]) -> None:
        for tag, count in made.items():
            if count > (most := MOST.get(tag, OTHERS)):
                what = f"more than {most} <{tag}>, copies counted"
                raise _refusal(f"<replicate> that makes more than {most} copies" if tag == "replicate" else what)

    def _judge_numbers(self, tag: str, told: dict[str, str], made: Counter[str]) -> None:
        for key, most in LARGEST.items():
            name, field = key.split(" ")
            if name == tag and _product(told.get(field, "")) > most:
                raise _refusal(f"<{tag}> with {field} {quoted(told[field])}")
        if tag in PICTURES:
            height, width, weight = PICTURES[tag]
            size = _product(f"{told.get(height, '0')} {told.get(width, '0')}")
            self._pixels += size * (1 if told.get("type") == "2d" else weight)
            if self._pixels > PIXELS:
                values = f"{height} {quoted(told.get(height, ''))} and {width} {quoted(told.get(width, ''))}"
                raise _refusal(f"<{tag}> with {values}, beside those before it")
        if tag == "mesh" and any(_number(part) > RESOLUTION for part in told.get("params", "").split()[:100]):
            raise _refusal(f"<mesh> with params {quoted(told['params'])}")
        if tag == "size":
            made["key"] += _number(told.get("nkey", "0"))
            for name, value in told.items():
                if name.startswith("nuser") and _number(value) > USER_NUMBERS:
                    raise _refusal(f"<size> with {name} {quoted(value)}")
        if tag == "compiler":
            self._dirs |= {told[key] for key in ("meshdir", "texturedir", "assetdir") if key in told}

    @staticmethod
    def _refuse_special(path: Path) -> None:
        """Refuse what never ends, or never answers, where a file should be."""
        try:
            about = os.stat(path)
        except (OSError, ValueError):  # MuJoCo's error has the name
            return
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
            what = f"MJCF: {quoted(str(path))} is a device, FIFO or socket, and does not answer as a file does"
            raise DescriptionError(f"{what}; regular files are expected", name=str(path), expected="files")
        if about.st_size > MAX_ASSET and stat.S_ISREG(about.st_mode):
            raise _refusal(f"{quoted(str(path))} with {about.st_size} bytes")


def _number(text: str) -> int:
    """Return a number that is not negative, 10^9 at most; 1 for what is none."""
    digits = re.match(r"\s*\+?(\d+)", text)
    return 1 if digits is None else int(digits[1]) if len(digits[1]) < 10 else 10**9


def _product(text: str) -> int:
    product = 1
    for part in text.split()[:4]:
        product = min(product * max(_number(part), 1), 10**18)
    return product


def _refusal(what: str) -> DescriptionError:
    expected = "a robot of ordinary size"
    return DescriptionError(
        f"MJCF: {what}; {expected} is expected (what is larger can be compiled by mujoco and given as an MjModel)",
        value=what,
        expected=expected,
    )

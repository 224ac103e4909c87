"""A user's URDF with other inertias: all else stays as it was written, byte by byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..lie import SpatialInertia, inertial_parameters, se3
from .model import Model
from .urdf.reader import read_source, read_urdf

_TAG = re.compile(rb"<(?:\"[^\"]*\"|'[^']*'|[^>\"'])*>")
#: Least eigenvalue of a pseudo-inertia over its trace, lengths in metres, that can be taken apart between links.
_THIN = 1e-10
#: What may be given for a joint's drive.
LOSSES = ("damping", "friction", "armature")


def with_inertias(
    source: str | bytes | PathLike[str],
    inertias: Mapping[str, SpatialInertia],
    losses: Mapping[str, Mapping[str, float]] | None = None,
    model: Model | None = None,
) -> bytes:
    """Return a URDF in which bodies have other inertias, and joints other losses.

    A body is a link that a joint moves, with all that is welded to it. A change of its inertia is shared by its links:
    each mass distribution goes through the same linear map, so each stays one that a body can have. Where a body is too
    thin for that, its first link gets all of it.

    Parameters
    ----------
    source : str, bytes or path
        URDF text or a file's path.
    inertias : mapping of str to SpatialInertia
        By name of the link that a joint moves, in its frame.
    losses : mapping, optional
        By joint, "damping", "friction" and "armature", as attributes of <dynamics>.
    model : Model, optional
        What was read from the URDF, where some of its joints are locked: then bodies are those of this model.

    Raises
    ------
    InputError, InertiaError, DescriptionError
        For bodies and joints that are not there or do not move, an inertia that no body can have, and what is no URDF.
    """
    content, _ = read_source(source)
    text = _utf8(content)
    description = read_urdf(text, inertia_check="ignore")
    model = Model.from_urdf(text, inertia_check="ignore") if model is None else model
    own = {link.name: link.inertia for link in description.links if link.inertia is not None}
    links: dict[str, SpatialInertia] = {}
    for body, inertia in inertias.items():
        if body not in model.body_names:
            raise InputError(f"no body {body!r}: one of {list(model.body_names)} is expected", name=body)
        inertia.check(body)
        links |= _shared(model, body, inertia, own)
    drives = {name: dict(values) for name, values in (losses or {}).items()}
    for name, values in drives.items():
        model.joint(name)
        for key, value in values.items():
            if key not in LOSSES or not 0.0 <= value < np.inf:
                raise InputError(f"joint {name!r}: {key} {value!r}; one of {LOSSES}, not negative, is expected")
    return _patched(text, links, drives)


def _utf8(content: str | bytes) -> bytes:
    """Return the bytes of a text in an encoding that agrees with ASCII."""
    if isinstance(content, bytes) and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return content
    text = content if isinstance(content, str) else content.decode("utf-16")
    return re.sub(r"""(<\?xml[^>]*encoding=)["'][^"']*["']""", r'\1"UTF-8"', text, count=1).encode("utf-8")


def _shared(
    model: Model, body: str, inertia: SpatialInertia, own: dict[str, SpatialInertia]
) -> dict[str, SpatialInertia]:
    """Return the inertias of all links of a body, each in its own frame."""
    index = model.frame(body).body
    places = {n: f.placement for n, f in model.frames.items() if f.body == index and n in own}
    parts = {n: T @ own[n].pseudo_inertia() @ T.T for n, T in places.items()}
    total = np.sum(list(parts.values()), axis=0) if parts else np.zeros((4, 4))
    wanted = inertia.pseudo_inertia()
    if len(parts) < 2 or any(np.linalg.eigvalsh(J)[0] <= _THIN * np.trace(J) for J in (total, wanted)):
        return {**dict.fromkeys(parts, SpatialInertia.zero()), body: inertia}
    root = _root(total)
    back = np.linalg.inv(root)
    A = back @ _root(root @ wanted @ root) @ back  # the symmetric A with A total A = wanted
    found = {}
    for name, J in parts.items():
        inverse = se3.inverse(places[name])
        J = inverse @ A @ J @ A.T @ inverse.T
        found[name] = SpatialInertia.from_parameters(inertial_parameters.from_pseudo_inertia(0.5 * (J + J.T)))
    return found


def _root(J: Array) -> Array:
    values, axes = np.linalg.eigh(0.5 * (J + J.T))
    return np.asarray((axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T)


def _patched(text: bytes, links: dict[str, SpatialInertia], drives: dict[str, dict[str, float]]) -> bytes:
    """Return the text with <inertial> of links and <dynamics> of joints written anew."""
    edits: list[tuple[int, int, bytes]] = []
    open_tags: list[tuple[str, dict[str, str], int]] = []
    seen: set[tuple[str, str]] = set()
    parser = expat.ParserCreate()

    def indent(at: int) -> bytes:
        line = text[text.rfind(b"\n", 0, at) + 1 : at]
        return b"\n" + line if not line.strip() else b" "

    def wanted(depth: int, tag: str) -> tuple[str, Callable[[bytes], bytes]] | None:
        if depth != 2 or len(open_tags) < 2:
            return None
        kind, attributes, _ = open_tags[1]
        name = attributes.get("name", "")
        if (kind, tag) == ("link", "inertial") and name in links:
            return name, lambda space: _inertial(links[name], space) if links[name].mass > 0.0 else b""
        if (kind, tag) == ("joint", "dynamics") and name in drives:
            kept = {**open_tags[2][1], **{k: f"{v:.12g}" for k, v in drives[name].items()}}
            return name, lambda space: _element("dynamics", kept)
        return None

    def start(tag: str, attributes: dict[str, str]) -> None:
        open_tags.append((tag, attributes, parser.CurrentByteIndex))

    def end(tag: str) -> None:
        at = open_tags[-1][2]
        first = _TAG.match(text, at)
        assert first is not None
        empty = first.group().endswith(b"/>")
        last = first if empty else _TAG.match(text, parser.CurrentByteIndex)
        assert last is not None
        found = wanted(len(open_tags) - 1, tag)
        if found is not None:
            again = (found[0], tag) in seen
            seen.add((found[0], tag))
            edits.append((at, last.end(), b"" if again else found[1](indent(at))))
        elif len(open_tags) == 2:
            name = open_tags[1][1].get("name", "")
            missing = b""
            space = indent(at) + b"  "
            if tag == "link" and name in links and (name, "inertial") not in seen and links[name].mass > 0.0:
                missing = space + _inertial(links[name], space)
            if tag == "joint" and name in drives and (name, "dynamics") not in seen:
                missing = space + _element("dynamics", {k: f"{v:.12g}" for k, v in drives[name].items()})
            if missing and empty:
                edits.append((last.end() - 2, last.end(), b">" + missing + indent(at) + f"</{tag}>".encode()))
            elif missing:
                line = text.rfind(b"\n", 0, last.start())
                place = line if not text[line + 1 : last.start()].strip() and line >= 0 else last.start()
                edits.append((place, place, missing))
        open_tags.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(text, True)
    for begin, stop, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[stop:]
    return text


def _element(tag: str, attributes: Mapping[str, str]) -> bytes:
    inner = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{tag}{inner}/>".encode("ascii", "xmlcharrefreplace")


def _inertial(inertia: SpatialInertia, space: bytes) -> bytes:
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = inertia.inertia[np.triu_indices(3)]
    parts = (
        _element("origin", {"xyz": " ".join(f"{x:.12g}" for x in inertia.com), "rpy": "0 0 0"}),
        _element("mass", {"value": f"{inertia.mass:.12g}"}),
        _element("inertia", {key: f"{x:.12g}" for key, x in zip(keys, values, strict=True)}),
    )
    inner = space + b"  " if space.startswith(b"\n") else b""
    return b"<inertial>" + b"".join(inner + part for part in parts) + (space if inner else b"") + b"</inertial>"

"""Reader of MJCF, MuJoCo's format, by MuJoCo's own compiler, which is optional: ``pip install mujoco``.

What it would make is counted before, since its time grows with the square of that, and so are files that are named.
"""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array, ArrayLike, Mask
from ..errors import DescriptionError, DescriptionWarning
from ..files import read_file
from ..lie import SpatialInertia, se3, so3
from ..texts import listed, quoted, unique
from . import joint_types
from .bodies import BodyTree
from .structure import AnySpring, BodySpring, TorsionSpring

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
    """Counts what MJCF, and files relative to a folder that it includes, make; raises DescriptionError for too much.

    `files` are the names of all that it names. `text` and `included`, by name, are the text and what it includes,
    without a declaration that stands behind something else; `is_mended`: whether that was so anywhere.
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


_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint
_SITE = 3  # mjtWrap
_ON_JOINTS = (0, 1)  # mjtTrn
_LINEAR, _ANGULAR = slice(0, 3), slice(3, 6)


def compiled_mjcf(source: Any) -> Any:
    """Return the `mujoco.MjModel` of MJCF text, of a file's path, or of one that is compiled already.

    Raises DescriptionError if MuJoCo is not installed, or refuses the model, with its reason; or for what `MjcfBounds`
    refuses. Warns, as DescriptionWarning, of what MuJoCo warns of.
    """
    try:
        import mujoco
    except ImportError as error:
        raise DescriptionError("MJCF is read by MuJoCo, which is not installed: pip install mujoco") from error
    if isinstance(source, mujoco.MjModel):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        try:
            source = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            source = data.decode("latin-1")
    if not isinstance(source, (str, os.PathLike)):
        message = f"MJCF: XML text, bytes, a path or an MjModel expected, got {type(source).__name__}"
        raise DescriptionError(message, value=source, expected="XML or a path")
    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)  # MuJoCo would write a file in the working directory
    try:
        return _compiled(mujoco, source)
    finally:
        mujoco.set_mju_user_warning(before)
        for text in dict.fromkeys(said):
            warnings.warn(f"MJCF: MuJoCo says: {text}", DescriptionWarning, stacklevel=4)


def _compiled(mujoco: Any, source: str | os.PathLike[str]) -> Any:
    text = source.lstrip("\ufeff \t\r\n") if isinstance(source, str) else ""
    try:
        text.encode()  # MuJoCo's own word for a lone surrogate is a TypeError about its signatures
        if text.startswith("<"):
            bounds = MjcfBounds(text, Path())
            return _mended(mujoco, bounds, "") if bounds.is_mended else mujoco.MjModel.from_xml_string(text)
        path = Path(source).expanduser()
        if not path.is_file():
            raise DescriptionError(f"MJCF: no file {quoted(str(path))}", name=str(path), expected="XML or a path")
        bounds = MjcfBounds(read_file(path, MAX_SIZE).decode("utf-8", "replace"), path.parent)
        if bounds.is_mended:
            return _mended(mujoco, bounds, str(path.parent))
        return mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError, OSError) as error:
        if isinstance(error, DescriptionError):
            raise
        if isinstance(error, UnicodeEncodeError):
            what = f"MJCF: character {error.start + 1} is half of a pair (a lone surrogate): text in UTF-8 is expected"
            raise DescriptionError(what, value=source) from error
        if isinstance(error, OSError):
            raise DescriptionError(f"MJCF: cannot read {quoted(str(source))}: {error.strerror}") from error
        raise DescriptionError("MJCF: MuJoCo says: " + " ".join(str(error).split()), value=source) from error


def _mended(mujoco: Any, bounds: MjcfBounds, folder: str) -> Any:
    """Return the model of a text that is not quite that of its file."""
    spec = mujoco.MjSpec.from_string(bounds.text, include=bounds.included)
    spec.modelfiledir = folder
    return spec.compile()


class MjcfNames:
    """Names of what a `mujoco.MjModel` holds; what has none gets kind and number, in brackets where that is taken."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self._of: dict[str, list[str]] = {}

    def of(self, kind: str, index: int) -> str:
        """Return the name of a body, joint, site, equality, actuator or tendon."""
        if kind not in self._of:
            self._of[kind] = self._all(kind)
        return self._of[kind][index]

    def all(self, kind: str) -> list[str]:
        """Return the names of all of a kind."""
        if kind not in self._of:
            self._of[kind] = self._all(kind)
        return self._of[kind]

    def _all(self, kind: str) -> list[str]:
        addresses = getattr(self._compiled, f"name_{_ADDRESSES[kind]}adr")
        text = bytes(self._compiled.names)
        told = [text[start : text.index(b"\0", start)].decode() for start in addresses]
        taken = set(told)
        return [name or unique(f"{kind}{k}", taken) for k, name in enumerate(told)]


_ADDRESSES = {kind: kind for kind in ("body", "site", "actuator", "tendon")} | {"joint": "jnt", "equality": "eq"}
"""Fields of `mujoco.MjModel` with the places of names."""


def read_mjcf(source: Any) -> tuple[str, BodyTree, Array, list[AnySpring]]:
    """Return name, bodies, gravity and springs between bodies of a robot in MJCF; see `Model.from_mjcf`.

    Warns once, as DescriptionWarning, of all that a model does not hold.
    """
    compiled = compiled_mjcf(source)
    names = MjcfNames(compiled)
    bodies = BodyTree(names.of("body", 0), judge_inertias=False)  # MuJoCo has checked them
    taken = set(names.all("body"))
    places = pose_of(compiled.body_pos, compiled.body_quat)
    inertias = _inertias(compiled)
    turned: list[TorsionSpring] = []
    limits = _limits(compiled, names)
    for index in range(1, compiled.nbody):
        turned += _add_body(bodies, compiled, index, names, taken, places[index], inertias[index], limits)
    sites = site_frames(names)
    site_places = pose_of(compiled.site_pos, compiled.site_quat)
    frames = []
    for k in range(compiled.nsite):
        body = names.of("body", compiled.site_bodyid[k])
        frames.append(unique(sites[k], taken))
        bodies.add(frames[k], body, placement=site_places[k])
    name = bytes(compiled.names).split(b"\0")[0].decode() or "robot"
    missing = _left_out(compiled, names)
    if missing:
        warnings.warn(f"robot '{name}': not part of the model: {'; '.join(missing)}", DescriptionWarning, stacklevel=3)
    has_gravity = not compiled.opt.disableflags & _bit("GRAVITY")
    springs = [_spring(compiled, names, int(k), frames) for k in np.flatnonzero(_are_springs(compiled))]
    return name, bodies, np.array(compiled.opt.gravity) * has_gravity, [*springs, *turned]


def _of_actuators(compiled: Any, field: str) -> tuple[Array, Mask]:
    """Return what actuators add to each joint that is a hinge or slide, and which of them act on others."""
    value = np.asarray(getattr(compiled, field, np.zeros(compiled.nu)))
    on_joint = np.isin(compiled.actuator_trntype, _ON_JOINTS)
    joints = np.where(on_joint, compiled.actuator_trnid[:, 0], 0)
    counted = on_joint & np.isin(compiled.jnt_type[joints], (_SLIDE, _HINGE)) if compiled.njnt else on_joint & False
    added = np.zeros(compiled.njnt)
    np.add.at(added, joints[counted], (value * compiled.actuator_gear[:, 0] ** 2)[counted])
    return added, (value != 0.0) & ~counted


def _are_springs(compiled: Any) -> Mask:
    """Return which tendons are springs or dampers between sites of two bodies, and nothing else."""
    found = np.zeros(compiled.ntendon, dtype=np.bool_)
    for k, first in enumerate(compiled.tendon_adr):
        parts = slice(first, first + 2)
        if compiled.tendon_num[k] == 2 and (compiled.wrap_type[parts] == _SITE).all():
            ends = compiled.body_weldid[compiled.site_bodyid[compiled.wrap_objid[parts]]]
            others = ("limited", "frictionloss", "armature", "stiffnesspoly", "dampingpoly")
            found[k] = ends[0] != ends[1] and not any(_rows(compiled, f"tendon_{what}")[k] for what in others)
    return found


def _spring(compiled: Any, names: MjcfNames, k: int, frames: list[str]) -> BodySpring:
    first = compiled.tendon_adr[k]
    one, other = (frames[site] for site in compiled.wrap_objid[first : first + 2])
    low, high = compiled.tendon_lengthspring[k]
    stiffness, damping = compiled.tendon_stiffness[k], compiled.tendon_damping[k]
    return BodySpring(one, other, stiffness, (low, high), damping, name=names.of("tendon", k))


def _rows(compiled: Any, field: str) -> Mask:
    """Return whether any number of a tendons' field, that not every version has, differs from zero for each."""
    value = getattr(compiled, field, None)
    if value is None or not compiled.ntendon:
        return np.zeros(compiled.ntendon, dtype=np.bool_)
    return np.array([np.any(row) for row in value])


def site_frames(names: MjcfNames) -> list[str]:
    """Return the names of the frames of all sites: their own, unless a body has that."""
    bodies = set(names.all("body"))
    return [f"site/{site}" if site in bodies else site for site in names.all("site")]


def pose_of(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """Return poses (..., 4, 4) from positions (..., 3) and quaternions (..., 4) with w first."""
    return se3.from_parts(so3.from_quaternion(np.roll(np.asarray(quaternion, dtype=float), -1, axis=-1)), position)


def _inertias(compiled: Any) -> list[SpatialInertia]:
    """Return the inertias of all bodies in their frames."""
    axes = pose_of(compiled.body_ipos, compiled.body_iquat)[:, :3, :3]
    figures = axes * compiled.body_inertia[:, None, :] @ np.swapaxes(axes, -1, -2)
    masses = compiled.body_mass.tolist()
    return [SpatialInertia(*body) for body in zip(masses, np.array(compiled.body_ipos), figures, strict=True)]


def _bit(name: str) -> int:
    import mujoco

    return int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))


def _shifted(pose: Array, translation: Array) -> Array:
    """Return a pose (4, 4) whose origin has moved (3,) along its own axes."""
    if not any(translation.tolist()):
        return pose
    moved = pose.copy()
    moved[:3, 3] += pose[:3, :3] @ translation
    return moved


def _add_body(
    bodies: BodyTree,
    compiled: Any,
    index: int,
    names: MjcfNames,
    taken: set[str],
    placement: Array,
    inertia: SpatialInertia,
    limits: list[dict[str, ArrayLike]],
) -> list[TorsionSpring]:
    """Add a body: a joint each with a frame at its anchor, since MuJoCo's body frame is at none of them.

    Return the springs of its balls.
    """
    name = names.of("body", index)
    at = names.of("body", compiled.body_parentid[index])
    first, count = int(compiled.body_jntadr[index]), int(compiled.body_jntnum[index])
    anchor, springs = np.zeros(3), list[TorsionSpring]()
    for joint in range(first, first + count):
        label, kind, axis = names.of("joint", joint), int(compiled.jnt_type[joint]), compiled.jnt_axis[joint]
        first_entry = int(compiled.jnt_qposadr[joint])
        reference = float(compiled.qpos0[first_entry])
        if kind == _FREE:
            placement = _IDENTITY
        elif kind != _SLIDE:  # which has no anchor
            there = np.array(compiled.jnt_pos[joint])
            placement, anchor = _shifted(placement, there - anchor), there
        if kind == _HINGE and reference != 0.0:
            placement = placement @ se3.exp([*(-reference * axis), 0.0, 0.0, 0.0])
        elif kind == _SLIDE and reference != 0.0:
            placement = _shifted(placement, -reference * axis)
        whole = joint == first + count - 1 and not any(anchor.tolist())
        moved = name if whole else unique(f"{name}/{label}", taken)
        kinds = {_FREE: joint_types.free, _BALL: joint_types.spherical}
        motion = kinds[kind]() if kind in kinds else [joint_types.prismatic, joint_types.revolute][kind - _SLIDE](axis)
        own = inertia if whole else None
        if kind == _BALL and compiled.jnt_stiffness[joint]:
            rest = placement @ pose_of(np.zeros(3), compiled.qpos_spring[first_entry : first_entry + 4])
            springs.append(TorsionSpring(at, moved, compiled.jnt_stiffness[joint], rest[:3, :3], name=label))
        bodies.add(moved, at, motion, placement, own, joint_name=label, mimic=None, **limits[joint])
        at, placement = moved, _IDENTITY
    if at != name:
        bodies.add(name, at, placement=_shifted(placement, -anchor), inertia=inertia)
    return springs


_IDENTITY = np.eye(4)
_LOSSES = (("armature", "dof_armature"), ("damping", "dof_damping"), ("friction", "dof_frictionloss"))


def _limits(compiled: Any, names: MjcfNames) -> list[dict[str, ArrayLike]]:
    """Return limits, losses and springs of all joints, as far as a joint has them."""
    limits: list[dict[str, ArrayLike]] = [{} for _ in range(compiled.njnt)]
    kinds, starts = compiled.jnt_type.tolist(), compiled.jnt_dofadr.tolist()
    straight = np.isin(compiled.jnt_type, (_SLIDE, _HINGE))
    for key, field in _LOSSES:
        values = np.array(getattr(compiled, field))
        if key != "friction":
            values[compiled.jnt_dofadr[straight]] += _of_actuators(compiled, f"actuator_{key}")[0][straight]
        for joint in np.unique(compiled.dof_jntid[values != 0.0]).tolist():
            value = values[starts[joint] : starts[joint] + {_FREE: 6, _BALL: 3}.get(kinds[joint], 1)]
            if kinds[joint] == _FREE:
                if np.ptp(value[_LINEAR]) > 0.0:  # along the world's axes there, along the body's here
                    label = names.of("joint", joint)
                    raise DescriptionError(f"joint '{label}': {key} differs between the directions of a free joint")
                value = np.concatenate([value[_ANGULAR], value[_LINEAR]])
            limits[joint][key] = value
    for joint in np.flatnonzero(straight & (compiled.jnt_stiffness != 0.0)):
        limits[joint]["stiffness"] = compiled.jnt_stiffness[joint]
        limits[joint]["spring_reference"] = compiled.qpos_spring[compiled.jnt_qposadr[joint]]
    for joint in np.flatnonzero(straight & (compiled.jnt_limited != 0)):
        limits[joint]["lower"], limits[joint]["upper"] = compiled.jnt_range[joint].tolist()
    low, high = compiled.jnt_actfrcrange.T
    for joint in np.flatnonzero(straight & (compiled.jnt_actfrclimited != 0) & (low == -high)):
        limits[joint]["effort"] = float(high[joint])
    return limits


def _left_out(compiled: Any, names: MjcfNames) -> list[str]:
    """Return what of a compiled model a `Model` does not hold, a phrase each."""

    def named(what: str, kind: str, chosen: ArrayLike) -> list[str]:
        them = [names.of(kind, int(k)) for k in np.flatnonzero(np.asarray(chosen))]
        return [f"{what} {listed(them)}"] if them else []

    def rows(field: str, count: int) -> Any:
        """Whether any number of a field that not every version has differs from zero, for each of its rows."""
        value = getattr(compiled, field, None)
        return np.zeros(count, dtype=bool) if value is None or not count else np.reshape(value, (count, -1)).any(axis=1)

    one_sided = compiled.jnt_actfrclimited & (compiled.jnt_actfrcrange.sum(axis=1) != 0.0)
    nonlinear = compiled.dof_jntid[rows("dof_dampingpoly", compiled.nv)]
    free = compiled.jnt_type == _FREE
    found = named("springs of free joints", "joint", free & (compiled.jnt_stiffness != 0.0))
    found += named("springs that are not linear, of joints", "joint", rows("jnt_stiffnesspoly", compiled.njnt))
    found += named("damping that is not linear, of joints", "joint", np.isin(np.arange(compiled.njnt), nonlinear))
    found += named("limits of balls", "joint", (compiled.jnt_type == _BALL) & (compiled.jnt_limited != 0))
    found += named("unequal ends of actuatorfrcrange of joints", "joint", one_sided)
    found += named("gravity compensation of bodies", "body", compiled.body_gravcomp)
    found += named("motion of mocap bodies, which are fixed,", "body", compiled.body_mocapid >= 0)
    for key in ("armature", "damping"):
        found += named(f"{key} of actuators", "actuator", _of_actuators(compiled, f"actuator_{key}")[1])
    curved = rows("actuator_dampingpoly", len(compiled.actuator_trntype))
    found += named("damping that is not linear, of actuators", "actuator", curved)
    found += named("actuators", "actuator", np.ones(len(compiled.actuator_trntype)))  # one may have several controls
    found += named("tendons", "tendon", ~_are_springs(compiled))
    found += [f"{what}" for what, there in (
        ("flexible bodies", compiled.nflex), ("plugins", compiled.nplugin),
        ("the medium's density and viscosity", compiled.opt.density or compiled.opt.viscosity),
        ("contacts", (compiled.geom_contype | compiled.geom_conaffinity).any()),
    ) if there]  # fmt: skip
    return found

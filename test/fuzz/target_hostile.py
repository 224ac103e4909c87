"""Files made to hurt: devices and FIFOs, endless names, chains, copies and nesting; each is refused or read at once."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import struct
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lie_dynamics_ros.identify.bag import STATES, messages
from lie_dynamics_ros.lie_dynamics import LieDynamicsError, Model
from lie_dynamics_ros.lie_dynamics.files import write_file
from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform
from lie_dynamics_ros.ros.inputs.model_loading import compile_mjcf

from .target import DefectError, Target

SECONDS, BYTES = 2.0, 300 * 2**20
"""Of processor time and further memory that a file may take."""
COMPILER = 300 * 2**20
"""Memory of a process that has loaded what compiles MJCF [bytes]."""
SOLID = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
MASS = "<inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"


def sdf(inside: str) -> str:
    return f"<sdf version='1.9'><model name='m'><link name='a'>{SOLID}</link>{inside}</model></sdf>"


def urdf(inside: str) -> str:
    return f"<robot name='r'><link name='a'>{MASS}</link>{inside}</robot>"


def frames(rng: np.random.Generator, count: int) -> str:
    """A chain of frames in any order, which may end at nothing or at itself."""
    last = ["a", "nothing", f"f{count - 1}"][int(rng.integers(3))]
    to = [last, *(f"f{k}" for k in range(count - 1))]
    rows = [f"<frame name='f{k}' attached_to='{to[k]}'><pose>0 0 1e-3 0 0 0</pose></frame>" for k in range(count)]
    return sdf("".join(rows[k] for k in rng.permutation(count)))


def links(rng: np.random.Generator, count: int) -> str:
    """Links that hang on each other in a chain, or on nothing."""
    loose = rng.random() < 0.5
    parts = [f"<link name='l{k}'/>" for k in range(count)]
    for k in range(0 if loose else count):
        ends = f"<parent link='{'a' if k == 0 else f'l{k - 1}'}'/><child link='l{k}'/>"
        parts.append(f"<joint name='j{k}' type='fixed'>{ends}</joint>")
    return urdf("".join(parts))


def texts(rng: np.random.Generator) -> str:
    """What no file should hold."""
    n = int(rng.integers(1, 200_000))
    made = [
        "<robot name='r'>" + "<a>" * n,
        "<!DOCTYPE x [<!ENTITY a '" + "b" * n + "'><!ENTITY c '&a;&a;'>]><robot name='&c;'/>",
        urdf(f"<link name='{'x' * n}'/>"),
        urdf("\ud800"),
        urdf(f"<link name=b{n}/>"),
        urdf(f"<joint name='j' type='revolute'><mimic joint='j'/><limit lower='{'9' * n}'/></joint>"),
        "<sdf version='1.9'>" + "<model name='m'>" * min(n, 5000),
        "<sdf version='1.9'><world name='w'>" + "<model name='m'/>" * min(n, 20_000) + "</world></sdf>",
    ]
    return made[int(rng.integers(len(made)))]


def one_message(path: Path, content: bytes) -> None:
    """Write a recording of SQLite with one message of states, whatever it holds."""
    with sqlite3.connect(path) as recording:
        recording.executescript(
            "CREATE TABLE topics(id, name, type, serialization_format, offered_qos_profiles, type_description_hash);"
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data);"
        )
        recording.execute("INSERT INTO topics VALUES(1, '/states', ?, 'cdr', '', '')", (STATES,))
        recording.execute("INSERT INTO messages VALUES(1, 1, 1, ?)", (content,))
    recording.close()


def one_chunk(path: Path, packed: bytes, size: int) -> None:
    """Write MCAP with one chunk, without an index."""
    chunk = struct.pack("<QQQII4sQ", 0, 1, size, 0, 4, b"zstd", len(packed)) + packed
    head, foot = struct.pack("<I4sI", 4, b"ros2", 0), struct.pack("<QQI", 0, 0, 0)
    records = b"".join(struct.pack("<BQ", op, len(data)) + data for op, data in ((1, head), (6, chunk), (2, foot)))
    path.write_bytes(b"\x89MCAP0\r\n" + records + b"\x89MCAP0\r\n")


class Subject(Target):
    """See the module."""

    cases = 400

    def __enter__(self) -> Subject:
        self._folder = tempfile.TemporaryDirectory()
        place = Path(self._folder.name)
        for end in ("urdf", "sdf", "xml", "yaml"):
            os.mkfifo(place / f"fifo.{end}")
            (place / f"zero.{end}").symlink_to("/dev/zero")
            (place / f"self.{end}").symlink_to(place / f"self.{end}")
        self._place = place
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def check(self, rng: np.random.Generator, index: int) -> None:
        kinds: tuple[Callable[[np.random.Generator], None], ...] = (
            self._special, self._text, self._large, self._output, self._bag, self._mjcf,
        )  # fmt: skip
        memory, begun = self._memory(), self._time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kinds[index % len(kinds)](rng)
        except LieDynamicsError as error:
            if len(str(error)) > 2000:
                raise DefectError(f"a refusal of {len(str(error))} characters") from error
        spent, grown = self._time() - begun, self._memory() - memory
        if spent > SECONDS or grown > BYTES:
            raise DefectError(f"{spent:.1f} s and {grown >> 20} MB for one file")

    def _special(self, rng: np.random.Generator) -> None:
        readers = (("urdf", Model.from_urdf), ("sdf", Model.from_sdf), ("yaml", StewartPlatform.from_yaml))
        end, read = readers[int(rng.integers(3))]
        read(self._place / f"{('fifo', 'zero', 'self')[int(rng.integers(3))]}.{end}")
        raise DefectError("a special file was read")

    def _bag(self, rng: np.random.Generator) -> None:
        """Folders of bags whose metadata or recordings never end, or unpack to far more than they are."""
        try:
            from backports import zstd
        except ImportError:  # without what reads bags, all of them are refused
            return
        folder = Path(tempfile.mkdtemp(dir=self._place))
        metadata, kind = folder / "metadata.yaml", int(rng.integers(8))
        size = int(rng.integers(300, 3000)) << 20
        if kind == 0:
            os.mkfifo(metadata)
        elif kind == 1:
            metadata.symlink_to("/dev/zero")
        elif kind == 2:
            metadata.mkdir()
        elif kind == 3:
            metadata.touch()
            os.truncate(metadata, size)
        elif kind == 4:
            text = ("[", "a: &a [*a, *a]\n", "- a: b\n")[int(rng.integers(3))]
            metadata.write_text(text * int(rng.integers(1, 10**5)))
        else:
            packed = zstd.compress(bytes(1 << 20)) * (size >> 20)
            mode, name = (("file", "one.db3.zstd"), ("message", "one.db3"), ("", "one.mcap"))[kind - 5]
            said = {"relative_file_paths": [name], "compression_mode": mode, "compression_format": "zstd"}
            metadata.write_text(json.dumps({"rosbag2_bagfile_information": said}))
            if mode == "file":
                (folder / name).write_bytes(packed)
            elif mode:
                one_message(folder / name, packed)
            else:
                one_chunk(folder / name, packed, size)
        list(messages(folder, [STATES], {}))
        raise DefectError("a bag without an end was read")

    def _mjcf(self, rng: np.random.Generator) -> None:
        """MJCF: more than any robot has, in the text or in a file, and files that do not answer."""
        count = 10 ** int(rng.integers(5, 15))
        many = f"<replicate count='{count}'><body><geom size='1'/></body></replicate>"
        inner = self._place / "inner.xml"
        inner.write_text(f"<mujoco>{many}</mujoco>")
        file = (inner, self._place / "fifo.xml", self._place / "zero.xml")[int(rng.integers(3))]
        inside = (
            many,
            f"<flexcomp name='f' type='grid' count='{count} 9 9' spacing='1 1 1' radius='.1' dim='3'/>",
            f"<include file='{file}'/>",
            *(f"<{tag}/>" * 30_000 for tag in ("body", "geom size='1'", "site", "key", "light")),
            f"<sensor><user dim='{count}'/></sensor>",
        )[int(rng.integers(9))]
        read = Model.from_mjcf if rng.random() < 0.7 else compile_mjcf
        asset = (
            f"<hfield name='h' nrow='{min(count, 10**9)}' ncol='9999' size='1 1 1 1'/>",
            f"<mesh name='m' file='{file}'/>" if read is compile_mjcf or file is not inner else "",
            "",
        )[int(rng.integers(3))]
        read(f"<mujoco><asset>{asset}</asset><worldbody>{inside}</worldbody></mujoco>")
        raise DefectError("MJCF without an end was compiled")

    def _text(self, rng: np.random.Generator) -> None:
        text = texts(rng)
        read = Model.from_sdf if text.startswith("<sdf") else Model.from_urdf
        read(text)

    def _large(self, rng: np.random.Generator) -> None:
        if rng.random() < 0.5:
            Model.from_sdf(frames(rng, int(rng.integers(1, 15_000))))
        else:
            Model.from_urdf(links(rng, int(rng.integers(1, 15_000))))

    def _output(self, rng: np.random.Generator) -> None:
        """What is written replaces links and never goes through them."""
        aim, link = self._place / "aim", self._place / "link"
        aim.write_text("kept")
        link.unlink(missing_ok=True)
        link.symlink_to(self._place / "fifo.urdf" if rng.random() < 0.5 else aim)
        write_file(link, "written")
        if link.is_symlink() or link.read_text() != "written" or aim.read_text() != "kept":
            raise DefectError("a file was written through a link")

    @staticmethod
    def _memory() -> int:
        """Largest memory of this process, and of others beyond `COMPILER` or this one's, which they begin with."""
        own, others = (resource.getrusage(x).ru_maxrss for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return 1024 * own + max(0, 1024 * others - max(COMPILER, 1024 * own))

    @staticmethod
    def _time() -> float:
        """Processor time of this process and of those that it waited for."""
        return sum(os.times()[:4])

"""From parameters to descriptions, and to models, friction and loops, with the library's warnings in the log."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ...core.errors import ConfigurationError, ParameterError, RobotDescriptionError
from ...core.frames import check_prefix
from ...core.mechanism import TrackedMechanism
from ...core.moving_base import MovingBase
from ...core.parameters import Parameters, parameter
from ...core.robot_options import RobotOptions
from ...lie_dynamics import ConstraintSet, Coupling, DescriptionError, JointFriction, LieDynamicsError, Loop, Model
from ...lie_dynamics.errors import DescriptionWarning
from ...lie_dynamics.files import read_file
from ...lie_dynamics.model.mjcf import MjcfBounds
from ...lie_dynamics.model.urdf.reader import MAX_SIZE
from ...lie_dynamics.texts import quoted
from ...lie_dynamics.yaml_sections import is_yaml_text

if TYPE_CHECKING:
    from ..wire.compatibility import Logger


# Sources of a robot description: URDF text, a file, a package, or a topic.

OWN_PACKAGE = "lie_dynamics_ros"


def is_text(source: str) -> bool:
    """Tell URDF text from a file path or a URI."""
    return source.lstrip("\ufeff \t\r\n").startswith("<")


def check_text(text: str) -> None:
    """Raise DescriptionError where a text that somebody sent cannot be XML; a path never stands for a file here."""
    if not is_text(text):
        raise RobotDescriptionError(f"XML is expected, which begins with '<'; got {quoted(text)}")


def read_description(source: str, max_size: int = MAX_SIZE) -> str:
    """Return the text that a parameter stands for, of at most so many bytes.

    It is URDF text; or a file path (``~`` allowed); or ``file:///path``; or ``package://name/path/in/share``.

    Raises
    ------
    DescriptionError
        The file or package does not exist, cannot be read, is too large or no regular file, or does not hold XML, of
        which nothing is quoted; or it is xacro source instead of its output.
    """
    if is_text(source):
        if len(source) > max_size:
            raise RobotDescriptionError(
                f"the robot description has {len(source)} characters; at most {max_size} are read"
            )
        return source
    path = locate(source)
    if path.suffix == ".xacro":
        raise RobotDescriptionError(f"{path} is xacro source; run xacro first and give its output")
    try:
        text = read_file(path, max_size).decode()
    except OSError as error:
        reason = error.strerror or str(error)
        raise RobotDescriptionError(f"the robot description {quoted(source)} cannot be read: {reason}") from error
    except UnicodeDecodeError:
        raise RobotDescriptionError(f"the robot description {quoted(source)} cannot be read: it is no UTF-8") from None
    if not text.strip():
        raise RobotDescriptionError(f"the robot description {quoted(source)} is empty")
    if not is_text(text):
        raise RobotDescriptionError(f"the robot description {quoted(source)} holds no XML, which begins with '<'")
    return text


def locate(source: str) -> Path:
    """Path of the file that a path, ``file://`` or ``package://`` URI stands for; see `read_description`."""
    scheme, separator, rest = source.strip().partition("://")
    if not separator:
        try:
            return Path(source.strip()).expanduser()
        except RuntimeError as error:
            raise RobotDescriptionError(f"{quoted(source)}: {error}") from error
    if scheme == "package":
        package, _, path = rest.partition("/")
        return share_directory(package) / unquote(path)
    if scheme == "file":
        return Path(unquote(rest))
    raise RobotDescriptionError(
        f"{quoted(source)}: only package:// and file:// URIs, paths and URDF text are understood"
    )


def share_directory(package: str) -> Path:
    """Share directory of a ROS package; raises DescriptionError where there is none.

    Packages that are not in the ament index are looked for in the folders of ROS_PACKAGE_PATH. This package's own
    files are found in any case (installed by pip, or run from a checkout).
    """
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        return Path(get_package_share_directory(package))
    except (PackageNotFoundError, OSError, ValueError) as error:  # OSError: AMENT_PREFIX_PATH is not set
        if package == OWN_PACKAGE:
            return Path(str(importlib.resources.files(OWN_PACKAGE)))
        for folder in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
            if re.fullmatch(r"[\w-]+", package) and (Path(folder) / package).is_dir():
                return Path(folder) / package
        raise RobotDescriptionError(
            f"package {quoted(package)} is neither in the ament index (AMENT_PREFIX_PATH) nor in ROS_PACKAGE_PATH"
        ) from error


# MJCF compiled in a process of its own, so that no text and no file that it includes keeps a node from its signals.

#: Memory beyond that of the process at its start [bytes], and that it may stand still [s].
COMPILE_MEMORY, STANDSTILL = 2**28, 1.0
#: Time of the processor [s]: of a text, beside each file that it names, and at most.
TEXT_TIME, FILE_TIME, PROCESSOR_TIME = 1.5, 0.25, 10.0
#: Time until the process has loaded MuJoCo [s].
STARTING = 60.0

_PROGRAM = """
import json, os, resource, signal, sys, warnings
import mujoco, numpy
from lie_dynamics_ros.lie_dynamics.errors import DescriptionError
from lie_dynamics_ros.lie_dynamics.model.mjcf import compiled_mjcf
text, memory, seconds = sys.stdin.buffer.read().decode("utf-8", "surrogatepass"), int(sys.argv[1]), float(sys.argv[2])
pages = int(open("/proc/self/statm").read().split()[0]) if os.path.exists("/proc/self/statm") else 2**21
memory += pages * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor; it ends the process
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what MuJoCo prints is no answer
out.write(b"ready\\n")
out.flush()
error, data = "", b""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        model = compiled_mjcf(text)
        buffer = numpy.empty(mujoco.mj_sizeModel(model), numpy.uint8)
        mujoco.mj_saveModel(model, None, buffer)
        data = buffer.tobytes()
    except DescriptionError as refused:
        error = str(refused)
    except MemoryError:
        sys.exit(3)
out.write(json.dumps([error, [str(w.message) for w in caught]]).encode() + b"\\n" + data)
out.close()
"""


def compile_mjcf(text: str) -> Any:
    """Return the `mujoco.MjModel` of MJCF text, compiled within limits of time and memory.

    Raises
    ------
    DescriptionError
        What `Model.from_mjcf` refuses; and what needs more than the limits, such as files that do not answer.

    Warns
    -----
    DescriptionWarning
        Of what MuJoCo warns of.
    """
    try:
        import mujoco
    except ImportError as error:
        raise DescriptionError("MJCF is read by MuJoCo, which is not installed: pip install mujoco") from error
    files = MjcfBounds(text, Path()).files
    seconds = min(PROCESSOR_TIME, TEXT_TIME + FILE_TIME * len(files))
    command = [sys.executable, "-c", _PROGRAM, str(COMPILE_MEMORY), str(seconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            answer, still = _answer(process, text.encode("utf-8", "surrogatepass"))
        finally:
            process.kill()
    head, _, data = answer.partition(b"\n")
    if still or not head:
        reason = (
            "a file that it includes does not answer, as a FIFO or a device"
            if still
            else f"it needs more than {COMPILE_MEMORY >> 20} MB of memory or {seconds:g} s"
        )
        raise DescriptionError(f"MJCF: {reason}: files, and a robot of ordinary size, are expected")
    error, said = json.loads(head)
    if error:
        raise DescriptionError(error)
    for one in said:
        warnings.warn(one, DescriptionWarning, stacklevel=2)
    return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": data})


def _answer(process: subprocess.Popen[bytes], text: bytes) -> tuple[bytes, bool]:
    """Return what a process writes after its first line, and whether it stood still until it was given up."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(text)
        process.stdin.close()
    except BrokenPipeError:
        return b"", False
    out, parts = process.stdout.fileno(), b""
    until, used, ready = time.monotonic() + STARTING, -1.0, False
    while True:
        if select.select([out], [], [], 0.1)[0]:
            piece = os.read(out, 1 << 20)
            if not piece:
                return parts, False
            parts += piece
            if not ready and b"\n" in parts:
                ready, parts = True, parts.partition(b"\n")[2]
        elif time.monotonic() > until:
            return b"", ready
        spent = _processor_time(process.pid)
        if ready and (spent is None or spent > used):
            used = used if spent is None else spent
            until = time.monotonic() + (STANDSTILL if spent is not None else PROCESSOR_TIME)


def _processor_time(pid: int) -> float | None:
    """Return the time of the processor that a process has had [ticks], or None where no system says it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return float(fields[11]) + float(fields[12])
    except (OSError, IndexError, ValueError):
        return None


# From the parameter friction_file to the friction of a robot's joints.


def load_friction(description: str, values: Mapping[str, Any], model: Model) -> JointFriction | None:
    """Return the joints' friction from YAML text, a file path or a URI; None where nothing is given.

    A file for the whole robot does where `model` is part of that: joints of the URDF text that are locked are left out.
    Raises DescriptionError, which begins with the parameter's name, where it cannot be read, or does not fit the robot.
    """
    source = values["friction_file"]
    if not source.strip():
        return None
    locked: tuple[str, ...] = ()
    try:
        if values["base_link"] or any(values["locked_joints"]):
            locked = Model.from_urdf(description, inertia_check="ignore", max_size=len(description)).joint_names
        return JointFriction.from_yaml(source if is_yaml_text(source) else locate(source), model, locked)
    except (LieDynamicsError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"friction_file: {error}") from error


@dataclass(frozen=True)
class JointPrefix(Parameters):
    """Prefix of the names of joints in messages."""

    joint_prefix: str = parameter(
        "",
        "Put before the names of the joints in all messages, such as left_; the description and parameters are "
        "without it.",
        "while unconfigured",
    )


@dataclass(frozen=True)
class FramePrefix(Parameters):
    """Prefix of the names of frames in messages."""

    frame_prefix: str = parameter(
        "",
        "Put before the names of links and frames in all messages, such as left/; the description and parameters are "
        "without it.",
        "while unconfigured",
    )


@dataclass(frozen=True)
class ModelSourceParameters(JointPrefix):
    """Parts of a description that become the model."""

    inertia_check: str = parameter(
        "error",
        "What to do with links whose inertia no body can have: refuse the robot, warn and use them as they are, or "
        "ignore.",
        "while unconfigured",
        choices=("error", "warn", "ignore"),
    )
    base_link: str = parameter(
        "", "Take the joints below this link, and lock all others. Empty: all joints.", "while unconfigured"
    )
    locked_joints: tuple[str, ...] = parameter(
        [""],
        "Joints that do not move, and that no state names; what they carry counts as part of the body before them.",
        "while unconfigured",
    )
    locked_positions: tuple[float, ...] = parameter(
        [0.0],
        "Where the locked joints are [rad, m]. One number for all, or one for each of locked_joints.",
        "while unconfigured", low=-1e6, high=1e6,
    )


@contextmanager
def warnings_logged(logger: Logger) -> Iterator[None]:
    """Let the library's warnings go to a node's log."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        logger.warning(str(warning.message))


def load_model(description: str, values: Mapping[str, Any], logger: Logger) -> Model:
    """Build the model of a URDF text, which must not be a path, by values of `ModelSourceParameters`.

    Its joints are named as in the text. See `Model.from_urdf` for the errors raised, besides ParameterError for values
    that make no sense together. Its size is not checked again: whoever took it in has a limit of its own.
    """
    check_text(description)
    with warnings_logged(logger):
        return Model.from_urdf(
            description,
            inertia_check=values["inertia_check"],
            max_size=len(description),
            locked=locked_positions(values),
            base_link=values["base_link"] or None,
        )


_ROOTS = {"mujoco": "MJCF", "sdf": "SDF"}
_TAG = re.compile(r"<([a-z]+)[\s/>]")
_BEFORE_ROOT = (("<?", "?>"), ("<!--", "-->"))


def format_of(description: str) -> str:
    """Return the format of a text that begins as XML: "MJCF" or "SDF", and "URDF" for all else."""
    text, at = description.lstrip("\ufeff"), 0
    while True:
        while text[at : at + 1].isspace():
            at += 1
        end = next((end for start, end in _BEFORE_ROOT if text.startswith(start, at)), None)
        if end is None:
            tag = _TAG.match(text, at)
            return "URDF" if tag is None else _ROOTS.get(tag[1], "URDF")
        at = text.find(end, at)
        if at < 0:
            return "URDF"
        at += len(end)


def load_model_with_loops(description: str, values: Mapping[str, Any], logger: Logger) -> Model:
    """Build the model of a URDF, MJCF or SDF text, which must not be a path; see `load_model` for the first.

    MJCF may only be in the parameter: what it includes is read from files. An SDF includes nothing.

    Raises
    ------
    ParameterError
        MJCF came from the topic, or either with parameters that choose parts of a robot, or no SDF with `sdf_model`.
    LieDynamicsError
        The text makes no sense, or MuJoCo, which reads MJCF, is not installed; see `Model.from_mjcf`, `Model.from_sdf`.
    """
    kind, chosen = format_of(description), values["sdf_model"]
    if chosen and kind != "SDF":
        raise ParameterError(f"sdf_model: it is for SDF; expected none with {kind}, got {quoted(chosen)}")
    if kind == "URDF":
        return load_model(description, values, logger)
    if kind == "MJCF" and not values["robot_description"].strip():
        raise ParameterError("robot_description: MJCF is taken from the parameter, not from the topic")
    if values["base_link"]:
        raise ParameterError(f"base_link is for URDF; expected none with {kind}")
    with warnings_logged(logger):
        if kind == "MJCF":
            return Model.from_mjcf(compile_mjcf(description))
        check = values["inertia_check"]
        return Model.from_sdf(description, inertia_check=check, max_size=len(description), model=chosen or None)


def load_base(description: str, values: Mapping[str, Any], model: Model) -> MovingBase | None:
    """Return what carries a model that `load_model` made of a text; None where nothing of that moves.

    By the values of `ModelSourceParameters`, of ``base_motion`` and of ``carrying_joints``. Its joints have their
    prefix, as those of the model have. Raises ConfigurationError.
    """
    base_link: str = values["base_link"]
    floating = values["base_motion"] == "odometry"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `load_model` has reported them
        whole = Model.from_urdf(
            description,
            floating,
            inertia_check="ignore",
            max_size=len(description),
            locked=locked_positions(values),
            base_link=base_link or None,
            with_carriers=values["carrying_joints"] == "states",
        )
    whole = whole.with_joint_prefix(values["joint_prefix"])
    return MovingBase(model, whole, base_link, floating) if whole.nv > model.nv else None


def locked_positions(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the joints that are to be locked, and where; raises ParameterError for other numbers of both."""
    names, positions = [name for name in values["locked_joints"] if name], list(values["locked_positions"])
    if names and len(positions) not in (1, len(names)):
        raise ParameterError(f"locked_positions has {len(positions)} entries; expected 1 or {len(names)}")
    return dict(zip(names, positions * len(names) if len(positions) == 1 else positions, strict=False))


# Loops of a robot, and how it is followed.


def load_mechanism(
    description: str, values: Mapping[str, Any], logger: Any
) -> tuple[Model, JointFriction | None, TrackedMechanism]:
    """Return the tree of a robot with loops, the friction of its joints, and how it is followed.

    Raises the errors of what it calls, and ConfigurationError where the measured joints do not do.
    """
    prefix = values["joint_prefix"]
    check_prefix(values["frame_prefix"])
    model = load_model_with_loops(description, values, logger)
    friction = load_friction(description, values, model)
    RobotOptions.from_values(values).with_payload(model)  # as it will be, where it is not held yet
    constraints = load_constraints(values["loops"], model, prefix, description, values["sdf_model"])
    locks = held_joints(model, values) if format_of(description) != "URDF" else []
    model = model.with_joint_prefix(prefix)
    if locks:
        constraints = ConstraintSet(model, [*constraints.loops, *constraints.couplings, *locks])
    try:
        closed = format_of(description) == "SDF"
        return model, friction, TrackedMechanism.from_values(model, constraints, values, closed)
    except LieDynamicsError as error:
        raise ConfigurationError(f"the mechanism cannot be tracked: {error}") from error


def held_joints(model: Model, values: Mapping[str, Any]) -> list[Coupling]:
    """Return what holds `locked_joints` where the text is not URDF, whose reader welds them; raises ParameterError."""
    prefix, found = values["joint_prefix"], []
    for name, position in locked_positions(values).items():
        if name not in model.joint_names or model.joint(name).type.nq != 1:
            raise ParameterError(f"locked_joints: joints of one coordinate are expected, got {quoted(name)}")
        found.append(Coupling({prefix + name: 1.0}, position, f"{prefix}{name} locked"))
    return found


def load_constraints(
    source: str, model: Model, prefix: str, description: str = "", sdf_model: str = ""
) -> ConstraintSet:
    """Return loops and couplings from YAML text, a file path or a URI; none where it is empty.

    The text names joints as `model` does; the constraints are those of the model whose joints have the prefix. Those
    of the MJCF or SDF that the model was made of count besides, those of `sdf_model` where it has several. Raises
    DescriptionError, which begins with the parameter's name, where it cannot be read, or does not fit the robot.
    """
    named = model.with_joint_prefix(prefix)
    loops: list[Loop] = []
    couplings: list[Coupling] = []
    try:
        kind = format_of(description)
        sets = [ConstraintSet.from_mjcf(model, compile_mjcf(description))] if kind == "MJCF" else []
        if kind == "SDF":
            sets.append(ConstraintSet.from_sdf(model, description, max_size=len(description), robot=sdf_model or None))
        if source.strip():
            sets.append(ConstraintSet.from_yaml(model, source if is_yaml_text(source) else locate(source)))
    except (LieDynamicsError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"loops: {error}") from error
    for found in sets:
        loops += found.loops
        couplings += [
            Coupling({prefix + joint: value for joint, value in one.coefficients.items()}, one.offset, one.name)
            for one in found.couplings
        ]
    return ConstraintSet(named, [*loops, *couplings])

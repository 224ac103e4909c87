"""A Stewart platform moves; stewart_pose estimates its pose and covariance from noisy leg lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TwistStamped
from rclpy.node import Node

from ..lie_dynamics.lie import so3
from ..ros.wire.messages import nanoseconds, pose_to_matrix
from .processes import Children, ShortfallError
from .showcase import Answer, Conclusion, Recorder, Showcase, Verdict, bar, conclusion, kept, picture, stream_of

NAMESPACE = "/stewart"


@dataclass
class Estimate(Answer):
    """One pose of the node, (4, 4), and its covariance (6, 6) in ROS's order."""

    covariance: np.ndarray


@dataclass
class StewartRecorder(Recorder):
    """Recorder of the simulated platform and the node; states are true poses (4, 4), answers `Estimate`."""

    true_twists: dict[int, np.ndarray] = field(default_factory=dict)  # (linear, angular), base axes, (6,) [m/s, rad/s]
    twists: dict[int, np.ndarray] = field(default_factory=dict)  # the same

    def listen(self, node: Node) -> None:
        """Subscribe."""
        driver, estimator = f"{NAMESPACE}/simulated_stewart", f"{NAMESPACE}/stewart_pose"
        self.keep(node, PoseStamped, f"{driver}/true_pose", self.states, lambda m: pose_to_matrix(m.pose))
        self.keep(node, TwistStamped, f"{driver}/true_twist", self.true_twists, _twist)
        self.tape.subscribe(node, PoseWithCovarianceStamped, f"{estimator}/pose", self._on_estimate)
        self.keep(node, TwistStamped, f"{estimator}/twist", self.twists, _twist)

    def _on_estimate(self, message: PoseWithCovarianceStamped, arrival: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        covariance = np.array(message.pose.covariance).reshape(6, 6)
        self.answers[stamp] = Estimate(pose_to_matrix(message.pose.pose), arrival - stamp * 1e-9, covariance)


def _twist(message: TwistStamped) -> np.ndarray:
    v, w = message.twist.linear, message.twist.angular
    return np.array([v.x, v.y, v.z, w.x, w.y, w.z])


LARGEST = 60.0
"""Largest square of an error in standard deviations: of six numbers, exceeded once in 2e10 times."""
SLACK = 0.25
"""By how much the mean of these squares may miss 6, besides what its own spread allows."""
FEWEST = 20
"""Fewest poses for a check."""


@dataclass
class StewartVerdict(Verdict):
    """Results of the recording; of poses in the base frame."""

    times: np.ndarray  # of each pose since the first, (n,) [s]
    truth: np.ndarray  # (n, 4, 4) [m]
    estimates: np.ndarray  # (n, 4, 4) [m]
    errors: np.ndarray  # displacement, then small rotation, from truth to estimate, (n, 6) [m, rad]
    deviations: np.ndarray  # standard, that the node gave, (n, 6) [m, rad]
    square: float  # mean of the errors in the metric of their covariances; 6 where these are right
    twist_errors: np.ndarray  # of velocity and angular velocity, (m, 6) [m/s, rad/s]


def judge(recorder: StewartRecorder) -> StewartVerdict:
    """Compare every estimate with the truth of the same time; raises ShortfallError where there is next to nothing."""
    stamps = recorder.answered()
    if len(stamps) < FEWEST:
        raise ShortfallError(f"received {len(recorder.states)} true poses and {len(stamps)} estimates of them")
    truth = np.array([recorder.states[stamp] for stamp in stamps])
    found = [recorder.answers[stamp] for stamp in stamps]
    estimates, covariances = np.array([e.values for e in found]), np.array([e.covariance for e in found])
    errors = pose_errors(truth, estimates)
    squares = np.einsum("ni,ni->n", errors, np.linalg.solve(covariances, errors[..., None])[..., 0])
    moving = sorted(set(recorder.twists) & set(recorder.true_twists))
    verdict = StewartVerdict(
        times=np.array([(stamp - stamps[0]) * 1e-9 for stamp in stamps]),
        truth=truth,
        estimates=estimates,
        errors=errors,
        deviations=np.sqrt(np.diagonal(covariances, axis1=1, axis2=2)),
        square=float(squares.mean()),
        twist_errors=np.array([recorder.twists[s] - recorder.true_twists[s] for s in moving]).reshape(-1, 6),
        **stream_of(recorder),
    )
    wrong = int((~(squares <= LARGEST)).sum())
    if wrong:
        verdict.shortfalls.append(f"{wrong} of {len(stamps)} poses are further from the truth than noise explains")
    spread = 5.0 * np.sqrt(12.0 / len(stamps)) + SLACK  # a chi-square with 6 freedoms has variance 12
    if not abs(verdict.square - 6.0) <= spread:
        verdict.shortfalls.append(
            f"the errors are not what the covariances say: their mean square is {verdict.square:.2f}, expected 6"
        )
    if not np.isfinite(verdict.twist_errors).all() or not len(moving):
        verdict.shortfalls.append(f"of {len(stamps)} poses {len(moving)} came with a twist")
    return verdict


def pose_errors(truth: np.ndarray, estimates: np.ndarray) -> np.ndarray:
    """Displacement and small rotation, in the axes of the base, from poses (..., 4, 4) to estimates; (..., 6)."""
    turn = estimates[..., :3, :3] @ np.swapaxes(truth[..., :3, :3], -1, -2)
    small = 0.5 * (turn - np.swapaxes(turn, -1, -2))
    rotation = np.stack([small[..., 2, 1], small[..., 0, 2], small[..., 1, 0]], axis=-1)
    return np.concatenate([estimates[..., :3, 3] - truth[..., :3, 3], rotation], axis=-1)


COLORS = ("tab:blue", "tab:orange", "tab:green")
SHOWN = 400
"""Most estimates drawn as points over the truth."""


def draw(verdict: StewartVerdict, path: Path) -> None:
    """Write the picture."""
    with picture(path, "Stewart platform: noisy leg lengths in, poses with covariance out") as plt:
        figure = plt.figure(figsize=(11, 9.5))
        grid = figure.add_gridspec(4, 2, height_ratios=(2.2, 1, 1, 1))
        top = [figure.add_subplot(grid[0, column]) for column in range(2)]
        times, every = verdict.times, slice(None, None, max(1, len(verdict.times) // SHOWN))
        home = np.array([0.0, 0.0, verdict.truth[:, 2, 3].mean()])
        columns = (
            ("position [mm]", ("x", "y", "z from its mean"), 1e3, lambda T: T[:, :3, 3] - home),
            ("orientation [deg]", ("roll", "pitch", "yaw"), 180.0 / np.pi, lambda T: so3.to_rpy(T[:, :3, :3])),
        )
        for column, (title, names, scale, values) in enumerate(columns):
            truth, estimates = scale * values(verdict.truth), scale * values(verdict.estimates)
            for axis in range(3):
                top[column].plot(times, truth[:, axis], color=COLORS[axis], linewidth=1.2, label=names[axis])
                top[column].plot(times[every], estimates[every, axis], ".", color="black", markersize=1.5)
            top[column].plot([], [], ".", color="black", markersize=3, label="estimates")
            top[column].set_title(title, fontsize=9, loc="left")
            top[column].legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4)
        units = ("[um]", "[urad]")
        for index in range(6):
            column, row = divmod(index, 3)
            axes = figure.add_subplot(grid[1 + row, column])
            axes.plot(times, 1e6 * verdict.errors[:, index], color=COLORS[row], linewidth=0.4)
            for sign in (-3.0, 3.0):
                label = "three standard deviations, as the node gives them" if sign > 0.0 and not index else None
                axes.plot(times, sign * 1e6 * verdict.deviations[:, index], color="0.2", linewidth=0.9, label=label)
            name = ("along ", "about ")[column] + "xyz"[row]
            axes.set_title(f"error {name} {units[column]}", fontsize=9, loc="left")
            if not index:
                axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0))
            if row == 2:
                axes.set_xlabel("time [s]", fontsize=9)


PICTURE = "stewart.png"
LENGTH_NOISE, RATE_NOISE = 2e-5, 2e-4
"""Standard deviations of leg lengths and their rates [m, m/s]."""
MOTION = {"translation_amplitude": 0.06, "rotation_amplitude": 0.25, "frequency": 0.25}


class StewartShowcase(Showcase):
    """Leg lengths in, poses with covariance out."""

    title = "stewart"
    nodes = (f"{NAMESPACE[1:]}/simulated_stewart", f"{NAMESPACE[1:]}/stewart_pose")
    processes = ("simulated_stewart", "stewart_pose")
    viewed = MappingProxyType({topic: f"{NAMESPACE}/{topic}" for topic in ("stewart_pose/pose", "stewart_pose/status")})

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self.recorder = StewartRecorder()

    def start(self, children: Children) -> None:
        """Start driver and node, in a namespace of their own."""
        driver, node = (f"{NAMESPACE}/{name}" for name in ("simulated_stewart", "stewart_pose"))
        topics = kept(f"{NAMESPACE}/joint_states", f"{driver}/true_pose", f"{driver}/true_twist")
        noise = {"length_noise": LENGTH_NOISE, "rate_noise": RATE_NOISE}
        here = {"__ns": NAMESPACE}
        children.start("simulated_stewart", {"rate": self._rate, **MOTION, **noise, **topics}, here)
        children.start("stewart_pose", {"leg_noise": [LENGTH_NOISE], **kept(f"{node}/pose", f"{node}/twist")}, here)

    def ready(self) -> bool:
        """Return whether each topic has been received."""
        recorder = self.recorder
        return bool(recorder.states and recorder.answers and recorder.true_twists and recorder.twists)

    def _latest(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """Return truth and estimate of the latest pose, as x, y, z, roll, pitch, yaw; its error and deviations."""
        recorder = self.recorder
        stamp = recorder.latest()
        if stamp is None:
            return None
        truth, estimate = recorder.states[stamp], recorder.answers[stamp]
        both = (np.concatenate((T[:3, 3], so3.to_rpy(T[:3, :3]))) for T in (truth, estimate.values))
        deviations = np.sqrt(estimate.covariance.diagonal())
        return (*both, pose_errors(truth, estimate.values), deviations)  # type: ignore[return-value]

    def line(self) -> str:
        """Return error and standard deviation of the position."""
        latest = self._latest()
        if latest is None:
            return ""
        *_, error, deviations = latest
        return (
            f"position off by {1e6 * np.linalg.norm(error[:3]):.0f} um, "
            f"one sigma {1e6 * np.linalg.norm(deviations[:3]):.0f} um"
        )

    def table(self, rows: int) -> list[str]:
        """Return a line for each coordinate: true, estimated, and the error in standard deviations."""
        latest = self._latest()
        if latest is None:
            return []
        truth, estimate, error, deviations = latest
        lines = ["             true    estimated      error  one sigma   error from -3 to 3 sigma"]
        names = ("x", "y", "z", "roll", "pitch", "yaw")
        for i, name in enumerate(names):
            scale, unit, small = (1e3, "mm ", "um  ") if i < 3 else (180.0 / np.pi, "deg", "urad")
            lines.append(
                f"{name:5} {scale * truth[i]:+9.3f} {unit} {scale * estimate[i]:+9.3f} {1e6 * error[i]:+8.0f} "
                f"{1e6 * deviations[i]:8.0f} {small} {bar(error[i] / (3.0 * deviations[i]))}"
            )
        return lines[: max(1, rows)]

    def conclude(self, folder: Path, reported: Mapping[str, Mapping[str, str]]) -> Conclusion:
        """Hold every pose against the truth."""
        verdict = judge(self.recorder)
        draw(verdict, folder / PICTURE)
        position, rotation = (1e6 * _rms(verdict.errors[:, part]) for part in (slice(0, 3), slice(3, 6)))
        lines = [
            f"  against the truth   {position:.0f} um and {rotation:.0f} urad (rms), with {1e6 * LENGTH_NOISE:.0f} um "
            "noise in each leg",
            f"  against covariance  mean square of the error {verdict.square:.2f}, expected 6 for six coordinates",
        ]
        if len(verdict.twist_errors):
            speed, spin = (1e3 * _rms(verdict.twist_errors[:, part]) for part in (slice(0, 3), slice(3, 6)))
            lines.append(f"  twist               off by {speed:.2f} mm/s and {spin:.2f} mrad/s (rms)")
        node = reported.get(self.nodes[1], {})
        h, condition, tracking = (node.get(name, "-") for name in ("step h", "condition number", "tracking"))
        lines.append(f"  tracking            {tracking}, h = {h} of at most 0.5, condition number {condition}")
        return conclusion("stewart: leg lengths in, poses out", verdict, node, lines, folder / PICTURE)


def _rms(vectors: np.ndarray) -> float:
    """Root mean square length of vectors (n, 3)."""
    return float(np.sqrt((vectors**2).sum(axis=1).mean()))

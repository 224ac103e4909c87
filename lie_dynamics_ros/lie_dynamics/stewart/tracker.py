"""`StewartTracker`: forward kinematics from one vector of leg lengths to the next, proven to keep its branch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import tracker_kernels as tk
from .errors import StewartError
from .inverse_kinematics import as_vector
from .platform import StewartPlatform
from .tracker_kernels import update as _update
from .tracker_memory import new_memory, read_pose, set_pose
from .tracker_result import Array, TrackedPath, TrackedPose

# Results of single updates lie in blocks of this many rows; a block lives as long as a result that looks at it.
_BLOCK = 64
_LAST = _BLOCK - 1
_NO_ROWS, _NONE = np.empty((0, 6)), np.empty(0)
# What the kernel is told of what is known, for speed as arrays.
_LENGTHS, _WITH_RATES, _WITH_ACCELERATIONS = np.zeros(1), np.ones(1), np.full(1, 2.0)


class StewartTracker:
    """Follows the pose of a platform through its measured leg lengths.

    Each `update` proves that the straight line in squared lengths from the last good sample to the new one stays on
    the branch of the forward kinematics that the platform is on, and splits it into steps where one proof does not
    reach (doc/stewart_tracking.md). When it cannot go on, the result says why, its ``valid`` is False and its ``pose``
    is the last good one, from which the next update starts.

    Parameters
    ----------
    platform : the platform.
    pose : array-like, shape (4, 4), pose of {B} in {N} that the platform is in; it names the branch.
    leg_noise : standard deviation of the lengths [m]; a number, one for each leg (6,), or a covariance (6, 6) [m^2].
    max_steps : certified steps that one update may take, about 0.3 us each.

    Raises
    ------
    StewartError : a singular ``pose``, an impossible ``leg_noise``, ``max_steps`` below 1.
    GroupError, InputError : a ``pose`` that is no rigid motion.

    A tracker keeps the last pose, so it belongs to one thread at a time.
    """

    __slots__ = ("_block", "_leg_covariance", "_memory", "platform")

    def __init__(
        self,
        platform: StewartPlatform,
        pose: npt.ArrayLike,
        *,
        leg_noise: npt.ArrayLike = 1e-5,
        max_steps: int = 1000,
    ) -> None:
        self.platform = platform
        self._leg_covariance = as_leg_covariance(leg_noise)
        self._memory = new_memory(platform, pose, max_steps)
        self._block = self._new_path(_BLOCK)

    @property
    def pose(self) -> Array:
        """The last good pose, (4, 4)."""
        return read_pose(self._memory)

    @property
    def leg_covariance(self) -> Array:
        """Covariance of the leg lengths, (6, 6) [m^2]."""
        return self._leg_covariance.copy()

    def reset(self, pose: npt.ArrayLike) -> None:
        """Start again from another pose (4, 4), which names the branch from now on; errors as for the constructor."""
        before = self._memory.copy()
        try:
            set_pose(self._memory, pose)
        except ValueError:
            self._memory[:] = before
            raise

    def update(
        self, lengths: Array, rates: npt.ArrayLike | None = None, accelerations: npt.ArrayLike | None = None
    ) -> TrackedPose:
        """Go to the pose for new lengths.

        Parameters
        ----------
        lengths : array-like, shape (6,), leg lengths [m]; fastest as a contiguous float64 array.
        rates : array-like, shape (6,), their time derivatives [m/s]; gives the result its ``twist``.
        accelerations : array-like, shape (6,), second time derivatives [m/s^2]; gives its ``acceleration``.

        Returns
        -------
        TrackedPose : keeps its values whatever the tracker does afterwards.

        Raises
        ------
        StewartError : arguments of a wrong shape, or accelerations without rates. Bad lengths do not raise: the
            result's ``status`` and ``message`` tell, and its `~TrackedPose.require` raises.
        """
        block = self._block
        try:
            if rates is None:
                unknown = accelerations is None
                row = _update(self._memory, _LENGTHS, lengths, _NONE, _NONE, block._rows) if unknown else -1
            elif accelerations is None:
                row = _update(self._memory, _WITH_RATES, lengths, rates, _NONE, block._rows)
            else:
                row = _update(self._memory, _WITH_ACCELERATIONS, lengths, rates, accelerations, block._rows)
        except TypeError:
            row = -1
        if row < 0:
            row = self._update_converted(lengths, rates, accelerations)
        valid = row < _BLOCK
        if not valid:
            row -= _BLOCK
        if row == _LAST:
            self._block = self._new_path(_BLOCK)
        return TrackedPose(block, row, valid)

    def _update_converted(
        self, lengths: npt.ArrayLike, rates: npt.ArrayLike | None, accelerations: npt.ArrayLike | None
    ) -> int:
        """Update with arguments that the kernels do not take as they are, or say what is wrong with them."""
        memory, rows = self._memory, self._block._rows
        given = _vector(lengths, "lengths")
        if rates is None:
            if accelerations is not None:
                raise StewartError("accelerations were given without rates, which they need: give both")
            return _update(memory, _LENGTHS, given, _NONE, _NONE, rows)
        first = _vector(rates, "rates")
        if accelerations is None:
            return _update(memory, _WITH_RATES, given, first, _NONE, rows)
        return _update(memory, _WITH_ACCELERATIONS, given, first, _vector(accelerations, "accelerations"), rows)

    def update_many(
        self, lengths: npt.ArrayLike, rates: npt.ArrayLike | None = None, accelerations: npt.ArrayLike | None = None
    ) -> TrackedPath:
        """Go through many vectors of lengths (n, 6) in turn, as `update` would, in one compiled loop.

        ``rates`` and ``accelerations`` are None or have the same shape. A sample that cannot be followed is marked in
        the result and skipped. Raises StewartError for arguments of a wrong shape.
        """
        if rates is None and accelerations is not None:
            raise StewartError("accelerations were given without rates, which they need: give both")
        samples = _table(lengths, "lengths")
        first = _NO_ROWS if rates is None else _table(rates, "rates")
        second = _NO_ROWS if accelerations is None else _table(accelerations, "accelerations")
        for name, table in (("rates", first), ("accelerations", second)):
            if table is not _NO_ROWS and table.shape != samples.shape:
                raise StewartError(f"{name} has shape {table.shape}, expected that of lengths, {samples.shape}")
        path = self._new_path(len(samples))
        tk.update_many(self._memory, samples, first, second, path._rows)
        return path

    def _new_path(self, n: int) -> TrackedPath:
        return TrackedPath(np.empty((n, tk.WIDTH)), self.platform, self._leg_covariance)


def as_leg_covariance(leg_noise: npt.ArrayLike) -> Array:
    """Return the covariance (6, 6) [m^2] of a standard deviation, six of them [m], or of itself."""
    noise = np.asarray(leg_noise, dtype=np.float64)
    if noise.shape in ((), (6,)):
        if not (np.isfinite(noise).all() and (noise >= 0.0).all()):
            raise StewartError(f"leg_noise is {noise.tolist()}, expected standard deviations of at least 0 in metres")
        return np.diag(np.broadcast_to(noise**2, (6,))).copy()
    if noise.shape != (6, 6):
        raise StewartError(f"leg_noise has shape {noise.shape}, expected a number, (6,) or a covariance (6, 6)")
    eigenvalues = np.linalg.eigvalsh(0.5 * (noise + noise.T)) if np.isfinite(noise).all() else np.array([-np.inf])
    if not (np.allclose(noise, noise.T, rtol=1e-9, atol=0.0) and eigenvalues[0] >= -1e-12 * abs(eigenvalues[-1])):
        raise StewartError("leg_noise is no covariance: expected a symmetric, positive semidefinite matrix in m^2")
    return noise.copy()


def _vector(value: npt.ArrayLike, name: str) -> Array:
    """Return six numbers as the kernels take them."""
    array = np.array(as_vector(value, 6, name), dtype=np.float64, order="C")
    if array.shape != (6,):
        raise StewartError(f"{name} has shape {array.shape}, expected (6,): one for each leg")
    return array


def _table(value: npt.ArrayLike, name: str) -> Array:
    """Return rows of six numbers as the kernels take them: contiguous, aligned and writeable."""
    array = np.require(as_vector(value, 6, name), dtype=np.float64, requirements=["C", "A", "W"])
    if array.ndim != 2:
        raise StewartError(f"{name} has shape {array.shape}, expected (n, 6)")
    return array

"""`constrained_travel_left`: how far a body of a closed mechanism can still go along and about each axis."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from ..arrays import Array, ArrayLike
from ..dynamics.kinematics import forward_kinematics, frame_pose, jacobian
from ..errors import InputError, SingularityError
from ..lie._arrays import number_of
from ..model.arguments import validate_model
from ..model.configuration import shaped
from ..model.model import Model
from ..stewart.geometry.workspace import AXES, FURTHEST, REACH, SINGULARITY, TravelLeft, displaced
from .constraint_set import ConstraintSet
from .idle import HELD, single_names
from .inputs import require_constraints
from .quantities import constraint_error, constraint_quantities
from .resolution import RANK_CUT

#: First step of a way, in sizes of the mechanism [m] and as a turn [rad].
_FIRST = 0.03, 0.1
#: Errors of loops and of the place at the end of a step [m, rad], and steps of Newton's method.
_CLOSED, _NEWTON = 1e-12, 12
#: Loops of a start that are open by more are refused [m, rad].
_OPEN = 1e-6
#: Share of an axis in what a body can do from which it is chosen, translations first.
_ALONG = 0.3
#: At a singularity of the start motors show less than this of a motion, relative to what they show best.
_SINGULAR = 1e-6


@validate_model
def constrained_travel_left(
    model: Model,
    constraints: ConstraintSet,
    q: ArrayLike,
    motors: Sequence[str],
    frame: str,
    *,
    axes: Sequence[str] = AXES,
    accuracy: float = 1e-9,
) -> TravelLeft:
    """Return how far a body can go along and about each axis of the world alone, from a closed configuration.

    The configuration is followed along each way by Newton's method, in steps that are halved where it ends. It ends at
    limits of the motors, where no configuration is found any more (reach), and where motors do not hold the body
    (singularity, seen by the sign of the determinant of the motors' rates). A body of fewer freedoms than six moves
    along as many axes, translations first; the rest of its pose follows.

    Parameters
    ----------
    model, constraints
        The tree and what holds.
    q : array-like, shape (nq,)
        A closed configuration.
    motors : sequence of str
        Joints of one coordinate; their limits are the model's.
    frame : str
        A body or frame.
    axes : sequence of str
        Those that are wanted: "x", "y", "z", "about x", "about y", "about z"; through the frame's origin.
    accuracy : float
        Of the ends [m, rad].

    Raises
    ------
    InputError
        For a wrong shape, NaN, open loops, unknown names, and a frame that cannot move.
    SingularityError
        Where the motors do not hold the frame at q.
    """
    number_of("accuracy", accuracy, "a number above zero", lambda x: x > 0.0)
    unknown = [axis for axis in axes if axis not in AXES]
    if unknown:
        raise InputError(f"axes: each of {', '.join(AXES)} is expected, got {unknown[0]!r}", name="axes")
    ways = Ways(model, constraints, q, motors, frame)
    return joined([ways.both(axis, accuracy) for axis in ways.axes if axis in axes])


def joined(found: Sequence[Generator[None, None, TravelLeft]]) -> TravelLeft:
    """Return the travel left along axes that are found one by one."""
    each = [_finished(one) for one in found]
    back = np.concatenate([np.zeros(0), *(x.backwards for x in each)])
    ahead = np.concatenate([np.zeros(0), *(x.forwards for x in each)])
    return TravelLeft(tuple(a for x in each for a in x.axes), back, ahead, tuple(r for x in each for r in x.reasons))


def _finished(steps: Generator[None, None, TravelLeft]) -> TravelLeft:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class Ways:
    """Ways of a frame from a closed configuration along `axes`; arguments and errors of `constrained_travel_left`."""

    def __init__(
        self, model: Model, constraints: ConstraintSet, q: ArrayLike, motors: Sequence[str], frame: str
    ) -> None:
        names = single_names(model, motors, "motors")
        require_constraints(model, constraints)
        q = np.array(shaped(q, model.nq, "q", model), dtype=float)
        if q.ndim != 1:
            raise InputError(f"q: one configuration ({model.nq},) is expected, got shape {q.shape}", name="q")
        off = float(np.abs(constraint_error(model, constraints, q)).max(initial=0.0))
        if not off < _OPEN:
            raise InputError(f"q: closed loops are expected, they are open by {off:.3g} m or rad", name="q", value=off)
        self._model, self._constraints, self._start, self._frame, self._motors = model, constraints, q, frame, names
        joints = [model.joint(name) for name in names]
        self._at, self._rates = [j.q_slice.start for j in joints], [j.v_slice.start for j in joints]
        self._limits = model.limits.lower[self._at], model.limits.upper[self._at]
        self._pose = frame_pose(model, q, frame)
        self._still = model.zero_velocity
        places = forward_kinematics(model, q)[:, :3, 3]
        self._size = max(float(np.linalg.norm(places - self._pose[:3, 3], axis=1).max()), 1e-3)
        A = constraint_quantities(model, constraints, q, self._still).jacobian
        _, s, vt = np.linalg.svd(A)
        free = vt[int((s > RANK_CUT * s.max(initial=0.0)).sum()) :].T
        scaled = np.repeat([self._size, 1.0], 3)[:, None] * jacobian(model, q, frame, "aligned") @ free
        u, s, _ = np.linalg.svd(scaled, full_matrices=False)
        self._along = _axes_of(u[:, s > HELD * max(float(s.max(initial=0.0)), self._size)])
        self.axes = tuple(AXES[k] for k in self._along)
        if not self.axes:
            raise InputError(f"frame {frame!r} cannot move here", name="frame")
        self._rows = [(k + 3) % 6 for k in self._along]  # of the Jacobian, angular part first
        self._least = 0.0  # of what the motors determine
        self._sign = self._orientation(self._tangent(A, q))
        if self._sign == 0.0:
            raise SingularityError(f"model {model.name!r}: the motors {list(motors)} do not hold {frame!r} here")

    def _tangent(self, A: Array, q: Array) -> Array:
        """Return rates (nv, d) of all joints for motions along the axes."""
        rows = np.concatenate([A, jacobian(self._model, q, self._frame, "aligned")[self._rows]])
        right = np.zeros((len(rows), len(self._along)))
        right[len(A) :] = np.eye(len(self._along))
        return np.asarray(np.linalg.lstsq(rows, right, rcond=1e-10)[0])

    def _orientation(self, tangent: Array) -> float:
        """Return the sign of the determinant of the motors' rates, 1 where there are more than axes; 0 if singular."""
        rates = tangent[self._rates] * np.where(np.array(self._along) < 3, self._size, 1.0)
        if rates.shape[0] == rates.shape[1] and self._least:
            return float(np.sign(np.linalg.det(rates)))
        s = np.linalg.svd(rates, compute_uv=False)
        if len(s) < len(self._along) or not s[-1] > (self._least or _SINGULAR * s[0]):
            return 0.0
        self._least = self._least or 1e-3 * float(s[-1])
        return float(np.sign(np.linalg.det(rates))) if rates.shape[0] == rates.shape[1] else 1.0

    def _beyond(self, q: Array) -> str:
        """Return the motor that is furthest beyond its limits; nothing where none is."""
        over = np.maximum(self._limits[0] - q[self._at], q[self._at] - self._limits[1])
        return self._motors[int(np.argmax(over))] if over.max() > _CLOSED else ""

    def _stepped(self, q: Array, pose: Array) -> Generator[None, None, tuple[Array, str]]:
        """Find the configuration at a pose near to that at q, and why it is none."""
        model, last = self._model, np.inf
        for _ in range(_NEWTON):
            found = constraint_quantities(model, self._constraints, q, self._still)
            here = frame_pose(model, q, self._frame)
            turn = pose[:3, :3] @ here[:3, :3].T  # a small one
            moved = 0.5 * (turn[[2, 0, 1], [1, 2, 0]] - turn[[1, 2, 0], [2, 0, 1]]), pose[:3, 3] - here[:3, 3]
            left = np.concatenate([-found.error, np.concatenate(moved)[self._rows]])
            if np.abs(left).max() < _CLOSED * (1.0 + self._size):
                beyond = self._beyond(q)
                if beyond:
                    return q, beyond
                held = self._orientation(self._tangent(found.jacobian, q)) == self._sign
                return q, "" if held else SINGULARITY
            rows = np.concatenate([found.jacobian, jacobian(model, q, self._frame, "aligned")[self._rows]])
            step = np.linalg.lstsq(rows, left, rcond=1e-10)[0]
            size = float(np.linalg.norm(step))
            if not size < 0.5 * last and size > 1e-9:
                break
            q, last = np.asarray(model.integrate(q, step)), size
            yield
        return q, REACH

    def both(self, axis: str, accuracy: float) -> Generator[None, None, TravelLeft]:
        """Find the travel left along one of `axes`, in steps of some 0.3 ms."""
        k = AXES.index(axis)
        low, before = yield from self._end(k, -1.0, accuracy)
        high, after = yield from self._end(k, 1.0, accuracy)
        return TravelLeft((axis,), np.array([low]), np.array([high]), ((before, after),))

    def _end(self, axis: int, side: float, accuracy: float) -> Generator[None, None, tuple[float, str]]:
        """Find how far a way leads, and what ends it."""
        beyond = self._beyond(self._start)
        if beyond:
            return 0.0, beyond
        far = FURTHEST[axis // 3]
        q, good, bad, reason = self._start, 0.0, np.inf, ""
        step = _FIRST[axis // 3] * (self._size if axis < 3 else 1.0)
        while good < far:
            there = min(good + step, far) if bad == np.inf else 0.5 * (good + bad)
            moved, ended = yield from self._stepped(q, displaced(self._pose, axis, side * there))
            if ended:
                bad, reason = there, ended
            else:
                q, good = moved, there
            if bad - good < accuracy:
                break
        return good, reason


def _axes_of(basis: Array) -> list[int]:
    """Return axes that show where in an orthonormal basis (6, d) of twists, angular first, one is; in their order."""
    rest, chosen = basis[[3, 4, 5, 0, 1, 2]].copy(), list[int]()
    for pool, least in ((range(3), _ALONG), (range(3, 6), _ALONG), (range(6), 0.0)):
        while len(chosen) < basis.shape[1]:
            sizes = np.array([0.0 if k in chosen or k not in pool else np.linalg.norm(rest[k]) for k in range(6)])
            best = int(np.argmax(sizes))
            if not sizes[best] > least:
                break
            row = rest[best] / sizes[best]
            rest = rest - np.outer(rest @ row, row)
            chosen.append(best)
    return sorted(chosen)

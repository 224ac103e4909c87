"""Robots whose rods have ball joints at both ends, and the same robots by the lengths of their rods alone.

The second description knows arms, an output body and distances: poses follow from |end - tip| = length, potential and
kinetic energy from arms, output body and uniform thin rods. Its functions take complex numbers, which differentiates
them to round-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from lie_dynamics_ros.lie_dynamics import ConstraintSet, Loop, ModelBuilder, SpatialInertia, assemble
from lie_dynamics_ros.lie_dynamics import joint_types as jt

STEP = 1e-30
GRAVITY = 9.81


@cache
def _about(axis):
    """The matrix of the cross product with a unit axis, and its square."""
    x, y, z = np.array(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return K, K @ K


def turn(axis, angle):
    """Rotation about an axis, for complex angles too."""
    K, square = _about(tuple(axis))
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * square


def at(p, R=None):
    T = np.eye(4)
    T[:3, 3] = p
    if R is not None:
        T[:3, :3] = R
    return T


def onto_x(direction):
    """Rotation that takes x to a direction."""
    x = direction / np.linalg.norm(direction)
    other = np.eye(3)[np.argmin(np.abs(x))]
    z = np.cross(x, other)
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


@dataclass
class Robot:
    """A robot of arms that motors move, rods and an output body.

    Attributes
    ----------
    arms : list of (origin, axis, arm) for revolute motors, or (origin, axis) for sliding ones
    steps : list of (kind, origin or None, axis)
        Joints of the output body, one after another; kinds "turn" and "slide".
    output_kind : str
        "steps" for these as joints, "spherical" or "free" for one such joint in their place.
    ends : list of (arm or None, tip in the world or on the arm, point on the output body at x = 0)
        Of rods, one each.
    """

    name: str
    arms: list
    steps: list
    ends: list
    output_kind: str = "steps"
    y0: tuple = ()
    ball: str = "spherical"
    arm_mass: float = 0.5
    rod_mass: float = 0.3
    output_mass: float = 1.2
    output_com: tuple = (0.02, -0.01, 0.03)
    roll: float = 0.0

    def __post_init__(self):
        self.y0 = np.zeros(len(self.arms)) if len(self.y0) == 0 else np.array(self.y0)
        self.x0 = np.zeros(len(self.steps))
        self.inertia = np.diag([0.004, 0.005, 0.006])
        self.lengths = np.linalg.norm(self.rods(self.y0, self.x0)[1] - self.rods(self.y0, self.x0)[0], axis=1)

    # By lengths alone.

    def output(self, x):
        R, p = np.eye(3), np.zeros(3)
        for (kind, origin, axis), value in zip(self.steps, x, strict=True):
            if kind == "slide":
                p = p + R @ np.asarray(axis) * value
            else:
                S, o = turn(axis, value), np.asarray(origin, float)
                R, p = R @ S, p + R @ (o - S @ o)
        return R, p

    def on_arm(self, k, y, point):
        """Place in the world of a point of an arm, given where it is at y = 0."""
        if len(self.arms[k]) == 2:
            return point + y[k] * np.asarray(self.arms[k][1])
        origin, axis, _ = self.arms[k]
        return np.asarray(origin) + turn(axis, y[k]) @ (np.asarray(point) - origin)

    def rods(self, y, x):
        R, p = self.output(x)
        tips = [np.asarray(tip) if k is None else self.on_arm(k, y, tip) for k, tip, _ in self.ends]
        return np.array(tips), np.array([R @ np.asarray(end) + p for _, _, end in self.ends])

    def gaps(self, y, x):
        a, b = self.rods(y, x)
        return np.sum((b - a) ** 2, axis=1) - self.lengths**2

    def solve(self, y, x=None):
        """Pose of the output body for motors y by Newton's method from x, or along the straight line from y0."""
        if x is None:
            x = self.x0
            for part in np.linspace(0.0, 1.0, 11)[1:-1]:
                x = self.solve(self.y0 + part * (y - self.y0), x)
        x = x.copy()
        for _ in range(20):
            J = np.array([self.gaps(y, x + 1j * STEP * e).imag / STEP for e in np.eye(len(x))]).T
            step = np.linalg.solve(J, self.gaps(y, x))
            x = x - step
            if np.abs(step).max() < 1e-14:
                break
        return x

    def gain(self, y, x):
        """dx/dy that keeps the lengths."""
        along = [[self.gaps(y, x + 1j * STEP * e).imag / STEP for e in np.eye(len(x))],
                 [self.gaps(y + 1j * STEP * e, x).imag / STEP for e in np.eye(len(y))]]  # fmt: skip
        return -np.linalg.solve(np.array(along[0]).T, np.array(along[1]).T)

    def masses(self, y, x):
        """Pairs of mass and place (m, p), rods by their ends."""
        R, p = self.output(x)
        found = [(self.output_mass, R @ np.asarray(self.output_com) + p)]
        for k, arm in enumerate(self.arms):
            middle = np.asarray(arm[0]) + (0.5 * np.asarray(arm[2]) if len(arm) == 3 else 0.0)
            found.append((self.arm_mass, self.on_arm(k, y, middle)))
        return found

    def potential(self, y, x):
        a, b = self.rods(y, x)
        total = sum(m * p[2] for m, p in self.masses(y, x))
        return GRAVITY * (total + 0.5 * self.rod_mass * (a[:, 2] + b[:, 2]).sum())

    def efforts_at_rest(self, y, x):
        """Virtual work: dU/dy along the motion that keeps the lengths."""
        both = self.gain(y, x)
        ways = [(y + 1j * STEP * e, x + 1j * STEP * both[:, k]) for k, e in enumerate(np.eye(len(y)))]
        return np.array([self.potential(*way) for way in ways]).imag / STEP

    def mass_matrix(self, y, x):
        """Of the motors: arms and output body as rigid bodies, rods as thin ones."""
        both, n, step = self.gain(y, x), len(y), 1j * STEP
        ways = [(y + step * np.eye(n)[k], x + step * both[:, k]) for k in range(n)]
        M = np.zeros((n, n))
        places = np.array([[p for _, p in self.masses(*way)] for way in ways]).imag / STEP
        for i, (mass, _) in enumerate(self.masses(y, x)):
            M += mass * places[:, i] @ places[:, i].T
        for k, arm in enumerate(self.arms):
            if len(arm) == 3:
                length = np.linalg.norm(arm[2])
                M[k, k] += self.arm_mass * length**2 / 12.0
        R = self.output(x)[0]
        turned = [R.T @ (self.output(way[1])[0].imag / STEP) for way in ways]
        spin = np.array([[D[2, 1], D[0, 2], D[1, 0]] for D in turned])
        M += spin @ self.inertia @ spin.T
        tips, ends = np.moveaxis(np.array([self.rods(*way) for way in ways]).imag / STEP, 0, 2)
        for a, b in zip(tips, ends, strict=True):
            M += self.rod_mass / 6.0 * (2.0 * a @ a.T + a @ b.T + b @ a.T + 2.0 * b @ b.T)
        return M

    def efforts(self, y, yd, ydd, x, count=16, radius=0.01):
        """Virtual work of all masses: sum m (a + g) . dp/dy, to round-off.

        Accelerations are those along y + yd t + ydd t^2 / 2 at t = 0, by Cauchy's integral on a circle of complex t.
        """
        t = radius * np.exp(2j * np.pi * np.arange(count) / count)
        J = np.array([self.gaps(y, x + 1j * STEP * e).imag / STEP for e in np.eye(len(x))]).T
        way = [(z, self._carried(z, x, J)) for z in (y + yd * s + 0.5 * ydd * s * s for s in t)]

        def second(values):
            weights = 2.0 * np.exp(-4j * np.pi * np.arange(count) / count) / (count * radius**2)
            return np.tensordot(weights, values, 1).real

        both, n, step = self.gain(y, x), len(y), 1j * STEP
        near = [(y + step * np.eye(n)[k], x + step * both[:, k]) for k in range(n)]
        up = np.array([0.0, 0.0, GRAVITY])
        found = np.zeros(n)
        pull = second(np.array([[p for _, p in self.masses(*w)] for w in way])) + up
        moved = np.array([[p for _, p in self.masses(*w)] for w in near]).imag / STEP
        found += np.einsum("i,ij,kij->k", [m for m, _ in self.masses(y, x)], pull, moved)
        tips, ends = np.moveaxis(np.array([self.rods(*w) for w in way]), 1, 0)
        a, b = second(tips) + up, second(ends) + up
        da, db = np.moveaxis(np.array([self.rods(*w) for w in near]).imag / STEP, 1, 0)
        ways = np.einsum("kij,ij->k", da, 2.0 * a + b) + np.einsum("kij,ij->k", db, a + 2.0 * b)
        found += self.rod_mass / 6.0 * ways
        figure = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia  # second moments
        bend = second(np.array([self.output(w[1])[0] for w in way]))
        turned = np.array([self.output(w[1])[0] for w in near]).imag / STEP
        found += np.einsum("kij,jl,il->k", turned, figure, bend)
        for k, arm in enumerate(self.arms):
            if len(arm) == 3:
                found[k] += self.arm_mass * np.linalg.norm(arm[2]) ** 2 / 12.0 * ydd[k]
        return found

    def _carried(self, y, x, J):
        """Pose for complex motors near to x, with the Jacobian there."""
        x = x.astype(complex)
        for _ in range(60):
            step = np.linalg.solve(J, self.gaps(y, x))
            x = x - step
            if np.abs(step).max() < 1e-15:
                break
        return x

    # As a tree with loops.

    def build(self, spin=1e-3):
        """Return model, constraints, closed configuration at y0, and the motors; `spin` is part of a rod's inertia."""
        b = ModelBuilder(gravity=[0, 0, -GRAVITY])
        motors = [f"motor_{k + 1}" for k in range(len(self.arms))]
        for name, arm in zip(motors, self.arms, strict=True):
            if len(arm) == 2:
                b.add(
                    name,
                    None,
                    jt.prismatic(arm[1]),
                    at(arm[0]),
                    SpatialInertia(self.arm_mass, np.zeros(3), 1e-3 * np.eye(3)),
                )
                continue
            size, u = np.linalg.norm(arm[2]), np.asarray(arm[2]) / np.linalg.norm(arm[2])
            thin = self.arm_mass * size * size / 12.0 * (np.eye(3) - (1 - 1e-3) * np.outer(u, u))
            b.add(
                name,
                None,
                jt.revolute(arm[1]),
                at(arm[0]),
                SpatialInertia(self.arm_mass, 0.5 * np.asarray(arm[2]), thin),
            )
        small = SpatialInertia(1e-13, np.zeros(3), 1e-15 * np.eye(3))
        if self.output_kind == "steps":
            parent, last = None, np.zeros(3)
            for k, (kind, origin, axis) in enumerate(self.steps):
                end = k == len(self.steps) - 1
                name, place = (
                    "output" if end else f"output_{k + 1}",
                    np.zeros(3) if origin is None else np.asarray(origin, float),
                )
                made = jt.prismatic(axis) if kind == "slide" else jt.revolute(axis)
                moved = SpatialInertia(self.output_mass, np.asarray(self.output_com) - place, self.inertia)
                b.add(name, parent, made, at(place - last), moved if end else small)
                parent, last = name, place
        else:
            last = np.zeros(3) if self.output_kind == "free" else np.asarray(self.steps[0][1], float)
            moved = SpatialInertia(self.output_mass, np.asarray(self.output_com) - last, self.inertia)
            b.add("output", None, jt.free() if self.output_kind == "free" else jt.spherical(), at(last), moved)
        tips, ends = self.rods(self.y0, self.x0)
        loops, guess = [], {}
        for k, (arm, tip, end) in enumerate(self.ends):
            name, size = f"rod_{k + 1}", self.lengths[k]
            parent = None if arm is None else motors[arm]
            local = np.asarray(tip, float) - (0.0 if arm is None else np.asarray(self.arms[arm][0], float))
            m = self.rod_mass
            thin = SpatialInertia(m, [size / 2, 0, 0], m * size * size / 12.0 * np.diag([spin, 1.0, 1.0]))
            R = onto_x(ends[k] - tips[k]) @ turn([1, 0, 0], self.roll)
            if arm is not None and len(self.arms[arm]) == 3:
                R = turn(self.arms[arm][1], self.y0[arm]).T @ R
            if self.ball == "spherical":
                b.add(name, parent, jt.spherical(), at(local), thin)
                guess[name] = quaternion(R)
            else:
                b.add(f"{name}_z", parent, jt.revolute([0, 0, 1]), at(local), small)
                b.add(f"{name}_y", f"{name}_z", jt.revolute([0, 1, 0]), None, small)
                b.add(name, f"{name}_y", jt.revolute([1, 0, 0]), None, thin)
                guess[f"{name}_y"] = -np.arcsin(np.clip(R[2, 0], -1, 1))
                guess[f"{name}_z"] = np.arctan2(R[1, 0], R[0, 0])
                guess[name] = np.arctan2(R[2, 1], R[2, 2])
            loops.append(Loop.spherical(name, "output", name=f"ball_{k + 1}", first_placement=at([size, 0, 0]),
                                        second_placement=at(np.asarray(end, float) - last)))  # fmt: skip
        model = b.build(self.name)
        constraints = ConstraintSet(model, loops)
        q = model.neutral()
        for name, value in [*guess.items(), *zip(motors, self.y0, strict=True)]:
            q[model.joint(name).q_slice] = value
        found = assemble(model, constraints, q, held=motors)
        assert found.converged
        return model, constraints, found.q, motors


def quaternion(R):
    """Unit quaternion in the order of the library's configurations."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z]) if _w_first() else np.array([x, y, z, w])


def _w_first():
    b = ModelBuilder()
    b.add("ball", None, jt.spherical(), None, SpatialInertia(1.0, np.zeros(3), np.eye(3)))
    return b.build("ball").neutral()[0] == 1.0


def _around(count, radius, height=0.0, shift=0.0):
    angles = shift + 2.0 * np.pi * np.arange(count) / count
    return [np.array([radius * np.cos(a), radius * np.sin(a), height]) for a in angles], angles


def rssr(**options):
    arm = ([0, 0, 0], [0, 1, 0], [0.1, 0, 0])
    end = np.array([0.35, 0.05, 0]) + turn([0, 1, 0], -1.0) @ [0.2, 0, 0]
    return Robot(
        "rssr", [arm], [("turn", [0.35, 0.05, 0], [0, 1, 0])], [(0, np.array([0.1, 0, 0]), end)], y0=(0.3,), **options
    )


def slider_crank(side=0.04, **options):
    arm = ([0, 0, 0], [0, 1, 0], [0, 0, 0.08])
    rod = (0, np.array([0, 0, 0.08]), [0.3, side, 0.01])
    return Robot("slider_crank", [arm], [("slide", None, [1, 0, 0])], [rod], y0=(0.5,), **options)


def _free_steps():
    return [("slide", None, [1, 0, 0]), ("slide", None, [0, 1, 0]), ("slide", None, [0, 0, 1]),
            ("turn", [0, 0, 0], [0, 0, 1]), ("turn", [0, 0, 0], [0, 1, 0]), ("turn", [0, 0, 0], [1, 0, 0])]  # fmt: skip


def delta(**options):
    arms, ends = [], []
    for k, a in enumerate(_around(3, 1.0)[1]):
        out, side = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
        origin = 0.15 * out + np.array([0, 0, 0.6])
        arms.append((origin, side, 0.2 * out))
        for s in (-0.04, 0.04):
            ends.append((k, origin + 0.2 * out + s * side, 0.05 * out + s * side))
    return Robot("delta_of_balls", arms, _free_steps(), ends, "free", y0=(0.2, 0.25, 0.3), **options)


def hexapod(**options):
    arms, ends = [], []
    bases, platform = _around(6, 0.3)[1], _around(6, 0.2, 0.35, 0.4)[0]
    for k, a in enumerate(bases):
        out, side = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
        arms.append((0.3 * out, out, 0.08 * side * (-1) ** k))
        ends.append((k, 0.3 * out + 0.08 * side * (-1) ** k, platform[k]))
    return Robot(
        "six_arms",
        arms,
        _free_steps(),
        ends,
        "free",
        y0=0.1 * np.arange(6) - 0.2,
        output_com=(0.01, 0.02, 0.36),
        **options,
    )


def ankle(**options):
    arms, ends = [], []
    for k, s in enumerate((-0.05, 0.05)):
        origin = np.array([-0.04, s, 0.2 + 0.05 * k])
        arms.append((origin, [0, 1, 0], [-0.05, 0, 0]))
        ends.append((k, origin - np.array([0.05, 0, 0]), [-0.08, s, -0.02]))
    steps = [("turn", [0, 0, 0], [0, 1, 0]), ("turn", [0, 0, 0.01], [1, 0, 0])]
    return Robot("ankle", arms, steps, ends, y0=(0.1, -0.15), **options)


def table(**options):
    arms, ends = [], []
    for k, a in enumerate(_around(3, 1.0)[1]):
        out, side = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
        arms.append((0.25 * out, out, 0.1 * side))
        ends.append((k, 0.25 * out + 0.1 * side, 0.2 * out + np.array([0, 0, 0.3])))
    centre = [0, 0, 0.25]
    steps = [("turn", centre, [0, 0, 1]), ("turn", centre, [0, 1, 0]), ("turn", centre, [1, 0, 0])]
    return Robot("table", arms, steps, ends, "spherical", y0=(0.1, 0.2, -0.1), output_com=(0.01, 0.02, 0.33), **options)


def sliding_table(**options):
    arms, ends = [], []
    for k, a in enumerate(_around(3, 1.0)[1]):
        out = np.array([np.cos(a), np.sin(a), 0])
        arms.append((0.3 * out, [0, 0, 1]))
        ends.append((k, 0.3 * out, 0.12 * out + np.array([0, 0, 0.3])))
    steps = [("slide", None, [0, 0, 1]), ("turn", [0, 0, 0.3], [0, 1, 0]), ("turn", [0, 0, 0.3], [1, 0, 0])]
    return Robot("sliding_table", arms, steps, ends, y0=(0.01, 0.02, -0.01), output_com=(0.01, 0.02, 0.33), **options)


def linear_delta(**options):
    arms, ends = [], []
    for k, a in enumerate(_around(3, 1.0)[1]):
        out, side = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
        origin = 0.25 * out + np.array([0, 0, 0.4])
        arms.append((origin, [0, 0, 1]))
        ends += [(k, origin + s * side, 0.06 * out + s * side) for s in (-0.05, 0.05)]
    return Robot("linear_delta_of_balls", arms, _free_steps(), ends, "free", y0=(0.02, 0.03, -0.01), **options)


def six_slides(**options):
    arms, ends = [], []
    for k, a in enumerate(_around(6, 1.0)[1]):
        angles = a + 0.35 * (-1) ** k, a - 0.35 * (-1) ** k
        base, platform = (np.array([np.cos(b), np.sin(b), 0]) for b in angles)
        arms.append((0.3 * base, [0, 0, 1]))
        ends.append((k, 0.3 * base, 0.15 * platform + np.array([0, 0, 0.35])))
    steps, y0 = _free_steps(), 0.01 * np.arange(6)
    return Robot("six_slides", arms, steps, ends, "free", y0=y0, output_com=(0.01, 0.02, 0.36), **options)


ROBOTS = {
    "rssr": rssr,
    "slider_crank": slider_crank,
    "delta": delta,
    "hexapod": hexapod,
    "ankle": ankle,
    "table": table,
    "sliding_table": sliding_table,
}
SLIDING = {"linear_delta": linear_delta, "six_slides": six_slides}

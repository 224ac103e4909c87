"""Constrained dynamics along parameters, against differences of order six of the functions themselves."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm
from support.motions import hat

from lie_dynamics_ros import lie_dynamics as ld

NODES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
WEIGHTS = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
STEP, LIMIT = 2e-3, 1e-8

rng = np.random.default_rng(11)
TWIST, TURN, HOOK = rng.normal(size=6), rng.normal(size=3), rng.normal(size=6)
PLACES = [expm(hat(0.5 * rng.normal(size=6))) for _ in range(4)]
CENTRES = rng.normal(size=(4, 3))
FRAMES = [expm(hat(0.5 * rng.normal(size=6))) for _ in range(4)]


def bracket(x, y):
    return np.concatenate([np.cross(x[:3], y[:3]), np.cross(x[:3], y[3:]) + np.cross(x[3:], y[:3])])


def seen_from(T, x):
    """Return a twist seen from a frame at T."""
    R, p = T[:3, :3], T[:3, 3]
    return np.concatenate([R.T @ x[:3], R.T @ (x[3:] + np.cross(x[:3], p))])


def own_joint(screws, dh, dS, dS_rate):
    """A joint of one screw after another as users define it, whose T, S and dS/dt are changed by themselves."""

    def columns(q):
        T, found = np.eye(4), []
        for x, screw in zip(q[::-1], screws[::-1], strict=True):
            found.insert(0, seen_from(T, screw))
            T = expm(x * hat(screw)) @ T
        return T, np.array(found).T

    def rate(q, qd):
        S = columns(q)[1]
        turned = [-bracket(S[:, k + 1 :] @ qd[k + 1 :], S[:, k]) for k in range(len(screws))]
        return np.array(turned).T + dS_rate

    return ld.joint_types.custom(
        len(screws), lambda q: columns(q)[0] @ expm(hat(dh)), lambda q: columns(q)[1] + dS, rate
    )


other = np.random.default_rng(5)
#: Changes of joints of one and of two coordinates: of T, S and dS/dt.
OWN = {
    "screw": (other.normal(size=6), other.normal(size=(6, 1)), other.normal(size=(6, 1))),
    "cross": (other.normal(size=6), other.normal(size=(6, 2)), other.normal(size=(6, 2))),
}
PARTS = ("dh", "dS", "dS_rate")
SCREWS = {
    "screw": np.array([[1, 2, 2, 0.3, 0.6, 0.6]]) / 3.0,
    "cross": np.array([[0, 0.6, 0.8, 0, 0, 0], [1.0, 0, 0, 0, 0, 0]]),
}


@cache
def build(parent=0.0, base=0.0, cross=0.0, pitch=0.0, mass=0.0, gravity=0.0, **own):
    """A tree of eight coordinates and its loops, changed by as much."""
    types = {"cross": None, "screw": None}
    for name, changes in OWN.items():
        shift = [own.get(f"{part} {name}", 0.0) * change for part, change in zip(PARTS, changes, strict=True)]
        if any(key.endswith(name) for key in own):
            types[name] = own_joint(SCREWS[name], *shift)
    axis = expm(hat(np.array([*(cross * TURN), 0, 0, 0])))[:3, :3] @ np.array([0.0, 0.6, 0.8])
    places = list(PLACES)
    places[0] = places[0] @ expm(base * hat(TWIST))
    places[2] = expm(parent * hat(TWIST)) @ places[2]
    inertias = [ld.SpatialInertia(m, c, np.diag([1.0, 1.2, 1.4])) for m, c in zip((1, 2, 1, 2), CENTRES, strict=True)]
    inertias[3] = ld.SpatialInertia.from_parameters(inertias[3].parameters() + mass * np.eye(10)[0])
    builder = ld.ModelBuilder()
    builder.add(
        "a",
        None,
        types["cross"] or ld.joint_types.universal(axis, [1, 0, 0]),
        places[0],
        inertias[0],
        joint_name="cross",
    )
    builder.add(
        "b",
        "a",
        types["screw"] or ld.joint_types.helical([1, 2, 2], 0.3 + pitch),
        places[1],
        inertias[1],
        joint_name="screw",
    )
    builder.add("c", "b", ld.joint_types.spherical(), places[2], inertias[2], joint_name="ball")
    builder.add("d", "a", ld.joint_types.cylindrical(), places[3], inertias[3], joint_name="rod")
    model = builder.build("sample").with_gravity(np.array([0.5, 0.2, -9.0]) + gravity * TURN)
    loops = [
        ld.Loop("point_on_line", "c", "d", axis=[1, 1, 0], first_placement=FRAMES[0], second_placement=FRAMES[1]),
        ld.Loop("distance", "d", "world", length=0.7, first_placement=FRAMES[2], second_placement=FRAMES[3]),
    ]
    return model, ld.ConstraintSet(model, loops)


MODEL, LOOPS = build()
N = MODEL.nv
Q, QD, QDD, TAU = MODEL.random(rng), *rng.normal(size=(3, N))
F_EXT = rng.normal(size=(MODEL.n_bodies, 6))

#: Name -> parameter, and what it makes of (model, constraints), q, qd, what is given, and f_ext.
PARAMETERS = {
    **{f"q {k}": (ld.Parameter.q(k), {"q": np.eye(N)[k]}) for k in (0, 2, 4, 7)},
    "qd": (ld.Parameter.qd(3), {"qd": np.eye(N)[3]}),
    "given": (ld.Parameter.custom(dqdd=np.ones(N), dtau=np.ones(N)), {"given": np.ones(N)}),
    "mass": (ld.Parameter.inertia("d", "m"), {"mass": 1.0}),
    "gravity": (ld.Parameter.gravity(TURN), {"gravity": 1.0}),
    "force": (ld.Parameter.external_force("c", HOOK), {"force": HOOK}),
    "base": (ld.Parameter.placement("cross", TWIST), {"base": 1.0}),
    "parent": (ld.Parameter.placement("ball", TWIST, "parent"), {"parent": 1.0}),
    "axis": (ld.Parameter.axis("cross", TURN), {"cross": 1.0}),
    "pitch": (ld.Parameter.pitch("screw"), {"pitch": 1.0}),
    **{
        f"{part} {name}": (ld.Parameter.custom(**{part: {name: change}}), {f"{part} {name}": 1.0})
        for name, changes in OWN.items()
        for part, change in zip(PARTS, changes, strict=True)
    },
    "sum": (
        2.0 * ld.Parameter.pitch("screw") - ld.Parameter.q(1) + ld.Parameter.placement("cross", TWIST),
        {"pitch": 2.0, "q": -np.eye(N)[1], "base": 1.0},
    ),
}


def run(kind, step=0.0, q=0.0, qd=0.0, given=0.0, force=0.0, **change):
    model, loops = build(**{k: step * v for k, v in change.items()})
    x = model.integrate(Q, step * q * np.ones(N))
    v, a, t, f = QD + step * qd, QDD + step * given, TAU + step * given, F_EXT.copy()
    f[model.body_names.index("c")] += step * force
    if kind == "forward":
        return ld.constrained_forward_dynamics(model, loops, x, v, t, f, stabilization=ld.Baumgarte(3.0, 0.7))
    if kind.startswith("hybrid"):
        options = {"resolution": "least_torque"} if kind == "hybrid least" else {}
        return ld.constrained_hybrid_dynamics(model, loops, x, v, a, t, MASKS[kind], f, **options)
    return ld.constrained_inverse_dynamics(model, loops, x, v, a, f, **INVERSE[kind])


MASKS = {"hybrid": np.arange(N) < 3, "hybrid least": np.arange(N) < 2}
INVERSE = {
    "inverse": {"actuated": ~np.isin(np.arange(N), [0, 2])},
    "inverse least": {"resolution": "least_torque", "actuated": np.arange(N) > 0},
    "inverse weighted": {"resolution": "weighted", "torque_weights": 1.0 + np.arange(N), "force_weights": 0.5},
}


def sensitivity(kind, parameters, q=Q, **more):
    if kind == "forward":
        gains = ld.Baumgarte(3.0, 0.7)
        return ld.constrained_forward_sensitivity(
            MODEL, LOOPS, q, QD, TAU, parameters, F_EXT, stabilization=gains, **more
        )
    if kind.startswith("hybrid"):
        options = {"resolution": "least_torque"} if kind == "hybrid least" else {}
        return ld.constrained_hybrid_sensitivity(
            MODEL, LOOPS, q, QD, QDD, TAU, MASKS[kind], parameters, F_EXT, **options, **more
        )
    return ld.constrained_inverse_sensitivity(MODEL, LOOPS, q, QD, QDD, parameters, F_EXT, **INVERSE[kind], **more)


@pytest.mark.parametrize("kind", ["forward", *MASKS, *INVERSE])
def test_parameters(kind):
    found = sensitivity(kind, [p for p, _ in PARAMETERS.values()])
    for k, (name, (_, change)) in enumerate(PARAMETERS.items()):
        samples = [run(kind, x * STEP, **change) for x in NODES]
        for what in ("qdd", "tau", "multipliers"):
            expected = sum(w * getattr(s, what) for w, s in zip(WEIGHTS, samples, strict=True)) / STEP
            ours = getattr(found, what)[k]
            assert ours.shape == expected.shape
            assert np.abs(ours - expected).max() < LIMIT * max(1.0, np.abs(expected).max()), (name, what)
        assert any(np.abs(getattr(found, what)[k]).max() > 1e-3 for what in ("qdd", "tau")), name


def test_batches():
    """Leading axes of states and of parameters' own data, and a single parameter."""
    q = np.array([MODEL.random(np.random.default_rng(k)) for k in range(3)])
    twists = np.random.default_rng(1).normal(size=(2, 1, 6))
    parameters = [ld.Parameter.placement("cross", twists), ld.Parameter.q(2)]
    for kind in ("forward", "hybrid", "inverse"):
        found = sensitivity(kind, parameters, q)
        assert found.qdd.shape == (2, 2, 3, N) and found.multipliers.shape == (2, 2, 3, LOOPS.size)
        for i in range(2):
            for j in range(3):
                one = sensitivity(kind, ld.Parameter.placement("cross", twists[i, 0]), q[j])
                for ours, alone in zip(found, one, strict=True):
                    assert np.abs(ours[0, i, j] - alone).max() < 1e-8 * max(1.0, np.abs(alone).max())
        for ours, alone in zip(sensitivity(kind, parameters, q, threads=4), found, strict=True):
            assert np.array_equal(ours, alone), kind
    none = sensitivity("forward", ld.Parameter.pitch("screw"), q[:0])
    assert none.qdd.shape == (0, N)


def test_refusals():
    with pytest.raises(ld.InputError, match="no_such_joint"):
        sensitivity("forward", ld.Parameter.pitch("no_such_joint"))
    with pytest.raises(ld.InputError, match="threads"):
        sensitivity("forward", ld.Parameter.pitch("screw"), threads=0)

"""Derivatives along parameters, against complex steps through the dense definition of the dynamics."""

import numpy as np
import pytest
from scipy.linalg import expm
from support.compare import relative
from support.dense import Tree
from support.motions import hat, inverse, product, vee
from support.sample_trees import JOINTS, around, branched, to_model, zoo

from lie_dynamics_ros.lie_dynamics import (
    InputError,
    ModelBuilder,
    Parameter,
    SpatialInertia,
    external_wrench,
    forward_dynamics,
    forward_dynamics_sensitivity,
    hybrid_dynamics,
    hybrid_dynamics_derivatives,
    hybrid_dynamics_sensitivity,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    inverse_dynamics_sensitivity,
    joint_types,
    mass_matrix,
)
from lie_dynamics_ros.lie_dynamics.lie import inertial_parameters

STEP = 1e-30
KINDS = [kind for kind in JOINTS if kind != "fixed"]


class ComplexTree(Tree):
    """A tree whose inertias are kept as given, complex if need be."""

    def __init__(self, tree):
        super().__init__(tree.bodies, tree.gravity)
        self.inertias = {b.name: super(ComplexTree, self).generalized_inertia(b) for b in self.bodies}

    def generalized_inertia(self, body):
        return self.inertias[body.name]


class Between:
    """A motion with rigid motions before and after it."""

    def __init__(self, before, motion, after):
        self.before, self.motion, self.after, self.nq, self.nv = before, motion, after, motion.nq, motion.nv

    def series(self, *state):
        still = np.zeros((4, 4))
        inner = product((self.before, still, still), self.motion.series(*state))
        return product(inner, (self.after, still, still))


def small(twist):
    """exp of a small imaginary twist."""
    return np.eye(4) + 1j * STEP * hat(np.asarray(twist, dtype=float))


def state_of(tree, rng):
    q = tree.random(rng)
    qd, qdd = rng.normal(size=(2, tree.nv))
    return q, qd, qdd, rng.normal(size=(len(tree.moving), 6))


@pytest.mark.parametrize("kind", KINDS)
def test_states_and_commands(kind):
    """One by one what `test_derivatives` holds, all at once, to complex steps through the definition."""
    rng = np.random.default_rng(1)
    tree = around(rng, kind)
    model, n = to_model(tree), tree.nv
    q, qd, qdd, f = state_of(tree, rng)
    tau = rng.normal(size=n)
    states = [make(k) for make in (Parameter.q, Parameter.qd) for k in range(n)]
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, states + [Parameter.qdd(k) for k in range(n)], f)
    assert relative(found.T, np.hstack(inverse_dynamics_derivatives(model, q, qd, qdd, f))) < 1e-11
    M = mass_matrix(model, q)
    for given in (np.zeros(n, bool), np.ones(n, bool), rng.random(n) < 0.5):
        parameters = states + [Parameter.qdd(k) if given[k] else Parameter.tau(k) for k in range(n)]
        dqdd, dtau = hybrid_dynamics_sensitivity(model, q, qd, qdd, tau, given, parameters, f)
        whole = hybrid_dynamics_derivatives(model, q, qd, qdd, tau, given, f)
        expected = np.hstack([whole.dqdd_dq, whole.dqdd_dqd, whole.dqdd_dgiven]).T
        assert np.abs((dqdd - expected) @ M).max() <= 1e-11 * (np.abs(expected) @ np.abs(M)).max()
        assert relative(dtau, np.hstack([whole.dtau_dq, whole.dtau_dqd, whole.dtau_dgiven]).T) < 1e-9  # condition of M
        if not given.any():
            assert relative(forward_dynamics_sensitivity(model, q, qd, tau, parameters, f), dqdd) < 1e-12


def test_inertia():
    rng = np.random.default_rng(3)
    kinds = ["universal", "fixed", "spherical", "revolute", "prismatic"]
    tree = branched(rng, kinds, [None, 0, 0, 2, 2])
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    parameters, expected = [], []
    for body in tree.bodies:
        for k in range(10):
            parameters.append(Parameter.inertia(body.name, k))
            changed = ComplexTree(tree)
            unit = inertial_parameters.generalized_inertia(np.eye(10)[k])
            changed.inertias[body.name] = changed.inertias[body.name] + 1j * STEP * unit
            expected.append(changed.inverse_dynamics(q, qd, qdd, f).imag / STEP)
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
    assert relative(found, np.array(expected)) < 1e-12  # also of the body that is welded to another
    by_name = inverse_dynamics_sensitivity(model, q, qd, qdd, Parameter.inertia(model.body_names[1], "Ixz"), f)
    assert relative(by_name, expected[26]) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_placement_and_axis(kind):
    rng = np.random.default_rng(4)
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    body = tree.bodies[3]
    joint = f"joint {body.name}"
    placement, motion = body.placement, body.motion
    twist, turn = rng.normal(size=6), rng.normal(size=3)
    parameters = [Parameter.placement(joint, twist), Parameter.placement(joint, twist, "parent")]
    expected = []
    for moved in (placement @ small(twist), small(twist) @ placement):
        body.placement = moved
        expected.append(tree.inverse_dynamics(q, qd, qdd, f).imag / STEP)
    body.placement = placement
    if model.joint(joint).type.steps:
        # All axes of the joint turned by as much, and its body turned back.
        rotation = small([*turn, 0, 0, 0])
        steps = range(model.joint(joint).type.nv)
        parameters.append(sum((Parameter.axis(joint, turn, k) for k in steps), Parameter(())))
        body.motion = Between(rotation, motion, inverse(rotation))
        expected.append(tree.inverse_dynamics(q, qd, qdd, f).imag / STEP)
        body.motion = motion
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
    assert relative(found, np.array(expected)) < 1e-12


def test_one_axis_of_several_and_pitch():
    """Against extrapolated central differences of models with other axes."""
    rng = np.random.default_rng(5)
    first, second, turn = np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0]), rng.normal(size=3)
    bodies = [SpatialInertia(m, rng.normal(size=3), np.diag([1.0, 1.2, 1.4])) for m in (1.0, 2.0, 0.5)]
    T = expm(hat(rng.normal(size=6)))

    def model(a=0.0, b=0.0, pitch=0.3):
        axes = (
            expm(hat(np.array([*(a * turn), 0, 0, 0])))[:3, :3] @ first,
            expm(hat(np.array([*(b * turn), 0, 0, 0])))[:3, :3] @ second,
        )
        builder = ModelBuilder()
        builder.add("a", None, joint_types.universal(*axes), T, bodies[0], joint_name="cross")
        builder.add("b", "a", joint_types.helical(turn, pitch), T, bodies[1], joint_name="screw")
        return builder.add("c", "b", joint_types.revolute(), T, bodies[2]).build("axes")

    robot = model()
    q, qd, qdd = rng.normal(size=(3, robot.nv))
    parameters = [Parameter.axis("cross", turn), Parameter.axis("cross", turn, 1), Parameter.pitch("screw")]
    makers = [lambda x: model(a=x), lambda x: model(b=x), lambda x: model(pitch=0.3 + x)]
    found = inverse_dynamics_sensitivity(robot, q, qd, qdd, parameters)
    for change, make in zip(found, makers, strict=True):
        h = 2e-3

        def difference(step, make=make):
            ahead, behind = (inverse_dynamics(make(s * step), q, qd, qdd) for s in (1.0, -1.0))
            return (ahead - behind) / (2 * step)

        expected = (64 * difference(h) - 20 * difference(2 * h) + difference(4 * h)) / 45
        assert relative(change, expected) < 1e-10  # of the differences


@pytest.mark.parametrize("held", ["body", "world", "aligned"])
def test_external_forces(held):
    """Components of wrenches, and wrenches that stay where they are while the robot moves under them."""
    rng = np.random.default_rng(6)
    tree = around(rng, "free")
    model = to_model(tree)
    q, qd, qdd, _ = state_of(tree, rng)
    f = sum(external_wrench(model, q, b, rng.normal(size=6)) for b in range(model.n_bodies))
    v = rng.normal(size=model.nv)
    bodies = [b for b in tree.bodies if b.motion.nv]

    def wrenches(step):
        """Body wrenches at the displaced configuration of those that are `f` in the body frames at q."""
        now, then, out = tree.poses(q), tree.series(q, step=step), []
        for body, wrench in zip(bodies, f, strict=True):
            T0, T1 = now[body.name], then[body.name][0]
            if held == "body":
                out.append(wrench)
                continue
            moment, force = T0[:3, :3] @ wrench[:3], T0[:3, :3] @ wrench[3:]
            if held == "world":
                moment = moment + np.cross(T0[:3, 3], force) - np.cross(T1[:3, 3], force)
            out.append(np.concatenate([T1[:3, :3].T @ moment, T1[:3, :3].T @ force]))
        return np.array(out)

    step = 1j * STEP * v
    expected = tree.inverse_dynamics(q, qd, qdd, wrenches(step), step=step).imag / STEP
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, Parameter.custom(dq=v), f, f_ext_held=held)
    assert relative(found, expected) < 1e-12
    component = rng.normal(size=6)
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, Parameter.external_force(3, component, held), f)
    change = inverse_dynamics(model, q, qd, qdd, external_wrench(model, q, 3, component, held))
    assert relative(found, change - inverse_dynamics(model, q, qd, qdd)) < 1e-12


def test_gravity_and_sums():
    rng = np.random.default_rng(7)
    tree = zoo(rng)
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    g = rng.normal(size=3)
    expected = inverse_dynamics(model.with_gravity(g), q, 0 * qd, 0 * qdd)
    assert relative(inverse_dynamics_sensitivity(model, q, qd, qdd, Parameter.gravity(g), f), expected) < 1e-12
    parts = [
        Parameter.gravity(g),
        Parameter.q(2),
        Parameter.inertia(1, "m"),
        Parameter.qd(0),
        Parameter.placement(3, np.ones(6)),
    ]
    a, b, c, d, e = inverse_dynamics_sensitivity(model, q, qd, qdd, parts, f)
    whole = parts[0] + 2.0 * parts[1] - parts[2] * 0.5 + parts[3] - parts[4]
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, whole, f)
    assert relative(found, a + 2 * b - 0.5 * c + d - e) < 1e-12


@pytest.mark.parametrize("kind", ["universal", "composite", "spherical", "free", "custom_rail", "helical"])
def test_what_a_user_gives(kind):
    """A coordinate of q as a user's own parameter: dh = S, with dS and dS/dt by complex steps of its motion."""
    rng = np.random.default_rng(8)
    tree = around(rng, kind)
    model = to_model(tree)
    q, qd, qdd, f = state_of(tree, rng)
    body, (at_q, at_v) = tree.bodies[3], tree.parts[3]
    joint = model.joint(f"joint {body.name}")
    n = joint.type.nv

    def subspace(step, rate):
        series = [body.motion.series(q[at_q], e, 0 * e, step) for e in np.eye(n)]
        S = np.array([vee(inverse(T) @ T1) for T, T1, _ in series]).T
        turned = body.motion.series(q[at_q], rate, np.zeros(n), step)
        X = inverse(turned[0]) @ turned[1]
        return S, vee(inverse(turned[0]) @ turned[2] - X @ X)

    for k in range(n):
        unit = np.eye(n)[k]
        dS = subspace(1j * STEP * unit, qd[at_v])[0].imag / STEP
        # Only (dS/dt) qd enters; one column carries it.
        rate = subspace(1j * STEP * unit, qd[at_v])[1].imag / STEP
        columns = np.zeros((6, n))
        columns[:, 0] = rate / qd[at_v][0]
        S = subspace(np.zeros(n), qd[at_v])[0]
        own = Parameter.custom(dh={joint.name: S[:, k]}, dS={joint.name: dS}, dS_rate={joint.name: columns})
        found = inverse_dynamics_sensitivity(model, q, qd, qdd, [own, Parameter.q(joint.name, k)], f)
        assert relative(found[0], found[1]) < 1e-12


def test_batches_and_single_parameters():
    rng = np.random.default_rng(9)
    tree = zoo(rng)
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(11)])
    qd, qdd = rng.normal(size=(2, 11, model.nv))
    f = rng.normal(size=(11, model.n_bodies, 6))
    own = Parameter.custom(dq=rng.normal(size=(11, model.nv)), dI={2: rng.normal(size=(11, 10))})
    parameters = [Parameter.q(3), Parameter.inertia(0, 4), own]
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
    assert found.shape == (3, 11, model.nv)
    for s in (0, 7, 10):
        alone = Parameter(tuple(type(c)(c.what, c.where, c.data[s], c.part) for c in own.changes))
        for k, parameter in enumerate((*parameters[:2], alone)):
            one = inverse_dynamics_sensitivity(model, q[s], qd[s], qdd[s], parameter, f[s])
            assert one.shape == (model.nv,)
            assert relative(found[k, s], one) < 1e-12
    # One state with many directions: the batch of the parameter becomes that of the result.
    wide = inverse_dynamics_sensitivity(model, q[0], qd[0], qdd[0], Parameter.custom(dq=np.eye(model.nv)), f[0])
    columns = inverse_dynamics_sensitivity(model, q[0], qd[0], qdd[0], [Parameter.q(i) for i in range(model.nv)], f[0])
    assert relative(wide, columns) < 1e-12
    grid = forward_dynamics_sensitivity(model, q[:, None], qd[:2], qdd[0], parameters[:2])
    assert grid.shape == (2, 11, 2, model.nv)
    assert inverse_dynamics_sensitivity(model, q, qd, qdd, []).shape == (0, 11, model.nv)
    assert inverse_dynamics_sensitivity(model, q[:0], qd[:0], qdd[:0], parameters[:2]).shape == (2, 0, model.nv)


def test_losses_and_rotors():
    """Damping, friction and armature, as parameters and as part of the model, against differences of the dynamics."""
    rng = np.random.default_rng(10)
    builder = ModelBuilder()
    body = SpatialInertia(1.0, [0.1, 0.2, 0.3], np.eye(3))
    builder.add(
        "a", None, joint_types.universal(), inertia=body, damping=[0.3, 0.4], friction=[0.1, 0.2], armature=[1, 2]
    )
    builder.add("b", "a", joint_types.revolute(), inertia=body, damping=0.5, friction=0.2, armature=3.0)
    bare = builder.build("lossy")
    model = bare.with_joint_terms(True, True, True)
    q, qd, qdd, v = rng.normal(size=(4, 3))
    parameters = [Parameter.damping(1), Parameter.friction(2), Parameter.armature(0)]
    found = inverse_dynamics_sensitivity(model, q, qd, qdd, parameters)
    assert relative(found, np.array([[0, qd[1], 0], [0, 0, np.sign(qd[2])], [qdd[0], 0, 0]])) < 1e-15
    h = 1e-6
    along = Parameter.custom(dq=v, dqd=v, dqdd=v, dtau=v)
    given = np.array([True, False, False])
    expected = (inverse_dynamics(model, q + h * v, qd + h * v, qdd + h * v)
                - inverse_dynamics(model, q - h * v, qd - h * v, qdd - h * v)) / (2 * h)  # fmt: skip
    assert relative(inverse_dynamics_sensitivity(model, q, qd, qdd, along), expected) < 1e-8  # of the differences
    expected = (forward_dynamics(model, q + h * v, qd + h * v, qdd + h * v)
                - forward_dynamics(model, q - h * v, qd - h * v, qdd - h * v)) / (2 * h)  # fmt: skip
    assert relative(forward_dynamics_sensitivity(model, q, qd, qdd, along), expected) < 1e-8
    ahead, behind = (np.array(hybrid_dynamics(model, *(x + s * v for x in (q, qd, qdd, qdd)), given)) for s in (h, -h))
    assert (
        relative(
            np.array(hybrid_dynamics_sensitivity(model, q, qd, qdd, qdd, given, along)), (ahead - behind) / (2 * h)
        )
        < 1e-8
    )


def test_coupled_mimics():
    rng = np.random.default_rng(11)
    builder = ModelBuilder()
    parent = None
    for name, mimic in (("a", None), ("b", None), ("c", ("joint b", -1.5, 0.2)), ("d", ("joint a", 0.5, 0.0))):
        body = SpatialInertia(1.0, rng.normal(size=3), np.eye(3))
        T = expm(hat(rng.normal(size=6)))
        builder.add(
            name, parent, joint_types.revolute(rng.normal(size=3)), T, body, joint_name=f"joint {name}", mimic=mimic
        )
        parent = name
    model = builder.build("coupled").with_coupled_mimics()
    assert model.nv == 2
    q, qd, qdd, v = rng.normal(size=(4, 2))
    h, along = 1e-6, Parameter.custom(dq=v, dqd=v, dqdd=v, dtau=v) + Parameter.gravity([0.3, 0.2, 0.1])

    def robot(s):
        return model.with_gravity(model.gravity + s * np.array([0.3, 0.2, 0.1]))

    for function, change in (
        (inverse_dynamics, inverse_dynamics_sensitivity),
        (forward_dynamics, forward_dynamics_sensitivity),
    ):
        ahead, behind = (function(robot(s), *(x + s * v for x in (q, qd, qdd))) for s in (h, -h))
        assert relative(change(model, q, qd, qdd, along), (ahead - behind) / (2 * h)) < 1e-8  # of the differences


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        (lambda: Parameter.q(99), "coordinate from 0"),
        (lambda: Parameter.q("nobody"), "nobody"),
        (lambda: Parameter.q(0.5), "whole number"),
        (lambda: Parameter.qd("joint universal 2", "x"), "number 'x'"),
        (lambda: Parameter.damping("joint universal 2", 0.5), "whole number"),
        (lambda: Parameter.pitch(0, "x"), "no axis 'x'"),
        (lambda: Parameter.q(0) * "2", "numbers"),
        (lambda: Parameter.q(0) * np.nan, "finite"),
        (lambda: Parameter.inertia(0, "mass"), "'hx'"),
        (lambda: Parameter.inertia("nobody", 0), "nobody"),
        (lambda: Parameter.axis("joint spherical 1", [1, 0, 0]), "spherical"),
        (lambda: Parameter.placement(99, np.ones(6)), "no joint 99"),
        (lambda: Parameter.placement(0, np.ones(3)), "(..., 6)"),
        (lambda: Parameter.gravity([0, 0, np.nan]), "finite"),
        (lambda: Parameter.external_force(0, 7), "0 to 5"),
        (lambda: Parameter.external_force(0, 1, "here"), "aligned"),
        (lambda: Parameter.custom(dq=np.ones(3)), "(..., 12)"),
        (lambda: Parameter.custom(dS={0: np.ones((6, 2))}), "1 columns"),
        (lambda: "q", "Parameter"),
        (lambda: ["q"], "Parameter"),
    ],
)
def test_refused(parameter, said):
    rng = np.random.default_rng(12)
    tree = branched(rng, ["revolute", "spherical", "universal", "free"], [None, 0, 1, 2])
    model = to_model(tree)
    with pytest.raises(InputError) as caught:
        inverse_dynamics_sensitivity(model, tree.random(rng), *np.zeros((2, model.nv)), parameter())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "function", [inverse_dynamics_sensitivity, forward_dynamics_sensitivity, hybrid_dynamics_sensitivity]
)
def test_threads_share_states_and_what_a_user_gives_for_each(function):
    """Thirteen states in chunks that are no multiple of a tile, each with its own change: as one at a time."""
    rng = np.random.default_rng(21)
    tree = branched(rng, ["universal", "custom_rail", "spherical", "revolute"], [None, 0, 0, 2])
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(13)])
    qd, x, y, dq = rng.normal(size=(4, 13, model.nv))
    given = np.arange(model.nv) % 2 == 0
    f = rng.normal(size=(13, model.n_bodies, 6))

    def found(k, threads):
        parameters = [Parameter.custom(dq=dq[k]), Parameter.qd(1), Parameter.inertia(2, "m")]
        more = (y[k], given) if function is hybrid_dynamics_sensitivity else ()
        answer = function(model, q[k], qd[k], x[k], *more, parameters, f[k], threads=threads)
        return np.array(answer)

    for threads in (2, 3, 20):
        together = found(slice(None), threads)
        assert np.abs(together).max() > 0.1
        for k in range(13):
            assert relative(together[..., k, :], found(k, 1)) < 1e-12
    for threads in (0, 1.5):
        with pytest.raises(InputError, match="threads"):
            found(slice(None), threads)

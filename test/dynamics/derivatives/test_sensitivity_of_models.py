"""Derivatives along parameters, against differences of models that have other parameters."""

import numpy as np
from scipy.linalg import expm
from support.compare import relative
from support.motions import hat

from lie_dynamics_ros import lie_dynamics as ld


def test_one_axis_of_several_and_pitch():
    """Against extrapolated central differences of models with other axes."""
    rng = np.random.default_rng(5)
    first, second, turn = np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0]), rng.normal(size=3)
    bodies = [ld.SpatialInertia(m, rng.normal(size=3), np.diag([1.0, 1.2, 1.4])) for m in (1.0, 2.0, 0.5)]
    T = expm(hat(rng.normal(size=6)))

    def model(a=0.0, b=0.0, pitch=0.3):
        axes = (
            expm(hat(np.array([*(a * turn), 0, 0, 0])))[:3, :3] @ first,
            expm(hat(np.array([*(b * turn), 0, 0, 0])))[:3, :3] @ second,
        )
        builder = ld.ModelBuilder()
        builder.add("a", None, ld.joint_types.universal(*axes), T, bodies[0], joint_name="cross")
        builder.add("b", "a", ld.joint_types.helical(turn, pitch), T, bodies[1], joint_name="screw")
        return builder.add("c", "b", ld.joint_types.revolute(), T, bodies[2]).build("axes")

    robot = model()
    q, qd, qdd = rng.normal(size=(3, robot.nv))
    parameters = [ld.Parameter.axis("cross", turn), ld.Parameter.axis("cross", turn, 1), ld.Parameter.pitch("screw")]
    makers = [lambda x: model(a=x), lambda x: model(b=x), lambda x: model(pitch=0.3 + x)]
    found = ld.inverse_dynamics_sensitivity(robot, q, qd, qdd, parameters)
    for change, make in zip(found, makers, strict=True):
        h = 2e-3

        def difference(step, make=make):
            ahead, behind = (ld.inverse_dynamics(make(s * step), q, qd, qdd) for s in (1.0, -1.0))
            return (ahead - behind) / (2 * step)

        expected = (64 * difference(h) - 20 * difference(2 * h) + difference(4 * h)) / 45
        assert relative(change, expected) < 1e-10  # of the differences


def test_losses_and_rotors():
    """Damping, friction and armature, as parameters and as part of the model, against differences of the dynamics."""
    rng = np.random.default_rng(10)
    builder = ld.ModelBuilder()
    body = ld.SpatialInertia(1.0, [0.1, 0.2, 0.3], np.eye(3))
    builder.add(
        "a", None, ld.joint_types.universal(), inertia=body, damping=[0.3, 0.4], friction=[0.1, 0.2], armature=[1, 2]
    )
    builder.add("b", "a", ld.joint_types.revolute(), inertia=body, damping=0.5, friction=0.2, armature=3.0)
    bare = builder.build("lossy")
    model = bare.with_joint_terms(True, True, True)
    q, qd, qdd, v = rng.normal(size=(4, 3))
    parameters = [ld.Parameter.damping(1), ld.Parameter.friction(2), ld.Parameter.armature(0)]
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, parameters)
    assert relative(found, np.array([[0, qd[1], 0], [0, 0, np.sign(qd[2])], [qdd[0], 0, 0]])) < 1e-15
    h = 1e-6
    along = ld.Parameter.custom(dq=v, dqd=v, dqdd=v, dtau=v)
    given = np.array([True, False, False])
    expected = (ld.inverse_dynamics(model, q + h * v, qd + h * v, qdd + h * v)
                - ld.inverse_dynamics(model, q - h * v, qd - h * v, qdd - h * v)) / (2 * h)  # fmt: skip
    assert relative(ld.inverse_dynamics_sensitivity(model, q, qd, qdd, along), expected) < 1e-8  # of the differences
    expected = (ld.forward_dynamics(model, q + h * v, qd + h * v, qdd + h * v)
                - ld.forward_dynamics(model, q - h * v, qd - h * v, qdd - h * v)) / (2 * h)  # fmt: skip
    assert relative(ld.forward_dynamics_sensitivity(model, q, qd, qdd, along), expected) < 1e-8
    ahead, behind = (
        np.array(ld.hybrid_dynamics(model, *(x + s * v for x in (q, qd, qdd, qdd)), given)) for s in (h, -h)
    )
    assert (
        relative(
            np.array(ld.hybrid_dynamics_sensitivity(model, q, qd, qdd, qdd, given, along)), (ahead - behind) / (2 * h)
        )
        < 1e-8
    )


def test_coupled_mimics():
    rng = np.random.default_rng(11)
    builder = ld.ModelBuilder()
    parent = None
    for name, mimic in (("a", None), ("b", None), ("c", ("joint b", -1.5, 0.2)), ("d", ("joint a", 0.5, 0.0))):
        body = ld.SpatialInertia(1.0, rng.normal(size=3), np.eye(3))
        T = expm(hat(rng.normal(size=6)))
        builder.add(
            name, parent, ld.joint_types.revolute(rng.normal(size=3)), T, body, joint_name=f"joint {name}", mimic=mimic
        )
        parent = name
    model = builder.build("coupled").with_coupled_mimics()
    assert model.nv == 2
    q, qd, qdd, v = rng.normal(size=(4, 2))
    h, along = 1e-6, ld.Parameter.custom(dq=v, dqd=v, dqdd=v, dtau=v) + ld.Parameter.gravity([0.3, 0.2, 0.1])

    def robot(s):
        return model.with_gravity(model.gravity + s * np.array([0.3, 0.2, 0.1]))

    for function, change in (
        (ld.inverse_dynamics, ld.inverse_dynamics_sensitivity),
        (ld.forward_dynamics, ld.forward_dynamics_sensitivity),
    ):
        ahead, behind = (function(robot(s), *(x + s * v for x in (q, qd, qdd))) for s in (h, -h))
        assert relative(change(model, q, qd, qdd, along), (ahead - behind) / (2 * h)) < 1e-8  # of the differences

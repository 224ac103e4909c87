"""No public function loses digits for where a robot stands, how the world is turned, or the unit of length.

The table holds every public function, or the reason why the world has no part in it.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.worlds import ROBOTS, elsewhere, here, power_of_two

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics import Parameter

DISTANCES = (1e-3, 1.0, 1e3, 1e6, 1e8)
SCALES = (1e-3, 0.3, 1e3, 1e8)
DIRECTION = np.array([1.0, -0.75, 0.5])

#: Name -> reason.
EXEMPT = {
    **dict.fromkeys(
        ("DescriptionError", "GroupError", "InertiaError", "InputError", "LieDynamicsError", "SingularityError"),
        "an error",
    ),
    **dict.fromkeys(
        ("Assembly", "Baumgarte", "ConstrainedDerivatives", "ConstrainedDynamics", "ConstrainedSensitivity",
         "ConstraintSet", "Coupling", "Loop", "Model", "ModelBuilder", "Parameter", "SpatialInertia", "UserConstraint",
         "joint_types"),
        "holds what functions in the table take or return",
    ),
    **dict.fromkeys(
        ("StewartPlatform", "StewartTracker", "assembly_modes", "solve_forward_kinematics"),
        "a platform is seen from its own base's frame: no world",
    ),
    "JointFriction": "numbers of each joint by itself: no world",
    "mimic_couplings": "reads names and ratios of coordinates from a description",
    "total_mass": "a sum of masses",
}  # fmt: skip

CASES = {}


def case(function):
    """Register a function of a World that returns a list of arrays, brought back."""
    CASES[function.__name__.strip("_")] = function
    return function


def state(w):
    return w.model, w.q, w.qd, w.qdd


@case
def inverse_dynamics(w):
    return [w.back(ld.inverse_dynamics(*state(w), w.f_ext), "u"), w.back(ld.inverse_dynamics(*state(w)), "u")]


@case
def forward_dynamics(w):
    return [w.back(ld.forward_dynamics(w.model, w.q, w.qd, w.tau, w.f_ext), "v", 0)]


def given(w):
    return np.arange(len(w.d)) % 2 == 0


@case
def hybrid_dynamics(w):
    qdd, tau = ld.hybrid_dynamics(*state(w), w.tau, given(w), w.f_ext)
    return [w.back(qdd, "v", 0), w.back(tau, "u")]


@case
def bias_force(w):
    return [w.back(ld.bias_force(w.model, w.q, w.qd), "u")]


@case
def gravity_force(w):
    return [w.back(ld.gravity_force(w.model, w.q), "u")]


@case
def mass_matrix(w):
    single, (batch, _) = ld.mass_matrix(w.model, w.q), ld.mass_matrix(w.model, [w.q, w.q])
    return [w.back(single, "uu"), w.back(batch, "uu")]


@case
def solve_mass_matrix(w):
    return [w.back(ld.solve_mass_matrix(w.model, w.q, w.tau), "v", 0)]


@case
def mass_matrix_rate(w):
    return [w.back(ld.mass_matrix_rate(w.model, w.q, w.qd), "uu")]


@case
def coriolis_matrix(w):
    return [w.back(ld.coriolis_matrix(w.model, w.q, w.qd, m), "uu") for m in ("christoffel", "ploen")]


@case
def coriolis_product(w):
    return [w.back(ld.coriolis_product(*state(w), m), "u") for m in ("christoffel", "ploen")]


@case
def kinetic_energy(w):
    return [w.back(ld.kinetic_energy(w.model, w.q, w.qd))]


@case
def momentum(w):
    found = [ld.momentum(w.model, w.q, w.qd, about) for about in ("com", "world")]
    # About the world's origin: what its definition adds far away is taken off again, so that only digits are compared.
    found[1][:3] -= np.cross(ld.center_of_mass(w.model, w.q), found[1][3:])
    far = np.abs(w.shift).max() / w.scale
    return [w.back(found[0], "f", 1, turn=True), (w.back(found[1], "f", 1, turn=True), far)]


@case
def center_of_mass(w):
    return [(w.place(ld.center_of_mass(w.model, w.q)), np.abs(w.shift).max() / w.scale)]


@case
def potential_energy(w):
    """Zero at the world's origin by definition."""
    lift = ld.total_mass(w.model) * w.model.gravity @ w.shift
    return [(w.back(ld.potential_energy(w.model, w.q) + lift), np.abs(w.shift).max() / w.scale)]


@case
def centroidal_momentum_matrix(w):
    return [w.back(ld.centroidal_momentum_matrix(w.model, w.q), "fu", 1, turn=True)]


@case
def body_velocities(w):
    return [w.back(ld.body_velocities(w.model, w.q, w.qd), "bt", 0)]


@case
def body_accelerations(w):
    return [w.back(ld.body_accelerations(*state(w)), "bt", 0)]


@case
def forward_kinematics(w):
    T = ld.forward_kinematics(w.model, w.q)
    return [w.R.T @ T[:, :3, :3], (w.place(T[:, :3, 3]), np.abs(w.shift).max() / w.scale)]


@case
def frame_pose(w):
    T = ld.frame_pose(w.model, w.q, w.model.body_names[-1])
    return [w.R.T @ T[:3, :3], (w.place(T[:3, 3]), np.abs(w.shift).max() / w.scale)]


def _jacobians(w, of):
    found = [w.back(of("body"), "tu", 0), w.back(of("aligned"), "tu", 0, turn=True)]
    world = of("world")  # about the world's origin by definition
    world[3:] += np.cross(w.shift, world[:3], axisb=0).T * -1.0
    return [*found, (w.back(world, "tu", 0, turn=True), np.abs(w.shift).max() / w.scale)]


@case
def jacobian(w):
    return _jacobians(w, lambda frame: ld.jacobian(w.model, w.q, w.model.n_bodies - 1, frame))


@case
def jacobian_rate(w):
    return _jacobians(w, lambda frame: ld.jacobian_rate(w.model, w.q, w.qd, w.model.n_bodies - 1, frame))


@case
def external_wrench(w):
    name, wrench = w.model.body_names[-1], w.f_ext[-1]
    turned = np.concatenate([w.R @ wrench[:3], w.R @ wrench[3:]])
    about = turned + np.concatenate([np.cross(w.shift, turned[3:]), np.zeros(3)])
    far = np.abs(w.shift).max() / w.scale
    return [
        w.back(ld.external_wrench(w.model, w.q, name, wrench, "body"), "bf", 1),
        w.back(ld.external_wrench(w.model, w.q, name, turned, "aligned"), "bf", 1),
        (w.back(ld.external_wrench(w.model, w.q, name, about, "world"), "bf", 1), far),
    ]


@case
def torque_regressor(w):
    return [w.back(ld.torque_regressor(*state(w)), "up")]


@case
def inverse_dynamics_derivatives(w):
    found = ld.inverse_dynamics_derivatives(*state(w), w.f_ext)
    return [w.back(x, "uu") for x in (found.dq, found.dqd, found.dqdd)]


@case
def bias_force_derivatives(w):
    return [w.back(x, "uu") for x in ld.bias_force_derivatives(w.model, w.q, w.qd)]


@case
def gravity_force_derivatives(w):
    return [w.back(ld.gravity_force_derivatives(w.model, w.q), "uu")]


@case
def forward_dynamics_derivatives(w):
    found = ld.forward_dynamics_derivatives(w.model, w.q, w.qd, w.tau, w.f_ext)
    return [w.back(found.dq, "vu", 0), w.back(found.dqd, "vu", 0), w.back(found.dtau, "vv", -2)]


@case
def hybrid_dynamics_derivatives(w):
    found = ld.hybrid_dynamics_derivatives(*state(w), w.tau, given(w), w.f_ext)
    mask = given(w)
    result = [w.back(x, "vu", 0) for x in (found.dqdd_dq, found.dqdd_dqd)]
    result += [w.back(x, "uu") for x in (found.dtau_dq, found.dtau_dqd)]
    result += [w.back(found.dqdd_dgiven, "vu", 0)[:, mask], w.back(found.dqdd_dgiven, "vv", -2)[:, ~mask]]
    return [*result, w.back(found.dtau_dgiven, "uu")[:, mask], w.back(found.dtau_dgiven, "uv", 0)[:, ~mask]]


def _parameters(w):
    """Parameters of every kind, the same in all worlds."""
    world = np.concatenate([np.cross(w.shift, w.R[:, 0]), w.R[:, 0]])
    joints = {j.kind: j.name for j in w.model.joints}
    root = w.model.joints[0].name
    twist = np.array([0.3, -0.5, 0.2, 0.4 * w.scale, 0.1 * w.scale, -0.2 * w.scale])
    found = [
        Parameter.q(0) * w.d[0], Parameter.qd(len(w.d) - 1) * w.d[-1], Parameter.qdd(1) * w.d[1],
        Parameter.inertia(0, "m"), Parameter.inertia(w.model.n_bodies - 1, "hx") * w.scale,
        Parameter.placement(root, twist), Parameter.placement(w.model.joints[-1].name, twist, "parent"),
        Parameter.gravity(w.R[:, 1] * w.scale), Parameter.external_force(0, world * w.scale, "world"),
        Parameter.external_force(w.model.n_bodies - 1, [0, 0, 0, *w.R[:, 2] * w.scale], "aligned"),
    ]  # fmt: skip
    for kind in ("planar", "prismatic", "cylindrical", "universal"):
        if kind in joints:
            found += [Parameter.axis(joints[kind], [0.2, -0.3, 0.4], w.model.joint(joints[kind]).type.nv - 1)]
    if "planar" in joints:
        found += [Parameter.axis(joints["planar"], [0.2, -0.3, 0.4], k) for k in (0, 1)]
    return found


HELD = ("body", "world", "aligned")


@case
def inverse_dynamics_sensitivity(w):
    result = []
    for held in HELD:
        for p, x in zip(
            _parameters(w), ld.inverse_dynamics_sensitivity(*state(w), _parameters(w), w.f_ext, f_ext_held=held),
            strict=True,
        ):  # fmt: skip
            result.append((w.back(x, "u"), _reach(w, p)))
    return result


@case
def forward_dynamics_sensitivity(w):
    p = _parameters(w)
    found = ld.forward_dynamics_sensitivity(w.model, w.q, w.qd, w.tau, p, w.f_ext)
    return [(w.back(x, "v", 0), _reach(w, y)) for x, y in zip(found, p, strict=True)]


@case
def hybrid_dynamics_sensitivity(w):
    p = _parameters(w)
    qdd, tau = ld.hybrid_dynamics_sensitivity(*state(w), w.tau, given(w), p, w.f_ext)
    return [
        x
        for a, f, y in zip(qdd, tau, p, strict=True)
        for x in ((w.back(a, "v", 0), _reach(w, y)), (w.back(f, "u"), _reach(w, y)))
    ]


def _reach(w, parameter):
    """How far away what a parameter is about lies: by its definition a lever, whose end has the digits it has."""
    change = parameter.changes[0]
    if change.what == "wrench" and change.part == "world":
        return np.abs(w.shift).max() / w.scale
    if change.what in ("placement", "axis"):
        joint = w.model.joint(change.where)
        if joint.kind in ("free", "planar") and joint.parent_body == "world":
            return None  # turns the robot about where its coordinates are counted from
    return 0.0


@case
def inverse_dynamics_second_derivatives(w):
    found = ld.inverse_dynamics_second_derivatives(*state(w), f_ext=w.f_ext)
    return [w.back(getattr(found, k), "uuu") for k in ("dq_dq", "dq_dqd", "dqd_dqd", "dq_dqdd")]


def _of_axes(w):
    return not any(j.kind in ("custom", "free", "spherical") for j in w.model.joints)


@case
def christoffel_symbols(w):
    return [w.back(ld.christoffel_symbols(w.model, w.q), "uuu")] if _of_axes(w) else []


@case
def christoffel_derivatives(w):
    return [w.back(ld.christoffel_derivatives(w.model, w.q), "uuuu")] if _of_axes(w) else []


@case
def mass_matrix_derivatives(w):
    return [w.back(ld.mass_matrix_derivatives(w.model, w.q), "uuu")]


def _no_users(w):
    return not any(j.kind == "custom" for j in w.model.joints)


@case
def curvature_tensor(w):
    return [w.back(ld.curvature_tensor(w.model, w.q), "uuuu")] if _no_users(w) else []


@case
def ricci_tensor(w):
    return [w.back(ld.ricci_tensor(w.model, w.q), "uu", 0)] if _no_users(w) else []


@case
def scalar_curvature(w):
    return [w.back(ld.scalar_curvature(w.model, w.q), "", -2)] if _no_users(w) else []


@case
def sectional_curvature(w):
    return [w.back(ld.sectional_curvature(w.model, w.q, w.qd, w.qdd), "", -2)] if _no_users(w) else []


@case
def is_flat(w):
    return [np.array(float(ld.is_flat(w.model, w.q).flat))] if _no_users(w) else []


@case
def torque_optimal_motion(w):
    """From a state to rest at the same place: the cost, since paths are known to the root of its digits."""
    if not _no_users(w):  # asks a hundred times, and users' functions are slow
        return []
    found = ld.torque_optimal_motion(
        w.model, w.q, w.q, 0.5, start_velocity=w.qd, weights=(w.d / w.scale**2) ** 2, max_modes=2
    )
    return [np.array([found.cost, found.effort_scale @ (w.d / w.scale**2)])]


# -- constraints: places in the world are data of the loop, of as many digits as they have ----------------------------


def closed(w):
    return w.model, w.constraints, w.q, w.qd


@case
def constraint_quantities(w):
    found = ld.constraint_quantities(*closed(w))
    return [
        w.back(found.jacobian, "su", 1), w.back(found.error, "s", 1), w.back(found.rate, "s", 1),
        w.back(found.bias, "s", 1),
    ]  # fmt: skip


@case
def constraint_jacobian(w):
    return [w.back(ld.constraint_jacobian(*closed(w)[:3]), "su", 1)]


@case
def constraint_bias(w):
    return [w.back(ld.constraint_bias(*closed(w)), "s", 1)]


@case
def constraint_error(w):
    return [w.back(x, "s", 1) for x in ld.constraint_error(*closed(w))]


def _found(w, found):
    wrenches = w.back(found.wrenches, "bf", 1)
    return [w.back(found.qdd, "v", 0), w.back(found.tau, "u"), w.back(found.multipliers, "s", 1), wrenches]


@case
def constrained_forward_dynamics(w):
    gains = ld.Baumgarte(5.0, 0.7)
    found = ld.constrained_forward_dynamics(*closed(w), w.tau, w.f_ext, stabilization=gains)
    return _found(w, found)


@case
def constrained_hybrid_dynamics(w):
    mask = np.arange(len(w.d)) == 0
    return _found(w, ld.constrained_hybrid_dynamics(*closed(w), w.qdd, w.tau, mask, w.f_ext))


@case
def constrained_inverse_dynamics(w):
    qdd = w.constraints and ld.constrained_forward_dynamics(*closed(w), w.tau).qdd
    return _found(w, ld.constrained_inverse_dynamics(*closed(w), qdd, w.f_ext))


@case
def loop_wrenches(w):
    found = ld.loop_wrenches(*closed(w)[:3], np.arange(1.0, 5.0) * w.scale)
    return [w.back(x, "f", 1) for x in found.values()]


def _derivatives(w, found):
    return [
        w.back(found.qdd.dq, "vu", 0), w.back(found.qdd.dqd, "vu", 0), w.back(found.tau.dq, "uu"),
        w.back(found.tau.dqd, "uu"), w.back(found.multipliers.dq, "su", 1),
    ]  # fmt: skip


@case
def constrained_forward_derivatives(w):
    return _derivatives(w, ld.constrained_forward_derivatives(*closed(w), w.tau, w.f_ext))


@case
def constrained_hybrid_derivatives(w):
    mask = np.arange(len(w.d)) == 0
    return _derivatives(w, ld.constrained_hybrid_derivatives(*closed(w), w.qdd, w.tau, mask, w.f_ext))


@case
def constrained_inverse_derivatives(w):
    qdd = ld.constrained_forward_dynamics(*closed(w), w.tau).qdd
    return _derivatives(w, ld.constrained_inverse_derivatives(*closed(w), qdd, w.f_ext))


def _along(w, found):
    return [
        (x, _reach(w, p))
        for k, p in enumerate(_parameters(w))
        for x in (w.back(found.qdd[k], "v", 0), w.back(found.tau[k], "u"), w.back(found.multipliers[k], "s", 1))
    ]


@case
def constrained_forward_sensitivity(w):
    return _along(w, ld.constrained_forward_sensitivity(*closed(w), w.tau, _parameters(w), w.f_ext))


@case
def constrained_hybrid_sensitivity(w):
    mask = np.arange(len(w.d)) == 0
    return _along(w, ld.constrained_hybrid_sensitivity(*closed(w), w.qdd, w.tau, mask, _parameters(w), w.f_ext))


@case
def constrained_inverse_sensitivity(w):
    qdd = ld.constrained_forward_dynamics(*closed(w), w.tau).qdd
    return _along(w, ld.constrained_inverse_sensitivity(*closed(w), qdd, _parameters(w), w.f_ext))


@case
def consistent_velocity(w):
    if w.scale != 1.0:  # nearest among numbers of different units
        return []
    return [ld.consistent_velocity(*closed(w))]


@case
def consistent_acceleration(w):
    return [] if w.scale != 1.0 else [ld.consistent_acceleration(*closed(w), w.qdd)]


@case
def project_to_constraints(w):
    _, qd = ld.project_to_constraints(*closed(w), iterations=0, tolerance=np.inf)
    return [w.back(qd, "v", 0)]


@case
def assemble(w):
    if w.scale != 1.0 or np.abs(w.shift).max() > 10.0:  # its tolerance is a length, which q must resolve
        return []
    return [np.array(float(ld.assemble(*closed(w)[:3]).converged))]


def differences(found, expected):
    """Relative differences; a result of the second kind may differ by the last digits of what is far away."""
    largest = max((np.abs(y[0] if isinstance(y, tuple) else y).max(initial=0.0) for y in expected), default=0.0)
    for x, y in zip(found, expected if found else [], strict=True):
        x, reach = x if isinstance(x, tuple) else (x, 0.0)
        y = y[0] if isinstance(y, tuple) else y
        if reach is None:
            continue
        assert x.shape == y.shape
        assert np.isfinite(x).all()
        size = max(np.abs(y).max(initial=0.0), 0.01 * largest) or 1.0
        yield np.abs(x - y).max(initial=0.0) / (size * (1.0 + 10.0 * reach))


def worlds():
    for distance in DISTANCES:
        for turn in (np.eye(3), np.roll(np.eye(3), 1, axis=0)):
            yield {"R": turn, "shift": DIRECTION * power_of_two(distance)}
    yield {"R": Rotation.random(random_state=3).as_matrix()}
    for scale in SCALES:
        yield {"scale": power_of_two(scale)}
        yield {"scale": power_of_two(scale), "shift": DIRECTION * power_of_two(scale)}


def test_every_public_function_is_here():
    assert not set(CASES) & set(EXEMPT)
    assert set(CASES) | set(EXEMPT) == set(ld.__all__)


@pytest.mark.parametrize("robot", ROBOTS)
def test_all_functions_in_all_worlds(robot, rng):
    made = here(robot, rng)
    first = elsewhere(made)
    expected = {name: function(first) for name, function in CASES.items()}
    worst = {}
    for settings in worlds():
        if robot == "user's" and ("scale" in settings or 0.0 < np.max(settings.get("shift", 0.0)) < 1e7):
            continue  # its functions know one unit of length, and are slow
        w = elsewhere(made, **settings)
        for name, function in CASES.items():
            for x in differences(function(w), expected[name]):
                if x > worst.get(name, (0.0,))[0]:
                    worst[name] = x, {k: np.round(v, 3).tolist() for k, v in settings.items()}
    # Derivatives of constrained dynamics have the square of the condition of A M^-1 A^T in them.
    limits = {name: 1e-9 if name.startswith("constrained_") else 1e-11 for name in CASES}
    assert not {k: v for k, v in worst.items() if not v[0] < limits[k]}

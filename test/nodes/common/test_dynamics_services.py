"""Services of the dynamics nodes over DDS, against another library."""

from __future__ import annotations

import numpy as np
import pytest
from node_robots import ARM, ARM_JOINTS, assert_close, oracle
from service_calls import WRENCH, ask, srv, wrench_on_flange

pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

from sensor_msgs.msg import JointState  # noqa: E402

COUNT = 3
RNG = np.random.default_rng(31)
Q, QD, QDD, TAU = RNG.uniform(-1, 1, (4, COUNT, 7)) * np.array([1, 2, 5, 20])[:, None, None]
SHUFFLED = RNG.permutation(7)
NAMES = [ARM_JOINTS[i] for i in SHUFFLED]
MODEL = pin.buildModelFromXML(ARM)


def shuffled(rows):
    """In the order of the request, with the number of a joint that the robot does not have in between."""
    return np.insert(rows[:, SHUFFLED], 2, 99.0, axis=1)


REQUEST_NAMES = [*NAMES[:2], "finger", *NAMES[2:]]


def effort_of_wrench(q):
    jacobian = pin.computeFrameJacobian(MODEL, MODEL.createData(), q, MODEL.getFrameId("panda_link8"), pin.LOCAL)
    return jacobian.T @ WRENCH


def assert_good(response, names):
    assert response.success, response.message
    assert response.message == ""
    assert list(response.joint_names) == list(names)
    assert response.count == COUNT


def test_inverse_dynamics_of_many_states_with_joints_by_name(nodes):
    response = ask(
        nodes,
        "inverse_dynamics",
        joint_names=REQUEST_NAMES,
        count=COUNT,
        position=shuffled(Q),
        velocity=shuffled(QD),
        acceleration=shuffled(QDD),
        external_wrenches=[wrench_on_flange()],
    )
    assert_good(response, NAMES)
    expected = [oracle(ARM, q, qd, qdd) - effort_of_wrench(q) for q, qd, qdd in zip(Q, QD, QDD, strict=True)]
    assert_close(response.effort, np.array(expected)[:, SHUFFLED])


def test_what_is_left_out_is_zero_and_counted(nodes):
    response = ask(nodes, "inverse_dynamics", position=Q)
    assert_good(response, ARM_JOINTS)
    assert_close(response.effort, [oracle(ARM, q) for q in Q])


def test_wrenches_add_up_and_frames_may_begin_with_a_slash(nodes):
    again = wrench_on_flange()
    again.header.frame_id = "/panda_link8"
    response = ask(nodes, "inverse_dynamics", position=Q, external_wrenches=[wrench_on_flange(), again])
    assert_good(response, ARM_JOINTS)
    assert_close(response.effort, [oracle(ARM, q) - 2 * effort_of_wrench(q) for q in Q])


def test_mass_matrix(nodes):
    response = ask(nodes, "mass_matrix", joint_names=REQUEST_NAMES, position=shuffled(Q))
    assert_good(response, NAMES)
    assert (response.rows, response.cols) == (7, 7)
    expected = []
    for q in Q:
        upper = np.triu(pin.crba(MODEL, MODEL.createData(), q))
        expected.append((upper + upper.T - np.diag(np.diag(upper)))[np.ix_(SHUFFLED, SHUFFLED)])
    assert_close(response.mass_matrix, expected)


def test_bias_gravity_and_coriolis_matrix(nodes):
    response = ask(nodes, "bias_force", joint_names=REQUEST_NAMES, position=shuffled(Q), velocity=shuffled(QD))
    assert_good(response, NAMES)
    data = MODEL.createData()
    assert_close(response.bias, [pin.nonLinearEffects(MODEL, data, *s)[SHUFFLED] for s in zip(Q, QD, strict=True)])
    assert_close(response.gravity, [oracle(ARM, q)[SHUFFLED] for q in Q])
    matrices = np.reshape(response.coriolis_matrix, (COUNT, response.rows, response.cols))
    expected = [
        pin.computeCoriolisMatrix(MODEL, data, q, qd)[np.ix_(SHUFFLED, SHUFFLED)] for q, qd in zip(Q, QD, strict=True)
    ]
    assert_close(matrices, expected)


def test_forward_dynamics(nodes):
    response = ask(
        nodes,
        "forward_dynamics",
        "hybrid_dynamics",
        joint_names=REQUEST_NAMES,
        position=shuffled(Q),
        velocity=shuffled(QD),
        effort=shuffled(TAU),
        external_wrenches=[wrench_on_flange()],
    )
    assert_good(response, NAMES)
    data = MODEL.createData()
    expected = [
        pin.aba(MODEL, data, q, qd, tau + effort_of_wrench(q))[SHUFFLED] for q, qd, tau in zip(Q, QD, TAU, strict=True)
    ]
    assert_close(response.acceleration, expected, 1e-11)


PRESCRIBED = np.array([True, False, True, True, False, False, True])


def test_hybrid_dynamics(nodes):
    accelerations, efforts = np.where(PRESCRIBED, QDD, np.nan), np.where(PRESCRIBED, np.inf, TAU)
    response = ask(
        nodes,
        "hybrid_dynamics",
        "hybrid_dynamics",
        joint_names=REQUEST_NAMES,
        prescribed=np.insert(PRESCRIBED[SHUFFLED], 2, False).tolist(),
        position=shuffled(Q),
        velocity=shuffled(QD),
        acceleration=shuffled(accelerations),
        effort=shuffled(efforts),
    )
    assert_good(response, NAMES)
    inverse = np.argsort(SHUFFLED)
    qdd = np.reshape(response.acceleration, (COUNT, 7))[:, inverse]
    tau = np.reshape(response.effort, (COUNT, 7))[:, inverse]
    np.testing.assert_array_equal(qdd[:, PRESCRIBED], QDD[:, PRESCRIBED])
    np.testing.assert_array_equal(tau[:, ~PRESCRIBED], TAU[:, ~PRESCRIBED])
    assert_close(tau, [oracle(ARM, *state) for state in zip(Q, QD, qdd, strict=True)])


def differences(f, x, step=1e-6):
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(7)]
    return np.array(columns).T


def test_derivatives_of_inverse_and_forward_dynamics(nodes):
    response = ask(nodes, "dynamics_derivatives", position=Q, velocity=QD, acceleration=QDD)
    assert_good(response, ARM_JOINTS)
    data = MODEL.createData()
    found = [np.reshape(getattr(response, f), (COUNT, 7, 7)) for f in ("by_position", "by_velocity", "by_input")]
    for k in range(COUNT):
        by_q, by_qd, by_qdd = pin.computeRNEADerivatives(MODEL, data, Q[k], QD[k], QDD[k])
        symmetric = np.triu(by_qdd) + np.triu(by_qdd, 1).T
        for matrices, expected in zip(found, (by_q, by_qd, symmetric), strict=True):
            assert_close(matrices[k], expected, 1e-11)
    kind = srv.ComputeDynamicsDerivatives.Request.FORWARD
    response = ask(nodes, "dynamics_derivatives", dynamics=kind, position=Q, velocity=QD, effort=TAU)
    assert_good(response, ARM_JOINTS)
    found = [np.reshape(getattr(response, f), (COUNT, 7, 7)) for f in ("by_position", "by_velocity", "by_input")]
    for k in range(COUNT):
        for matrices, expected in zip(found, pin.computeABADerivatives(MODEL, data, Q[k], QD[k], TAU[k]), strict=True):
            # The inverse of the mass matrix carries its condition, 1e4 for an arm.
            assert_close(matrices[k], np.array(expected), 1e-9)


def test_derivatives_of_hybrid_dynamics_by_name(nodes):
    kind = srv.ComputeDynamicsDerivatives.Request.HYBRID
    response = ask(
        nodes,
        "dynamics_derivatives",
        "hybrid_dynamics",
        dynamics=kind,
        joint_names=NAMES,
        prescribed=PRESCRIBED[SHUFFLED].tolist(),
        position=Q[:, SHUFFLED],
        velocity=QD[:, SHUFFLED],
        acceleration=QDD[:, SHUFFLED],
        effort=TAU[:, SHUFFLED],
    )
    assert_good(response, NAMES)

    def output(q, qd, given_values):
        """The output, by dense algebra: efforts where accelerations are prescribed, accelerations elsewhere."""
        upper = np.triu(pin.crba(MODEL, MODEL.createData(), q))
        m = upper + np.triu(upper, 1).T
        bias = pin.nonLinearEffects(MODEL, MODEL.createData(), q, qd)
        a, free = np.flatnonzero(PRESCRIBED), np.flatnonzero(~PRESCRIBED)
        qdd = np.where(PRESCRIBED, given_values, 0.0)
        qdd[free] = np.linalg.solve(
            m[np.ix_(free, free)], given_values[free] - bias[free] - m[np.ix_(free, a)] @ given_values[a]
        )
        return np.where(PRESCRIBED, m @ qdd + bias, qdd)

    inverse = np.argsort(SHUFFLED)
    values = np.where(PRESCRIBED, QDD, TAU)
    for k in range(COUNT):
        expected = (
            differences(lambda x, k=k: output(x, QD[k], values[k]), Q[k]),
            differences(lambda x, k=k: output(Q[k], x, values[k]), QD[k]),
            differences(lambda x, k=k: output(Q[k], QD[k], x), values[k]),
        )
        for field, matrix in zip(("by_position", "by_velocity", "by_input"), expected, strict=True):
            found = np.reshape(getattr(response, field), (COUNT, 7, 7))[k][np.ix_(inverse, inverse)]
            assert_close(found, matrix, 1e-7)  # the accuracy of differences


def test_needs_a_robot(bench):
    node = bench.start("inverse_dynamics")
    nodes = bench, {"inverse_dynamics": node}
    response = ask(nodes, "mass_matrix", position=Q)
    assert not response.success and "not configured" in response.message
    assert not bench.call(srv.SetPayload, f"{node}/set_payload", srv.SetPayload.Request()).success
    bench.publish_description(ARM)
    bench.wait_state(node, "active")
    assert bench.change_state(node, "deactivate")
    assert ask(nodes, "mass_matrix", position=Q).success


def test_states_are_answered_while_requests_keep_coming(nodes):
    bench, names = nodes
    answers = bench.listen(JointState, f"{names['inverse_dynamics']}/joint_efforts")
    for _ in range(20):
        assert ask(nodes, "mass_matrix", position=np.zeros((1000, 7))).success
        bench.ask(lambda: bench.make_state(ARM_JOINTS, Q[0]), answers)


def services(bench):
    """Return the names of all services that have been discovered."""
    return [name for name, _ in bench.node.get_service_names_and_types()]


@pytest.mark.parametrize("module", ["inverse_dynamics", pytest.param("hybrid_dynamics", marks=pytest.mark.slow)])
def test_runs_without_the_interface_package_and_says_so(bench, monkeypatch, tmp_path, module):
    # A package of that name without services stands in its place.
    (tmp_path / "lie_dynamics_interfaces").mkdir()
    (tmp_path / "lie_dynamics_interfaces/__init__.py").touch()
    import os

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    node = bench.start(module, robot_description=ARM)
    answers = bench.listen(JointState, f"{node}/joint_efforts")
    bench.ask(lambda: bench.make_state(ARM_JOINTS, Q[0]), answers)
    lines = [line for line in bench.processes[-1].output.splitlines() if "lie_dynamics_interfaces" in line]
    assert len(lines) == 1 and "without services" in lines[0]
    offered = bench.wait(lambda: [name for name in services(bench) if name.startswith(node)], "services")
    assert not [name for name in offered if "compute" in name]

"""Every public function of joint coordinates takes named columns by one check; a new one is found by itself."""

import importlib
import inspect

import numpy as np
import pytest
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import (
    ConstraintSet,
    InputError,
    ModelBuilder,
    Parameter,
    SpatialInertia,
    inverse_dynamics,
    joint_types,
)
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics

ROOMS = ("", ".geometry", ".control", ".identification", ".simulation", ".estimation", ".reference")
COORDINATES = {"q", "qd", "qdd", "tau", "effort", "force", "posture", "desired_q", "desired_qd", "desired_qdd",
               "torque", "reference_velocity", "reference_acceleration"}  # fmt: skip


class Table:
    """What a DataFrame is to numpy: values, and columns with names."""

    def __init__(self, values, columns):
        self.values, self.columns = np.asarray(values), columns

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.values.dtype)


def arm():
    builder, place = ModelBuilder(), np.eye(4)
    place[0, 3] = 0.3
    for k, name in enumerate("abc"):
        body = SpatialInertia(1.0 + k, [0.1, 0.0, 0.05 * k], 0.01 * np.eye(3))
        builder.add(name, "abc"[k - 1] if k else None, joint_types.revolute(np.eye(3)[k]), place, body)
    return builder.build("named")


MODEL = arm()
PHYSICS = JointPhysics(*np.ones((2, 3)), -np.full(3, 9.0), np.full(3, 9.0), *np.ones((2, 3)))
#: Arguments that are no joint coordinates; a name that is missing here is a function that nobody looked at.
OTHERS = {
    "model": MODEL, "constraints": ConstraintSet(MODEL, []), "prescribed": np.array([True, False, True]), "body": "c",
    "frame": "c", "wrench": np.zeros(6), "reference": np.zeros(3), "u": np.ones(3), "v": np.ones(3), "kp": 1.0,
    "kd": 1.0, "rate": 1.0, "stiffness": 100.0, "pose": np.eye(4), "time": np.arange(0.0, 4.0, 0.01), "cutoff": 5.0,
    "multipliers": np.zeros(0), "efforts": np.zeros(3), "motors": ["a", "b", "c"], "dt": 0.01, "duration": 0.1,
    "step": 0.01, "steps": 2, "acceleration": lambda t, q, qd: 0.0 * qd, "physics": PHYSICS, "covariance": np.eye(3),
    "parameter": Parameter.q(0), "x": (0, [0.0]), "y": (1, [0.0]),
}  # fmt: skip


def public():
    found = {}
    for room in ROOMS:
        module = importlib.import_module("lie_dynamics_ros.lie_dynamics" + room)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or not type(thing).__module__.startswith(("builtins", "lie_dynamics_ros")):
                continue
            try:
                parameters = inspect.signature(thing).parameters
            except (TypeError, ValueError):
                continue
            if "model" in parameters:
                for key in sorted(COORDINATES & set(parameters)):
                    if "ArrayLike" in str(parameters[key].annotation):
                        found[f"{name}: {key}"] = thing, key
    return found


PUBLIC = public()


def test_functions_are_found():
    assert len(PUBLIC) > 120 and "inverse_dynamics: qdd" in PUBLIC and "identify_robot: effort" in PUBLIC


@all_of("case", PUBLIC)
def test_names_that_lack_a_joint_are_refused(case):
    function, key = PUBLIC[case]
    parameters = inspect.signature(function).parameters
    wanted = [k for k, p in parameters.items() if p.default is p.empty or k == key or k in ("q", "qd", "qdd")]
    shape = (400, 3) if ".identification" in function.__module__ else (3,)
    rng = np.random.default_rng(0)
    given = {k: rng.normal(size=shape) if k in COORDINATES else OTHERS[k] for k in wanted}
    given[key] = Table(given[key], ["a", "x", "c"])
    with pytest.raises(InputError, match="a column for each of the joints"):
        function(**given)


def test_names_in_any_order_are_taken_by_name_and_numbers_as_they_come():
    names, order = list(MODEL.joint_names), [2, 0, 1]
    states = np.random.default_rng(1).normal(size=(3, 4, MODEL.nv))
    expected = inverse_dynamics(MODEL, *states)
    for k in range(3):
        for table in (Table(states[k][:, order], [names[j] for j in order]), Table(states[k], range(3))):
            given = [table if j == k else states[j] for j in range(3)]
            np.testing.assert_array_equal(inverse_dynamics(MODEL, *given), expected)
        given[k] = Table(states[k], [names[0], *names[:2]])
        with pytest.raises(InputError, match="a column for each of the joints"):
            inverse_dynamics(MODEL, *given)

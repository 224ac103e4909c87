"""Every public function, every argument: what is no such thing raises an error of the library, never another one."""

import contextlib
import inspect
import warnings

import numpy as np
import pytest
from support.grids import all_of
from support.sample_trees import branched, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics import Loop, ModelBuilder, Parameter

TREE = branched(np.random.default_rng(1), ["revolute", "prismatic", "revolute", "revolute"], [None, 0, 1, 0])
MODEL = to_model(TREE)
NAMES = MODEL.body_names
LOOP = Loop("point_in_plane", NAMES[3], NAMES[2], name="cut")
PLATFORM = ld.StewartPlatform(
    [[np.cos(a), np.sin(a), 0.0] for a in (0.0, 0.3, 2.1, 2.4, 4.2, 4.5)],
    [[0.5 * np.cos(a), 0.5 * np.sin(a), 0.0] for a in (-0.8, 1.1, 1.3, 3.2, 3.4, 5.3)],
)
POSE = np.eye(4)
POSE[2, 3] = 1.0

#: Good values of arguments, by name.
GOOD = {
    "model": MODEL,
    "constraints": ld.ConstraintSet(MODEL, [LOOP]),
    **{k: np.linspace(0.1, 0.4, 4) for k in ("q", "qd", "qdd", "tau", "force", "reference", "u", "passive_torque")},
    "v": np.linspace(0.4, -0.3, 4),
    "vector": np.ones(4),
    "f_ext": np.ones((4, 6)),
    "prescribed": np.array([True, False, False, False]),
    "body": NAMES[3],
    "frame": None,
    "wrench": np.ones(6),
    "parameter": Parameter.q(0),
    "multipliers": np.ones(1),
    "platform": PLATFORM,
    "lengths": PLATFORM.leg_lengths(POSE),
    "guess": POSE,
    "method": None,
    "threads": 1,
    **{k: np.linspace(0.1, 0.4, 4) for k in ("start", "goal", "start_velocity", "goal_velocity", "weights")},
    "duration": 1.0,
    "limits": MODEL.limits,
    "tolerance": 1e-3,
    "max_modes": 2,
    "name": "delta",
    "efforts": np.linspace(0.1, 0.4, 4),
    "motors": MODEL.joint_names,
}
#: Of some functions, what is not good by default.
SPECIAL = {
    "frame_pose": {"frame": NAMES[2]},
    "constrained_travel_left": {
        "constraints": ld.ConstraintSet(MODEL, []), "frame": NAMES[2], "motors": MODEL.joint_names[:3],
    },
    "mimic_couplings": None,
    "platform_wrench": {"frame": NAMES[2], "components": ("force_x", "force_z")},
}

ARRAYS = {"q", "qd", "qdd", "tau", "force", "reference", "u", "v", "vector", "f_ext", "wrench", "multipliers",
          "passive_torque", "lengths", "guess", "start", "goal", "start_velocity", "goal_velocity",
          "weights", "efforts"}  # fmt: skip
NO_FUNCTIONS = {name for name in ld.__all__ if not inspect.isfunction(getattr(ld, name))}
FUNCTIONS = sorted(set(ld.__all__) - NO_FUNCTIONS - {"mimic_couplings"})


def hostile_arrays(key):
    """What is no array of finite numbers of the right shape."""
    good = GOOD[key]
    strings = np.array(good).astype(str)
    deep = np.ones((1,) * 40 + np.shape(good)) if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else np.ones(99)
    bad = np.array(good)
    bad.flat[0 if key == "qdd" else -1] = np.nan  # hybrid dynamics reads that one
    return {
        "masked": np.ma.MaskedArray(good, mask=True),
        "numeric strings": strings.tolist(),
        "array of strings": strings,
        "bytes": np.array(good).astype("S"),
        "objects with a string": np.array(good).astype(str).astype(object),
        "nothing": [],
        "ragged": [1.0, [2.0]],
        "mapping": {"a": 1},
        "text": "abc",
        "object": object(),
        "times": np.array(good).astype("datetime64[s]"),
        "forty axes": (deep, True),
        "not finite": bad,
        "scalar": (3.0, key == "passive_torque"),
        "huge": np.array(10**400, dtype=object),
    }


HOSTILE = {
    "model": [None, 3, "robot", {}, [], object(), np.ones(3), type(MODEL)],
    "constraints": [None, 3, "loop", [], object()],
    "platform": [None, 3, "platform", [], object()],
    "body": [[], ["a"], {}, None, "nobody", 99, -99, 1.5, np.ones(2), object()],
    "frame": [[], ["body"], {}, 3.5, object(), np.ones(2), "nowhere"],
    "method": [[], {}, ["ploen"], 3, object(), np.ones(2), "none"],
    "prescribed": [[], None, 3, "x", ["nobody"], np.ones(4), np.ones(3, bool), {}, object(), [[True], [True, False]]],
    "parameter": [None, 3, "q", [3], object(), np.ones(3), ["q"]],
    "threads": [0, -1, 1.5, None, "2", [], object()],
    "resolution": [[], {}, 3, "none", object()],
    "f_ext_held": [[], {}, 3, "none", object(), np.ones(2)],
    "about": [[], {}, 3, "none", object(), np.ones(2)],
    "duration": [0.0, -1.0, np.nan, np.inf, None, "1", [], [1.0], {}, object(), 1j, 10**400],
    "limits": [3, "wide", [], {}, object()],
    "tolerance": [(0.0, True), -1.0, np.nan, None, "1", [], {}, object(), 1j],
    "iterations": [-1, 1.5, np.nan, None, "1", [], {}, object(), True],
    "name": [None, 3, "", "gamma", [], {}, object(), np.ones(2)],
    "motors": [None, 3, ["nobody"], [1.5], {}, [None], object()],
    "components": [None, 3, ["force"], [], {}, [None], object(), ["force_x", "force_x"]],
    "max_modes": [0, -1, 10**9, 1.5, np.nan, (None, True), "1", [], {}, object(), True],
}


def arguments(name):
    function = getattr(ld, name)
    given = {}
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind == parameter.VAR_KEYWORD:
            continue
        special = (SPECIAL.get(name) or {}).get(key)
        value = special if special is not None else GOOD.get(key)
        needed = special is not None or parameter.default is parameter.empty
        if value is not None and (needed or key in ARRAYS | {"threads"}):
            given[key] = value
        else:
            assert parameter.default is not parameter.empty, f"{name}: give a good {key}"
    return function, given


@all_of("name", FUNCTIONS)
def test_hostile_arguments(name):
    function, given = arguments(name)
    if name.startswith("constrained_inverse_"):
        given["actuated"] = np.ones(4, bool)
    function(**given)
    wrong = []
    for key in inspect.signature(function).parameters:
        values = HOSTILE.get(key, [])
        if key in ARRAYS:
            values = hostile_arrays(key).values()
        for value in values:
            value, may_do = value if isinstance(value, tuple) else (value, False)
            if (name, key) in (("external_wrench", "body"), ("optimal_motion", "constraints")) and value is None:
                continue
            changed = {**given, key: value}
            if key == "threads":  # of batches
                changed["q"] = np.ones((2, 4))
            try:
                function(**changed)
            except ld.LieDynamicsError:
                continue
            except Exception as error:
                wrong.append(f"{key}={str(value)[:40]!r}: {type(error).__name__}: {str(error)[:60]}")
            else:
                if not may_do:
                    wrong.append(f"{key}={str(value)[:40]!r}: accepted")
    assert not wrong, "\n".join(wrong)


def test_all_are_tried():
    assert set(FUNCTIONS) | NO_FUNCTIONS | {"mimic_couplings"} == set(ld.__all__)


def called(name, given):
    """The result, or the library's error."""
    function = getattr(ld, name)
    parameters = inspect.signature(function).parameters.items()
    try:
        return function(**{k: given[k] for k, p in parameters if k in given and p.default is p.empty})
    except ld.LieDynamicsError as error:
        return error


OF_MODELS = [name for name in FUNCTIONS if "model" in inspect.signature(getattr(ld, name)).parameters]


@all_of("name", OF_MODELS)
def test_no_joints(name):
    """A robot that does not move: empty results, or an error of the library."""
    builder = ModelBuilder()
    builder.add("table", None, ld.joint_types.fixed(), np.eye(4), ld.SpatialInertia(1.0, np.zeros(3), np.eye(3)))
    model, none = builder.build("table"), np.zeros(0)
    given = dict.fromkeys(ARRAYS, none) | {"f_ext": np.zeros((0, 6)), "wrench": np.ones(6), "parameter": []}
    given |= {"model": model, "constraints": ld.ConstraintSet(model, []), "prescribed": none.astype(bool)}
    given |= {"duration": 1.0, "motors": []}
    called(name, given | {"body": "table", "frame": "table"})


OF_ONE_STATE = (
    "assemble",
    "consistent_velocity",
    "consistent_acceleration",
    "optimal_motion",
    "torque_optimal_motion",
    "platform_wrench",
    "constrained_travel_left",
)


@all_of("name", OF_MODELS)
def test_no_states(name):
    """A batch of nothing gives a batch of nothing."""
    given = {k: v[None][:0] if k in ARRAYS - {"wrench", "vector"} else v for k, v in GOOD.items()}
    result = called(name, given | {"frame": NAMES[2]})
    if name in OF_ONE_STATE:
        assert isinstance(result, ld.InputError)
    elif isinstance(result, np.ndarray):
        assert result.shape[:1] == (0,)
    else:
        assert not isinstance(result, ld.LieDynamicsError)


def test_without_mass():
    builder = ModelBuilder()
    builder.add("pointer", None, ld.joint_types.revolute())
    model = builder.build("massless")
    assert ld.kinetic_energy(model, [0.3], [2.0]) == 0.0
    assert np.array_equal(ld.kinetic_energy(model, np.ones((3, 1)), np.ones((3, 1))), np.zeros(3))
    for function in (ld.center_of_mass, ld.centroidal_momentum_matrix):
        with pytest.raises(ld.SingularityError, match="massless"):
            function(model, [0.3])


OF_ROOMS = [
    (room, name)
    for room in ("closed_form", "control", "estimation", "geometry", "identification", "simulation")
    for name in getattr(ld, room).__all__
    if name not in ("Identification", "IdentifiedRobot", "JointTerms")  # what identify found, and a type
    and callable(getattr(getattr(ld, room), name))
    and "model" in inspect.signature(getattr(getattr(ld, room), name)).parameters
]


@all_of(("room", "name"), OF_ROOMS)
def test_what_is_no_model_is_refused_in_every_room(room, name):
    function = getattr(getattr(ld, room), name)
    parameters = inspect.signature(function).parameters.items()
    given = {key: np.ones(4) for key, parameter in parameters if parameter.default is parameter.empty}
    for value in HOSTILE["model"]:
        with pytest.raises(ld.InputError, match="model: a Model is expected"):
            function(**given | {"model": value})


def test_identification_of_a_robot_without_joints():
    states = np.zeros((5, 0))
    found = ld.identification.identify(ModelBuilder().build("table"), states, states, states, states)
    assert found.base.rank == 0
    assert found.parameters.shape == (0, 10)


NO_NUMBERS = ("a", "1.0", None, np.nan, np.inf, [1.0, 2.0], -1.0, {})


@all_of(
    ("name", "key", "values"),
    [
        ("identify", "prior_weight", (*NO_NUMBERS, 0.0)),
        ("identify", "bodies", (5, "link", [None], [{}], [99], ["nobody"])),
        ("identify", "terms", (5, None, "damping", [[]], ["nothing"], ["damping", "damping"])),
        ("base_parameters", "terms", (5, None, "damping", [[]], ["nothing"])),
        ("base_parameters", "tolerance", NO_NUMBERS),
        ("base_parameters", "seed", ("a", None, 0.5, -1, np.nan)),
        ("regression", "terms", (5, None, "damping", [[]], ["nothing"])),
        ("filtered_motion", "cutoff", (*NO_NUMBERS, 0.0)),
        ("filtered_motion", "order", ("a", None, 0, 0.5, -1, np.nan)),
        ("filtered_motion", "time", ("a", None, np.nan, np.full(200, np.inf), 1j * np.arange(200.0), ["1"] * 200)),
    ],
)
def test_identification_refuses_settings_that_are_none(name, key, values):
    model, function = GOOD["model"], getattr(ld.identification, name)
    states = {"q": np.array([model.neutral()] * 200)} | {x: np.zeros((200, model.nv)) for x in ("qd", "qdd", "tau")}
    given = {"model": model, "time": 0.01 * np.arange(200), "cutoff": 5.0} | states
    given = {x: given[x] for x in inspect.signature(function).parameters if x in given}
    for value in values:
        with pytest.raises(ld.InputError):
            function(**given | {key: value})


@pytest.mark.parametrize("key", ["q", "qd", "tau", "f_ext"])
def test_linearize_refuses_what_is_no_array_of_finite_numbers(key):
    given = {name: GOOD[name] for name in ("model", "q", "qd", "tau", "f_ext")} | {"dt": 1e-3}
    for value in hostile_arrays(key).values():
        value, may_do = value if isinstance(value, tuple) else (value, False)
        try:
            ld.simulation.linearize(**given | {key: value})
        except ld.LieDynamicsError:
            continue
        assert may_do, value


@all_of("dt", [0.0, -1.0, np.nan, np.inf, None, "1", [1.0, 2.0], object()])
def test_linearize_refuses_what_is_no_time(dt):
    with pytest.raises(ld.InputError, match="dt: a positive time is expected"):
        ld.simulation.linearize(MODEL, *(GOOD[name] for name in ("q", "qd", "tau")), dt)


LINEAR = ("tau", "qdd", "force", "vector", "multipliers", "passive_torque", "goal", "reference")


@all_of("name", FUNCTIONS)
def test_finite_numbers_whose_squares_overflow_are_no_matter_for_warnings(name):
    """They are taken, or refused by an error of the library."""
    function, given = arguments(name)
    given.pop("f_ext", None)  # without, some functions take a shorter way
    huge = {key: 1e200 * np.ones_like(given[key]) for key in LINEAR if isinstance(given.get(key), np.ndarray)}
    for key, value in huge.items():
        with warnings.catch_warnings(), contextlib.suppress(ld.LieDynamicsError):
            warnings.simplefilter("error", RuntimeWarning)
            function(**{**given, key: value})


OF_STATES = [name for name in OF_MODELS if "q" in inspect.signature(getattr(ld, name)).parameters]


@all_of("name", OF_STATES)
def test_quaternions_whose_squares_overflow_are_refused_without_warnings(name, monkeypatch):
    model = to_model(branched(np.random.default_rng(1), ["spherical", "revolute", "spherical"], [None, 0, 1]))
    first, *_, last = model.body_names
    known = {"model": model, "q": model.neutral(), "body": last, "limits": model.limits, "motors": model.joint_names}
    known["constraints"] = ld.ConstraintSet(model, [Loop("point_in_plane", last, first, name="cut")])
    vectors = ("qd", "qdd", "tau", "force", "reference", "u", "v", "vector", "passive_torque", "efforts")
    known |= {key: np.linspace(0.1, 0.4, model.nv) for key in vectors} | {"prescribed": np.arange(model.nv) == 0}
    for key, value in known.items():
        monkeypatch.setitem(GOOD, key, value)
    function, given = arguments(name)
    given.pop("f_ext", None)
    given["q"] = np.where(np.arange(model.nq) < 4, 1e200, given["q"])
    with warnings.catch_warnings(), pytest.raises(ld.LieDynamicsError):
        warnings.simplefilter("error", RuntimeWarning)
        function(**given)


OVERFLOWS = (
    ("constraint_quantities", -1e200),
    ("constraint_bias", -1e200),
    ("consistent_acceleration", 1e308),
    ("constrained_forward_derivatives", 1e154),
    ("constrained_forward_sensitivity", 1e154),
)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize(("name", "size"), OVERFLOWS)
def test_results_of_loops_that_overflow_are_refused(name, size):
    result = called(name, GOOD | {"qd": np.array([0.1, 0.2, 0.3, size])})
    assert isinstance(result, ld.InputError) and "overflows" in str(result)


def test_batches_of_multipliers_that_do_not_fit_are_refused():
    result = called("loop_wrenches", GOOD | {"q": np.ones((3, 4)), "multipliers": np.ones((2, 1))})
    assert isinstance(result, ld.InputError) and "do not fit" in str(result)


@pytest.mark.parametrize("name", ["curvature_tensor", "ricci_tensor", "sectional_curvature"])
def test_curvature_is_of_real_configurations(name):
    result = called(name, GOOD | {"q": np.full(4, 0.1 + 0.1j), "u": np.arange(4.0)})
    assert isinstance(result, ld.InputError) and "real numbers" in str(result)

"""Rods that spin between ball joints: what does not depend on their spins is told, what does is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from support.grids import every_run
from support.mechanisms.ball_rods import ROBOTS, SLIDING, at

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics import joint_types as jt
from lie_dynamics_ros.lie_dynamics.constraints import idle
from lie_dynamics_ros.lie_dynamics.stewart import TrackingStatus

BALLS = [(name, "spherical") for name in ROBOTS] + [(name, "hinges") for name in ("rssr", "slider_crank", "ankle")]


def places(model, motors):
    return [model.joint(name).v_slice.start for name in motors]


def nearby(robot, rng):
    part = 0.015 if all(len(arm) == 2 for arm in robot.arms) else 0.08
    return robot.y0 + part * rng.uniform(-1.0, 1.0, len(robot.y0))


@pytest.mark.parametrize(("name", "ball"), every_run(BALLS[::4], BALLS))
def test_poses_and_efforts_are_those_of_lengths_alone(name, ball, rng):
    """The judge knows no rods, only distances: their spins can play no part in it."""
    robot = ROBOTS[name](ball=ball)
    model, constraints, q, motors = robot.build()
    tracker, reduced = (
        ld.ClosedLoopTracker(model, constraints, q, motors),
        ld.MotorDynamics(model, constraints, q, motors),
    )
    assert sum(one.count for one in tracker.idle) == len(robot.ends) and all(one.spins for one in tracker.idle)
    at_motors, zero = places(model, motors), np.zeros(model.nv)
    for again in range(2):
        y, yd, ydd = nearby(robot, rng), *rng.normal(size=(2, len(motors)))
        state, x = tracker.update(y), robot.solve(y)
        R, p = robot.output(x)
        centre = np.zeros(3) if robot.output_kind == "free" or robot.steps[-1][1] is None else robot.steps[-1][1]
        assert state.valid and state.told("output") and not state.told("rod_1")
        assert np.abs(state.pose("output") - at(R @ np.asarray(centre) + p, R)).max() < 1e-13
        expected = robot.efforts_at_rest(y, x)
        still = ld.constrained_inverse_dynamics(model, constraints, state.q, zero, zero, actuated=motors)
        assert np.abs(still.tau[at_motors] - expected).max() < 1e-10
        assert np.abs(reduced.gravity_force(y) - expected).max() < 1e-10
        M = robot.mass_matrix(y, x)
        assert np.abs(reduced.mass_matrix(y) - M).max() < 1e-10 * np.abs(M).max()
        if again and len(motors) > 3:
            continue
        qd = state.rates(yd)
        qdd = state.accelerations(qd, ydd)
        expected = robot.efforts(y, yd, ydd, x)
        found = ld.constrained_inverse_dynamics(model, constraints, state.q, qd, qdd, actuated=motors)
        for efforts in (found.tau[at_motors], reduced.inverse_dynamics(y, yd, ydd)):
            assert np.abs(efforts - expected).max() < 1e-6 * (1.0 + np.abs(expected).max())  # rods are thick
        forward = ld.constrained_forward_dynamics(model, constraints, state.q, qd, found.tau)
        assert np.abs(forward.qdd - found.qdd).max() < 1e-7 * (1.0 + np.abs(found.qdd).max())
        assert np.abs(found.qdd[at_motors] - ydd).max() < 1e-9
        hybrid = ld.constrained_hybrid_dynamics(model, constraints, state.q, qd, qdd, zero, motors)
        assert np.abs(hybrid.tau[at_motors] - found.tau[at_motors]).max() < 1e-8


@pytest.mark.parametrize("name", every_run([*ROBOTS, *SLIDING][1::2], [*ROBOTS, *SLIDING]))
def test_efforts_in_motion_are_virtual_work(name, rng):
    """All nine robots: of thin rods, whose spins have no momentum, to round-off."""
    robot = {**ROBOTS, **SLIDING}[name]()
    model, constraints, q, motors = robot.build(spin=1e-8)
    y, yd, ydd = nearby(robot, rng), *rng.normal(size=(2, len(motors)))
    state = ld.ClosedLoopTracker(model, constraints, q, motors).update(y)
    qd = state.rates(yd)
    found = ld.constrained_inverse_dynamics(
        model, constraints, state.q, qd, state.accelerations(qd, ydd), actuated=motors
    ).tau[places(model, motors)]
    expected = robot.efforts(y, yd, ydd, robot.solve(y))
    for efforts in (found, ld.MotorDynamics(model, constraints, q, motors).inverse_dynamics(y, yd, ydd)):
        assert np.abs(efforts - expected).max() < 1e-10 * (1.0 + np.abs(expected).max())


@pytest.mark.parametrize("name", ["rssr", "delta", "table"])
def test_rates_and_accelerations_are_those_of_what_is_tracked(name, rng):
    robot = ROBOTS[name]()
    model, constraints, q, motors = robot.build()
    tracker = ld.ClosedLoopTracker(model, constraints, q, motors)
    h, yd = 1e-4, rng.normal(size=len(motors))
    ways = tracker.update_many(robot.y0 + h * np.array([-1.0, 0.0, 1.0])[:, None] * yd)
    before, here, after = (ways[k].q for k in range(3))
    qd = ways[1].rates(yd)
    there, back = model.difference(here, after), model.difference(here, before)
    assert np.abs(qd - (there - back) / (2 * h)).max() < 1e-6 * np.abs(qd).max()
    qdd = ways[1].accelerations(qd, np.zeros(len(motors)))
    assert np.abs(qdd - (there + back) / h**2).max() < 1e-5 * (1.0 + np.abs(qdd).max())


def test_spins_move_no_effort_but_their_own(rng):
    """However rods spin and are told to spin, motors exert the same on robots of thin rods, and rods go on."""
    robot = ROBOTS["delta"]()
    model, constraints, q, motors = robot.build()
    state = ld.ClosedLoopTracker(model, constraints, q, motors).update(robot.y0)
    qd = state.rates(rng.normal(size=3))
    qdd = state.accelerations(qd, rng.normal(size=3))
    first = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd, actuated=motors)
    spin = np.hstack([one.motions for one in state.idle]) @ rng.normal(size=6)
    other = ld.constrained_inverse_dynamics(model, constraints, q, qd, qdd + spin, actuated=motors)
    assert np.abs(other.tau - first.tau).max() < 1e-9 and np.abs(other.qdd - first.qdd).max() < 1e-9
    assert other.residual < 1e-12


@pytest.mark.parametrize("name", ["rssr", "table"])
def test_derivatives(name, rng):
    """Of all that motion, command and inertia change, by central differences of the function itself."""
    robot = ROBOTS[name]()
    model, constraints, q, motors = robot.build(spin=0.2)
    mask = np.zeros(model.nv, bool)
    mask[places(model, motors)] = True
    qd, qdd = rng.normal(size=(2, model.nv))
    arguments = {"actuated": mask, "resolution": "least_torque"}
    found = ld.constrained_inverse_derivatives(model, constraints, q, qd, qdd, **arguments)
    h = 1e-5
    for along, part in (("q", "dq"), ("qd", "dqd"), ("qdd", "dgiven")):
        for i in rng.choice(model.nv, 4, replace=False):
            ends = []
            for step in (h, -h):
                e = step * np.eye(model.nv)[i]
                given = {"q": q, "qd": qd, "qdd": qdd}
                given[along] = model.integrate(q, e) if along == "q" else given[along] + e
                ends.append(ld.constrained_inverse_dynamics(model, constraints, *given.values(), **arguments))
            for what in ("tau", "qdd"):
                expected = (getattr(ends[0], what) - getattr(ends[1], what)) / (2 * h)
                got = getattr(getattr(found, what), part)[:, i]
                assert np.abs(got - expected).max() < 1e-6 * (1.0 + np.abs(expected).max()), (along, what, i)
    at_mass = 10 * model.frame("output").body
    for made, expected in (
        (ld.Parameter.q(2), [found.tau.dq[:, 2], found.qdd.dq[:, 2]]),
        (ld.Parameter.inertia("output", "m"), [found.tau.dparameters[:, at_mass], found.qdd.dparameters[:, at_mass]]),
    ):
        sensitivity = ld.constrained_inverse_sensitivity(model, constraints, q, qd, qdd, made, **arguments)
        for got, wanted in zip((sensitivity.tau, sensitivity.qdd), expected, strict=True):
            assert np.abs(got - wanted).max() < 1e-9 * (1.0 + np.abs(wanted).max())


def test_wrenches_at_a_platform_that_rods_hold(rng):
    robot = ROBOTS["hexapod"]()
    model, constraints, q, motors = robot.build()
    wrench, at_motors = rng.normal(size=6), places(model, motors)
    f_ext = np.zeros((model.n_bodies, 6))
    f_ext[model.frame("output").body] = wrench
    zero = np.zeros(model.nv)
    loaded, bare = (
        ld.constrained_inverse_dynamics(model, constraints, q, zero, zero, f, actuated=motors).tau[at_motors]
        for f in (f_ext, None)
    )
    found = ld.platform_wrench(model, constraints, q, loaded - bare, motors, "output")
    assert np.abs(found.wrench - wrench).max() < 1e-9
    with pytest.raises(ld.SingularityError, match=r"'rod_2'.* can still move 'rod_2'"):
        ld.platform_wrench(model, constraints, q, loaded, motors, "rod_2", components=["force_x"])


def test_turns_without_end(monkeypatch):
    """What holds a spin may become singular where the mechanism is not: then it is held anew, and nothing jumps."""
    robot = ROBOTS["slider_crank"](side=0.0)
    model, constraints, q, motors = robot.build()
    held = idle._held

    def in_plane(model, q, name, axis, title):
        loop = held(model, q, name, axis, title)
        T, P = (idle.frame_pose(model, q, body)[:3, :3] for body in (loop.second, loop.first))
        across = T.T @ [0.0, 1.0, 0.0]  # so that the rod comes to lie along the other axis
        return ld.Loop(
            "perpendicular", loop.first, loop.second, title, axis=P.T @ T @ np.cross(axis, across), second_axis=across
        )

    monkeypatch.setattr(idle, "_held", in_plane)
    tracker = ld.ClosedLoopTracker(model, constraints, q, motors)
    x, setups = robot.x0, set()
    for k in range(1, 160):
        y = robot.y0 + 0.04 * k
        state, x = tracker.update(y), robot.solve(y, x)
        assert state.valid and abs(float(state.q[model.joint("output").q_slice][0]) - x[0]) < 1e-12
        setups.add(id(tracker.setup))
    tracker.reset(q)
    assert tracker.update_many(robot.y0 + 0.05 * np.arange(130)[:, None]).valid.all()
    assert len(setups) > 1


def test_certified_with_rods(rng):
    robot = ROBOTS["table"]()
    model, constraints, q, motors = robot.build()
    tracker = ld.ClosedLoopTracker(model, constraints, q, motors, np.full(model.nv, 2.0), sensor_error=1e-7)
    for k in range(1, 30):
        y = robot.y0 + 0.0005 * k
        state = tracker.update(y, dt=1e-3)
        assert state.status is TrackingStatus.TRACKED and state.certified
    R, _ = robot.output(robot.solve(y))
    assert np.abs(state.pose("output")[:3, :3] - R).max() < 1e-12


def leg(kind):
    """A lever that a motor moves by a rod between balls, in halves that turn in each other, or with a pendulum."""
    half = ld.SpatialInertia(0.2, [0.1, 0, 0], np.diag([1e-4, 1e-3, 1e-3]))
    b = ld.ModelBuilder()
    b.add("motor", None, jt.revolute([0, 1, 0]), None, ld.SpatialInertia(0.3, [0.05, 0, 0], 1e-3 * np.eye(3)))
    b.add(
        "lever",
        None,
        jt.revolute([0, 1, 0]),
        at([0.45, 0.03, 0]),
        ld.SpatialInertia(0.3, [0, 0, 0.05], 1e-3 * np.eye(3)),
    )
    if kind == "halves":
        b.add("lower", "motor", jt.spherical(), at([0.1, 0, 0]), half)
        b.add("rod", "lower", jt.revolute([1, 0, 0]), at([0.2, 0, 0]), half)
        tip = at([0.2, 0, 0])
    else:
        b.add("rod", "motor", jt.spherical(), at([0.1, 0, 0]), half)
        tip = at([0.4, 0, 0])
    if kind == "pendulum":
        b.add(
            "pendulum",
            "lever",
            jt.revolute([1, 0, 0]),
            at([0, 0, 0.1]),
            ld.SpatialInertia(0.1, [0, 0, -0.1], 1e-4 * np.eye(3)),
        )
    model = b.build(kind)
    constraints = ld.ConstraintSet(
        model, [ld.Loop.spherical("rod", "lever", first_placement=tip, second_placement=at([0, 0, 0.1]))]
    )
    found = ld.assemble(model, constraints, model.neutral())
    assert found.converged
    return model, constraints, found.q


def test_what_is_idle_and_what_is_not():
    model, constraints, q = leg("halves")
    tracker = ld.ClosedLoopTracker(model, constraints, q, ["motor"])
    (one,) = tracker.idle
    assert (one.count, one.spins, set(one.bodies)) == (2, True, {"lower", "rod"}) and set(one.held) == {"lower", "rod"}
    model, constraints, q = leg("pendulum")
    with pytest.raises(ld.InputError, match="'pendulum'"):
        ld.ClosedLoopTracker(model, constraints, q, ["motor"])
    with pytest.raises(ld.InputError, match=r"'pendulum'.*actuate"):
        zero = np.zeros(model.nv)
        ld.constrained_inverse_dynamics(model, constraints, q, zero, zero + 1.0, actuated=["motor"])
    tracker = ld.ClosedLoopTracker(model, constraints, q, ["motor"], idle=["pendulum"])
    state = tracker.update(q[:1] + 0.01)
    assert state.told("lever") and not state.told("pendulum") and tracker.idle[-1].held
    made = ld.mechanism("five-bar")
    for names in (made.actuated[:1], made.actuated[1:]):
        with pytest.raises(ld.InputError, match="2 freedoms: 'joint_"):
            ld.ClosedLoopTracker(made.model, made.constraints, made.q, names)


def test_the_lever_at_its_dead_point_is_singular():
    """A rod that is in line with the lever lets it move for a moment: no idle freedom, and no spin hides it."""
    b = ld.ModelBuilder()
    b.add("motor", None, jt.revolute([0, 1, 0]), None, ld.SpatialInertia(0.3, [0.05, 0, 0], 1e-3 * np.eye(3)))
    b.add(
        "lever", None, jt.revolute([0, 1, 0]), at([0.5, 0, 0]), ld.SpatialInertia(0.3, [0.05, 0, 0], 1e-3 * np.eye(3))
    )
    b.add("rod", "motor", jt.spherical(), at([0.1, 0, 0]), ld.SpatialInertia(0.2, [0.1, 0, 0], 1e-3 * np.eye(3)))
    straight = b.build("straight")
    closed = ld.ConstraintSet(
        straight,
        [ld.Loop.spherical("rod", "lever", first_placement=at([0.3, 0, 0]), second_placement=at([-0.1, 0, 0]))],
    )
    q = ld.assemble(straight, closed, straight.neutral()).q
    with pytest.raises(ld.SingularityError, match="can still move"):
        ld.ClosedLoopTracker(straight, closed, q, ["motor"])


LINKS = {
    "crank": ((0.05, 0.0, 0.0), 0.1),
    "rod": ((0.125, 0.025, 0.1), 0.2),
    "rocker": ((0.0, 0.0, 0.1), 0.1),
}
TIPS = """loops:
- {name: one, kind: spherical, first: {frame: crank, position: [0.1, 0, 0]}, second: rod}
- name: two
  kind: spherical
  first: {frame: rod, position: [0.25, 0.05, 0.2]}
  second: {frame: rocker, position: [0, 0, 0.2]}
"""


def urdf(rod):
    """The RSSR in URDF; `rod` holds the joints between crank and rod."""
    text = '<robot name="rssr"><link name="base"/><link name="g1"/><link name="g2"/>' if "g1" in rod else (
        '<robot name="rssr"><link name="base"/>'
    )  # fmt: skip
    for name, (com, mass) in LINKS.items():
        place = " ".join(map(str, com))
        text += f'<link name="{name}"><inertial><origin xyz="{place}"/><mass value="{mass}"/>'
        text += '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    for name, place in (("crank", "0 0 0"), ("rocker", "0.35 0.05 0")):
        text += f'<joint name="j_{name}" type="revolute"><origin xyz="{place}"/><parent link="base"/>'
        text += f'<child link="{name}"/>'
        text += '<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
    return text + rod + "</robot>"


def sdf():
    text = '<sdf version="1.9"><model name="rssr"><link name="base"/>'
    text += '<joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>'
    for (name, (com, mass)), place in zip(LINKS.items(), ("0 0 0", "0.1 0 0", "0.35 0.05 0"), strict=True):
        text += f'<link name="{name}"><pose>{place} 0 0 0</pose><inertial><pose>{" ".join(map(str, com))} 0 0 0</pose>'
        text += f"<mass>{mass}</mass><inertia><ixx>1e-3</ixx><iyy>1e-3</iyy><izz>1e-3</izz></inertia></inertial></link>"
    for name in ("crank", "rocker"):
        text += f'<joint name="j_{name}" type="revolute"><parent>base</parent><child>{name}</child>'
        text += "<axis><xyz>0 1 0</xyz></axis></joint>"
    text += '<joint name="b1" type="ball"><parent>crank</parent><child>rod</child></joint><joint name="b2" type="ball">'
    text += '<pose relative_to="rocker">0 0 0.2 0 0 0</pose><parent>rocker</parent><child>rod</child></joint>'
    return text + "</model></sdf>"


def mjcf(free):
    """The RSSR in MJCF, its rod on a ball joint or a free body that two connections hold."""
    bodies = {}
    for name, (com, mass) in LINKS.items():
        place = " ".join(map(str, com))
        bodies[name] = f'<inertial pos="{place}" mass="{mass}" diaginertia="1e-3 1e-3 1e-3"/>'
    joint = '<freejoint name="b1"/>' if free else '<joint name="b1" type="ball"/>'
    rod = f'<body name="rod" pos="0.1 0 0">{joint}{bodies["rod"]}</body>'
    hinge = '<joint name="j_{0}" type="hinge" axis="0 1 0"/>'
    more = '<connect body1="rod" body2="crank" anchor="0 0 0"/>' if free else ""
    return (
        f'<mujoco><worldbody><body name="crank">{hinge.format("crank")}{bodies["crank"]}{"" if free else rod}</body>'
        f'<body name="rocker" pos="0.35 0.05 0">{hinge.format("rocker")}{bodies["rocker"]}</body>{rod if free else ""}'
        f'</worldbody><equality>{more}<connect body1="rod" body2="rocker" anchor="0.25 0.05 0.2"/></equality></mujoco>'
    )


def described(kind):
    if kind == "sdf":
        model = ld.Model.from_sdf(sdf(), inertia_check="ignore")
        return model, ld.ConstraintSet.from_sdf(model, sdf())
    if kind.startswith("mjcf"):
        pytest.importorskip("mujoco")
        text = mjcf(kind.endswith("free"))
        model = ld.Model.from_mjcf(text)
        return model, ld.ConstraintSet.from_mjcf(model, text)
    if kind == "urdf floating":
        model = ld.Model.from_urdf(urdf('<joint name="b1" type="floating"><parent link="crank"/><child link="rod"/>'
                                     '<origin xyz="0.1 0 0"/></joint>'))  # fmt: skip
        return model, ld.ConstraintSet.from_yaml(model, TIPS)
    chain = ""
    hinges = ("x", "crank", "g1", "1 0 0"), ("y", "g1", "g2", "0 1 0"), ("z", "g2", "rod", "0 0 1")
    for name, parent, child, axis in hinges:
        chain += f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        chain += f'<origin xyz="{"0.1 0 0" if name == "x" else "0 0 0"}"/><axis xyz="{axis}"/></joint>'
    model = ld.Model.from_urdf(urdf(chain))
    return model, ld.ConstraintSet.from_yaml(model, TIPS.replace(TIPS.splitlines()[1] + "\n", ""))


@pytest.mark.parametrize("kind", ["sdf", "mjcf ball", "mjcf free", "urdf floating", "urdf hinges"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_whatever_describes_the_robot(kind):
    """Rocker and torque follow from the two lengths and the potential energy alone, whatever file says it."""
    model, constraints = described(kind)
    tip = lambda x: np.array([0.1 * np.cos(x), 0.0, -0.1 * np.sin(x)])  # noqa: E731
    end = lambda y: np.array([0.35 + 0.2 * np.sin(y), 0.05, 0.2 * np.cos(y)])  # noqa: E731
    length = np.linalg.norm(end(0.0) - tip(0.0))

    def rocker(x):
        return brentq(lambda y: np.linalg.norm(end(y) - tip(x)) - length, -0.5, 0.5, xtol=1e-15)

    def energy(x):
        y = rocker(x)
        return 9.81 * (0.1 * 0.5 * tip(x)[2] + 0.1 * 0.5 * end(y)[2] + 0.2 * 0.5 * (tip(x)[2] + end(y)[2]))

    start = ld.assemble(model, constraints, model.neutral())
    tracker = ld.ClosedLoopTracker(model, constraints, start.q, ["j_crank"])
    assert sum(one.count for one in tracker.idle) == 1 and tracker.idle[0].spins
    state, zero = tracker.update([0.05]), np.zeros(model.nv)
    assert abs(float(state.q[model.joint("j_rocker").q_slice][0]) - rocker(0.05)) < 1e-12
    torque = ld.constrained_inverse_dynamics(model, constraints, state.q, zero, zero, actuated=["j_crank"]).tau
    expected = (energy(0.05 + 1e-4) - energy(0.05 - 1e-4)) / 2e-4
    assert abs(float(torque[model.joint("j_crank").v_slice][0]) - expected) < 1e-7


FILES = sorted(path for path in Path(__file__).with_name("robots").iterdir() if path.suffix != ".yaml")


def read(path):
    if path.suffix == ".sdf":
        model = ld.Model.from_sdf(path)
        return model, ld.ConstraintSet.from_sdf(model, path)
    if path.suffix == ".urdf":
        model = ld.Model.from_urdf(path)
        return model, ld.ConstraintSet.from_yaml(model, path.with_suffix(".yaml"))
    pytest.importorskip("mujoco")
    model = ld.Model.from_mjcf(path)
    return model, ld.ConstraintSet.from_mjcf(model, path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_robots_in_files_are_told_by_their_own_motors(path, rng):
    """Poses by lengths alone, efforts by virtual work; files stand at the oracle's y0, where all coordinates are 0."""
    robot = (ROBOTS | SLIDING)[path.stem]()
    model, constraints = read(path)
    motors = [f"motor_{k + 1}" + ("" if path.suffix == ".xml" else "_joint") for k in range(len(robot.arms))]
    tracker = ld.ClosedLoopTracker(model, constraints, model.neutral(), motors)
    assert sum(one.count for one in tracker.idle) == len(robot.ends)
    at_motors, zero = places(model, motors), np.zeros(model.nv)
    for _ in range(2):
        y = nearby(robot, rng)
        x, state = robot.solve(y), tracker.update(y - robot.y0)
        R, p = robot.output(x)
        centre = np.zeros(3) if robot.output_kind == "free" or robot.steps[-1][1] is None else robot.steps[-1][1]
        assert state.valid
        assert np.abs(state.pose("output") - at(R @ np.asarray(centre) + p, R)).max() < 1e-12
        still = ld.constrained_inverse_dynamics(model, constraints, state.q, zero, zero, actuated=motors)
        assert np.abs(still.tau[at_motors] - robot.efforts_at_rest(y, x)).max() < 1e-10


def test_travel_left_beside_a_rod_that_spins():
    """The rocker turns until crank and rod are in line, or its own end is in line with the rod: by the two lengths."""
    model, constraints = described("urdf hinges")
    q = ld.assemble(model, constraints, model.neutral()).q
    end = lambda y: np.array([0.35 + 0.2 * np.sin(y), 0.05, 0.2 * np.cos(y)])  # noqa: E731
    rod = np.linalg.norm(end(0.0) - [0.1, 0.0, 0.0])
    y = float(q[model.joint("j_rocker").q_slice][0])
    # The tips of the crank lie on a circle about the origin: least and largest distance of a point to it.
    nearest = lambda a: np.hypot(np.hypot(*end(a)[[0, 2]]) - 0.1, 0.05) - rod  # noqa: E731
    furthest = lambda a: np.hypot(np.hypot(*end(a)[[0, 2]]) + 0.1, 0.05) - rod  # noqa: E731
    found = ld.constrained_travel_left(model, constraints, q, ["j_crank"], "rocker")
    assert found.axes == ("about y",) and found.reasons == (("reach", "reach"),)
    for side, way in ((-1.0, found.backwards[0]), (1.0, found.forwards[0])):
        end_of_it = min(abs(nearest(y + side * way)), abs(furthest(y + side * way)))
        assert end_of_it < 1e-8
        inside = y + side * np.linspace(0.0, way - 1e-6, 50)
        assert all(nearest(a) < 0.0 < furthest(a) for a in inside)
    with pytest.raises(ld.InputError, match="closed loops are expected"):
        ld.constrained_travel_left(
            model, constraints, model.integrate(q, 0.1 * np.ones(model.nv)), ["j_crank"], "rocker"
        )
    with pytest.raises(ld.InputError, match="axes: each of"):
        ld.constrained_travel_left(model, constraints, q, ["j_crank"], "rocker", axes=["roll"])

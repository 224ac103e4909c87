"""Library: closed loops against both of Pinocchio's algorithms, and how their cost grows with the number of bodies.

Ratios are of our time to Pinocchio's, both called by their public names from Python, for loops that both support; other
figures are our times for one call.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import lie_dynamics_ros.lie_dynamics as library
from lie_dynamics_ros.lie_dynamics import ConstraintSet, Loop, SpatialInertia
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import delta_robot, five_bar, gough_stewart
from lie_dynamics_ros.lie_dynamics.stewart import StewartPlatform

from ..results import Figure, at_most
from .library_bench import SWAP, Array, Robot, compare, median_times, np, pin, robots
from .library_scaling import chain

LENGTHS = (20, 40, 60, 100, 200, 400)
EXPONENT = 1.1
#: Iterations of lcaba, and what its results are called: one leaves some 1e-8 of the constraints, relative to their
#: terms, and two leave round-off, as ours and constraintDynamics do. Where bodies are welded to the world, lcaba of
#: Pinocchio 4.1.0 gives wrong results at each second call with the same data; such calls are timed all the same.
LCABA = {1: "lcaba", 2: "lcaba, two iterations"}
#: Targets [us] of calls on the mechanisms.
TARGETS = {
    "constrained_forward_dynamics": 25.0,
    "constrained_inverse_dynamics": 25.0,
    "constrained_forward_derivatives": 80.0,
    "constrained_inverse_derivatives": 80.0,
    "constrained_hybrid_derivatives": 80.0,
    "project_to_constraints": 20.0,
    "project_to_constraints after a drift of 1e-7": 20.0,
}
#: Robot, and its loops: kind, first body (None: the world), second body.
CASES = {
    "Panda, hand welded to the world": ("Panda", [("welded", None, "panda_link7")]),
    "Panda, a point held": ("Panda", [("spherical", None, "panda_link7")]),
    "UR5, a point held": ("UR5", [("spherical", None, "wrist_3_link")]),
    "Talos, hands welded to each other": ("Talos", [("welded", "arm_left_7_link", "arm_right_7_link")]),
    "Talos, both feet welded to the world": (
        "Talos",
        [("welded", None, "leg_left_6_link"), ("welded", None, "leg_right_6_link")],
    ),
    "Talos, four points held": (
        "Talos",
        [("spherical", None, f"{limb}_link") for limb in ("leg_left_6", "leg_right_6", "arm_left_7", "arm_right_7")],
    ),
}


def run() -> tuple[list[Figure], Any]:
    figures, raw = [], {}
    by_name = {robot.name: robot for robot in robots()}
    for name, (robot, loops) in CASES.items():
        ours, *theirs = programs(by_name[robot], loops)
        raw[name] = []
        for algorithm, program in zip(("constraintDynamics", *LCABA.values()), theirs, strict=True):
            result = compare(ours, program, per_call=1)
            figures.append(at_most(f"{name}, to Pinocchio's {algorithm}", result.ratio, "", 1.0))
            raw[name] += [result.ours, result.theirs]
        figures.append(Figure(name, result.ours * 1e6, "us"))
    labels = ", ".join(["seconds per call, ours and constraintDynamics", *(f"ours and {x}" for x in LCABA.values())])
    return figures + growth() + mechanisms(), {labels: raw}


def programs(robot: Robot, closings: Any) -> tuple[Any, ...]:
    """Programs that evaluate one state: ours, Pinocchio's constraintDynamics and its lcaba, as often as in `LCABA`."""
    model, (ours, theirs) = robot.model, robot.states(1)
    (q, v, tau), other = (x[0] for x in ours), [x[0] for x in theirs]
    world = next(name for name, frame in model.frames.items() if frame.body < 0)
    loops, contacts = [], pin.StdVec_RigidConstraintModel()
    for kind, first, second in closings:
        T2 = library.frame_pose(model, q, second)
        T1 = np.linalg.inv(np.eye(4) if first is None else library.frame_pose(model, q, first)) @ T2
        loops.append(Loop(kind, first or world, second, first_placement=T1))
        joints = [0 if b is None else model.frame(b).body + 1 for b in (first, second)]
        contact = pin.ContactType.CONTACT_6D if kind == "welded" else pin.ContactType.CONTACT_3D
        place = pin.SE3.Identity(), joints[0], pin.SE3(T1), pin.LOCAL
        contacts.append(pin.RigidConstraintModel(contact, robot.pin_model, joints[1], *place))
    data = pin.StdVec_RigidConstraintData()
    for contact in contacts:
        data.append(contact.createData())
    constraints = ConstraintSet(model, loops)
    pin.initConstraintDynamics(robot.pin_model, robot.pin_data, contacts, data)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    mine = partial(library.constrained_forward_dynamics, model, constraints, q, still(model, v), tau)
    other[1] = still(model, v)
    yours = partial(pin.constraintDynamics, robot.pin_model, robot.pin_data, *other, contacts, data, settings)
    recursive = []
    for iterations in LCABA:  # the constraints are regularised by mu
        own, own_data = robot.pin_model.createData(), pin.StdVec_RigidConstraintData()
        for contact in contacts:
            own_data.append(contact.createData())
        pin.computeJointMinimalOrdering(robot.pin_model, own, contacts)
        loose = pin.ProximalSettings(1e-12, 1e-8, iterations)
        recursive.append(partial(pin.lcaba, robot.pin_model, own, *other, contacts, own_data, loose))
    for program in (yours, *recursive):
        check(model, mine().qdd, np.array(program()))
    return mine, yours, *recursive


def still(model: Any, _: Array) -> Array:
    """Rates that satisfy any constraint: at others, errors in velocity would enter the two libraries differently."""
    return np.zeros(model.nv)


def check(model: Any, ours: Array, theirs: Array) -> None:
    """Both must solve the same problem."""
    if model.nq > model.nv:
        theirs = np.concatenate([theirs[SWAP], theirs[6:]])
    if not np.allclose(ours, theirs, rtol=1e-6, atol=1e-6 * np.abs(theirs).max()):
        raise AssertionError(f"results differ by {np.abs(ours - theirs).max()}")


def growth() -> list[Figure]:
    """Exponents of the cost of a chain whose end is welded to the world, and of one with a loop in its middle."""
    figures = []
    for name, ends in (("end welded to the world", (0.0, 1.0)), ("loop over its middle half", (0.25, 0.75))):
        programs = []
        for length in LENGTHS:
            model = chain(length)
            first, last = (round(x * (length - 1)) for x in ends)
            q, tau = 0.1 * np.random.default_rng(0).normal(size=(2, length))
            a = "world" if ends[0] == 0.0 else f"rod {first}"
            constraints = ConstraintSet(model, [Loop.welded(a, f"rod {last}")])
            programs.append(partial(library.constrained_forward_dynamics, model, constraints, q, np.zeros(length), tau))
        times = median_times(programs)
        slope = float(np.polyfit(np.log(LENGTHS), np.log(times), 1)[0])
        span = f"{LENGTHS[0]} to {LENGTHS[-1]} bodies"
        figures.append(at_most(f"chain, {name}, exponent of the cost over {span}", slope, "", EXPONENT))
        figures.append(Figure(f"chain of {LENGTHS[-1]}, {name}", times[-1] * 1e6, "us"))
    return figures


def mechanisms() -> list[Figure]:
    """Our times for the three problems and their derivatives on closed mechanisms."""
    angles = np.radians([-10, 10, 110, 130, 230, 250]), np.radians([-50, 50, 70, 170, 190, 290])
    base, top = (np.array([np.cos(x), np.sin(x), 0.0 * x]).T for x in angles)
    home = np.eye(4)
    home[2, 3] = 0.9
    plate = SpatialInertia(3.0, [0, 0, 0.05], np.diag([0.1, 0.1, 0.2]))
    stewart = gough_stewart(StewartPlatform(base, 0.5 * top), home, plate)
    figures = []
    for name, made in (("five-bar", five_bar()), ("delta robot", delta_robot()), ("Stewart platform", stewart)):
        model, constraints, q = made.model, made.constraints, made.q
        qd = library.consistent_velocity(model, constraints, q, np.random.default_rng(0).normal(size=model.nv))
        tau = np.zeros(model.nv)
        qdd = library.constrained_forward_dynamics(model, constraints, q, qd, tau).qdd
        state, names = (model, constraints, q, qd), list(made.actuated)
        calls = {
            "constrained_forward_dynamics": partial(library.constrained_forward_dynamics, *state, tau),
            "constrained_hybrid_dynamics": partial(library.constrained_hybrid_dynamics, *state, qdd, tau, names),
            "constrained_inverse_dynamics": partial(library.constrained_inverse_dynamics, *state, qdd, actuated=names),
            "constrained_forward_derivatives": partial(library.constrained_forward_derivatives, *state, tau),
            "constrained_inverse_derivatives": partial(
                library.constrained_inverse_derivatives, *state, qdd, actuated=names
            ),
            "constrained_hybrid_derivatives": partial(library.constrained_hybrid_derivatives, *state, qdd, tau, names),
            "project_to_constraints": partial(library.project_to_constraints, *state),
            "project_to_constraints after a drift of 1e-7": partial(
                library.project_to_constraints, model, constraints, model.integrate(q, np.full(model.nv, 1e-7)), qd
            ),
        }
        for call, time in zip(calls, median_times(list(calls.values())), strict=True):
            label = f"{name}, {model.nv} coordinates, {constraints.size} constraints, {call}"
            if call in TARGETS:
                figures.append(at_most(label, time * 1e6, "us", TARGETS[call]))
            else:
                figures.append(Figure(label, time * 1e6, "us"))
    return figures

"""Arms that are not their URDF, behind drivers that are not ideal, in MuJoCo and in lock step with a controller.

What is not named is ideal. Time is simulated: the machine's load plays no part.
"""

from __future__ import annotations

import heapq
import re
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from functools import cache

import mujoco
import numpy as np

from lie_dynamics_ros.core.errors import MessageError
from lie_dynamics_ros.lie_dynamics import JointFriction, Model, gravity_force, mass_matrix
from lie_dynamics_ros.lie_dynamics.control import VelocityFilter

from .. import arms, robots

STEP = 2.5e-4  # of the integrator [s]
GEAR_DAMPING = 2e-4  # of gears, over their stiffness [s]
#: URDF, joints that move, and payload by the maker's data sheet, or less [kg].
ROBOTS = {
    "panda": (arms.OWN, ".*", 3.0),
    "ur3": ("ur_description/urdf/ur3_robot.urdf", ".*", 3.0),
    "ur5": (robots.UR5, ".*", 5.0),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", ".*", 3.5),
    "kinova": ("kinova_description/robots/kinova.urdf", ".*", 1.3),
    "z1": ("z1_description/urdf/z1.urdf", "joint[1-6]", 2.0),
    "tiago": ("tiago_description/robots/tiago_no_hand.urdf", "arm_[1-7]_joint", 2.0),
    "baxter": ("baxter_description/urdf/baxter.urdf", r"left_[sew]\d", 2.2),
}


@dataclass(frozen=True)
class Imperfection:
    """What the robot, its drives and sensors have that the URDF does not tell.

    Attributes
    ----------
    rate, delay : float
        States per second [Hz]; from a state to its effort [periods].
    rotors : float
        Inertia of each over its effort limit [kg m^2 / (N m)].
    told : bool
        Whether the controller knows of the rotors.
    gears : float
        Stiffness over the effort limit [1/rad]; 0 for rigid ones.
    lag : float
        Time constant of the drives [s].
    bits : int
        Of positions, a turn; 0 for exact ones.
    velocities : bool
        Whether they are measured.
    noise : float
        Of measured velocities [rad/s].
    dry, viscous : float
        Friction over the effort limits [1, s/rad].
    told_friction : float
        What the controller is told of it, over it; 0 for nothing.
    inertias : float
        By what part masses, inertias and centres of mass are off, at most.
    payload : float
        Over the rating.
    payload_at : float
        When it is taken up [s].
    seed : int
        Of noise, inertias and poses.
    """

    rate: float = 500.0
    delay: float = 1.0
    rotors: float = 0.0
    told: bool = False
    gears: float = 0.0
    lag: float = 0.0
    bits: int = 0
    velocities: bool = True
    noise: float = 0.0
    dry: float = 0.0
    viscous: float = 0.0
    told_friction: float = 0.0
    inertias: float = 0.0
    payload: float = 0.0
    payload_at: float = 0.0
    seed: int = 0

    def __str__(self) -> str:
        words = [f"{self.rate:g} Hz", f"delay {self.delay:.2g}"]
        if self.rotors:
            words.append(f"rotors {100 * self.rotors:.2g} % {'told' if self.told else 'untold'}")
        names = ("gears", "lag", "bits", "noise", "dry", "viscous", "told_friction", "inertias", "payload")
        given = [name for name in (*names, "payload_at") if getattr(self, name)]
        words += [f"{name.replace('_', ' ')} {getattr(self, name):.3g}" for name in given]
        return ", ".join([*words, *([] if self.velocities else ["positions alone"]), f"seed {self.seed}"])


@cache
def description(name: str) -> str:
    """Return the URDF of an arm by name: joints that are not its own fixed, no meshes, no losses."""
    file, keep, _ = ROBOTS[name]
    root = ElementTree.fromstring(robots.path(file).read_text())
    for tag in ("transmission", "gazebo", "material"):
        for part in root.findall(tag):
            root.remove(part)
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for part in link.findall(tag):
                link.remove(part)
        matrix = link.find("inertial/inertia")
        if matrix is not None:
            entry = {key: float(value) for key, value in matrix.attrib.items()}
            rows = [[entry["i" + "".join(sorted(a + b))] for a in "xyz"] for b in "xyz"]
            if np.linalg.eigvalsh(rows)[0] <= 1e-9:  # MuJoCo takes no body without a volume, such as an antenna
                link.remove(link.find("inertial"))
    for joint in root.findall("joint"):
        moves = joint.get("type") != "fixed" and re.fullmatch(keep, joint.get("name", ""))
        drop = ("dynamics", "mimic", "safety_controller", "calibration", *(() if moves else ("axis", "limit")))
        for tag in drop:
            for part in joint.findall(tag):
                joint.remove(part)
        if not moves:
            joint.set("type", "fixed")
    return ElementTree.tostring(root, encoding="unicode")


@cache
def model_of(name: str) -> Model:
    """Return the library's model of an arm, without rotors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Model.from_urdf(description(name), inertia_check="warn")


def limits_of(name: str) -> np.ndarray:
    """Return effort limits (n,) [N m]."""
    return model_of(name).limits.effort


def told_description(name: str, what: Imperfection) -> str:
    """Return the URDF as the controller gets it: with rotors where they are told."""
    if not (what.told and what.rotors):
        return description(name)
    root = ElementTree.fromstring(description(name))
    rotors = dict(zip(model_of(name).joint_names, what.rotors * limits_of(name), strict=True))
    for joint in root.findall("joint"):
        if joint.get("name") in rotors:
            ElementTree.SubElement(joint, "dynamics", armature=f"{rotors[joint.get('name')]:.9g}")
    return ElementTree.tostring(root, encoding="unicode")


def told_parameters(name: str, what: Imperfection) -> dict[str, str]:
    """Return parameters of a controller by which it is told what it is to know besides its description."""
    if not what.told_friction:
        return {}
    part = what.told_friction * limits_of(name)
    return {"friction_file": JointFriction(what.viscous * part, what.dry * part).to_yaml(model_of(name))}


class ImperfectArm:
    """MuJoCo's arm: with gears each joint is a rotor, and a link that hangs on it by a spring.

    Parameters
    ----------
    name : str
        Of `ROBOTS`.
    what : Imperfection

    Attributes
    ----------
    physics : MjModel
    data : MjData
    tool : int
        The body of the last joint.
    """

    def __init__(self, name: str, what: Imperfection) -> None:
        self.joints, limit = model_of(name).joint_names, limits_of(name)
        spec = mujoco.MjSpec.from_string(description(name))
        spec.compiler.fusestatic, spec.compiler.inertiafromgeom = False, 0
        spec.compiler.boundmass, spec.compiler.boundinertia, spec.compiler.balanceinertia = 1e-6, 1e-9, True
        spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
        rng = np.random.default_rng(what.seed)
        if what.payload:
            mass = what.payload * ROBOTS[name][2]
            load = spec.joint(self.joints[-1]).parent.add_body(name="load", mass=mass, explicitinertial=True)
            load.ipos, load.inertia = [0.0, 0.0, rng.uniform(0.03, 0.1)], [0.4 * mass * 0.05**2] * 3
        if what.gears:
            for joint in self.joints:
                rotor = spec.joint(joint)
                rotor.parent.add_joint(
                    name=f"{joint} gear", type=rotor.type, axis=np.array(rotor.axis), pos=np.array(rotor.pos), limited=0
                )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that rotors have no inertia, which they get below
            self.physics = spec.compile()
        self.data, self._statics = mujoco.MjData(self.physics), mujoco.MjData(self.physics)
        m = self.physics
        m.dof_armature[:] = m.dof_damping[:] = m.dof_frictionloss[:] = 0.0
        self._v = self._dofs("")
        m.dof_armature[self._v] = what.rotors * limit
        m.dof_damping[self._v], m.dof_frictionloss[self._v] = what.viscous * limit, what.dry * limit
        self._gears, self._springs = None, what.gears * limit
        if what.gears:
            self._gears = self._dofs(" gear")
            m.jnt_stiffness[[m.joint(f"{joint} gear").id for joint in self.joints]] = self._springs
            m.dof_damping[self._gears] = GEAR_DAMPING * self._springs
        if what.inertias:
            for values in (m.body_mass, m.body_inertia, m.body_ipos):
                values *= rng.uniform(1.0 - what.inertias, 1.0 + what.inertias, (m.nbody, *[1] * (values.ndim - 1)))
            mujoco.mj_setConst(m, mujoco.MjData(m))
        self.tool = int(m.jnt_bodyid[m.joint(self.joints[-1]).id])
        self._load, self._begins = None, what.payload_at
        if what.payload and what.payload_at:
            self._load = m.body("load").id
            self._weighs = m.body_mass[self._load], m.body_inertia[self._load].copy()
            self._carry(1e-9)

    def _carry(self, part: float) -> None:
        """Let the load weigh a part of what it weighs."""
        m, (mass, inertia) = self.physics, self._weighs
        m.body_mass[self._load], m.body_inertia[self._load] = part * mass, part * inertia
        mujoco.mj_setConst(m, self._statics)

    def _dofs(self, end: str) -> np.ndarray:
        return np.array([self.physics.joint(joint + end).dofadr[0] for joint in self.joints])

    def put(self, q: np.ndarray) -> None:
        """Put the arm to rest (n,), its gears loaded as gravity loads them."""
        mujoco.mj_resetData(self.physics, self.data)
        self.data.qpos[self._v] = q
        if self._gears is not None:
            self.data.qpos[self._gears] = -self.gravity(q) / self._springs
        mujoco.mj_forward(self.physics, self.data)

    @property
    def q(self) -> np.ndarray:
        """Positions (n,) of the motors' side."""
        return self.data.qpos[self._v].copy()

    @property
    def qd(self) -> np.ndarray:
        """Velocities (n,) of the motors' side."""
        return self.data.qvel[self._v].copy()

    def gravity(self, q: np.ndarray) -> np.ndarray:
        """Efforts (n,) that hold the arm at rest."""
        data = self._statics
        data.qpos[:] = data.qvel[:] = data.qacc[:] = 0.0
        data.qpos[self._v] = q
        mujoco.mj_inverse(self.physics, data)
        return data.qfrc_inverse[self._v].copy()

    def step(self, effort: np.ndarray) -> None:
        """Go on by `STEP` under efforts (n,)."""
        if self._load is not None and self.data.time >= self._begins:
            self._carry(1.0)
            self._load = None
        self.data.qfrc_applied[self._v] = effort
        mujoco.mj_step(self.physics, self.data)


@dataclass(frozen=True)
class History:
    """What happened, a row a state: times (k,), true positions, velocities, efforts, errors (k, n), phases, reasons."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    effort: np.ndarray
    error: np.ndarray
    phase: list[str]
    reason: list[str]

    def last(self, seconds: float) -> History:
        """Return the last seconds."""
        k = int(np.searchsorted(self.t, self.t[-1] - seconds + 1e-9))
        return replace(self, **{name: getattr(self, name)[k:] for name in self.__dataclass_fields__})

    @property
    def stopped(self) -> str:
        """Why the controller stopped the arm; empty where it did not."""
        stops = (why for phase, why in zip(self.phase, self.reason, strict=True) if phase in ("stopping", "stopped"))
        return next(stops, "")

    def swing(self, limit: np.ndarray) -> float:
        """Efforts peak to peak over their limits (n,), of the worst joint."""
        return float((np.ptp(self.effort, axis=0) / limit).max())

    @property
    def rms(self) -> float:
        """Of the errors of all joints [rad]."""
        return float(np.sqrt((self.error**2).mean()))


class LockStep:
    """States of an arm to a controller, its efforts to the drives.

    Parameters
    ----------
    arm : ImperfectArm
        At rest where it begins; its gravity is compensated until the first effort arrives.
    controller : Controller
        Or whatever has its `update`.
    limit : ndarray, shape (n,)
        Of the drives [N m].
    what : Imperfection

    Attributes
    ----------
    spoil : callable or None
        Makes of a state, positions and velocities, what is sent in its place.
    """

    def __init__(self, arm: ImperfectArm, controller, limit: np.ndarray, what: Imperfection) -> None:
        self.arm, self.controller, self._limit, self._what = arm, controller, limit, what
        self._grid = 2 * np.pi / 2**what.bits if what.bits else 0.0
        self._rng = np.random.default_rng(what.seed + 1)
        self._states = self._steps = 0
        self._late: list[tuple[float, int, np.ndarray]] = []
        self._drive = arm.gravity(arm.q)
        self._told = np.clip(self._drive, -limit, limit)
        self._rows: list[tuple] = []
        self.spoil = None

    @property
    def time(self) -> float:
        """Of the physics [s]."""
        return self._steps * STEP

    def run(self, seconds: float) -> History:
        """Go on for some time, and return what happened in it; it ends early where numbers run away."""
        first, end, period = len(self._rows), self.time + seconds - 1e-9, 1.0 / self._what.rate
        lag = min(1.0, STEP / self._what.lag) if self._what.lag else 1.0
        while self.time < end:
            if self._states * period <= self.time + 1e-9:
                self._answer(period)
            while self._late and self._late[0][0] <= self.time + 1e-9:
                self._told = np.clip(heapq.heappop(self._late)[2], -self._limit, self._limit)
            self._drive = self._drive + lag * (self._told - self._drive)
            self.arm.step(self._drive)
            self._steps += 1
            speed = self.arm.data.qvel
            if not speed @ speed < 1e7 and not np.abs(speed).max() < 1e4:  # the first is quick, and says no soon enough
                break
        return History(*(np.array(x) for x in list(zip(*self._rows[first:], strict=True))[:5]),
                       *(list(x) for x in list(zip(*self._rows[first:], strict=True))[5:]))  # fmt: skip

    def _answer(self, period: float) -> None:
        q, qd, what = self.arm.q, self.arm.qd, self._what
        seen = self._grid * np.round(q / self._grid) if self._grid else q
        rates = qd + what.noise * self._rng.normal(size=len(q)) if what.velocities else np.full(len(q), np.nan)
        if self.spoil is not None:
            seen, rates = self.spoil(seen, rates)
        try:
            out = self._last = self.controller.update(self._states * period, seen, rates)
            heapq.heappush(self._late, (self.time + what.delay * period, self._states, np.array(out.effort)))
        except MessageError:  # a state that is refused gets no answer: drives keep the last effort
            out = self._last
        self._rows.append((self.time, q, qd, np.array(out.effort), out.desired_position - q, out.phase, out.reason))
        self._states += 1


class PlainPD:
    """PD with the gravity of the URDF: what people use who have no other model.

    Parameters
    ----------
    name : str
    motion : callable
        Desired positions (n,) at a time [s].
    stiffness : ndarray, shape (n,)
        [N m/rad].
    inertia : ndarray, shape (n,)
        That joints feel, rotors included: damping is critical for it, within 150 1/s [kg m^2].
    """

    phase, reason = "following", ""

    def __init__(self, name: str, motion, stiffness: np.ndarray, inertia: np.ndarray) -> None:
        self._model, self._motion, self._stiffness = model_of(name), motion, stiffness
        self._damping = np.minimum(2.0 * np.sqrt(stiffness * inertia), 150.0 * inertia)
        self._velocities = VelocityFilter(len(stiffness), 0.003)

    def update(self, time: float, position: np.ndarray, velocity: np.ndarray) -> PlainPD:
        """Answer a state."""
        rates = np.array(velocity)
        self._velocities.fill(10**9 + round(1e9 * time), position, rates)
        h = 1e-4
        self.desired_position = self._motion(time)
        wanted = (self._motion(time + h) - self._motion(time - h)) / (2.0 * h)
        self.effort = gravity_force(self._model, position) + self._damping * (wanted - rates)
        self.effort = self.effort + self._stiffness * (self.desired_position - position)
        return self


def plain_pds(name: str, motion, q: np.ndarray, what: Imperfection) -> list[PlainPD]:
    """Return two: 4 limits a radian; and the same with light joints no faster than 60 1/s."""
    limit = limits_of(name)
    inertia = np.diag(mass_matrix(model_of(name), q)) + what.rotors * limit
    return [PlainPD(name, motion, k, inertia) for k in (4.0 * limit, np.minimum(4.0 * limit, 3600.0 * inertia))]


def draw_pose(name: str, rng: np.random.Generator, share: float = 0.4, widens: bool = False) -> np.ndarray:
    """Draw a pose (n,) in the middle of the ranges that gravity takes at most half of the efforts in.

    Where there is none, as of Baxter's arm, it takes more, or the middle ``widens`` until there is one.
    """
    limits, limit = model_of(name).limits, limits_of(name)
    low, high = np.maximum(limits.lower, -2.5), np.minimum(limits.upper, 2.5)
    for k in range(1000 if widens else 200):
        share = min(share * (1.01 if k > 200 else 1.0), 0.95)
        q = 0.5 * (low + high) + 0.5 * share * (high - low) * rng.uniform(-1.0, 1.0, len(low))
        if (np.abs(gravity_force(model_of(name), q)) < 0.5 * limit).all():
            break
    return q


def sines(name: str, q: np.ndarray, seconds: float):
    """Return slow sines about a pose that begin and end at rest: times, positions, rates, accelerations, function."""
    limits = model_of(name).limits
    room = np.minimum(q - limits.lower, limits.upper - q)
    size = np.clip(np.minimum(0.5 * room, 0.15 * np.where(limits.velocity > 0.0, limits.velocity, 1.0)), 0.0, 0.3)
    pulse = 2.0 * np.pi * (0.4 + 0.2 * np.arange(len(q)) / len(q))

    def at(t):
        t = np.asarray(t, dtype=float)[..., None]
        x = np.clip(np.minimum(t, seconds - t), 0.0, 1.0)
        return q + size * x**3 * (10.0 - 15.0 * x + 6.0 * x**2) * np.sin(pulse * t)

    t, h = np.arange(0.0, seconds + 1e-9, 0.05), 1e-4
    ahead, here, behind = at(t + h), at(t), at(t - h)
    return (t, here, (ahead - behind) / (2 * h), (ahead - 2 * here + behind) / h**2), at

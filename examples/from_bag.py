"""From a bag to a model: an arm plays a planned motion, and the recording corrects its URDF, wrong by up to a half."""

import argparse
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

import lie_dynamics_ros
from lie_dynamics_ros.identify.bag import read_bag
from lie_dynamics_ros.identify.command import main as identify
from lie_dynamics_ros.lie_dynamics import JointFriction, Model, SpatialInertia, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.geometry.plots import save_figure
from lie_dynamics_ros.lie_dynamics.identification import exciting_motion, identify_robot, plot_efforts
from lie_dynamics_ros.lie_dynamics.model.urdf_inertias import with_inertias

PANDA = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
CENTER = [0.0, 0.0, 0.0, -1.8, 0.0, 1.8, 0.0]
RATE, DELAY, NOISE = 500.0, 3e-3, 0.005  # samples a second; of efforts [s]; of efforts, over their limits
ENCODER = 2.0 * np.pi / 4096


def built():
    """What stands in the laboratory: the arm with rotors in its joints, and friction."""
    model, size = Model.from_urdf(PANDA), np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0])
    friction = JointFriction(0.012 * size, 0.02 * size, 0.03 * size, 0.06, 0.0)
    return model.with_armature(0.003 * size), friction, size


def drawn(model, rng):
    """The URDF: every mass, centre of mass and inertia is off by up to a half."""
    wrong = {}
    for name in model.body_names:
        own, (mass, place, size) = model.inertia(name), 1.0 + rng.uniform(-0.5, 0.5, 3)
        wrong[name] = SpatialInertia(mass * own.mass, place * own.com, mass * size * own.inertia)
    return with_inertias(PANDA, wrong)


def play(motion, rng):
    """What the driver records of a motion: positions in steps, efforts with noise and late."""
    model, friction, size = built()
    time = np.arange(int(motion.time[-1] * RATE)) / RATE
    at = [np.array([np.interp(time, motion.time, x) for x in rows.T]).T for rows in (motion.q, motion.qd, motion.qdd)]
    bodies = inverse_dynamics(model, *at)
    effort = bodies + friction.force(at[1], bodies)
    late = np.array([np.interp(time - DELAY, time, x) for x in effort.T]).T
    return time, ENCODER * np.round(at[0] / ENCODER), late + NOISE * size * rng.normal(size=late.shape)


def write_bag(path, names, time, q, effort):
    store = get_typestore(Stores.ROS2_JAZZY)
    kind = "sensor_msgs/msg/JointState"
    state, header, stamp = (store.types[k] for k in (kind, "std_msgs/msg/Header", "builtin_interfaces/msg/Time"))
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        topic = bag.add_connection("/joint_states", kind, typestore=store)
        for t, x, tau in zip(time, q, effort, strict=True):
            at = 1_700_000_000 * 10**9 + round(t * 1e9)
            message = state(header(stamp(at // 10**9, at % 10**9), ""), list(names), x.copy(), np.zeros(0), tau.copy())
            bag.write(topic, at, store.serialize_cdr(message, kind))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for all that is written")
    folder = parser.parse_args().output
    rng = np.random.default_rng(3)
    urdf = folder / "in.urdf"
    folder.mkdir(parents=True, exist_ok=True)
    urdf.write_bytes(drawn(Model.from_urdf(PANDA), rng))
    model = Model.from_urdf(urdf)

    motion = exciting_motion(model, 20.0, center=CENTER, planes=[((0.0, 0.0, 1.0), 0.0)], rate=RATE, trials=300)
    print(f"planned {motion.time[-1]:g} s, condition {motion.condition:.0f}, {motion.clearance:.2f} m above the table")
    bag = folder / "bag"
    for old in sorted(bag.glob("*")):
        old.unlink()
    if bag.exists():
        bag.rmdir()
    write_bag(bag, model.joint_names, *play(motion, rng))
    if identify([str(bag), "--urdf", str(urdf), "--out", str(folder / "my_robot")]) != 0:
        raise SystemExit(1)
    seen = read_bag(bag, model)
    found = identify_robot(model, seen.time, seen.q, seen.effort)
    print(f"efforts were recorded {1e3 * found.delay:.1f} ms late")
    print("picture", save_figure(plot_efforts(found), folder / "from_bag.png"))


if __name__ == "__main__":
    main()

"""An arm that moves is touched at its tool for a third of a second, and feels it without a force sensor."""

import argparse
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model, external_wrench, frame_pose, gravity_force
from lie_dynamics_ros.lie_dynamics.control import computed_torque
from lie_dynamics_ros.lie_dynamics.estimation import ContactObserver, SensorNoise, contact_wrench
from lie_dynamics_ros.lie_dynamics.geometry.plots import save_figure
from lie_dynamics_ros.lie_dynamics.simulation import Simulator

START = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.6, 0.5])
TOOL, PERIOD = "panda_link8", 1e-3
TOUCH, BEGIN, END = np.array([0.0, 3.0, 4.0]), 1.0, 1.3  # force in the world's axes [N], times [s]
VELOCITY_NOISE, EFFORT_NOISE = 1e-3, 0.02  # standard deviations [rad/s, N m]


def desired(t):
    """Swing all joints to and fro."""
    size, rate, phase = 0.3, 2.0, np.arange(7.0)
    angle = rate * t + phase
    shift = size * (np.sin(angle) - np.sin(phase))
    return START + shift, size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)


class Arm:
    """A simulated arm with sensors that have noise."""

    def __init__(self, model, q, qd):
        self.model, self.robot, self.rng = model, Simulator(model, q, qd, step=2.5e-4), np.random.default_rng(0)

    def measure(self, tau):
        v, e = VELOCITY_NOISE * self.rng.normal(size=7), EFFORT_NOISE * self.rng.normal(size=7)
        return self.robot.q.copy(), self.robot.qd + v, tau + e

    def move(self, tau):
        touched = BEGIN <= self.robot.time < END
        wrench = np.concatenate([np.zeros(3), TOUCH])
        push = external_wrench(self.model, self.robot.q, TOOL, wrench, "aligned") if touched else None
        self.robot.advance(tau, substeps=4, f_ext=push)


def noise_at_rest(model):
    """Record five seconds of an arm that is held, and return the noise in them."""
    arm, held = Arm(model, START, np.zeros(7)), gravity_force(model, START)
    states = [arm.measure(held) for _ in range(5000)]  # its brakes are on
    return SensorNoise.from_rest(model, *(np.array(x) for x in zip(*states, strict=True)), PERIOD)


def swing(model, observer):
    """Move for two seconds; return times, forces in the world's axes, their deviations, evidence, and the beginning."""
    arm, tau = Arm(model, *desired(0.0)[:2]), np.zeros(7)
    tau = computed_torque(model, *desired(0.0)[:2], *desired(0.0), 400.0, 40.0)
    rows, begun = [], None
    for k in range(2000):
        found = observer.update(*arm.measure(tau), PERIOD)
        if found is not None:
            told = contact_wrench(model, found.q, TOOL, found.torque, found.covariance, moment=False)
            axes = frame_pose(model, found.q, TOOL)[:3, :3]
            cover = axes @ told.covariance[3:, 3:] @ axes.T
            rows.append((k * PERIOD, *(axes @ told.wrench[3:]), *np.sqrt(np.diag(cover)), found.evidence))
            if found.begun and begun is None:
                begun = k * PERIOD
        tau = computed_torque(model, arm.robot.q, arm.robot.qd, *desired(arm.robot.time), 400.0, 40.0)
        arm.move(tau)
    rows = np.array(rows)
    return rows[:, 0], rows[:, 1:4], rows[:, 4:7], rows[:, 7], begun


def draw(time, force, deviation, evidence):
    """Return a picture of the forces with three standard deviations, and of the evidence."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for axis, name, color in zip(range(3), "xyz", ("C0", "C1", "C2"), strict=True):
        above.plot(time, force[:, axis], color, label=name)
        low, high = force[:, axis] - 3.0 * deviation[:, axis], force[:, axis] + 3.0 * deviation[:, axis]
        above.fill_between(time, low, high, color=color, alpha=0.25, linewidth=0.0)
        above.plot([BEGIN, END], [TOUCH[axis]] * 2, color, linestyle="--")
    above.set(ylabel="force at the tool [N]", title="estimated with three standard deviations; dashed: the touch")
    figure.legend(loc="outside right upper")
    below.semilogy(time, evidence)
    below.axhline(1.0, color="C3")
    below.set(xlabel="time [s]", ylabel="evidence; above 1: contact")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    folder = parser.parse_args().output
    model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    observer = ContactObserver(model, noise_at_rest(model), false_alarms=0.01, held=True)
    time, force, deviation, evidence, begun = swing(model, observer)
    before, during = time < BEGIN, (time > BEGIN + 0.1) & (time < END)
    print(f"before the touch the evidence is {evidence[before].max():.2f} at most; contact is above 1")
    print(f"a touch of {np.linalg.norm(TOUCH):.0f} N at the tool is felt after {1e3 * (begun - BEGIN):.0f} ms")
    mean = force[during].mean(axis=0)
    off = np.linalg.norm(force[during] - TOUCH, axis=1).max()
    print(f"mean force ({', '.join(f'{x:.2f}' for x in mean)}) N; each estimate within {off:.2f} N", end=" ")
    print(f"with a standard deviation of {np.linalg.norm(deviation[during], axis=1).max():.2f} N at most")
    print("picture:", save_figure(draw(time, force, deviation, evidence), folder / "touch.png"))


if __name__ == "__main__":
    main()

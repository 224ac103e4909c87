"""Six parallel machines as their YAML files describe them, each to scale in a cube of the size that is told."""

import argparse
from pathlib import Path

import numpy as np
import yaml

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import ConstraintSet, Model, constraint_error
from lie_dynamics_ros.lie_dynamics.geometry.plots import save_figure
from lie_dynamics_ros.lie_dynamics.plots import plot_model
from lie_dynamics_ros.lie_dynamics.stewart import RotaryPlatform, StewartPlatform

FOLDER = Path(lie_dynamics_ros.__file__).parent
PLATFORMS = {"servo hexapod": RotaryPlatform, "reference platform": StewartPlatform}
MECHANISMS = ("delta", "linear_delta", "3_rps", "planar_3_rrr")


def drawn_mechanism(name):
    """The figure of a mechanism in its start configuration; its files are those of the node closed_loop."""
    text = (FOLDER / "mechanisms" / f"{name}.yaml").read_text()
    parameters = yaml.safe_load(text)["/**"]["closed_loop"]["ros__parameters"]
    model = Model.from_urdf(FOLDER / "mechanisms" / f"{name}.urdf")
    constraints = ConstraintSet.from_yaml(model, FOLDER / "mechanisms" / f"{name}_loops.yaml")
    q = np.array(parameters["start_positions"])
    print(f"{name}: loops closed to {np.abs(constraint_error(model, constraints, q)).max():.0e}")
    return plot_model(model, q, constraints)


def picture(figures):
    """All in one picture, without their axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    whole = Figure(figsize=(9.0, 6.4), layout="constrained")
    FigureCanvasAgg(whole)
    for place, (name, figure) in enumerate(figures.items(), start=1):
        (space,) = figure.axes
        side = np.ptp(space.get_xlim())
        for text in list(space.texts):
            text.remove()
        space.set_axis_off()
        space.set_title("")
        figure.set_size_inches(4.0, 4.0)
        figure.set_dpi(150)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        ax = whole.add_subplot(2, 3, place)
        ax.imshow(np.asarray(canvas.buffer_rgba()))
        ax.set_title(f"{name.replace('_', ' ')}, in a cube of {1e3 * side:.0f} mm", fontsize=9)
        ax.set_axis_off()
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()
    figures = {}
    for name, kind in PLATFORMS.items():
        platform = kind.from_yaml(FOLDER / "platforms" / f"{name.replace(' ', '_')}.yaml")
        figures[name] = platform.show()
        print(f"{name}: home {1e3 * platform.home_pose[2, 3]:.0f} mm above the base")
    figures |= {name: drawn_mechanism(name) for name in MECHANISMS}
    print("picture", save_figure(picture(figures), arguments.output / "machines.png"))


if __name__ == "__main__":
    main()

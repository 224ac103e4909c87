"""Figures of the paper: its true pose, five initial states, settings, and the percentages of Tables 2 and 3.

Source: Mathematics 2021, 9(7), 757. The misprints corrected here: benchmarks/reports/stewart_paper.md.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lie_dynamics_ros.lie_dynamics.arrays import Array
from lie_dynamics_ros.lie_dynamics.lie import se3, so3

#: Step factors of the GN runs and damping ratios of the LM runs, fifty each.
STEP_FACTORS = np.arange(50, 100) / 100.0
DAMPING_RATIOS = 10.0 ** (-9.0 + 0.12 * np.arange(50))

#: Percentages that converge to the true pose from states 1 to 5, as printed.
TABLE_2 = {
    "gn-r6": (10, 0, 100, 0, 100),
    "gn-quat": (52, 0, 100, 4, 100),
    "gn-se3": (52, 20, 100, 54, 100),
}
TABLE_3 = {
    "lm-r6": (0, 0, 100, 44, 100),
    "lm-quat": (4, 0, 100, 68, 100),
    "lm-se3": (14, 66, 100, 12, 92),
}

#: A pose counts as the true one (or the branch) within these [-, m]: the paper's plots resolve no more.
ROTATION_TOLERANCE = 1e-4
POSITION_TOLERANCE = 1e-5


def pose(position_cm: tuple[float, float, float], angles_deg: tuple[float, float, float]) -> Array:
    """Pose (4, 4) [m] from position in cm and roll, pitch, yaw in degrees, the paper's coordinates ``q``."""
    return se3.from_parts(so3.from_rpy(np.deg2rad(angles_deg)), np.array(position_cm) / 100.0)


#: True pose q_C.
TRUE_POSE = pose((0.0, 0.0, 50.0), (20.0, 0.0, -30.0))
#: Initial states; the yaw of state 2 is printed as +70 degrees.
STATES = (
    pose((0.0, 20.0, 20.0), (10.0, 100.0, 5.0)),
    pose((0.0, 20.0, 40.0), (0.0, -50.0, -70.0)),
    pose((20.0, -15.0, 70.0), (20.0, -20.0, 50.0)),
    pose((-20.0, 10.0, 70.0), (50.0, -20.0, 70.0)),
    pose((20.0, -10.0, 40.0), (60.0, 70.0, 50.0)),
)
#: Branch pose T_s of (30) to five digits; runs that end within 1 mm and 0.01 of it count as gone to the branch.
BRANCH_POSE = se3.from_parts(
    np.array([[-0.29750, 0.73745, -0.60635], [-0.23240, 0.56007, 0.79518], [0.92601, 0.37748, 0.00476]]),
    np.array([0.1757582, 0.1033935, 0.3671191]),
)
BRANCH_TOLERANCES = (1e-2, 1e-3)


def near(
    poses: Array, target: Array, rotation: float = ROTATION_TOLERANCE, position: float = POSITION_TOLERANCE
) -> npt.NDArray[np.bool_]:
    """Say for each pose (..., 4, 4) whether it is the target (..., 4, 4), within tolerances [-, m]."""
    turned = np.abs(poses[..., :3, :3] - target[..., :3, :3]).max(axis=(-2, -1))
    moved = np.linalg.norm(poses[..., :3, 3] - target[..., :3, 3], axis=-1)
    return np.asarray((turned < rotation) & (moved < position))

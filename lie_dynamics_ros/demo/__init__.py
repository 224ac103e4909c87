"""A demonstration: simulated drivers and nodes as separate processes, watched and checked."""

from ..core import end_quietly_while_importing

end_quietly_while_importing(("demo",), 130)

NEEDED = frozenset((
    "advance_pose", "axis_is_stable", "check_state", "comes_to_rest_within", "coriolis_product", "covariances",
    "filter_velocity", "follow", "forward_dynamics", "forward_kinematics", "gravity_force",
    "gravity_force_batch", "inverse_dynamics", "inverse_dynamics_batch", "inverse_dynamics_unloaded",
    "jacobian_and_rate", "keeps_limits", "learn", "linear_law", "mass_matrix", "mass_matrix_batch", "momentum_terms",
    "motion_bounds", "nearest_within", "parallel_damping", "pose_error", "refine", "settle", "simulate",
    "sliding_motion", "slotine_li_regressor", "task_law", "time_to_singularity", "track_all", "update", "within",
))  # fmt: skip
"""Names of the kernels that the demo calls: less than half of the work of compiling all."""

"""Layout of the numbers that the laws of a frame's pose keep.

Twists and wrenches have six numbers, angular first, seen from the frame; joints n.
"""

SINGULAR_MASS, BAD_NUMBER = 100, 101
"""Statuses: the mass matrix has no factor; a gain or a speed is none."""

# Rows of `joints` (n): given; written; to work in.
BIAS, NULL_TORQUE, NULL_SPRING, SPEED, RATE = 0, 1, 2, 3, 4
TORQUE, ACCELERATION, TASK_RATE, TASK_ACCELERATION, PULL, COLUMN, JOINT_ROWS = 5, 6, 7, 8, 9, 10, 11
# Rows of `vectors` (6): the first three as `pose_error` writes them; numbers along the axes, kp or stiffness and kd or
# damping ratio; 1 or 0 for each component of the task; written; to work in.
ERROR, VELOCITY_ERROR, CHANGE, TWIST, FIRST, SECOND, CHOSEN, FREQUENCIES = 0, 1, 2, 3, 4, 5, 6, 7
SCALE, VALUES, X, Y, Z, VECTOR_ROWS = 8, 9, 10, 11, 12, 13
# Of `squares` (6, 6): J_l(e)^-1 is given; written; to work in.
SLOPE, INVERSE, SHARP, SPRING, DAMPER = 0, 1, 2, 3, 4
MOBILITY, A, B, C, D, SQUARES = 5, 6, 7, 8, 9, 10
# Of `numbers`: given; written.
ELASTIC, SINGULAR, SHARPNESS, FASTEST, SLOWEST, PACED, YIELDING, LEVER = 0, 1, 2, 3, 4, 5, 6, 7
PACE, SHARE, DAMPED, GIVEN_UP, NUMBERS = 8, 9, 10, 11, 12

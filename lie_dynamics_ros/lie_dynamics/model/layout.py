"""Layout of the kernels' model: one float64 table, a row per scalar coordinate.

Row 0 is the inertial frame and holds the header. Row ``i`` (1 <= i <= nv) is the step that
velocity coordinate ``i - 1`` adds to the tree, Kim's numbering with lambda(i) < i. A joint of
several degrees of freedom is a run of rows; the body hangs on the last of them and the others
are massless. So every recursion is a recursion over one-dof steps.

Each body has a *kernel frame*: the body frame turned so that a step about or along an axis has
it as z. Then S = (0, 0, a, 0, 0, b), and rotation, screw and translation are the same step.

Trees on the world share nothing but gravity. Each is seen from a *reference point* of its own, the present place of its
first body, so that where it stands costs no digits. The rows of the first joint up to that body only turn about axes
through it, or slide; where slides follow turns about other axes, the point stays at the last row before those.
"""

from __future__ import annotations

from ..engine.width import LANES as LANES

# Header, in row 0.
N_Q = 0  # entries of q, with those appended for user-defined joints
N_V = 1
GRAVITY = 2  # three columns, world frame [m/s^2]
N_QUATERNIONS = 5
N_BODIES = 6
COLUMNS_AT = 7  # place in the flat table where the appended columns begin, a multiple of LANES
BLOCKS = 8  # vectors of LANES that one appended column takes
N_COMPOUND = 9  # ball, free and user-defined joints
DEPTH_FIRST = 10  # 1 where the rows beyond a row are those that follow it, up to SUBTREE_END
N_TREES = 11  # rows on the world

# Columns of the other rows.
PARENT = 0  # row of lambda(i)
KIND = 1
Q_INDEX = 2
FIRST = 3  # first row of the joint this row belongs to
LAST = 4  # last row of that joint
BODY = 5  # index of the body that hangs here, -1 for none
PLACEMENT = 6  # nine columns: rotation of the joint at its zero, kernel frame to parent's kernel frame
ORIGIN = 15  # three columns: origin of the joint at its zero in the parent's kernel frame [m]
AXIS_W = 18  # a: S = (0, 0, a, 0, 0, b)
AXIS_V = 19  # b
SUBSPACE = 20  # six columns: S in the kernel frame, for rows of the other kinds
MASS = 26
MOMENT = 27  # three columns: mass times centre of mass, kernel frame [kg m]
INERTIA = 30  # six columns: xx, xy, xz, yy, yz, zz about the kernel frame's origin [kg m^2]
ARMATURE = 36
BODY_ROTATION = 37  # nine columns: rotation of the body frame seen from the kernel frame
ROUND_OFF = 46  # an articulated inertia along S that is no larger may be round-off of an eliminated one
REFERENCE = 47  # row whose frame's origin is the reference point of the tree that this row belongs to
ROW_SIZE = 48

# After the rows come some of their columns once more, one after the other and each filled up with zeros to a multiple
# of LANES, so that vectors of LANES rows can be read from them: row i is entry i - 1. Kernels take the whole table.
PLACEMENT_C = 0  # nine
ORIGIN_C = 9  # three
AXIS_W_C = 12
AXIS_V_C = 13
SUBSPACE_C = 14  # six
MASS_C = 20
MOMENT_C = 21  # three
INERTIA_C = 24  # six
Q_INDEX_C = 30
SUBTREE_END_C = 31  # last row of the subtree that begins here
N_COLUMNS = 32

# Kinds of row.
AXIS = 0.0  # screw, rotation or translation about z
SPHERICAL = 1.0  # first row of a ball joint, quaternion x, y, z, w
FREE = 2.0  # first row of a free joint, quaternion then position
CUSTOM = 3.0  # first row of a user's joint: T, S and dS/dt are appended to q
FOLLOW = 4.0  # a further row of a ball or free joint
CUSTOM_FOLLOW = 5.0  # a further row of a user's joint

# What is appended to q for a user's joint: T (rotation by rows, then origin), and for each row S and dS/dt.
# Q_INDEX of the first row points at T, that of a further row at its S.
CUSTOM_S = 12
CUSTOM_RATE = 6  # after S
CUSTOM_SIZE = 24  # of the first row
CUSTOM_FOLLOW_SIZE = 12

# What a kernel returns.
OK = 0
BAD_SHAPE = 1
BAD_QUATERNION = 2
NOT_FINITE = 3
SINGULAR = 4  # plus STATUS_STEP times the row whose articulated inertia vanishes
TOO_LARGE = 5  # for the stack, which kernels of single states live on; the kernels of batches have no limit
STATUS_STEP = 16

#: How far the square of a quaternion's norm may be from one.
QUATERNION_TOLERANCE = 1e-6

#: `ROUND_OFF` as a part of the inertia of all bodies beyond the row.
SINGULAR_TOLERANCE = 1e-14

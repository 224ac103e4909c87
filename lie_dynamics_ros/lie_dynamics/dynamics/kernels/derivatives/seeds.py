"""Layout of seeds: what a parameter changes in a tree to first order, one entry of a float64 table for each change.

The kernel of `sensitivity` adds the entries up on its way through the tree. The entries of
a parameter are sorted by row. See `dynamics.derivatives.sensitivity` for how they are made.
"""

from __future__ import annotations

# Columns of an entry.
ROW = 0  # row where it acts: on that row and all beyond it
WHAT = 1
SOURCE = 2  # row whose screw J is meant
BASE = 3  # row of what the change leaves at rest: the parent of the joint
TOP = 4  # row in whose kernel frame data are given, and with which the screw turns: that of the joint's body
OFFSET = 5  # where the data begin in the values of each state, -1 for those that follow here
DATA = 6  # ten columns
SIZE = 16

# What changes.
Q = 0.0  # a coordinate along `integrate`, by data[0]
QD = 1.0
QDD = 2.0
JOINT_TWIST = 3.0  # T_{lambda, row}, by a twist of the joint at its zero, in the kernel frame as it is there
BODY_TWIST = 4.0  # T_{lambda, row}, by T^-1 dT in the kernel frame of TOP
AFTER_TWIST = 5.0  # the frame of ROW after its own step, by a twist in its kernel frame
PITCH = 6.0  # translation for each unit of the coordinate, by data[0]
SUBSPACE = 7.0  # S, by a twist in the kernel frame of TOP
SUBSPACE_RATE = 8.0  # dS/dt, likewise
INERTIA = 9.0  # mass, first moment, xx, xy, xz, yy, yz, zz in the kernel frame of ROW
BODY_WRENCH = 10.0  # external wrench in the kernel frame of ROW
WORLD_WRENCH = 11.0  # external wrench in the world frame, about its origin
ALIGNED_WRENCH = 12.0  # external wrench in the world's axes, about the origin of the body
GRAVITY = 13.0  # at row 0

# How external wrenches follow a body that is displaced.
HELD_BY_BODY = 0  # same components in the body frame
HELD_BY_WORLD = 1  # same components in the world frame, about its origin
HELD_ALIGNED = 2  # same force and moment in the world's axes, at the body's origin

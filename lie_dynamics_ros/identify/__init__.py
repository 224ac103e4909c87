"""The command `identify`: from a bag to an identified robot, and the motion to record for that."""

import os

# Before numpy is imported: on a busy machine threads of BLAS, for matrices as small as here, wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

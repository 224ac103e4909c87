"""Benchmarks: each module with a function ``run``, or ``MEASURED`` for several nodes, answers one question.

``python -m benchmarks`` runs them all.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # read when numpy and Pinocchio are imported

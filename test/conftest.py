"""Settings of all tests; being here also makes ``support`` importable from each of them."""

from __future__ import annotations

import os
import zlib

# Before numpy is loaded: on small matrices and a busy machine threads of BLAS wait for each other, fifty times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

# Times vary with the machine and with what is compiled already: they are measured in benchmarks/, not here.
settings.register_profile("repository", deadline=None, print_blob=True)
settings.load_profile("repository")


@pytest.fixture
def rng(request):
    """A random generator of the test's own: the same in every run, whatever other tests run."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))

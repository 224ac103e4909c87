"""Types of arrays that signatures name."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike as ArrayLike

Array = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]
"""Real or complex: complex values carry complex-step derivatives through the analytic functions."""
Complex = npt.NDArray[np.complex128]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

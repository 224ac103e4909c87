"""Pictures of reports left out, where others of the same kind are drawn and judged in another test."""

from __future__ import annotations

import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure


def leave_out_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let figures be saved as one white pixel, without drawing them."""

    def save(_self, file, **_how) -> None:
        matplotlib.image.imsave(file, np.ones((1, 1, 3)), format="png")

    monkeypatch.setattr(Figure, "savefig", save)

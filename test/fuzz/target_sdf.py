"""Descriptions in SDF, changed in elements and characters; what is read has its loops closed where the file says."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np

from lie_dynamics_ros import lie_dynamics as ld

from .target import DefectError, Target
from .xml_mutations import mutated_text, mutated_tree

CLOSED = 1e-9
MECHANISMS = ("delta", "four-bar arm", "6-UCU")


@cache
def originals() -> tuple[str, ...]:
    """Texts to change: those that are compared with Drake, and mechanisms by name."""
    from support.sdf_text import as_sdf

    files = sorted((Path(__file__).parents[1] / "model" / "sdf" / "robots").glob("*.sdf"))
    made = [ld.mechanism(name) for name in MECHANISMS]
    return (*(path.read_text() for path in files), *(as_sdf(one.model, one.constraints, one.q) for one in made))


class Subject(Target):
    """See the module."""

    cases = 500

    def check(self, rng: np.random.Generator, index: int) -> None:
        texts = originals()
        text = texts[int(rng.integers(len(texts)))]
        text = mutated_text(text, rng) if rng.random() < 0.25 else mutated_tree(text, rng, sdf=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = ld.Model.from_sdf(text)
                loops = ld.ConstraintSet.from_sdf(model, text).loops
        except ld.LieDynamicsError as error:
            if len(str(error)) > 2000:
                raise DefectError(f"a refusal of {len(str(error))} characters") from error
            return
        q, qd, qdd = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        try:
            tau = ld.inverse_dynamics(model, q, qd, qdd)
        except ld.LieDynamicsError:
            return
        if not np.isfinite(tau).all():
            raise DefectError(f"efforts that are not finite: {tau}")
        if loops:
            largest = max(1.0, *(np.abs(one.first_placement).max() for one in loops))
            error = np.abs(ld.constraint_error(model, ld.ConstraintSet(model, loops), model.neutral())).max()
            if not error <= CLOSED * largest:
                raise DefectError(f"loops that are open by {error:g}")

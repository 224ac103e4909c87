"""Quality of a fit: which sums of parameters are known how well, and which changes explain the error before."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...dynamics.derivatives.inverse_derivatives import torque_regressor
from ...model.model import Model
from ..base_parameters import BaseParameters, reduce_columns
from ..regression import parameter_names
from .equations import TERMS
from .fit import Fit
from .samples import Samples

#: Error of efforts in another motion that a sum of parameters may cause and still counts as seen, over their range.
SEEN = 0.02
#: Singular values of scaled columns, over the largest, that are round-off, so that nothing shows their direction.
NOT_SHOWN = 1e-10
_STATES = 200


def known_sums(
    model: Model, samples: Samples, bodies: list[int], fit: Fit
) -> tuple[BaseParameters, Array, Array, tuple[str, ...]]:
    """Return the sums of parameters that efforts depend on, their values and deviations, and those hardly seen."""
    nv, rng = model.nv, np.random.default_rng(0)
    names = [name for b in bodies for name in parameter_names(model)[10 * b : 10 * b + 10]]
    names += [f"{term}({joint})" for term in TERMS for joint in model.joint_names]
    names = [name for name, yes in zip(names, fit.active, strict=True) if yes]
    reach = np.clip(model.limits.lower, -np.pi, None), np.clip(model.limits.upper, None, np.pi)
    q = rng.uniform(*reach, (_STATES, nv))
    top, hard = np.abs(samples.qd).max(axis=0), np.abs(samples.qdd).max(axis=0)
    qd, qdd = (rng.uniform(-x, x, (_STATES, nv)) for x in (top, hard))
    wanted = (10 * np.array(bodies, dtype=np.intp)[:, None] + np.arange(10)).ravel()
    Y = torque_regressor(model, q, qd, qdd)[..., wanted]
    rigid = Y @ fit.parameters.ravel()
    columns = (qd, np.sign(qd), rng.normal(size=qd.shape), np.sign(qd) * np.abs(rigid), qdd, np.ones_like(qd), rigid)
    full = np.concatenate([Y, *(x[..., None] * np.eye(nv) for x in columns)], axis=-1)[..., fit.active]
    base = reduce_columns(full.reshape(-1, full.shape[-1]), names, 1e-8)
    kept = list(base.independent)
    x = np.concatenate([fit.parameters.ravel(), *(fit.coefficients[term] for term in TERMS)])[fit.active]
    R = np.asarray(np.linalg.qr(fit.R[:, kept], mode="r"))
    size = np.maximum(np.linalg.norm(R, axis=0), 1e-12)
    _, s, V = np.linalg.svd(R / size, full_matrices=False)
    shown = s > NOT_SHOWN * s.max(initial=0.0)
    # What has a part in a direction that nothing shows is not known at all: the least squares of least norm say 0.
    unknown = (V[~shown] ** 2).sum(axis=0) > NOT_SHOWN
    back = V[shown].T / s[shown] / size[:, None]
    inverse = back @ back.T
    lasting = np.diag(inverse @ fit.scatter[np.ix_(kept, kept)] @ inverse)
    deviations = np.where(unknown, np.inf, np.sqrt(np.maximum(lasting, 0.0)))
    strength = np.sqrt((full[..., kept] ** 2).mean(axis=0))  # (nv, rank)
    effect = np.multiply(strength, deviations, where=strength > 0.0, out=np.zeros_like(strength))
    spans = np.maximum(np.ptp(samples.effort(fit.delay), axis=0), 1e-12)
    hidden = (effect / spans[:, None]).max(axis=0) > SEEN
    unseen = tuple(text for text, yes in zip(base.expressions(), hidden, strict=True) if yes)
    return base, base.values(x), deviations, unseen


def shares_of(model: Model, samples: Samples, bodies: list[int], fit: Fit, drives: Array) -> dict[str, Array]:
    """Return the root mean square effort (nv,), over the range, that each body's change and each term make."""
    wanted = (10 * np.array(bodies, dtype=np.intp)[:, None] + np.arange(10)).ravel()
    Y = torque_regressor(model, samples.q, samples.qd, samples.qdd)[..., wanted]
    old = np.array([model.inertia(b).parameters() for b in bodies]).reshape(-1, 10)
    change = fit.parameters - old
    spans = np.maximum(np.ptp(samples.effort(fit.delay), axis=0), 1e-12)
    found = {}
    for k, b in enumerate(bodies):
        part = Y[..., 10 * k : 10 * k + 10] @ change[k]
        found[model.body_names[b]] = np.sqrt((part**2).mean(axis=0)) / spans
    for k, term in enumerate(TERMS[:-1]):
        part = drives[..., k] * fit.coefficients[term]
        found[term] = np.sqrt((part**2).mean(axis=0)) / spans
    return found

"""Derivatives along parameters: batches, threads, and what is refused."""

import numpy as np
import pytest
from support.compare import relative
from support.grids import all_of
from support.sample_trees import branched, to_model, zoo

from lie_dynamics_ros import lie_dynamics as ld


def state_of(tree, rng):
    q = tree.random(rng)
    qd, qdd = rng.normal(size=(2, tree.nv))
    return q, qd, qdd, rng.normal(size=(len(tree.moving), 6))


def test_batches_and_single_parameters():
    rng = np.random.default_rng(9)
    tree = zoo(rng)
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(11)])
    qd, qdd = rng.normal(size=(2, 11, model.nv))
    f = rng.normal(size=(11, model.n_bodies, 6))
    own = ld.Parameter.custom(dq=rng.normal(size=(11, model.nv)), dI={2: rng.normal(size=(11, 10))})
    parameters = [ld.Parameter.q(3), ld.Parameter.inertia(0, 4), own]
    found = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, parameters, f)
    assert found.shape == (3, 11, model.nv)
    for s in (0, 7, 10):
        alone = ld.Parameter(tuple(type(c)(c.what, c.where, c.data[s], c.part) for c in own.changes))
        for k, parameter in enumerate((*parameters[:2], alone)):
            one = ld.inverse_dynamics_sensitivity(model, q[s], qd[s], qdd[s], parameter, f[s])
            assert one.shape == (model.nv,)
            assert relative(found[k, s], one) < 1e-12
    # One state with many directions: the batch of the parameter becomes that of the result.
    wide = ld.inverse_dynamics_sensitivity(model, q[0], qd[0], qdd[0], ld.Parameter.custom(dq=np.eye(model.nv)), f[0])
    columns = ld.inverse_dynamics_sensitivity(
        model, q[0], qd[0], qdd[0], [ld.Parameter.q(i) for i in range(model.nv)], f[0]
    )
    assert relative(wide, columns) < 1e-12
    grid = ld.forward_dynamics_sensitivity(model, q[:, None], qd[:2], qdd[0], parameters[:2])
    assert grid.shape == (2, 11, 2, model.nv)
    assert ld.inverse_dynamics_sensitivity(model, q, qd, qdd, []).shape == (0, 11, model.nv)
    assert ld.inverse_dynamics_sensitivity(model, q[:0], qd[:0], qdd[:0], parameters[:2]).shape == (2, 0, model.nv)


@all_of(
    ("parameter", "said"),
    [
        (lambda: ld.Parameter.q(99), "coordinate from 0"),
        (lambda: ld.Parameter.q("nobody"), "nobody"),
        (lambda: ld.Parameter.q(0.5), "whole number"),
        (lambda: ld.Parameter.qd("joint universal 2", "x"), "number 'x'"),
        (lambda: ld.Parameter.damping("joint universal 2", 0.5), "whole number"),
        (lambda: ld.Parameter.pitch(0, "x"), "no axis 'x'"),
        (lambda: ld.Parameter.q(0) * "2", "numbers"),
        (lambda: ld.Parameter.q(0) * np.nan, "finite"),
        (lambda: ld.Parameter.inertia(0, "mass"), "'hx'"),
        (lambda: ld.Parameter.inertia("nobody", 0), "nobody"),
        (lambda: ld.Parameter.axis("joint spherical 1", [1, 0, 0]), "spherical"),
        (lambda: ld.Parameter.placement(99, np.ones(6)), "no joint 99"),
        (lambda: ld.Parameter.placement(0, np.ones(3)), "(..., 6)"),
        (lambda: ld.Parameter.gravity([0, 0, np.nan]), "finite"),
        (lambda: ld.Parameter.external_force(0, 7), "0 to 5"),
        (lambda: ld.Parameter.external_force(0, 1, "here"), "aligned"),
        (lambda: ld.Parameter.custom(dq=np.ones(3)), "(..., 12)"),
        (lambda: ld.Parameter.custom(dS={0: np.ones((6, 2))}), "1 columns"),
        (lambda: "q", "Parameter"),
        (lambda: ["q"], "Parameter"),
    ],
)
def test_refused(parameter, said):
    rng = np.random.default_rng(12)
    tree = branched(rng, ["revolute", "spherical", "universal", "free"], [None, 0, 1, 2])
    model = to_model(tree)
    with pytest.raises(ld.InputError) as caught:
        ld.inverse_dynamics_sensitivity(model, tree.random(rng), *np.zeros((2, model.nv)), parameter())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "function", [ld.inverse_dynamics_sensitivity, ld.forward_dynamics_sensitivity, ld.hybrid_dynamics_sensitivity]
)
def test_threads_share_states_and_what_a_user_gives_for_each(function):
    """Thirteen states in chunks that are no multiple of a tile, each with its own change: as one at a time."""
    rng = np.random.default_rng(21)
    tree = branched(rng, ["universal", "custom_rail", "spherical", "revolute"], [None, 0, 0, 2])
    model = to_model(tree)
    q = np.array([tree.random(rng) for _ in range(13)])
    qd, x, y, dq = rng.normal(size=(4, 13, model.nv))
    given = np.arange(model.nv) % 2 == 0
    f = rng.normal(size=(13, model.n_bodies, 6))

    def found(k, threads):
        parameters = [ld.Parameter.custom(dq=dq[k]), ld.Parameter.qd(1), ld.Parameter.inertia(2, "m")]
        more = (y[k], given) if function is ld.hybrid_dynamics_sensitivity else ()
        answer = function(model, q[k], qd[k], x[k], *more, parameters, f[k], threads=threads)
        return np.array(answer)

    for threads in (2, 3, 20):
        together = found(slice(None), threads)
        assert np.abs(together).max() > 0.1
        for k in range(13):
            assert relative(together[..., k, :], found(k, 1)) < 1e-12
    for threads in (0, 1.5):
        with pytest.raises(ld.InputError, match="threads"):
            found(slice(None), threads)

"""Curvature of the mass metric: PBP (66), identities, and bodies whose curvature is known."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.compare import relative
from support.grids import every_run
from support.robots import PANDA, UR5, load
from support.sample_trees import around, chain, to_model

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.closed_form import ClosedForm, ScrewTree, christoffel_symbols_second_kind

KINDS = ["revolute", "prismatic", "helical", "universal", "cylindrical"]


def at(x, y=0.0, z=0.0):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def two_links(com=0.3):
    rod, tip = (
        ld.SpatialInertia(1.2, [0.3, 0, 0], np.eye(3) * 0.1),
        ld.SpatialInertia(0.7, [com, 0, 0], np.eye(3) * 0.04),
    )
    builder = ld.ModelBuilder().add("upper", joint=ld.joint_types.revolute(), inertia=rod)
    return builder.add("lower", "upper", ld.joint_types.revolute(), at(0.8), tip).build()


@pytest.mark.parametrize("kind", every_run(("revolute", "universal"), KINDS))
def test_definition(kind, rng):
    """(66), with the derivatives of the Christoffel symbols by (54) and by complex steps."""
    model = to_model(around(rng, kind))
    tree, q, n = ScrewTree.from_model(model), model.random(rng), model.nv
    R = ld.curvature_tensor(model, q)
    assert relative(R, ClosedForm(tree, q).curvature_tensor()) < 1e-11
    d = np.array([ClosedForm(tree, q + e).christoffel_symbols().imag / 1e-30 for e in 1e-30j * np.eye(n)])
    G = ClosedForm(tree, q).christoffel_symbols()
    assert relative(R, riemann(d, G, ld.mass_matrix(model, q))) < 1e-11


@pytest.mark.parametrize("kind", ["custom_rail", "custom_ball", pytest.param("custom_six", marks=pytest.mark.slow)])
def test_user_defined_joints(kind, rng):
    """(66), with differences of Christoffel symbols that are made of those of the oracle's mass matrix."""
    tree = around(rng, kind)
    model = to_model(tree)
    q, n, h = model.random(rng), model.nv, 1e-4

    def symbols(x):
        dM = np.array([tree.mass_matrix_rate(x, e) for e in np.eye(n)])
        return 0.5 * (np.einsum("ikj->ijk", dM) + np.einsum("jki->ijk", dM) - np.einsum("kij->ijk", dM))

    d = np.array([(symbols(q + h * e) - symbols(q - h * e)) / (2 * h) for e in np.eye(n)])
    G = symbols(q)
    R = ld.curvature_tensor(model, q)
    assert relative(R, riemann(d, G, tree.mass_matrix(q))) < 1e-6
    assert relative(ld.curvature_tensor(model, np.array([q, q]))[1], R) == 0.0


def riemann(d, G, M):
    """Return (66) from Christoffel symbols, and their derivatives with the coordinate first."""
    up = np.einsum("ijh,hk->ijk", G, np.linalg.inv(M))
    out = np.zeros((len(M),) * 4)
    for i, j, k, m in np.ndindex(out.shape):
        out[i, j, k, m] = d[k, j, m, i] - d[m, j, k, i] + G[i, m] @ up[j, k] - G[i, k] @ up[j, m]
    return out


@pytest.mark.parametrize("kind", [*KINDS, "spherical", "free", "custom_six"])
def test_symmetries(kind, rng):
    model = to_model(around(rng, kind))
    R = ld.curvature_tensor(model, model.random(rng))
    assert (np.swapaxes(R, 0, 1) == -R).all()
    assert (np.swapaxes(R, 2, 3) == -R).all()
    assert (np.transpose(R, (2, 3, 0, 1)) == R).all()
    cyclic = R + np.transpose(R, (0, 2, 3, 1)) + np.transpose(R, (0, 3, 1, 2))  # first Bianchi identity
    assert np.abs(cyclic).max() < 1e-13 * np.abs(R).max()


def test_second_bianchi_identity(rng):
    """The covariant derivatives of R, summed over cycles of the derivative's and the last two indices, vanish."""
    model = to_model(chain(rng, ["revolute", "helical", "revolute", "prismatic"]))
    q, h, n = model.random(rng), 2e-3, 4

    def slope(e):
        a, b, c, d = (ld.curvature_tensor(model, q + s * h * e) for s in (1, -1, 2, -2))
        return (8.0 * (a - b) - (c - d)) / (12.0 * h)

    R, up = ld.curvature_tensor(model, q), christoffel_symbols_second_kind(model, q)
    D = np.array([slope(e) for e in np.eye(n)])  # [m, i, j, k, l]
    D -= np.einsum("mir,rjkl->mijkl", up, R) + np.einsum("mjr,irkl->mijkl", up, R)
    D -= np.einsum("mkr,ijrl->mijkl", up, R) + np.einsum("mlr,ijkr->mijkl", up, R)
    cyclic = D + np.einsum("kijlm->mijkl", D) + np.einsum("lijmk->mijkl", D)
    assert np.abs(cyclic).max() < 1e-8 * np.abs(D).max()  # differences of fourth order


def test_contractions(rng):
    model = to_model(around(rng, "helical"))
    q = np.array([model.random(rng) for _ in range(2)])
    R, M = ld.curvature_tensor(model, q), ld.mass_matrix(model, q)
    frame = np.linalg.inv(np.linalg.cholesky(M))  # rows: an orthonormal frame
    for b in range(2):
        E = frame[b]
        sectional = np.zeros((model.nv, model.nv))
        for i, j in np.argwhere(~np.eye(model.nv, dtype=bool)):
            sectional[i, j] = ld.sectional_curvature(model, q[b], E[i], E[j])
        ricci = np.einsum("ij,ai,bj->ab", ld.ricci_tensor(model, q)[b], E, E)
        assert relative(np.diag(ricci), sectional.sum(axis=1)) < 1e-10  # conditioned as M
        assert ld.scalar_curvature(model, q)[b] == pytest.approx(sectional.sum(), rel=1e-10)
        assert relative(ld.curvature_tensor(model, q[b]), R[b]) < 1e-14
    a, b = rng.normal(size=(2, model.nv))
    turned = ld.sectional_curvature(model, q, 2.0 * a + b, a - 3.0 * b)  # the same plane
    assert relative(turned, ld.sectional_curvature(model, q, a, b)) < 1e-10


def test_two_link_arm():
    """K = (d12 of the textbook: a b cos q2 in M) by Brioschi's formula for E(q2), F(q2), G constant."""
    model = two_links()
    for q2 in (0.1, 0.9, 2.0, -2.6):
        M = ld.mass_matrix(model, [0.4, q2])
        c, s, p = np.cos(q2), np.sin(q2), 0.7 * 0.8 * 0.3
        E, F, G = M[0, 0], M[0, 1], M[1, 1]
        # E = E0 + 2 p cos, F = G + p cos, so E_v = -2 p sin, E_vv = -2 p cos, F_v = -p sin; all u-derivatives vanish.
        Ev, Evv, Fv = -2 * p * s, -2 * p * c, -p * s
        one = np.linalg.det([[-Evv / 2, 0, -Ev / 2], [Fv, E, F], [0, F, G]])
        two = np.linalg.det([[0, Ev / 2, 0], [Ev / 2, E, F], [0, F, G]])
        K = (one - two) / (E * G - F * F) ** 2
        assert ld.sectional_curvature(model, [0.4, q2], [1, 0], [0, 1]) == pytest.approx(K, rel=1e-11)
        assert ld.scalar_curvature(model, [0.4, q2]) == pytest.approx(2.0 * K, rel=1e-11)


def test_sphere(rng):
    """A point mass on two crossing axes moves on a sphere: curvature 1 / (m l^2)."""
    mass, length = 1.7, 0.6
    bob = ld.SpatialInertia(mass, [0, 0, length], np.zeros((3, 3)))
    model = ld.ModelBuilder().add("bob", joint=ld.joint_types.universal([1, 0, 0], [0, 1, 0]), inertia=bob).build()
    for q in rng.uniform(-1.0, 1.0, (5, 2)):
        K = ld.sectional_curvature(model, q, [1, 0], [0, 1])
        assert pytest.approx(1.0 / (mass * length**2), rel=1e-11) == K


@pytest.mark.parametrize("kind", ["ball", "euler"])
def test_rigid_body_about_a_point(kind, rng):
    """Milnor (1976): a left-invariant metric with principal moments a, b, c, in orthonormal axes."""
    moments = np.array([0.5, 0.8, 1.1])
    joint = ld.joint_types.spherical() if kind == "ball" else ld.joint_types.composite(*(
        ld.joint_types.revolute(n) for n in np.eye(3)))  # fmt: skip
    model = (
        ld.ModelBuilder().add("top", joint=joint, inertia=ld.SpatialInertia(1.0, np.zeros(3), np.diag(moments))).build()
    )
    constants = np.sqrt(moments / np.roll(moments, -1) / np.roll(moments, -2))  # [e2, e3] = lambda_1 e1, ...
    mu = 0.5 * constants.sum() - constants
    expected = 2.0 * np.array([mu[1] * mu[2], mu[2] * mu[0], mu[0] * mu[1]])  # Ricci, along e1, e2, e3
    q = model.random(rng) * (1.0 if kind == "ball" else 0.3)
    values = np.linalg.eigvals(np.linalg.solve(ld.mass_matrix(model, q), ld.ricci_tensor(model, q)))
    assert relative(np.sort(values.real), np.sort(expected)) < 1e-11


def test_curvature_does_not_depend_on_coordinates(rng):
    """An arm on a free body: as a free joint, and as three translations and three rotations."""
    arm = ld.SpatialInertia(0.8, [0.2, 0.1, 0.0], np.diag([0.03, 0.04, 0.05]))
    body = ld.SpatialInertia(2.0, [0.1, -0.1, 0.2], np.diag([0.3, 0.4, 0.5]))
    axes = ld.joint_types.composite(*(ld.joint_types.prismatic(n) for n in np.eye(3)),
                                 *(ld.joint_types.revolute(n) for n in np.eye(3)[::-1]))  # fmt: skip
    models = []
    for joint in (ld.joint_types.free(), axes):
        b = ld.ModelBuilder().add("body", joint=joint, inertia=body)
        b.add("a", "body", ld.joint_types.revolute([0, 1, 1]), at(0.3), arm)
        models.append(b.add("b", "a", ld.joint_types.revolute([1, 1, 0]), at(0.4), arm).build())
    q = rng.uniform(-1.0, 1.0, 8)
    T = ld.forward_kinematics(models[1], q)[0]
    same = np.concatenate([Rotation.from_matrix(T[:3, :3]).as_quat(), T[:3, 3], q[6:]])
    assert relative(ld.forward_kinematics(models[0], same), ld.forward_kinematics(models[1], q)) < 1e-12
    assert ld.scalar_curvature(models[0], same) == pytest.approx(ld.scalar_curvature(models[1], q), rel=1e-10)
    spectra = [np.sort(np.linalg.eigvals(np.linalg.solve(ld.mass_matrix(m, x), ld.ricci_tensor(m, x))).real)
               for m, x in zip(models, (same, q), strict=True)]  # fmt: skip
    assert relative(*spectra) < 1e-10


def test_robots_side_by_side(rng):
    """A product of metrics: no mixed curvature."""
    b = ld.ModelBuilder()
    for name, x in (("left", 0.0), ("right", 2.0)):
        rod = ld.SpatialInertia(1.0, [0.3, 0, 0], np.eye(3) * 0.1)
        b.add(name, joint=ld.joint_types.revolute(), placement=at(x), inertia=rod)
        b.add(f"{name} tip", name, ld.joint_types.revolute(), at(0.8), rod)
    q = rng.normal(size=4)
    R = ld.curvature_tensor(b.build(), q)
    assert abs(R[0, 1, 0, 1]) > 1e-3
    left = np.arange(4) < 2
    for index in np.ndindex(4, 4, 4, 4):
        if len({bool(left[i]) for i in index}) == 2:
            assert R[index] == 0.0


def test_far_from_the_origin(rng):
    """A robot 100 m away has the same curvature; no digits are lost to the distance."""
    a, b = (ld.SpatialInertia(1, [0.3, 0, z], np.eye(3) * 0.1) for z in (0, 0.1))
    models = [ld.ModelBuilder().add("a", joint=ld.joint_types.revolute([0, 1, 1]), placement=at(x), inertia=a)
              .add("b", "a", ld.joint_types.revolute(), at(0.5), b).build() for x in (0.0, 100.0)]  # fmt: skip
    q = rng.normal(size=2)
    assert relative(ld.curvature_tensor(models[1], q), ld.curvature_tensor(models[0], q)) < 1e-12


@pytest.mark.parametrize("name", [PANDA, UR5])
def test_robots(name, rng):
    model = load(name)
    q = model.random(rng)
    assert (
        relative(ld.curvature_tensor(model, q), ClosedForm(ScrewTree.from_model(model), q).curvature_tensor()) < 1e-11
    )


def test_armature_flattens():
    """Rotors add a constant metric: with all the inertia in them the curvature goes to zero."""
    rod = ld.SpatialInertia(1.0, [0.3, 0, 0], np.eye(3) * 0.1)

    def make(armature):
        b = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), inertia=rod, armature=armature)
        b.add("b", "a", ld.joint_types.revolute(), at(0.8), rod, armature=armature)
        return b.build().with_joint_terms(armature=True)

    q = [0.2, 0.9]
    assert abs(ld.scalar_curvature(make(1e4), q)) < 1e-4 * abs(ld.scalar_curvature(make(0.0), q))
    printed = ClosedForm(ScrewTree.from_model(make(0.7)), q).curvature_tensor()
    assert relative(ld.curvature_tensor(make(0.7), q), printed) < 1e-12


def test_flatness():
    cart = ld.ModelBuilder()
    for k, axis in enumerate(np.eye(3)):
        parent = f"p{k - 1}" if k else None
        cart.add(f"p{k}", parent, ld.joint_types.prismatic(axis), inertia=ld.SpatialInertia(1.0, [1, 2, 3], np.eye(3)))
    assert ld.is_flat(cart.build())
    assert ld.is_flat(two_links(com=0.0))  # the lower link's centre on its axis: M is constant
    bob = ld.SpatialInertia(1, [1, 0, 0], np.eye(3))
    assert ld.is_flat(ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), inertia=bob).build())
    bead = ld.SpatialInertia(1.0, np.zeros(3), np.zeros((3, 3)))
    polar = ld.ModelBuilder().add("turn", joint=ld.joint_types.revolute())
    polar.add("slide", "turn", ld.joint_types.prismatic([1, 0, 0]), inertia=bead)
    assert ld.is_flat(polar.build(), [[0.3, 0.7], [1.0, 2.0]])  # polar coordinates of the plane: C is not zero, R is
    answer = ld.is_flat(two_links(), samples=5)
    assert not answer
    assert answer.ratio > 1e-3
    assert answer.tried == 5


def test_coupled_mimics(rng):
    """The definition (66) from the symbols of the coupled robot, differentiated by differences."""
    rod, place = ld.SpatialInertia(1.0, [0.4, 0.1, 0.0], np.eye(3) * 0.05), at(0.8)
    b = ld.ModelBuilder().add("a", joint=ld.joint_types.revolute(), inertia=rod)
    b.add("b", "a", ld.joint_types.revolute([0, 1, 1]), place, rod)
    b.add("c", "b", ld.joint_types.revolute([0, 1, 0]), place, rod, mimic=("b", -0.7, 0.2))
    model = b.add("d", "c", ld.joint_types.revolute([1, 1, 0]), place, rod).build().with_coupled_mimics()
    q, h = rng.normal(size=(2, 3)), 1e-3
    for x, R in zip(q, ld.curvature_tensor(model, q), strict=True):

        def slope(e, x=x):
            a, b, c, d = (ld.christoffel_symbols(model, x + s * h * e) for s in (1, -1, 2, -2))
            return (8.0 * (a - b) - (c - d)) / (12.0 * h)

        d = np.array([slope(e) for e in np.eye(3)])
        G, up = ld.christoffel_symbols(model, x), christoffel_symbols_second_kind(model, x)
        expected = np.einsum("kjli->ijkl", d) - np.einsum("ljki->ijkl", d)
        expected += np.einsum("ilr,jkr->ijkl", G, up) - np.einsum("ikr,jlr->ijkl", G, up)
        assert relative(R, expected) < 1e-8  # differences of fourth order
    assert not ld.is_flat(model, samples=3)
    assert np.isfinite(ld.scalar_curvature(model, q)).all()


def test_errors(rng):
    model = to_model(chain(rng, ["revolute"] * 3))
    with pytest.raises(ld.InputError, match="shape"):
        ld.curvature_tensor(model, np.zeros(2))
    with pytest.raises(ld.InputError, match="joint revolute 2"):
        ld.curvature_tensor(model, [0.0, 0.0, np.inf])
    with pytest.raises(ld.InputError, match="parallel"):
        ld.sectional_curvature(model, np.zeros(3), [1, 0, 0], [2, 0, 0])
    with pytest.raises(ld.SingularityError, match="positive definite"):
        ld.curvature_tensor(ld.ModelBuilder().add("a", joint=ld.joint_types.revolute()).build("bare"), [0.0])
    bare = ld.ModelBuilder().add(
        "a", joint=ld.joint_types.revolute(), inertia=ld.SpatialInertia(1, [1, 0, 0], np.eye(3))
    )
    bare.add("b", "a", ld.joint_types.revolute(), mimic=("a", 1.0, 0.0))
    with pytest.raises(ld.SingularityError, match="without its coupling"):
        ld.curvature_tensor(bare.build().with_coupled_mimics(), [0.0])
    ball = to_model(around(rng, "spherical"))
    with pytest.raises(ld.GroupError, match="quaternion"):
        ld.curvature_tensor(ball, np.zeros(ball.nq))
    assert ld.curvature_tensor(model, np.zeros((0, 3))).shape == (0, 3, 3, 3, 3)
    assert ld.curvature_tensor(model, np.zeros((2, 1, 3))).shape == (2, 1, 3, 3, 3, 3)

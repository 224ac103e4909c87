"""Wrenches at platforms from efforts of motors, which the dynamics of all joints with such a wrench give."""

import numpy as np
import pytest
from support.mechanisms.told_wrenches import ALL, TOLD

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS


def beyond(one, q, wrench, motors, axes="body"):
    """Efforts of motors that balance a wrench: with it less without it, by the dynamics of all joints."""
    rest = np.zeros(one.model.nv)
    f_ext = ld.external_wrench(one.model, q, one.platform, wrench, axes)
    with_it, without = (
        ld.constrained_inverse_dynamics(
            one.model, one.constraints, q, rest, rest, f, actuated=motors, resolution="least_torque"
        ).tau
        for f in (f_ext, None)
    )
    return (with_it - without)[[one.model.joint(motor).v_slice.start for motor in motors]]


@pytest.mark.parametrize("axes", ["body", "aligned"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_wrenches_are_found_again(name, axes, rng):
    one = ld.mechanism(name)
    robot = ld.MotorDynamics(one.model, one.constraints, one.q, one.actuated)
    q = robot.configuration(robot.neutral() + 0.01 * rng.normal(size=robot.nv))
    wrench, motors = np.zeros(6), list(one.actuated)
    wrench[[ALL.index(part) for part in TOLD[name]]] = rng.normal(size=len(TOLD[name]))
    efforts = beyond(one, q, wrench, motors, axes)
    found = ld.platform_wrench(
        one.model, one.constraints, q, efforts, motors, one.platform, components=TOLD[name], axes=axes
    )
    np.testing.assert_allclose(found.wrench, wrench, atol=1e-8)
    assert 1.0 <= found.condition < 1e4
    np.testing.assert_allclose(found.covariance(2.0), 4.0 * found.map @ found.map.T, atol=1e-12)
    several = ld.platform_wrench(
        one.model, one.constraints, q, np.stack([efforts, 2.0 * efforts]), motors, one.platform, components=TOLD[name],
        axes=axes,
    )  # fmt: skip
    np.testing.assert_allclose(several.wrench, [wrench, 2.0 * wrench], atol=2e-8)


def test_motors_that_work_against_each_other_and_fewer_components():
    one = ld.mechanism("five-bar")
    motors = ["joint_1", "joint_5", "joint_2"]
    wrench = np.array([0.0, 0.0, 0.0, 3.0, -5.0, 0.0])
    efforts = beyond(one, one.q, wrench, motors)
    found = ld.platform_wrench(
        one.model, one.constraints, one.q, efforts, motors, one.platform, components=("force_x", "force_y")
    )
    np.testing.assert_allclose(found.wrench, wrench, atol=1e-9)
    alone = ld.platform_wrench(
        one.model, one.constraints, one.q, efforts, motors, one.platform, components=("force_x",)
    )
    np.testing.assert_allclose(alone.wrench[[0, 1, 2, 4, 5]], 0.0)


def test_what_efforts_do_not_tell_is_refused():
    one = ld.mechanism("five-bar")
    motors, efforts = list(one.actuated), np.zeros(2)

    def ask(error, words, q=one.q, efforts=efforts, motors=motors, frame=one.platform, **options):
        with pytest.raises(error, match=words):
            ld.platform_wrench(one.model, one.constraints, q, efforts, motors, frame, **options)

    ask(ld.InputError, "2 freedoms determine 2 components")
    for components in (("force_x", "force_z"), ("moment_x",)):  # across the plane
        ask(ld.SingularityError, "distinguished", components=components)
    ask(ld.InputError, "components: some of", components=("push",))
    ask(ld.InputError, "components: some of", components=())
    ask(ld.InputError, "axes", components=("force_x",), axes="world")
    ask(ld.InputError, "efforts", efforts=[np.nan, 0.0], components=("force_x",))
    ask(ld.InputError, "efforts", efforts=np.zeros(3), components=("force_x",))
    ask(ld.SingularityError, "hold 1 of 2", efforts=[0.0], motors=motors[:1], components=("force_x",))
    with pytest.raises(ld.InputError, match="noise"):
        found = ld.platform_wrench(
            one.model, one.constraints, one.q, efforts, motors, one.platform, components=("force_x",)
        )
        found.covariance([1.0, 2.0, 3.0])

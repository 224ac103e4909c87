"""A payload from two recordings of MuJoCo's arms, one without and one with it."""

from functools import cache

import numpy as np
import pytest
from known_robots import ARM, guess_of, recording
from support import arms
from support.grids import every_run
from support.recorded_arm import Drives, exciting_motion, record, wrong_inertias

from lie_dynamics_ros.lie_dynamics import InputError, Model, SpatialInertia
from lie_dynamics_ros.lie_dynamics.identification import RecordingError, gains_from_payload, identify_payload


def case(name, seed, seconds, mass, same=True, base=0.1):
    """Return the wrong model, both recordings, the payload, and the frame that carries it."""
    return recorded(name, seed, seconds, mass, same, base)


@cache  # which takes arguments by name for others than the same by place
def recorded(name, seed, seconds, mass, same, base):
    arm, rng = arms.load(name), np.random.default_rng(seed)
    drives, frame = Drives.of(arm, rng), arm.model.body_names[-1]
    com = rng.uniform([-0.05, -0.05, 0.03], [0.05, 0.05, 0.13])
    one = exciting_motion(arm, rng, seconds, base)
    two = one if same else exciting_motion(arm, rng, seconds)
    runs = [record(arm, drives, m, rng, payload=p) for m, p in ((one, None), (two, (frame, mass, com)))]
    wrong = arm.model
    for body, inertia in wrong_inertias(wrong, rng).items():
        wrong = wrong.with_inertia(body, inertia)
    return wrong, *((r.time, r.q, r.effort) for r in runs), frame, mass, com


@cache
def estimate(name, seed, seconds, mass, same=True, base=0.1):
    return identify_payload(*case(name, seed, seconds, mass, same, base)[:4])


@pytest.mark.parametrize(
    ("name", "mass", "same"), every_run([("panda_arm", 1.5, True)], [("panda_arm", 1.5, True), ("ur5", 3.0, False)])
)
def test_mass_and_centre_of_mass(name, mass, same):
    *given, mass, com = case(name, 4, 6.0, mass, same)
    found = estimate(name, 4, 6.0, mass, same)
    assert found.inertia.mass == pytest.approx(mass, rel=0.01)
    assert np.linalg.norm(found.inertia.com - com) < 3e-3
    found.inertia.check()
    assert abs(found.inertia.mass - mass) < 4.0 * found.mass_deviation
    error = found.inertia.com - com
    assert error @ np.linalg.solve(found.com_covariance, error) < 25.0  # chi-square with 3: once in 65,000
    loaded = found.on(given[0])
    assert loaded.inertia(given[3]).mass == pytest.approx(given[0].inertia(given[3]).mass + found.inertia.mass)
    assert found.frame in found.report() and "kg" in found.report()


def test_what_the_motion_does_not_tell_of_the_inertia_is_said():
    """Ten times as slow, weight is told, inertia is not."""
    quick, slow = estimate("panda_arm", 4, 6.0, 1.5, True), estimate("panda_arm", 4, 5.0, 1.5, True, 0.01)
    assert quick.told.min() > 0.9
    assert (slow.told < quick.told).all() and slow.told.min() < 0.6
    assert slow.inertia.mass == pytest.approx(1.5, abs=4.0 * slow.mass_deviation)


@pytest.mark.slow
def test_confidence_regions_hold_what_they_say():
    """Of mass and centre of mass, 40 times: squares of normalised errors are those of chi-square, or less."""
    found = []
    for seed in range(40):
        *given, mass, com = case("panda_arm", 100 + seed, 6.0, 1.5)
        estimated = identify_payload(*given)
        error = estimated.inertia.com - com
        found.append([(estimated.inertia.mass - mass) ** 2 / estimated.mass_deviation**2,
                      error @ np.linalg.solve(estimated.com_covariance, error) / 3.0])  # fmt: skip
    assert (np.mean(found, axis=0) < 1.5).all()


def test_refused(recordings):
    wrong, without, loaded, frame = recordings
    for changed, said in (
        ({"frame": "nobody"}, "nobody"),
        ({"loaded": loaded[:2]}, "loaded"),
        ({"without": loaded, "loaded": without}, "heavier than nothing"),
        ({"cutoff": -1.0}, "cutoff"),
    ):
        with pytest.raises(InputError, match=said):
            identify_payload(**{"model": wrong, "without": without, "loaded": loaded, "frame": frame, **changed})


WRONG = {
    "not in N m": lambda q, e: (q, e / 12.0),
    "wrong sign": lambda q, e: (q, e * [1.0, -1.0, 1.0]),
    "swapped": lambda q, e: (q, e[:, [0, 2, 1]]),
    "degrees": lambda q, e: (np.degrees(q), e),
}


@pytest.mark.parametrize(
    ("which", "said"),  # in every run each recording; each reason is in test_bad_recordings
    [
        pytest.param(which, said, marks=() if j == k else pytest.mark.slow)
        for j, which in enumerate(("without", "loaded"))
        for k, said in enumerate(WRONG)
    ],
)
def test_what_identify_robot_refuses_is_refused_in_either_recording(recordings, which, said):
    model, without, loaded, frame = recordings
    runs = {"without": without, "loaded": loaded}
    time, q, effort = runs[which]
    runs[which] = (time, *WRONG[said](q, effort))
    with pytest.raises(RecordingError, match=f"^{which}: .*{said}"):
        identify_payload(model, **runs, frame=frame)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [pytest.param(lambda q, e: (q, e[:, [0, 2, 1]]), "not identified|swapped", marks=pytest.mark.slow),
     pytest.param(lambda q, e: (np.degrees(q), e), "degrees", marks=pytest.mark.slow),
     (lambda q, e: (q * [1, -1, 1], e), "wrong sign|not identified")],
    ids=("swapped", "degrees", "sign"),
)  # fmt: skip
def test_gains_of_wrong_recordings_are_no_facts(recordings, wrong, said):
    model, *runs, frame = recordings
    given = SpatialInertia(2.0, [0.1, 0.0, 0.2], np.zeros((3, 3)))
    joints = model.joint_names[1:]
    gains_from_payload(model, *runs, frame, given, joints=joints)
    with pytest.raises(InputError, match=said):
        gains_from_payload(model, *((t, *wrong(q, e)) for t, q, e in runs), frame, given, joints=joints)


@pytest.fixture(scope="module")
def recordings():
    """An arm of three joints: other readings of a recording are few, and fitted in no time."""
    model = Model.from_urdf(ARM)
    loaded = model.with_payload("c", 2.0, [0.1, 0.0, 0.2])
    runs = [recording(m, np.random.default_rng(seed), 7.0) for m, seed in ((model, 1), (loaded, 2))]
    return guess_of(model, np.random.default_rng(3), 0.2), *runs, "c"


def ball(mass, com):
    """The inertia that MuJoCo's payload has."""
    return SpatialInertia(mass, com, 0.4 * mass * 0.05**2 * np.eye(3))


@pytest.mark.parametrize(
    ("name", "mass", "seed", "same", "seconds"),
    [
        # In every run by the command, with drives of a smaller arm (`test_identify_command`).
        pytest.param("ur5", 3.0, 4, False, 6.0, marks=pytest.mark.slow),
        pytest.param("panda_arm", 3.0, 4, True, 20.0, marks=pytest.mark.slow),
        pytest.param("panda_arm", 3.0, 5, False, 20.0, marks=pytest.mark.slow),
        pytest.param("ur5", 5.0, 6, True, 20.0, marks=pytest.mark.slow),
    ],
)
def test_gains_of_drives_from_a_payload_of_known_mass(name, mass, seed, same, seconds):
    """Efforts in amperes, one drive the other way round, of an arm with friction and masses that nobody knows."""
    wrong, without, loaded, frame, mass, com = case(name, seed, seconds, mass, same)
    true = np.random.default_rng(seed).uniform(5.0, 15.0, wrong.nv)
    true[1] *= -1.0
    runs = [(time, q, effort / true) for time, q, effort in (without, loaded)]
    joints = wrong.joint_names[1:5]
    found = gains_from_payload(wrong, *runs, frame, ball(mass, com), joints=joints)
    assert found.joints == tuple(joints)
    error = found.gains - true[1:5]
    assert (np.abs(error / true[1:5]) < 0.05).all()
    assert error @ np.linalg.solve(found.covariance, error) < 33.0  # chi-square with 4: once in a million


def test_gains_that_the_motion_cannot_tell_are_refused_by_name():
    wrong, without, loaded, frame, mass, com = case("panda_arm", 4, 5.0, 1.5, base=0.01)
    with pytest.raises(InputError, match=wrong.joint_names[0]):
        gains_from_payload(wrong, without, loaded, frame, ball(mass, com))
    with pytest.raises(InputError, match="other postures"):  # the same recording twice
        gains_from_payload(wrong, without, without, frame, ball(mass, com), joints=wrong.joint_names[1:2])
    with pytest.raises(InputError, match="payload: a SpatialInertia"):
        gains_from_payload(wrong, without, loaded, frame, mass)
    with pytest.raises(InputError, match="joints: some of the joints"):
        gains_from_payload(wrong, without, loaded, frame, ball(mass, com), joints=["nobody"])

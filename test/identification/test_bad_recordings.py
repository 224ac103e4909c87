"""Recordings that no robot is identified from say why."""

import numpy as np
import pytest
from known_robots import ARM, LINK, guess_of, recording

from lie_dynamics_ros.lie_dynamics import InputError, Model, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.identification import RecordingError, identify_robot
from lie_dynamics_ros.lie_dynamics.identification.fit import fit_robot
from lie_dynamics_ros.lie_dynamics.identification.recordings import measured, samples_of

ROUND = LINK.format("c", "0 0 0", 1.0).replace('"0.04"', '"0.03"')
for was, now in (("0.02", "0.001"), ("0.002", "0"), ("-0.001", "0"), ("0.003", "0")):
    ROUND = ROUND.replace(f'"{was}"', f'"{now}"')


def recorded(seconds):
    rng = np.random.default_rng(2)
    model = Model.from_urdf(ARM)
    return guess_of(model, rng, 0.3), *recording(model, rng, seconds)


@pytest.fixture(scope="module")
def good():
    return recorded(10.0)


@pytest.fixture(scope="module")
def short():
    """As long as it takes to see what is wrong."""
    return recorded(7.0)


@pytest.fixture(scope="module")
def plain(good):
    """What is identified from it as it is."""
    return identify_robot(*good)


def test_a_good_one_passes(plain):
    assert not plain.problems


def test_losses_and_rotors_of_the_drawing_count_once(good, plain):
    """Whether they are part of the given model's dynamics or not, what is found is the same."""
    model, *arrays = good
    drawn = ARM.replace('velocity="3"/>', 'velocity="3"/><dynamics damping="2" friction="1" armature="0.5"/>')
    terms = Model.from_urdf(drawn).with_joint_terms(armature=True, damping=True, friction=True)
    for name in model.body_names:
        terms = terms.with_inertia(name, model.inertia(name))
    found = identify_robot(terms, *arrays)
    assert found.prediction.error == pytest.approx(plain.prediction.error, rel=1e-9)
    assert identify_robot(found.model, *arrays).prediction.error == pytest.approx(plain.prediction.error, abs=1e-3)


def flipped(x, j):
    return np.where(np.arange(x.shape[1]) == j, -x, x)


def weight(gravity, q):
    return inverse_dynamics(Model.from_urdf(ARM).with_gravity(gravity), q, 0 * q, 0 * q)


CASES = {
    "the effort of joint 'lift' has the wrong sign": lambda m, t, q, e: (m, t, q, flipped(e, 1)),
    "the position of joint 'bend' has the wrong sign": lambda m, t, q, e: (m, t, flipped(q, 2), e),
    "joint 'lift' turns the other way than its axis says": lambda m, t, q, e: (m, t, flipped(q, 1), flipped(e, 1)),
    "efforts of joints 'lift' and 'bend' are swapped": lambda m, t, q, e: (m, t, q, e[:, [0, 2, 1]]),
    "joints 'turn' and 'lift' are swapped": lambda m, t, q, e: (m, t, q[:, [1, 0, 2]], e[:, [1, 0, 2]]),
    "gravity points along -z": lambda m, t, q, e: (m.with_gravity([9.81, 0.0, 0.0]), t, q, e),
    r"gravity points along \(0.0., -0.7., -0.7.\)": lambda m, t, q, e: (
        m,
        t,
        q,
        e + weight([0.0, -6.94, -6.94], q) - weight([0.0, 0.0, -9.81], q),
    ),
    "positions are in turns": lambda m, t, q, e: (m, t, q / (2.0 * np.pi), e),
    "times at another rate": lambda m, t, q, e: (m, 0.4 * t, q, e),
    "efforts hold no gravity": lambda m, t, q, e: (
        m,
        t,
        q,
        e - weight([0.0, 0.0, -9.81], q),
    ),
    "not in N m and N": lambda m, t, q, e: (m, t, q, 1000.0 * e),
    "joint 'lift': effort is clipped at 7": lambda m, t, q, e: (m, t, q, np.clip(e, -7.0, 7.0)),
    "not in N m and N .*drive_gains": lambda m, t, q, e: (m, t, q, e / np.array([11.0, 14.0, 9.0])),
    "coupled": lambda m, t, q, e: (m, t, q, e + e[:, [0, 2, 1]] * [0.0, 1.0, 0.0]),
    "both efforts hold that of both": lambda m, t, q, e: (m, t, q, e @ np.array([[1, 0, 0], [0, 1, 1], [0, 1, -1.0]])),
    "efforts of joints 'turn' and 'lift' are swapped": lambda m, t, q, e: (m, t, q, e[:, [1, 0, 2]]),
    "its position jumps by [01]": lambda m, t, q, e: (m, t, q + (t > 4.0)[:, None] * [0.0, 1.0, 0.0], e),
    "too little motion": lambda m, t, q, e: (m, t, 0.01 * q, e),
    "degrees": lambda m, t, q, e: (m, t, np.rad2deg(q), e),
    "its effort is always 0": lambda m, t, q, e: (m, t, q, np.zeros_like(e)),
    "also with other signs": lambda m, t, q, e: (m, t, q, np.roll(e, 700, axis=0)),
}


OTHERS = (
    r"gravity points along \(0.0., -0.7., -0.7.\)",
    "not in N m and N .*drive_gains",
    "both efforts hold that of both",
    "efforts of joints 'turn' and 'lift' are swapped",
    "efforts of joints 'lift' and 'bend' are swapped",
    "also with other signs",
    "the position of joint 'bend' has the wrong sign",
    "positions are in turns",
    "coupled",
)
"""Reasons of the same kind as others, which are in every run."""


@pytest.mark.parametrize("said", [pytest.param(x, marks=pytest.mark.slow if x in OTHERS else ()) for x in CASES])
def test_a_bad_one_is_refused_with_the_reason(short, said):
    with pytest.raises(RecordingError, match=said) as error:
        identify_robot(*CASES[said](*short))
    assert any(problem.fatal for problem in error.value.problems)


def test_some_clipping_and_one_joint_at_rest_are_told_and_no_reason_to_stop(good):
    model, time, q, effort = good
    bound = np.quantile(np.abs(effort[:, 1]), 0.97)
    clipped = effort.copy()
    clipped[:, 1] = np.clip(effort[:, 1], -bound, bound)
    (problem,) = identify_robot(model, time, q, clipped).problems
    assert problem.kind == "clipping" and "'lift'" in problem.text


@pytest.mark.slow  # in every run coupled drives are, in the test of those
def test_a_bad_one_is_identified_all_the_same_where_that_is_asked_for(short):
    model, time, q, effort = short
    found = identify_robot(model, time, q, -effort, despite_problems=True)
    said = [problem.text for problem in found.problems if problem.kind == "sign" and problem.fatal]
    assert any("all efforts have the wrong sign" in text for text in said)
    for body in range(model.n_bodies):
        found.model.inertia(body).check()


def test_arguments_that_are_none_are_refused(good):
    model, time, q, effort = good
    for changed, said in (
        ({"q": q[:, :2]}, "q"),
        ({"effort": effort[:-1]}, "effort"),
        ({"time": time**2}, "time: .*got a step of"),
        ({"time": 1e3 * time}, "milliseconds"),
        ({"cutoff": 1e4}, "cutoff"),
        ({"unused": 0.9}, "unused"),
        ({"prior_weight": 0.0}, "prior_weight"),
        ({"bodies": ["nobody"]}, "nobody"),
        ({"time": time[:50], "q": q[:50], "effort": effort[:50]}, "samples"),
    ):
        with pytest.raises(InputError, match=said):
            identify_robot(**{"model": model, "time": time, "q": q, "effort": effort, **changed})


def zeros(q, effort):
    gone = np.zeros(len(q), dtype=bool)
    gone[50::211] = True
    return np.where(gone[:, None], 0.0, q), np.where(gone[:, None], 0.0, effort)


def zero_efforts(q, effort):
    return q, zeros(q, effort)[1]


def repeated(q, effort):
    kept = np.random.default_rng(3).random(len(q)) > 0.3
    at = np.maximum.accumulate(np.where(kept, np.arange(len(q)), 0))
    return q[at], effort[at]


def spikes(q, effort):
    q = q.copy()
    q[100::500, 1] = 3.0
    return q, effort


@pytest.mark.parametrize(
    ("odd", "kind"),
    [(lambda q, e: (np.mod(q, 2.0 * np.pi), e), "wrapped"), (zeros, "spikes"),
     (zero_efforts, "spikes"), (spikes, "spikes"), (repeated, "spikes"),
     (lambda q, e: (q + np.array([0.0, 2.0 * np.pi, 0.0]), e), "wrapped")],
    ids=("wrapped", "zeros", "zero efforts", "spikes", "repeated", "a turn off"),
)  # fmt: skip
def test_positions_as_logs_have_them_are_mended_and_told(good, plain, odd, kind):
    model, time, q, effort = good
    found = identify_robot(model, time, *odd(q, effort))
    assert {p.kind for p in found.problems} == {kind} and not any(p.fatal for p in found.problems)
    assert found.prediction.error == pytest.approx(plain.prediction.error, rel=0.6 if odd is repeated else 0.05)


@pytest.mark.parametrize("times", [0.1, 0.6, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.0, -1.0))])
def test_coupled_drives_are_named_where_they_explain_little(times):
    """The last joint bears a twentieth of its neighbour's effort: its friction there cannot be that of bodies."""
    light = ARM.replace(LINK.format("c", "0.1 0 0.04", 1.0), LINK.format("c", "0 0 0", 0.1).replace("0.0", "0.00"))
    time, q, effort = recording(Model.from_urdf(light), np.random.default_rng(3), 20.0)
    effort[:, 1] += times * effort[:, 2]
    problems = identify_robot(Model.from_urdf(light), time, q, effort, despite_problems=True).problems
    assert [problem.kind for problem in problems] == ["coupled"] * (abs(times) > 0.25)
    assert all(f"'lift' holds {times:.1g}" in problem.text for problem in problems)


def test_either_reading_is_told_where_both_explain_the_same(good):
    """A body on its axis, about which it is round, does not tell the sign of its position from that of its effort."""
    disc = ARM.replace(LINK.format("c", "0.1 0 0.04", 1.0), ROUND).replace('"0 1 0.2"', '"1 0 0"')
    model = Model.from_urdf(disc)
    time, q, effort = recording(model, np.random.default_rng(3), 7.0)
    with pytest.raises(RecordingError, match=r"(effort|position) of joint 'bend' .*, or the (position|effort)"):
        identify_robot(model, time, q, flipped(effort, 2))


def test_efforts_of_other_units_are_converted_by_the_gains_of_the_drives_and_told(good, plain):
    model, time, q, effort = good
    gains = np.array([11.0, 14.0, -9.0])
    found = identify_robot(model, time, q, effort / gains, drive_gains=gains)
    (problem,) = found.problems
    assert problem.kind == "units" and not problem.fatal and "'" not in problem.text and "turn 11" in problem.text
    np.testing.assert_allclose(found.base_values, plain.base_values, rtol=1e-9, atol=1e-9)


def test_a_matrix_of_gains_takes_efforts_of_coupled_drives_to_those_of_joints(good, plain):
    model, time, q, effort = good
    motors = effort @ np.array([[1.0, 0.0, 0.0], [0.0, 0.1, 0.1], [0.0, 0.1, -0.1]])
    gains = np.array([[1.0, 0.0, 0.0], [0.0, 5.0, 5.0], [0.0, 5.0, -5.0]])
    found = identify_robot(model, time, q, motors, drive_gains=gains)
    (problem,) = found.problems
    assert problem.text.endswith("turn 1, lift from coupled drives, bend from coupled drives")
    np.testing.assert_allclose(found.base_values, plain.base_values, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError, match=r"drive_gains: .*full rank"):
        identify_robot(model, time, q, motors, drive_gains=np.ones((3, 3)))


@pytest.mark.parametrize(
    "why", ["asked for", "no effort", "next to none", pytest.param("noise", marks=pytest.mark.slow)]
)
def test_a_joint_whose_efforts_tell_nothing_is_left_out_and_stays_as_it_was_given(good, plain, why):
    model, time, q, effort = good
    effort = effort.copy()
    rng = np.random.default_rng(5)
    effort[:, 2] = {
        "asked for": effort[:, 2], "no effort": 0.0, "next to none": 1e-3 * rng.normal(size=len(time)),
        "noise": rng.normal(size=len(time)),
    }[why]  # fmt: skip
    effort[:, 2] += np.repeat(rng.normal(size=-(-len(time) // 100)), 100)[: len(time)] * (why == "noise")
    found = identify_robot(model, time, q, effort, left_out=["bend"] if why == "asked for" else ())
    assert set(found.left_out) == {"bend"} and not any(problem.fatal for problem in found.problems)
    assert why == "asked for" or any("'bend'" in problem.text for problem in found.problems)
    assert found.friction.friction[:, 2] == pytest.approx(0.0) and found.prediction.error[:2].max() < 0.02
    drives = np.array(["(bend)" in text for text in found.base.expressions()])
    assert drives.any() and np.isinf(found.base_deviations[drives]).all()  # nothing shows them
    assert np.isfinite(found.base_deviations[~drives]).mean() > 0.5
    assert {text for text in found.base.expressions() if "(bend)" in text} <= set(found.unseen)
    assert found.friction.friction[:, :2] == pytest.approx(plain.friction.friction[:, :2], rel=0.1)


def test_a_joint_without_limits_in_degrees_is_named(good):
    """Its rates are beyond the robot's."""
    _, time, q, effort = good
    endless = Model.from_urdf(ARM.replace('name="lift" type="revolute"', 'name="lift" type="continuous"'))
    with pytest.raises(RecordingError, match=r"'lift': rates up to .* in degrees, or times that are no seconds"):
        identify_robot(endless, time, np.where(np.arange(3) == 1, np.rad2deg(0.5 * q), q), effort)


def test_a_joint_that_bears_next_to_nothing_is_no_reason_to_stop():
    rng = np.random.default_rng(3)
    light = ARM.replace('<mass value="1.0"/>', '<mass value="1e-6"/>').replace('xyz="0.1 0 0.04"', 'xyz="0 0 0"', 1)
    head, tail = light.split('<link name="c">')
    tail = tail.replace('ixx="0.02" iyy="0.03" izz="0.04" ixy="0.002" ixz="-0.001" iyz="0.003"',
                        'ixx="2e-6" iyy="3e-6" izz="4e-6" ixy="0" ixz="0" iyz="0"')  # fmt: skip
    model = Model.from_urdf(head + '<link name="c">' + tail)
    time, q, _ = recording(model, rng)
    step = time[1]
    qd = np.gradient(q, step, axis=0)
    effort = inverse_dynamics(model, q, qd, np.gradient(qd, step, axis=0)) + 1e-3 * rng.normal(size=q.shape)
    assert not identify_robot(model, time, q, effort).left_out


@pytest.mark.parametrize("late", [pytest.param(0.12, marks=pytest.mark.slow), 0.3])
def test_long_delays_are_found_and_told(short, late):
    model, time, q, effort = short
    rows = round(late / time[1])
    found = identify_robot(model, time[rows:], q[rows:], effort[:-rows])
    assert found.delay == pytest.approx(late, abs=2e-3)
    assert [problem.kind for problem in found.problems] == ["delay"]


def test_gains_that_nothing_shows_are_no_reason_to_suspect_units():
    """The last joint bears friction alone, which any gain explains; the others bear bodies of a common mass."""
    light = ARM.replace(LINK.format("c", "0.1 0 0.04", 1.0), LINK.format("c", "0 0 0", 0.1).replace("0.0", "0.00000"))
    model = Model.from_urdf(light)
    time, q, effort = recording(model, np.random.default_rng(3))
    own = model.with_joint_terms()
    samples = samples_of(measured(own, time, q, effort, None))
    bodies = list(range(model.n_bodies))
    known = fit_robot(own, samples, bodies, gains=True).gain_deviations(own, bodies)
    assert known[1, 2] > 0.3 and known[0, 2] > 0.3 and np.diag(known) == pytest.approx(0.0)
    assert fit_robot(own, samples, bodies).gain_deviations(own, bodies) == pytest.approx(0.0)
    assert identify_robot(model, time, q, effort).problems == ()

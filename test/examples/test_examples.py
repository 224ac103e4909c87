"""The examples run, say what they should, and draw their pictures, which `support.page.picture_judge` judges."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib  # noqa: F401  so that pictures are judged from the first test on
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
#: Options, what it says (regular expressions), and its pictures, where these are not one of its own name.
EXAMPLES = {
    "adaptive_payload": (["--duration", "1"], ["estimated payload"]),
    "batch_evaluation": (["--states", "5000"], [r"panda_joint2 +largest holding torque"]),
    "closed_form_curvature": (["--points", "9"], ["with counterweights: flat"]),
    "closed_form_geodesics": ([], ["3R arm"], ["closed_form_geodesics_2r.png", "closed_form_geodesics_3r.png"]),
    "controller_in_mujoco": ([], ["holding: no trajectory", r"at the end [0-9] mrad"], []),
    "design_by_sensitivity": ([], [r"peak torque 113\.5 -> \d\d\.\d N m, in \d+ evaluations"]),
    "feasible_trajectory": ([], ["times as long"]),
    "five_bar": (
        ["--duration", "0.2"],
        ["loop closed to", "one motor: model 'five_bar': 3 independent constraints cannot hold 4"],
    ),
    "from_bag": ([], [r"planned 20 s", r"panda_joint1: \d+\.\d %, 0\.\d+ %", r"recorded [23]\.\d ms late"]),
    "gravity_compensation": ([], ["before the push the arm moves by"]),
    "hybrid_dynamics": (["--duration", "0.5"], ["accelerations given for 3 joints, torques for the other 4"]),
    "machines": ([], [r"delta: loops closed to \de-1[5-9]", "servo hexapod: home 107 mm above"]),
    "mechanisms": (
        ["--only", "3-RPS", "five-bar"],
        ["five-bar: 5 coordinates, 3 constraints; 2 configurations", "3-RPS: .* 8 configurations by a polynomial"],
        ["mechanism_3_rps.png", "mechanism_five_bar.png"],
    ),
    "motion_capture": ([], [r"along a parabola, to \d\.\de-1\d m", r"within 0\.\d\d mrad"]),
    "optimal_machines": (
        [], [r"pole: up in 1\.5 s by 1[56]\.\d N", r"replayed it ends 0\.0\d+ rad off", r"within \de-1[3-9]"]
    ),
    "optimal_motion": ([], [r"optimal: 1\.03\d s, heat 0\.1[23]", r"followed by the controller within [123]\.\d mrad"]),
    "stewart_calibration": ([], ["18 not identifiable"], []),
    "stewart_command": ([], ["the path takes 2.3", r"rate .*: a leg is at its limit in [45]\d %"]),
    "stewart_fusion": ([], [r"0\.20\d s: leg 3 left out", r"0\.4[12]\d s: leg 3 taken in again"]),
    "stewart_platform": ([], ["forward kinematics   converged True"]),
    "stewart_tracking": ([], ["all followed: True"]),
    "stewart_workspace": (
        ["--points", "25"],
        ["condition number from"],
        ["stewart_workspace_xz.png", "stewart_workspace_yaw_pitch.png"],
    ),
    "torque_optimal_motion": ([], ["weak motors: "]),
    "touch": ([], [r"before the touch the evidence is 0\.\d+ at most", r"is felt after \d ms", r"within 0\.[0-4]\d N"]),
    "urdf_torques": ([], [r"panda_joint2 +to hold +-?\d+\.\d+ +to move"]),
}


def test_all_examples_are_here():
    """One is judged by what it identifies, in test_identification.py."""
    assert {*EXAMPLES, "identification"} == {file.stem for file in FOLDER.glob("*.py")}


#: Those that take longest; what they call has tests of its own.
LONG = ("adaptive_payload", "closed_form_curvature", "closed_form_geodesics", "controller_in_mujoco", "from_bag")
LONG += ("feasible_trajectory", "five_bar", "gravity_compensation", "machines", "mechanisms", "optimal_machines")
LONG += ("optimal_motion", "stewart_fusion", "stewart_tracking", "stewart_workspace", "torque_optimal_motion", "touch")


@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.slow) if x in LONG else x for x in EXAMPLES])
def test_example(name, tmp_path, monkeypatch, capsys):
    if name == "controller_in_mujoco":
        pytest.importorskip("mujoco", reason="mujoco, in which the arm moves, is not installed")
    if name == "from_bag":
        pytest.importorskip("rosbags", reason="rosbags, which reads and writes bags, is not installed")
    options, says, *rest = EXAMPLES[name]
    pictures = rest[0] if rest else [f"{name}.png"]
    output = ["--output", str(tmp_path)] if pictures else []
    monkeypatch.setattr(sys, "argv", [name, *output, *options])
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert all(re.search(words, said) for words in says), said
    for figure in re.findall(r"to (\d\.\de[-+]\d+) (?:N m|J)", said):  # what should agree does
        assert float(figure) < 1e-7
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.png")}
    assert sorted(drawn) == pictures
    assert all(picture.startswith(b"\x89PNG") and 3_000 < len(picture) < 400_000 for picture in drawn.values())

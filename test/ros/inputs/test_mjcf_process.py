"""MJCF of a node is compiled in a process: what never ends is refused, and what is refused has MuJoCo's words."""

import os

import pytest

from lie_dynamics_ros.lie_dynamics import DescriptionError
from lie_dynamics_ros.ros.inputs import model_loading

mujoco = pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")
BODY = "<body><joint type='hinge' name='j'/><geom size='1'/></body>"


def test_a_model_comes_back_whole():
    text = f"<mujoco model='one'><worldbody>{BODY}</worldbody></mujoco>"
    found, expected = model_loading.compile_mjcf(text), mujoco.MjModel.from_xml_string(text)
    assert bytes(found.names) == bytes(expected.names) and (found.body_mass == expected.body_mass).all()


def test_files_that_do_not_answer_are_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo.xml")
    with pytest.raises(DescriptionError, match=r"is a device, FIFO or socket"):
        model_loading.compile_mjcf(f"<mujoco><include file='{tmp_path / 'fifo.xml'}'/></mujoco>")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"<mujoco><worldbody><replicate count='2000000000'>{BODY}</replicate></worldbody></mujoco>",
            "more than 20000 copies",
        ),
        (
            "<mujoco><worldbody><replicate count='1'/><!-- <replicate count='9' > --><replicate count='200'>"
            f"<replicate count='1'>{BODY}</replicate><replicate count='101'>{BODY}</replicate></replicate></worldbody>"
            "</mujoco>",
            "<replicate> that makes more than 20000 copies",
        ),
        ("<mujoco><unknown/></mujoco>", "MuJoCo says: .*unknown"),
        ("<mujoco>\ud800</mujoco>", "lone surrogate"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(DescriptionError, match=words):
        model_loading.compile_mjcf(text)


def test_what_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(model_loading, "TEXT_TIME", 0.05)
    many = BODY.replace(" name='j'", "") * 2000
    with pytest.raises(DescriptionError, match=r"more than 256 MB of memory or 0\.05 s"):
        model_loading.compile_mjcf(f"<mujoco><worldbody>{many}</worldbody></mujoco>")

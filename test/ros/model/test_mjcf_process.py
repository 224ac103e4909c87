"""MJCF of a node is compiled in a process: what never ends is refused, and what is refused has MuJoCo's words."""

import os

import pytest

from lie_dynamics_ros.lie_dynamics import DescriptionError
from lie_dynamics_ros.ros.model import model_loading

mujoco = pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")
BODY = "<body><joint type='hinge' name='j'/><geom size='1'/></body>"


def test_a_model_comes_back_whole():
    text = f"<mujoco model='one'><worldbody>{BODY}</worldbody></mujoco>"
    found, expected = model_loading.compile_mjcf(text), mujoco.MjModel.from_xml_string(text)
    assert bytes(found.names) == bytes(expected.names) and (found.body_mass == expected.body_mass).all()


def test_files_that_do_not_answer_are_given_up(tmp_path):
    os.mkfifo(tmp_path / "fifo.xml")
    with pytest.raises(DescriptionError, match="does not answer, as a FIFO"):
        model_loading.compile_mjcf(f"<mujoco><include file='{tmp_path / 'fifo.xml'}'/></mujoco>")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<mujoco><worldbody><replicate count='2000000000'>{BODY}</replicate></worldbody></mujoco>", "'2000000000'"),
        (
            "<mujoco><worldbody><replicate count='1'/><!-- <replicate count='9' > --><replicate count='200'>"
            f"<replicate count='1'>{BODY}</replicate><replicate count='101'>{BODY}</replicate></replicate></worldbody>"
            "</mujoco>",
            "<replicate> with count '101' makes more than 20000",
        ),
        ("<mujoco><unknown/></mujoco>", "MuJoCo says: .*unknown"),
        ("<mujoco>\ud800</mujoco>", "lone surrogate"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(DescriptionError, match=words):
        model_loading.compile_mjcf(text)


def test_copies_of_included_files_are_counted_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(model_loading.subprocess, "Popen", None)
    first, second = tmp_path / "first.xml", tmp_path / "second.xml"
    first.write_text(f"<mujoco><include file='{second}'/><include file='/'/></mujoco>")
    second.write_text(f"<mujoco><include file='{first}'/><replicate count='2000000000'>{BODY}</replicate></mujoco>")
    with pytest.raises(DescriptionError, match="'2000000000' makes more than 20000 copies"):
        model_loading.compile_mjcf(f"<mujoco><include file='{first}'/></mujoco>")


def test_what_takes_too_long_or_too_much_is_given_up(tmp_path):
    inner = tmp_path / "inner.xml"
    inner.write_text(f"<mujoco><replicate count='15000'>{BODY}</replicate></mujoco>")
    with pytest.raises(DescriptionError, match="more than 256 MB of memory or 1 s"):
        model_loading.compile_mjcf(
            f"<mujoco><worldbody><replicate count='15000'><include file='{inner}'/></replicate></worldbody></mujoco>"
        )

"""MJCF that would make too much is refused before MuJoCo sees it, and so are files that never end; the rest is not."""

import os

import pytest

from lie_dynamics_ros.lie_dynamics import DescriptionError, Model
from lie_dynamics_ros.lie_dynamics.model import mjcf

mujoco = pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")
BODY = "<body><joint/><geom size='1'/></body>"


@pytest.fixture
def uncompiled(monkeypatch):
    """MuJoCo must not be asked."""
    monkeypatch.setattr(mujoco, "MjModel", type("MjModel", (), {}))


def text(world="", rest=""):
    return f"<mujoco>{rest}<worldbody>{world}</worldbody></mujoco>"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (text(BODY * 3001), "more than 3000 <body>, copies counted"),
        (text(BODY, "<keyframe>" + "<key/>" * 10_001 + "</keyframe>"), "more than 10000 <key>"),
        (text(BODY * 2000, "<keyframe>" + "<key/>" * 2000 + "</keyframe>"), "2000 keyframes of 2000 bodies"),
        (text(f"<replicate name='>' count='70'><replicate count='70'>{BODY}</replicate></replicate>"), "3000 <body>"),
        (text("<replicate count='2000000000'/><replicate count='2000000000'></replicate>"), "more than 20000 copies"),
        (text("<flexcomp name='f' type='grid' count='500 500 500' spacing='1 1 1'/>"), "3000 <body>"),
        (text(BODY, "<asset><hfield name='h' nrow='30000' ncol='9000'/></asset>"), "nrow '30000' and ncol '9000'"),
        (text(BODY, "<asset><texture width='50000' height='5000'/></asset>"), "width '50000' and height '5000'"),
        (text(BODY, "<asset>" + "<texture type='2d' width='4000' height='2000'/>" * 3 + "</asset>"), "beside those"),
        (text("<camera resolution='10000 9000'/>"), "resolution '10000 9000'"),
        (text(BODY, "<size nkey='2000000000'/>"), "more than 10000 <key>"),
        (text("<body><freejoint/></body>" * 1200), "more than 6000 <joint>"),
        (text("<body><joint type='ball'/></body>" * 2200), "more than 6000 <joint>"),
        ("<mujoco>" + "".join(f"<t{k}/>" for k in range(100_001)), "more than 100000 elements"),
        (text(BODY, "<sensor><user dim='1999999999'/></sensor>"), "<user> with dim '1999999999'"),
        (text(BODY, "<asset><mesh name='m' builtin='supertorus' params='20000 .1'/></asset>"), "params '20000 .1'"),
        (text("<geom " + "a='b' " * 9000 + "/>"), "<geom> with thousands of attributes"),
        (text(BODY, "<size nuser_geom='1000000'/>"), "nuser_geom '1000000'"),
        (text(BODY, "<custom><numeric name='n' size='1999999999'/></custom>"), "size '1999999999'"),
        ("<mujoco><!--" + "<geom/>" * 10 + "-->" + "<geom/>" * 10_001, "more than 10000 <geom>"),
        ("<mujoco>" + " " * 2**24, "a text of 16777224 characters"),
    ],
)
def test_too_much(uncompiled, what, words):
    with pytest.raises(DescriptionError, match=words):
        Model.from_mjcf(what)


def test_too_much_in_other_files(uncompiled, tmp_path):
    """Included as often as the place is copied; attached as often as something is."""
    (tmp_path / "inner.xml").write_text(f"<mujoco>{BODY * 400}<include file='inner.xml'/></mujoco>")
    included = "<replicate count='9'><include file='inner.xml'/></replicate>"
    attached = "<attach model='m'/>" * 9, f"<asset><model name='m' file='{tmp_path}/inner.xml'/></asset>"
    for what in (text(included), text(*attached)):
        (tmp_path / "outer.xml").write_text(what)
        with pytest.raises(DescriptionError, match="more than 3000 <body>"):
            Model.from_mjcf(tmp_path / "outer.xml")


@pytest.mark.parametrize("kind", ["fifo", "device", "sparse"])
def test_files_that_never_end(uncompiled, tmp_path, kind):
    (tmp_path / "meshes").mkdir()
    for file in (tmp_path / "a.xml", tmp_path / "meshes/b.stl"):
        if kind == "fifo":
            os.mkfifo(file)
        elif kind == "device":
            file.symlink_to("/dev/zero")
        else:
            file.touch()
            os.truncate(file, 2**40)
    mesh = "<compiler meshdir='meshes'/><asset><mesh name='m' file='b.stl'/></asset>"
    for what in ("<include file='a.xml'/>", "<asset><model name='m' file='a.xml'/></asset>", mesh):
        (tmp_path / "outer.xml").write_text(text(BODY, what))
        with pytest.raises(DescriptionError, match="1099511627776 bytes" if kind == "sparse" else "does not answer"):
            Model.from_mjcf(tmp_path / "outer.xml")
    with pytest.raises(DescriptionError, match="holds more than 16777216 bytes" if kind == "sparse" else "no file"):
        Model.from_mjcf(tmp_path / "a.xml")


def test_what_is_ordinary_is_read(tmp_path):
    (tmp_path / "inner.xml").write_text(f"<mujocoinclude>{BODY}<!-- <replicate count='9999999'> --></mujocoinclude>")
    copies = "<replicate count='3' offset='1 0 0'><include file='inner.xml'/></replicate>"
    (tmp_path / "outer.xml").write_text(text(copies, "<size nkey='3'/>"))
    compiled = mjcf.compiled_mjcf(tmp_path / "outer.xml")
    assert compiled.nv == 3 and compiled.nkey == 3

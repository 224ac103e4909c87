"""Files that users name: what is no regular file of limited size is refused at once, and never quoted."""

import os
import socket
import threading

import pytest

from lie_dynamics_ros.lie_dynamics.errors import DescriptionError
from lie_dynamics_ros.lie_dynamics.files import read_file, write_file
from lie_dynamics_ros.lie_dynamics.model.urdf.reader import read_urdf


def test_regular_files_and_links_to_them(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"\x00" * 100)
    (tmp_path / "link").symlink_to(file)
    for path in (file, str(file), tmp_path / "link"):
        assert read_file(path, 100) == b"\x00" * 100
    with pytest.raises(OSError, match="more than 99 bytes"):
        read_file(file, 99)


def test_everything_else_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket"))
    server.close()
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    expected = {
        "/dev/zero": "device",
        str(tmp_path / "link"): "device",
        str(tmp_path / "fifo"): "FIFO",
        str(tmp_path / "socket"): "socket",
        str(tmp_path): "directory",
        str(tmp_path / "loop"): "cannot read",
        str(tmp_path / "none"): "No such file",
        "a\0b": "null",
        "n" * 5000: "too long",
    }
    refused = {}

    def read_all():
        for path in expected:
            try:
                read_urdf(path)
            except DescriptionError as error:
                refused[path] = str(error)

    reader = threading.Thread(target=read_all, daemon=True)
    reader.start()
    reader.join(60.0)
    assert not reader.is_alive(), "reading blocks"
    for path, words in expected.items():
        assert words in refused[path]
        assert len(refused[path]) < 400


def test_a_switch_between_the_look_and_the_opening_is_seen(tmp_path, monkeypatch):
    """The path is a file when it is looked at, and a FIFO without a writer when it is opened."""
    path = tmp_path / "robot.urdf"
    path.write_text("<robot/>")
    look = os.stat

    def look_and_switch(where, **options):
        found = look(where, **options)
        if str(where) == str(path):
            path.unlink()
            os.mkfifo(path)
        return found

    monkeypatch.setattr(os, "stat", look_and_switch)
    with pytest.raises(OSError, match="FIFO"):
        read_file(path, 100)


def test_a_file_that_is_no_urdf_is_not_quoted(tmp_path):
    file = tmp_path / "shadow"
    file.write_text("root:$6$secret:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n")
    with pytest.raises(DescriptionError) as caught:
        read_urdf(file)
    assert "secret" not in str(caught.value)
    assert "root" not in str(caught.value).replace(str(tmp_path), "")


def test_a_long_path_is_shortened_before_its_name(tmp_path):
    """A message names the file, however deep it lies."""
    path = tmp_path.joinpath(*["a_folder_with_a_long_name"] * 6, "arm_of_mine.urdf")
    with pytest.raises(DescriptionError, match=r"/\w*\.\.\.\S*/arm_of_mine\.urdf'"):
        read_urdf(path)


def test_written_whole_over_links_and_never_into_what_they_name(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    for name, text in (("link", "new"), ("file", b"new"), ("deep/er/file", "new")):
        target = tmp_path / "out" / name
        target.parent.mkdir(parents=True, exist_ok=name != "deep/er/file")
        if name == "link":
            target.symlink_to(precious)
        write_file(target, text)
        write_file(target, text)
        assert target.read_text() == "new" and not target.is_symlink()
    assert precious.read_text() == "kept"
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["deep", "file", "link"]


def test_what_is_no_file_is_not_replaced_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nothing").symlink_to(tmp_path / "gone")
    for name, said in (("fifo", "FIFO"), ("folder", "directory"), ("nothing/plan", "a folder is expected")):
        with pytest.raises(OSError, match=said):
            write_file(tmp_path / name, "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fifo", "folder", "nothing"]


def test_a_file_keeps_its_rights_and_its_text_where_nothing_can_be_written(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)
    write_file(file, "new")
    assert file.stat().st_mode & 0o777 == 0o640

    def full(*_):
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_file(file, "newer")
    assert file.read_text() == "new" and len(list(tmp_path.iterdir())) == 1

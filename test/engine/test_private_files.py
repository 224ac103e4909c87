"""What others may have written is never used: links, foreign owners and group-writable folders, also switched late."""

import contextlib
import os
import warnings

import pytest

from lie_dynamics_ros.lie_dynamics.engine import private_files
from lie_dynamics_ros.lie_dynamics.engine.private_files import CacheWarning, UntrustedError

pytestmark = pytest.mark.skipif(not private_files.supported(), reason="this system opens no files relative to folders")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with a folder with a file, private all three."""
    monkeypatch.setattr(private_files, "_told", set())
    root = tmp_path / "cache"
    root.mkdir(mode=0o700)
    assert private_files.make_folder(root, "module")
    assert not private_files.make_folder(root, "module")
    with private_files.written(root, "module", "file") as file:
        file.write(b"mine")
    return root


def read(root):
    return private_files.read(root, "module", "file")


PLACES = {"root": ".", "folder": "module", "file": "module/file"}


@pytest.fixture(params=PLACES)
def place(request, root):
    return root / PLACES[request.param]


def test_what_is_private_is_read(root):
    assert read(root) == b"mine"
    for path in (root / "module", root / "module" / "file"):
        assert os.stat(path).st_mode & 0o077 == 0
    assert os.listdir(root / "module") == ["file"]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o702, 0o777, 0o1777])
def test_writable_by_others(root, place, mode):
    place.chmod(mode)
    with pytest.warns(
        CacheWarning, match=rf"may write to it \(mode {mode:o}\); take that back: chmod go-w '"
    ) as caught:
        for _ in range(3):
            with pytest.raises(UntrustedError):
                read(root)
    (told,) = [str(w.message) for w in caught if w.category is CacheWarning]  # told once
    assert str(root) in told
    assert "LIE_DYNAMICS_CACHE_DIR" in told
    place.chmod(mode & ~0o022)
    assert read(root) == b"mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_of_another_user(root, place):
    os.chown(place, 12345, 12345)
    message = "belongs to user 12345, and this process runs as user 0"
    with pytest.warns(CacheWarning, match=message), pytest.raises(UntrustedError):
        read(root)


def test_a_link(root, place):
    place = place.resolve()
    place.rename(place.with_name("moved"))
    place.symlink_to(place.with_name("moved"))
    with pytest.warns(CacheWarning, match="it is a symbolic link; remove it"), pytest.raises(UntrustedError):
        read(root)


def test_a_link_to_nothing_and_nothing(root):
    (root / "module" / "file").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FileNotFoundError):
            read(root)
    (root / "module" / "file").symlink_to(root / "nothing")
    with pytest.warns(CacheWarning, match="symbolic link"), pytest.raises(UntrustedError):
        read(root)


def test_a_fifo_or_a_folder_in_place_of_a_file(root):
    file = root / "module" / "file"
    for make in (os.mkfifo, os.mkdir):
        file.unlink()
        make(file)
        with pytest.raises(UntrustedError, match="it is no regular file"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(root)
        file.rmdir() if file.is_dir() else file.unlink()
        file.touch()


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_link_switched_in_while_it_is_opened(root, tmp_path, monkeypatch, level):
    """What is opened next is exchanged for a link to a stranger's, after all before it was judged."""
    stranger = tmp_path / "stranger"
    (stranger / "module").mkdir(parents=True)
    (stranger / "module" / "file").write_bytes(b"evil")
    paths = [(root, stranger), (root / "module", stranger / "module")]
    paths.append((root / "module" / "file", stranger / "module" / "file"))
    opened, count = os.open, iter(range(10))

    def switch_and_open(name, flags, *args, **options):
        if next(count) == level:
            mine, theirs = paths[level]
            mine.rename(mine.with_name("moved"))
            mine.symlink_to(theirs)
        return opened(name, flags, *args, **options)

    monkeypatch.setattr(os, "open", switch_and_open)
    with pytest.warns(CacheWarning, match="symbolic link"), pytest.raises(UntrustedError):
        read(root)


def test_a_folder_exchanged_after_it_was_judged_is_not_followed(root, tmp_path, monkeypatch):
    """The file comes from the folder that was opened, whatever lies at its path by then."""
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "file").write_bytes(b"evil")
    opened = os.open

    def open_and_switch(name, flags, *args, **options):
        descriptor = opened(name, flags, *args, **options)
        if name == "module":
            (root / "module").rename(root / "moved")
            (root / "module").symlink_to(stranger)
        return descriptor

    monkeypatch.setattr(os, "open", open_and_switch)
    assert read(root) == b"mine"


def test_writing_follows_no_link_and_leaves_nothing_behind(root, tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    file = root / "module" / "file"
    file.unlink()
    file.symlink_to(target)
    with private_files.written(root, "module", "file") as new:
        new.write(b"new")
    assert (target.read_bytes(), read(root)) == (b"precious", b"new")
    with pytest.raises(KeyError), private_files.written(root, "module", "file") as new:
        new.write(b"half")
        raise KeyError
    assert read(root) == b"new"
    assert os.listdir(root / "module") == ["file"]
    (root / "module").chmod(0o777)
    writing = private_files.written(root, "module", "file")
    with pytest.warns(CacheWarning), pytest.raises(UntrustedError), writing as new:
        new.write(b"newer")


@pytest.mark.parametrize("level", [0, 1])
def test_what_a_link_leads_to_is_not_removed(root, tmp_path, level):
    mine, stranger = (root, root / "module")[level], tmp_path / "precious"
    mine.rename(stranger)
    mine.symlink_to(stranger)
    with pytest.warns(CacheWarning, match="symbolic link"):
        private_files.remove_folder(root, "module")
    assert [path.name for path in stranger.rglob("*") if path.is_file()] == ["file"]
    mine.unlink()
    stranger.rename(mine)
    assert list(private_files.folders(root)) == ["module"]
    private_files.remove_folder(root, "module")
    private_files.remove_folder(root, "nothing")
    assert private_files.folders(root) == {}


def test_no_descriptor_is_left_open(root):
    def count():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("only Linux lists them here")
    before = count()
    for mode in (0o700, 0o777):
        (root / "module").chmod(mode)
        for _ in range(5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with contextlib.suppress(UntrustedError):
                    read(root)
                private_files.remove_folder(root, "nothing")
    assert count() == before

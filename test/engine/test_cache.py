"""The disk cache of compiled kernels, in processes of their own with small kernels and a folder of the test's own."""

import ast
import importlib.metadata
import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED

if COMPILED:
    from lie_dynamics_ros.lie_dynamics.engine import cache as kernel_cache

LIBRARY = Path(lie_dynamics_ros.__file__).resolve().parent / "lie_dynamics"
pytestmark = pytest.mark.skipif(not COMPILED, reason="numba is not in use")

IMPORT = "from lie_dynamics_ros.lie_dynamics.engine.compile import kernel"
KERNEL = """
@kernel("(float64[::1],)")
def {name}(x):
    for i in range(x.size):
        x[i] *= 2.0
    return 0
"""
PROGRAM = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
import toy
from lie_dynamics_ros.lie_dynamics.engine.cache import cache_folder
x = np.ones(3)
kernels = [value for name, value in vars(toy).items() if name.startswith("double")]
assert not any(double(x) for double in kernels)
hits = sum(sum(double.stats.cache_hits.values()) for double in kernels)
print(int(x[0]), hits, cache_folder("toy"))
"""


COPIES = """
import json, os, sys, tempfile
os.environ["LIE_DYNAMICS_CACHE_DIR"] = ""
import numpy as np
from lie_dynamics_ros.lie_dynamics.engine.cache import cache_folder, cache_root
from lie_dynamics_ros.lie_dynamics.engine.compile import kernel
@kernel("(float64[::1],)")
def compiled_to_load_the_compiler(x):
    return x.size
assert compiled_to_load_the_compiler(np.ones(3)) == 3
for line in sys.stdin:
    program, arguments, environment, out, err = json.loads(line)
    pid = os.fork()
    if pid:
        print(os.waitpid(pid, 0)[1], flush=True)
        continue
    for to, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), to)
    sys.argv = ["-c", *arguments]
    os.environ.clear()
    os.environ.update(environment)
    cache_root.cache_clear(), cache_folder.cache_clear()
    tempfile.tempdir = None
    exec(program, {"__name__": "__main__"})
    sys.stdout.flush()
    os._exit(0)
"""


class Copies:
    """Processes that are copies of one that has loaded the compiler, which takes a second: each has its own cache."""

    def __init__(self):
        command = [sys.executable, "-c", COPIES]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, program, arguments, environment, place):
        """Return what a program says, and what of errors."""
        out, err = place / "out", place / "err"
        out.unlink(missing_ok=True), err.unlink(missing_ok=True)
        request = [program, arguments, environment, str(out), str(err)]
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        assert int(self._process.stdout.readline()) == 0, err.read_text()
        return out.read_text(), err.read_text()

    def end(self):
        self._process.communicate()


@pytest.fixture(scope="module")
def copies():
    starts = Copies()
    yield starts
    starts.end()


def run_toy(run, place, kernels=("double",), **environment):
    """Run the program in a folder; returns factor, cache hits, cache folder, and what it said of errors."""
    code = place / "code"
    code.mkdir(exist_ok=True)
    (code / "toy.py").write_text(IMPORT + "".join(KERNEL.format(name=name) for name in kernels))
    kept = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "LIE_DYNAMICS_CACHE_DIR")}
    environment = {**kept, "HOME": str(place / "home"), "TMPDIR": str(place), **environment}
    said, errors = run(PROGRAM, [str(code)], environment, place)
    factor, hits, folder = said.split()
    return int(factor), int(hits), folder, errors


@pytest.fixture
def toy(tmp_path, copies):
    """Run the program, by default with one kernel: returns (factor, cache hits, folder)."""

    def run(kernels=("double",), **environment):
        *found, run.errors = run_toy(copies.run, tmp_path, kernels, **environment)
        return tuple(found)

    return run


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, copies):
    """The user's cache, which holds the program's one kernel, and the code beside it."""
    place = tmp_path_factory.mktemp("compiled")
    factor, hits, folder, _ = run_toy(copies.run, place)
    assert (factor, hits) == (2, 0)
    return place, Path(folder)


@pytest.fixture
def filled(compiled, tmp_path):
    """A copy of it of the test's own; returns the cache's folder."""
    place, folder = compiled
    shutil.copytree(place / "code", tmp_path / "code")
    shutil.copytree(folder.parent, tmp_path / "cache")
    return tmp_path / "cache"


def files(folder):
    return sorted(p.suffix for p in folder.rglob("*") if p.is_file())


def test_the_second_process_finds_what_the_first_compiled(filled, tmp_path, copies):
    assert files(filled) == [".nbc", ".nbi"]
    factor, hits, folder, _ = run_toy(copies.run, tmp_path, LIE_DYNAMICS_CACHE_DIR=str(filled))
    assert (factor, hits) == (2, 1)
    assert Path(folder).parent == filled
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


KEPT = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
from llvmlite import binding
(_, kind, (machine_code, symbols)), *_ = pickle.load(open(sys.argv[2], "rb"))
functions = [f for f in binding.parse_bitcode(symbols).functions if not f.is_declaration]
bodies = [str(line).strip() for f in functions for block in f.blocks for line in block.instructions]
assert kind == "object" and machine_code and any("double" in f.name for f in functions)
assert set(bodies) == {"unreachable"} and len(bodies) == len(functions), bodies
"""


def test_of_a_kernel_no_llvm_code_is_kept_but_the_names_of_what_it_defines(filled, tmp_path, copies):
    (file,) = filled.rglob("*.nbc")
    copies.run(KEPT, [str(filled.parent / "code"), str(file)], dict(os.environ), tmp_path)  # asserts for itself


def test_where_numba_has_other_names_its_own_form_is_kept():
    result = SimpleNamespace(library=SimpleNamespace(), _reduce=lambda: "as numba keeps it")
    assert kernel_cache._Impl.reduce(kernel_cache._Impl.__new__(kernel_cache._Impl), result) == "as numba keeps it"
    assert not vars(result.library)


def test_it_lies_in_the_users_cache(compiled, toy, tmp_path):
    place, folder = compiled
    assert str(folder).startswith(str(place / "home" / ".cache" / "lie_dynamics_ros"))
    assert toy(XDG_CACHE_HOME=str(tmp_path / "xdg"))[2].startswith(str(tmp_path / "xdg" / "lie_dynamics_ros"))


def test_it_can_be_switched_off(toy, tmp_path):
    factor, hits, folder = toy(LIE_DYNAMICS_CACHE_DIR="")
    assert (factor, hits, folder) == (2, 0, "None")
    assert not (tmp_path / "home").exists()


def test_a_folder_that_cannot_be_made_is_passed_over(toy, tmp_path):
    """A file stands where the cache of the user should be; next comes a folder of the user in a common place."""
    (tmp_path / "home").write_text("not a folder")
    factor, _, folder = toy()
    assert factor == 2
    assert folder.startswith(str(tmp_path / "lie_dynamics_ros-"))
    (tmp_path / "taken").write_text("not a folder")
    assert toy.errors == ""
    assert toy(LIE_DYNAMICS_CACHE_DIR=str(tmp_path / "taken"))[:3] == (2, 0, "None")
    assert toy.errors.count(f"are not kept, and each process compiles them anew: {tmp_path / 'taken'}: ") == 1


DAMAGES = {"empty": b"", "garbage": b"\x80\x04 this is no index", "cut": None}


def test_damaged_files_are_compiled_anew(toy, tmp_path):
    """A kernel for each damage to each of its files, and one that is left whole."""
    damaged = {
        f"double_{damage}_{suffix}": (DAMAGES[damage], suffix) for damage in DAMAGES for suffix in ("nbi", "nbc")
    }
    kernels = ("double", *damaged)
    cache = {"kernels": kernels, "LIE_DYNAMICS_CACHE_DIR": str(tmp_path / "cache")}
    assert toy(**cache)[:2] == (2**7, 0)
    for name, (damage, suffix) in damaged.items():
        (file,) = (tmp_path / "cache").rglob(f"*{name}*.{suffix}")
        file.write_bytes(file.read_bytes()[:-20] if damage is None else damage)
    assert toy(**cache)[:2] == (2**7, 1)
    assert toy(**cache)[:2] == (2**7, 7)  # and mended


def test_a_disk_that_is_full(toy, filled):
    """A folder where the index should be written stands for it: saving fails, the call does not."""
    (index,) = filled.rglob("*.nbi")
    index.unlink()
    index.mkdir()
    assert toy(LIE_DYNAMICS_CACHE_DIR=str(filled))[:2] == (2, 0)


class Planted:
    """Its pickle makes a folder when it is read."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


SWITCH = """
import os, sys, warnings
from lie_dynamics_ros.lie_dynamics.engine.cache import cache_root
root = cache_root()
os.rename(root, str(root) + ".moved")
os.symlink(sys.argv[2], root)
"""


def test_a_link_switched_after_the_check_brings_in_nobody(filled, tmp_path, copies):
    """A stranger's copy of the cache, made of code of his own, lies behind a link that was not there at the check."""
    cache, stranger, proof = filled, tmp_path / "stranger", tmp_path / "proof"
    shutil.copytree(cache, stranger)
    for file in stranger.rglob("*.nb?"):
        file.write_bytes(pickle.dumps(Planted(proof)))
    environment = {**os.environ, "LIE_DYNAMICS_CACHE_DIR": str(cache)}
    said, errors = copies.run(SWITCH + PROGRAM, [str(tmp_path / "code"), str(stranger)], environment, tmp_path)
    assert said.split()[:2] == ["2", "0"]
    assert not proof.exists()
    assert errors.count("it is a symbolic link") == 1


def test_a_folder_that_others_can_write_to_is_told_once_and_not_used(toy, filled, tmp_path):
    cache, proof = filled, tmp_path / "proof"
    for file in cache.rglob("*.nb?"):
        file.write_bytes(pickle.dumps(Planted(proof)))
    cache.chmod(0o777)
    assert toy(LIE_DYNAMICS_CACHE_DIR=str(cache))[:3] == (2, 0, "None")
    assert toy.errors.count("chmod go-w") == 1
    assert not proof.exists()


def test_nothing_is_dropped_behind_a_link(tmp_path):
    """The folder is switched for a link when its old versions are to go."""
    old = tmp_path / "elsewhere" / f"toy-{1:016x}"
    old.mkdir(parents=True)
    os.utime(old, (1000.0, 1000.0))
    (tmp_path / "cache").symlink_to(old.parent)
    with pytest.warns(kernel_cache.private_files.CacheWarning), pytest.raises(OSError, match="symbolic link"):
        kernel_cache._drop_old_versions(tmp_path / "cache" / f"toy-{2:016x}")
    assert old.exists()


def test_old_versions_are_dropped_but_a_few(toy, tmp_path):
    """The newest four of a module, interpreter and numba stay, and of others what was used within a month."""
    cache, day = tmp_path / "cache", 86400.0
    mine = f"{sys.implementation.cache_tag}-numba-{importlib.metadata.version('numba')}"
    ages = {f"toy-{mine}-{k:016x}": 8 - k for k in range(7)}
    stay = {f"toy-{mine}-{k:016x}" for k in (4, 5, 6)}
    ages |= {f"toy-cpython-39-numba-0.1-{k:016x}": k for k in range(7)} | {f"other-{mine}-{1:016x}": 29.0}
    stay |= ages.keys() - {f"toy-{mine}-{k:016x}" for k in range(7)}
    ages |= {f"other-{mine}-{2:016x}": 31.0, f"of_old-{3:016x}": 31.0, "something else": 900.0}
    for name, age in ages.items():
        (cache / name).mkdir(parents=True)
        os.utime(cache / name, 2 * (time.time() - age * day,))
    current = Path(toy(LIE_DYNAMICS_CACHE_DIR=str(cache))[2])
    assert current.name.startswith(f"toy-{mine}-")
    assert {p.name for p in cache.iterdir()} == {current.name, "something else", *stay}
    os.utime(current, (1000.0, 1000.0))
    toy(LIE_DYNAMICS_CACHE_DIR=str(cache))
    assert time.time() - current.stat().st_mtime < 900.0  # used


@pytest.fixture
def forgetful():
    """Let what is known of sources be read anew, now and after the test."""

    def forget():
        kernel_cache._file_and_imports.cache_clear()
        kernel_cache.source_hash.cache_clear()

    forget()
    yield forget
    forget()


def test_the_key_follows_the_sources(tmp_path, monkeypatch, forgetful):
    """A copy of the library with a source changed has another hash for the modules that import it, and no others."""
    copy = tmp_path / "lie_dynamics"
    shutil.copytree(LIBRARY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    kernels = {
        "inverse dynamics": "dynamics/kernels/inverse_dynamics.py",
        "mass matrix": "dynamics/kernels/mass_matrix.py",
        "tracker": "stewart/kernels/tracker.py",
    }
    for name, file in kernels.items():
        monkeypatch.setitem(sys.modules, f"copy of {name}", SimpleNamespace(__file__=str(copy / file)))

    def keys():
        forgetful()
        return [kernel_cache.source_hash(f"copy of {name}") for name in kernels]

    before = keys()
    for name, changes in {
        "errors.py": (False, False, False),
        "dynamics/kernels/common/spatial.py": (True, True, False),
        "engine/simd.py": (True, True, True),  # compile.py uses it for straight helpers
        "dynamics/kernels/common/world.py": (False, True, False),
        "model/layout.py": (True, True, False),
        "engine/width.py": (True, True, False),
        "stewart/kernels/tracker.py": (False, False, True),
        "engine/compile.py": (True, True, True),
    }.items():
        with (copy / name).open("a") as file:
            file.write("# more\n")
        after = keys()
        assert tuple(a != b for a, b in zip(before, after, strict=True)) == changes, name
        before = after


def test_all_relative_imports_are_seen():
    """The files found are those that the syntax trees of all kernel modules import."""

    @cache
    def imported(file):
        found = []
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                folder = file.parents[node.level - 1]
                target = folder.joinpath(*(node.module or "").split("."))
                found += [p.with_suffix(".py") for p in (target, *(target / alias.name for alias in node.names))]
        return [path for path in found if path.is_file()]

    for file in (file for file in LIBRARY.rglob("*.py") if {"engine", "kernels"} & set(file.parts)):
        known, waiting = set(), [file]
        while waiting:
            here = waiting.pop()
            if here not in known:
                known.add(here)
                waiting += imported(here)
        assert kernel_cache.source_files(file) == sorted(known), file

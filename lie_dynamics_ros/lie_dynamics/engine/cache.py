"""Disk cache of compiled kernels, keyed by their sources and those of all that they import.

Numba's own cache looks at the file of the kernel alone, so an edit to a helper in another
file would go unseen; and it fails where the source folder is not writable.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.runtime.nrt import rtsys

from . import private_files

#: Environment variable that names the cache folder; empty to switch the cache off.
CACHE_VARIABLE = "LIE_DYNAMICS_CACHE_DIR"
_KEPT_VERSIONS = 4
_KEPT_UNUSED = 30 * 86400.0  # [s]
# Reading the syntax tree would be a tenth of all start-up time.
_RELATIVE_IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.+)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)


@functools.cache
def _file_and_imports(file: Path) -> tuple[bytes, tuple[Path, ...]]:
    """Return what a source file holds, and the files that it imports relatively."""
    content = file.read_bytes()
    found = []
    for dots, module, names in _RELATIVE_IMPORT.findall(content.decode()):
        folder = file.parents[len(dots) - 1]
        target = folder.joinpath(*module.split(".")) if module else folder
        parts = [target / name.split()[0] for name in names.strip("()").split(",") if name.strip()]
        found += [path for path in (p.with_suffix(".py") for p in [target, *parts]) if path.is_file()]
    return content, tuple(found)


def source_files(file: Path) -> list[Path]:
    """Return a source file and all that it imports relatively, directly or not, in order of their paths."""
    seen: set[Path] = set()
    waiting = [file]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += _file_and_imports(here)[1]
    return sorted(seen)


@functools.cache
def source_hash(module: str) -> str:
    """Return a hash of the sources that the kernels of a module are made from."""
    digest = hashlib.sha256()
    for file in source_files(Path(str(sys.modules[module].__file__)).resolve()):
        digest.update(f"{file.parent.name}/{file.name}".encode())
        digest.update(_file_and_imports(file)[0])
    return digest.hexdigest()[:16]


@functools.cache
def cache_root() -> Path | None:
    """Return the folder of all compiled kernels, or None where none is writable, and by the user alone."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen == "":
        return None
    if not private_files.supported():
        private_files.tell_once("compiled kernels are not kept: this system cannot tell whether others can write them")
        return None
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    fallback = Path(tempfile.gettempdir()) / f"lie_dynamics_ros-{os.geteuid()}"
    problems = []
    for root in [Path(chosen)] if chosen else [user_cache / "lie_dynamics_ros", fallback]:
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            with private_files.opened_folder(root), tempfile.TemporaryFile(dir=root):
                return root
        except private_files.UntrustedError:
            pass  # told already
        except OSError as error:
            problems.append(f"{root}: {error.strerror}")
    if problems:
        private_files.tell_once(
            f"compiled kernels are not kept, and each process compiles them anew: {'; '.join(problems)}; choose "
            f"another folder by {CACHE_VARIABLE} (empty: none, and no warning)"
        )
    return None


@functools.cache
def cache_folder(module: str) -> Path | None:
    """Return the folder for the compiled kernels of this version of a module, or None where none is writable."""
    root = cache_root()
    tag = f"{sys.implementation.cache_tag}-numba-{numba.__version__}"
    return None if root is None else root / f"{module}-{tag}-{source_hash(module)}"


def _drop_old_versions(current: Path) -> None:
    """Keep the newest few of this module, interpreter and numba, and of all else what was used of late."""
    used = private_files.folders(current.parent)
    folders = [name for name in used if re.fullmatch(r".+-[0-9a-f]{16}", name) and name != current.name]
    folders.sort(key=used.__getitem__, reverse=True)
    versions = [name for name in folders if name.rpartition("-")[0] == current.name.rpartition("-")[0]]
    unused = [name for name in folders if used[name] < time.time() - _KEPT_UNUSED]
    for old in {*versions[_KEPT_VERSIONS - 1 :], *unused}:
        private_files.remove_folder(current.parent, old)


class _Locator(_CacheLocator):
    """Tells numba where a kernel's compiled code lies."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def get_cache_path(self) -> str:
        return str(cache_folder(self._function.__module__))

    def ensure_cache_path(self) -> None:
        folder = Path(self.get_cache_path())
        if private_files.make_folder(folder.parent, folder.name):
            _drop_old_versions(folder)

    def get_source_stamp(self) -> str:
        return source_hash(self._function.__module__)

    def get_disambiguator(self) -> str:
        return str(self._function.__module__.rpartition(".")[2])

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # type: ignore[list-item]  # noqa: RUF012

    def reduce(self, cres: Any) -> Any:
        library: Any = cres.library
        if all(hasattr(library, name) for name in ("_ensure_finalized", "_get_compiled_object", "_final_module")):
            library.serialize_using_object_code = functools.partial(_object_code, library)
        return super().reduce(cres)


def _object_code(library: Any) -> tuple[str, str, tuple[bytes, bytes]]:
    """Return what is kept of a kernel: its machine code, and of its LLVM code what symbols it defines.

    Numba would keep all of its LLVM code too, for other functions that call it, and read it whenever the kernel is
    loaded. No kernel is called by others: `compile` sees to it.
    """
    library._ensure_finalized()
    module = library._final_module
    functions = [f'define void @"{f.name}"() {{ unreachable }}' for f in module.functions if not f.is_declaration]
    variables = [f'@"{v.name}" = global i8 0' for v in module.global_variables if not v.is_declaration]
    symbols = llvmlite.binding.parse_assembly("\n".join([*variables, *functions]))
    return library.name, "object", (library._get_compiled_object(), symbols.as_bitcode())


class _PrivateFiles(IndexDataCacheFile):
    """Numba's files of a kernel, which are pickles and machine code: never those that others can write."""

    @property
    def _place(self) -> tuple[Path, str]:
        folder = Path(self._cache_path)
        return folder.parent, folder.name

    def _load_index(self) -> Any:
        try:
            stream = io.BytesIO(private_files.read(*self._place, self._index_name))
        except FileNotFoundError:
            return {}
        if pickle.load(stream) != self._version:
            return {}
        stamp, overloads = pickle.load(stream)
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(private_files.read(*self._place, name))

    def _open_for_write(self, filepath: str) -> Any:
        return private_files.written(*self._place, Path(filepath).name)


class _KernelCache(FunctionCache):
    _impl_class = _Impl

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # The name tells kernels apart and `source_hash` versions of them; numba would also hash what a kernel
        # closes over, and the hash of a compiled helper changes from process to process.
        return sig, codegen.magic_tuple(), self._name_of_kernel

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Numba would first import all it knows to compile (scipy's linear algebra, random numbers, ...), which takes
        # longer than all else; code that is compiled already needs its memory functions only.
        rtsys.initialize(target_context)
        try:
            return self._load_overload(sig, target_context)
        except Exception:  # a damaged file is no reason to fail: whatever it was, compile again and overwrite it
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk costs the next process time, but does not stop this one
            super().save_overload(sig, data)

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _PrivateFiles
        self._name_of_kernel = f"{function.__module__}.{function.__qualname__}"


def enable_cache(compiled: Any, function: Any) -> None:
    """Let what numba compiles from a function be kept in `cache_folder`; nothing happens where there is none."""
    folder = cache_folder(function.__module__)
    if folder is not None:
        with contextlib.suppress(OSError):
            os.utime(folder, follow_symlinks=False)  # the time of last use, for `_drop_old_versions`
        compiled._cache = _KernelCache(function)

"""Disk cache of compiled kernels, keyed by the sources of all of them.

Numba's own cache looks at the file of the kernel alone, so an edit to a helper in another
file would go unseen; and it fails where the source folder is not writable.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.runtime.nrt import rtsys

#: Environment variable that names the cache folder; empty to switch the cache off.
CACHE_VARIABLE = "LIE_DYNAMICS_CACHE_DIR"
_KEPT_VERSIONS = 4


@cache
def source_hash() -> str:
    """Return a hash of every kernel source: ``kernels/``, ``model/layout.py`` and any ``*_kernels.py``."""
    library = Path(__file__).resolve().parent.parent
    files = sorted({library / "model/layout.py", *library.glob("kernels/*.py"), *library.glob("*/*_kernels.py")})
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(library).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels of this source version, or None where none is writable."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen == "":
        return None
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    fallback = Path(tempfile.gettempdir()) / f"lie_dynamics_ros-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    roots = [Path(chosen)] if chosen else [user_cache / "lie_dynamics_ros", fallback]
    for root in roots:
        folder = root / source_hash()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            owner = root.stat().st_uid
            if root == fallback and hasattr(os, "getuid") and owner != os.getuid():
                continue  # compiled code is executed: never from a folder that somebody else made
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
        except OSError:
            continue
        _drop_old_versions(root, folder)
        return folder
    return None


def _drop_old_versions(root: Path, current: Path) -> None:
    versions = [p for p in root.iterdir() if p.is_dir() and p != current and len(p.name) == len(current.name)]
    versions.sort(key=lambda p: p.stat().st_mtime, reverse=True)
    for old in versions[_KEPT_VERSIONS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


class _Locator(_CacheLocator):
    """Tells numba where a kernel's compiled code lies."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return source_hash()

    def get_disambiguator(self) -> str:
        return str(self._function.__module__.rpartition(".")[2])

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # type: ignore[list-item]  # noqa: RUF012


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
        self._name_of_kernel = f"{function.__module__}.{function.__qualname__}"


def enable_cache(dispatcher: Any) -> None:
    """Let a dispatcher keep its compiled code in `cache_folder`; nothing happens where there is none."""
    if cache_folder() is not None:
        dispatcher._cache = _KernelCache(dispatcher.py_func)

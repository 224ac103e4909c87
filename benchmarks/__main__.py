"""Run benchmarks: all, or those named on the command line."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Sequence

import benchmarks

from .results import machine, save


def main(names: Sequence[str]) -> int:
    """Run, print and save; returns 1 where one could not be run. A target that is missed is shown, not a failure."""
    found = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    unknown = set(names) - set(found)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(found)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or found:
        module = importlib.import_module(f"benchmarks.{name}")
        if not hasattr(module, "run"):
            continue
        print(f"-- {name}", flush=True)
        where = machine()
        try:
            figures, raw = module.run()
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        title = (module.__doc__ or name).splitlines()[0].rstrip(".")
        print(save(name, title, figures, where, raw), flush=True)
    if failed:
        print(f"could not be run: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

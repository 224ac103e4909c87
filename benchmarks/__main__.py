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
    packages = pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")
    modules = [m.name for m in packages if m.name.count(".") == 2 and not m.ispkg]
    found = {module.rpartition(".")[2]: module for module in modules}
    unknown = set(names) - set(found)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(found)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or found:
        module = importlib.import_module(found[name])
        title = (module.__doc__ or name).splitlines()[0].rstrip(".")
        runs = {name: (title, module.run)} if hasattr(module, "run") else getattr(module, "MEASURED", {})
        for result, (title, run) in runs.items():
            print(f"-- {result}", flush=True)
            where = machine()
            try:
                figures, raw = run()
            except Exception:
                traceback.print_exc()
                failed.append(result)
                continue
            more = module.describe(raw) if hasattr(module, "describe") else ""
            print(save(result, title, figures, where, raw, more), flush=True)
    if failed:
        print(f"could not be run: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Programs that do something several times, each time as if they had just begun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

IN_COPIES = """
import json
import os
import sys
import traceback

def in_copies(run):
    ended = {}
    for k, case in enumerate(json.loads(sys.argv[1])):
        copy = os.fork()
        if not copy:
            code = 1
            try:
                run(*case)
                code = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code)
        ended[k] = os.waitpid(copy, 0)[1]
    print("ended", *ended.values())
"""


def run_in_copies(program: str, cases: Sequence[Sequence[Any]]) -> None:
    """Let a program, which ends with ``in_copies(function)``, call its function with each of these arguments.

    Each call is made in a copy of the process, which has imported what the program imports and has done nothing else;
    all that the calling test can import is there.

    Raises
    ------
    AssertionError
        A call failed, with all that was printed.
    """
    command = [sys.executable, "-c", IN_COPIES + program, json.dumps([list(case) for case in cases])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wanted = " ".join(["ended", *["0"] * len(cases)])
    assert done.returncode == 0 and done.stdout.splitlines()[-1:] == [wanted], done.stdout + done.stderr

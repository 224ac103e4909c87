"""Signals that come while a node is being imported. Imports next to nothing: until it has run, they are tracebacks."""

import os
import signal
import sys


def end_quietly_while_importing(programs: tuple[str, ...]) -> None:
    """Let signals end a process that is started as one of these programs, or by ``python -m``, without a traceback.

    Whatever else imports the package keeps its handlers.
    """
    started = os.path.basename(sys.argv[0]) if sys.argv else ""
    if started != "-m" and started not in programs:
        return
    for which in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(which) in (signal.SIG_DFL, signal.default_int_handler):
            try:
                signal.signal(which, signal.SIG_DFL)
            except ValueError:  # only the main thread may
                return

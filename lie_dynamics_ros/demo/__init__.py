"""A demonstration: simulated drivers and nodes as separate processes, watched and checked."""

from ..core.startup_signals import end_quietly_while_importing

end_quietly_while_importing(("demo",), 130)

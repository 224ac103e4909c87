"""Shared parts of nodes that command: words of their phases, the load of a platform."""

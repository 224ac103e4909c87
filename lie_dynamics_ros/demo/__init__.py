"""A demonstration: simulated drivers and nodes as separate processes, watched and checked."""

"""A demonstration: a driver and the inverse_dynamics node as separate processes, watched and checked."""

"""Study of the paper's six solvers: its Tables 2 and 3 and Figures 6 to 9, and results of random targets.

A command, not part of the library: ``python -m benchmarks.stewart.study``.
"""

"""Random hostile input, seeded: ``make fuzz`` runs all targets, ``FUZZ_ARGS="urdf --seed 1 --index 17"`` one case.

A target is a module with a class `Target`; `CASES` says how many cases the long run has.
"""

"""Kernels of motions along paths."""

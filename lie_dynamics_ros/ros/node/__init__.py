"""The life of a node: parameters, lifecycle, the process around it."""

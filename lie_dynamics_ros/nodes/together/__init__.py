"""Several nodes in one process."""

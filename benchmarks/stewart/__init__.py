"""Stewart platforms."""

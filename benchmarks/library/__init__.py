"""The library, beside Pinocchio where that does the same."""

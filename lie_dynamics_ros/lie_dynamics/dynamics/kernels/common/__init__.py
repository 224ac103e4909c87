"""Common parts of the recursions: joints, steps, spatial algebra, solutions along branches."""

"""What the recursions share: joints, steps, spatial algebra, solutions along branches."""

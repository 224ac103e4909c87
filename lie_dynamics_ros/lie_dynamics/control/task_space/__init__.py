"""Control of a frame's pose: operational space, impedance, and the motion of their reference."""

"""The node viewer: a page in the browser that shows robot, torques, platform, contacts and diagnostics."""

"""The arm under control: a trajectory, a payload unknown to the controller, and adaptation."""

"""The arm under control: a trajectory, a payload that nobody told the controller of, and adaptation."""

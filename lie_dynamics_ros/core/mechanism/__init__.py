"""Closed mechanisms as nodes follow them: what parameters say of them, and from state to state."""

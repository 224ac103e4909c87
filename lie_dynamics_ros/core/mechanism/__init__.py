"""Closed mechanisms in nodes: their parameters, and tracking from state to state."""

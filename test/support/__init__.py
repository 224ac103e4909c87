"""Oracles and sample robots that tests share."""

"""Compiled laws and signals of controllers."""

"""Being here makes oracles and platforms importable from the folders below."""

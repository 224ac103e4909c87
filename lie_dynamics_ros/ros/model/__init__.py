"""Sources of models: robot descriptions and platforms, from parameters, files and topics."""

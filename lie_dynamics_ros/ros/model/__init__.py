"""Where models come from: robot descriptions and platforms, from parameters, files and topics."""

"""From a recording of positions and efforts to a robot that is true: bodies, friction, rotors, delays."""

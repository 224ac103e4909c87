"""What the control of a tool is told, and its gains."""

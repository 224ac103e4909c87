"""Parameters and gains of the control of a tool."""

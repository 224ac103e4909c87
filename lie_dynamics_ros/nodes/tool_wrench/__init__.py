"""The node tool_wrench: contacts of a tool behind a force-torque sensor."""

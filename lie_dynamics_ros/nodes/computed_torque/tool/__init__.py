"""Control of a tool's pose."""

"""Looking at the page of the viewer: its protocol, and a browser."""

"""A path under limits becomes the fastest motion along it."""

"""What nodes that command share: the words of their phases, what a platform carries."""

"""What goes out: answers, what a node says of itself, how long it took."""

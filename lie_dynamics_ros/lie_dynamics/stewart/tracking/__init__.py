"""The pose from one vector of leg lengths to the next."""

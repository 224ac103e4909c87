"""The arm: joint states in, torques out."""

"""Engine of a corpus whose cost grows with a change: each stage runs over the rows that a change adds to its input."""

"""Samples in files: finding, reading, writing them. Knows nothing of recipes or SQL programs."""

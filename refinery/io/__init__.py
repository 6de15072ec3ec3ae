"""Samples in files: finding, reading, writing them. Knows nothing of recipes, operators or SQL programs."""

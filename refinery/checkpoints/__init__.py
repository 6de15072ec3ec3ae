"""Results of earlier runs that are still valid, and the keys that decide it."""

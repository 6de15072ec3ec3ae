"""Limits on untrusted recipes and data: confined connections, folders that SQL may read, `--safe`."""

"""What recipes and data of strangers may do: connections that reach nothing else, folders that SQL may read, `--safe`."""

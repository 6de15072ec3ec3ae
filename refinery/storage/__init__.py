"""Where files of runs are: under names, there whole or not at all, in a folder or on object storage."""

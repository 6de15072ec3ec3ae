"""Storage of runs' files: whole files or none under names, in a folder or on object storage."""

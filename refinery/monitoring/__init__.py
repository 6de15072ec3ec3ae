"""Monitoring of a run: use of the machine, progress and events, for its tables, other terminals and logs."""

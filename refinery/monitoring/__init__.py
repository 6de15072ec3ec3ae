"""Watches a run: what it uses of the machine, how far it is, what happened; for its tables, other terminals and logs."""

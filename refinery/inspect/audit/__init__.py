"""The audit of a finished run."""

"""Deduplicators: set SQL over the marks of all samples tells which of them go, and why."""

"""Deduplicators: set SQL over the marks of all samples finds the samples to remove, and the reasons."""

"""Comparison of a run's files with their recorded digests."""

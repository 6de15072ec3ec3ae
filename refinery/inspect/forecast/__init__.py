"""Forecast of a run from a sample of its input: rows, bytes, seconds, memory and disk."""

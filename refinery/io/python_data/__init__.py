"""Samples that a Python program hands over: tables, frames, datasets of other libraries, iterables."""

"""Digests of the files of a run: inputs, models, side files, recipe and outputs, under one root."""

"""Runs a recipe's shards on a Ray cluster (extra `ray`). Only this package and `RayTracer` import Ray."""

"""Runs a recipe's shards on a Ray cluster (extra `ray`). Nothing else in the project imports Ray, but `RayTracer`."""

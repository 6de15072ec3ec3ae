"""Functions of Data-Juicer's names, for scripts that load, probe and order operators themselves."""

from __future__ import annotations

from refinery.compat.ops import Op, Probe, fuse_operators, load_ops, probe_small_batch

__all__ = ["Op", "Probe", "fuse_operators", "load_ops", "probe_small_batch"]

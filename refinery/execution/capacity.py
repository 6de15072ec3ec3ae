"""The size of the cluster that a run is for, asked of the cluster and not of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module

from refinery.errors import OperatorError
from refinery.planning.shard_cut import Capacity, worker_count
from refinery.recipe.executors import EXECUTORS


@contextmanager
def capacity_of(executor_type: str, address: str, np: int) -> Iterator[Capacity | None]:
    """Cores and nodes of the cluster at an address, which stays joined meanwhile. np: workers that the recipe asks for.

    None for a run on this machine, and for a cluster that does not answer: a run says so when it begins, after all
    problems of the recipe.
    """
    module, _, name = EXECUTORS[executor_type].capacity.partition(":")
    with ExitStack() as stack:
        capacity: Capacity | None = None
        if module:
            try:
                asked = getattr(import_module(module), name)(address, worker_count(np))
                capacity = stack.enter_context(asked)
            except OperatorError:
                pass
        yield capacity

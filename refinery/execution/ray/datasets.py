"""Ray datasets: tasks write their blocks to files, in the order of the dataset; no block passes through the driver."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple

import pyarrow as pa

from refinery.errors import DataError, RefineryError
from refinery.execution.ray.answers import result_of
from refinery.execution.ray.tasks import answered
from refinery.io.layouts import plain_table
from refinery.io.python_data.spool import Spool, SpooledPart, part_name
from refinery.storage.open import open_store

# Bytes of blocks in one file, at least, if there are more; tasks for each processor.
_ENOUGH = 32 << 20
_AHEAD = 2


class Block(NamedTuple):
    """A block, or its rows [start, end). size: bytes of the block, as far as Ray knows."""

    reference: Any
    start: int
    end: int | None
    size: int


def spool_blocks(dataset: Any, spool: Spool) -> list[SpooledPart]:
    """Write all blocks, several small ones into one file. Raises DataError for blocks that cannot be written."""
    import ray

    write = ray.remote(max_retries=3)(_write)
    known = {name: asdict(part) for name, part in spool.known.items()}
    running: deque[Any] = deque()
    parts: list[SpooledPart] = []
    with _in_order(dataset):
        for number, blocks in enumerate(_grouped(_blocks(dataset))):
            name = part_name(number)
            slices = [(block.start, block.end) for block in blocks]
            # Ray runs a task where most bytes of its arguments are, if there is room.
            running.append(
                write.remote(spool.url, name, known.get(name), slices, *[block.reference for block in blocks])
            )
            while len(running) >= _at_once():
                parts.append(_part(ray, running.popleft()))
    parts += [_part(ray, reference) for reference in running]
    return parts or spool.tables([_no_rows(dataset)])


def tables_of(dataset: Any) -> Iterator[pa.Table]:
    """The blocks as tables in this process, for a run that is not on the cluster."""
    import ray

    with _in_order(dataset):
        for block in _blocks(dataset):
            yield _table(ray.get(block.reference), block.start, block.end)
        yield _no_rows(dataset)


@contextmanager
def _in_order(dataset: Any) -> Iterator[None]:
    """Have Ray keep the order of the blocks, which decides the numbers of rows."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        yield
    except RefineryError:
        raise
    except Exception as error:
        what = (str(error).strip().splitlines() or [""])[-1]
        raise DataError(
            f"dataset: Ray cannot compute or write its blocks: {type(error).__name__}: {what}. Nothing was run"
        ) from error
    finally:
        options.preserve_order = before


def _blocks(dataset: Any) -> Iterator[Block]:
    """The blocks with rows, as they are computed."""
    for bundle in dataset.iter_internal_ref_bundles():
        slices = getattr(bundle, "slices", None) or [None] * len(bundle.blocks)
        for entry, part in zip(bundle.blocks, slices, strict=True):
            reference, metadata = entry[:2] if isinstance(entry, tuple) else (entry.ref, entry.metadata)
            start, end = (0, None) if part is None else (part.start_offset, part.end_offset)
            if metadata.num_rows != 0 and start != end:
                yield Block(reference, start, end, metadata.size_bytes or 0)


def _grouped(blocks: Iterator[Block]) -> Iterator[list[Block]]:
    group: list[Block] = []
    for block in blocks:
        group.append(block)
        if sum(one.size for one in group) >= _ENOUGH:
            yield group
            group = []
    if group:
        yield group


def _at_once() -> int:
    """Number of tasks that may be submitted; nodes may have joined."""
    import ray

    return _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))


def _no_rows(dataset: Any) -> pa.Table:
    """A table with the columns of a dataset, and no rows."""
    schema = dataset.schema()
    base = getattr(schema, "base_schema", None)
    if isinstance(base, pa.Schema):
        return base.empty_table()
    names, types = (list(getattr(schema, what, ())) for what in ("names", "types"))
    fields = zip(names, types, strict=True)
    return pa.schema(
        [(name, kind if isinstance(kind, pa.DataType) else pa.null()) for name, kind in fields]
    ).empty_table()


def _part(ray: Any, reference: Any) -> SpooledPart:
    return SpooledPart(**json.loads(result_of(ray.get(reference))))


def _write(url: str, name: str, known: Mapping[str, Any] | None, slices: list[Any], *blocks: Any) -> str:
    """Write blocks into one file of a store; return its `SpooledPart` as JSON."""
    import ray

    def work() -> str:
        before = {} if known is None else {name: SpooledPart(**known)}
        tables = [
            _table(block, start, end).replace_schema_metadata(None)
            for block, (start, end) in zip(blocks, slices, strict=True)
        ]
        node = ray.get_runtime_context().get_node_id()
        return json.dumps(asdict(Spool(open_store(url), before).arrow(_alike(tables), name, node)))

    return answered(work)


def _alike(tables: list[pa.Table]) -> list[pa.Table]:
    """The tables with the columns of all of them. Raises DataError."""
    if all(table.schema == tables[0].schema for table in tables):
        return tables
    try:
        return [pa.concat_tables(tables, promote_options="permissive")]
    except pa.ArrowException as error:
        raise DataError(f"dataset: blocks have columns that do not fit together: {error}") from error


def _table(block: Any, start: int, end: int | None) -> pa.Table:
    from ray.data.block import BlockAccessor

    table = plain_table(BlockAccessor.for_block(block).to_arrow())
    return table if end is None else table.slice(start, end - start)

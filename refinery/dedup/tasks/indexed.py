"""Tasks for an index: its match keys become files of the run's store, in pieces that are partitions; new ones are added up.

Joins and clusters then treat the samples of an index, whose numbers are below 0, as those of further shards.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.digest import digest_of_stream
from refinery.common.lazy import pq
from refinery.dedup import index as indexes
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.tasks.files import connected, limits, local, opened, work
from refinery.io.input_files import FileFacts, check_files
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace

# Row groups of a file of an index: the URL of its store, its name there, what is added to its numbers, the row groups.
Portion = tuple[str, str, int, list[int]]


def contents(place: TaskPlace, url: str, name: str) -> str:
    """Digest of the contents of a file of a store."""
    with open_store(url).reading(name) as stream:
        return digest_of_stream(stream).hexdigest()


def survey(
    place: TaskPlace,
    names: Sequence[str],
    files: Sequence[tuple[str, str, int]],
    most: int,
    least: int,
    known: Sequence[FileFacts] = (),
) -> str:
    """Pieces of an index, the columns of all match keys, and portions of the run's own files that have other types, as JSON.

    names: of the run's match keys. files: of the index, in order: the URL of their store, their name, what is added to their
    numbers. most: number of pieces. least: rows of a piece. known: facts of files of the index on the driver's machine.
    """
    check_files(known)
    store = open_store(place.store)
    own = [_schema(store, name) for name in names]
    units = [unit for file in files for unit in _units(*file)]
    known = [_schema(open_store(url), name) for url, name, _ in files]
    schema = _together(own, known)
    others: list[Portion] = []
    if schema is None:  # then the types are those with which SQL would compare the values
        schema = _common(place, [*own, *known])
        others = [(place.store, name, 0, _groups(store, name)) for name in names]
    size = max(least, -(-sum(rows for _, rows, _ in units) // most))
    pieces: list[tuple[int, list[Portion]]] = []
    room = 0
    for first, rows, portion in units:
        if room <= 0:
            pieces.append((first, []))
            room = size
        pieces[-1][1].append(portion)
        room -= rows
    plain = base64.b64encode(schema.serialize()).decode()
    return json.dumps({"schema": plain, "pieces": pieces, "others": others})


def _groups(store: Store, name: str) -> list[int]:
    with opened(store, name) as file:
        return list(range(file.num_row_groups))


def _common(place: TaskPlace, schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The columns of all schemas, with types to which SQL converts the values of all of them."""
    tables: dict[str, pa.Table] = {}
    for schema in schemas:
        if not any(schema.equals(table.schema) for table in tables.values()):
            tables[f"keys_{len(tables)}"] = schema.empty_table()
    with connected(place, **tables) as con:
        common: pa.Schema = (
            con.sql(" UNION ALL BY NAME ".join(f"SELECT * FROM {name}" for name in tables)).to_arrow_table().schema
        )
        return common


def _schema(store: Store, name: str) -> pa.Schema:
    with opened(store, name) as file:
        return file.schema_arrow


def _units(url: str, name: str, shift: int) -> Iterator[tuple[int, int, Portion]]:
    """First number, rows and portion of each row group of a file; of the whole file if its numbers are not known."""
    with opened(open_store(url), name) as file:
        groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
        at = file.schema_arrow.get_field_index("_row")
        starts = [group.column(at).statistics for group in groups]
        whole = file.metadata.num_rows
    if any(one is None or not one.has_min_max for one in starts):
        yield shift, whole, (url, name, shift, list(range(len(groups))))
        return
    for number, (group, one) in enumerate(zip(groups, starts, strict=True)):
        yield shift + int(one.min), group.num_rows, (url, name, shift, [number])


def _together(own: Sequence[pa.Schema], known: Sequence[pa.Schema]) -> pa.Schema | None:
    """The columns of the run's match keys, with those that only the index has; None if a column has several types."""
    fields: dict[str, pa.Field] = {}
    for field in (field for schema in (*own, *known) for field in schema):
        if not _alike(fields.setdefault(field.name, field.with_nullable(True)).type, field.type):
            return None
    return pa.schema(list(fields.values()))


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Return whether two types are one in SQL; libraries name the items of lists differently."""
    kinds = (pa.types.is_list, pa.types.is_large_list)
    if all(any(kind(each) for kind in kinds) for each in (one, other)):
        return _alike(one.value_type, other.value_type)
    if all(pa.types.is_struct(each) for each in (one, other)):
        names = [[each.field(at).name for at in range(each.num_fields)] for each in (one, other)]
        pairs = zip(*([each.field(at).type for at in range(each.num_fields)] for each in (one, other)), strict=False)
        return names[0] == names[1] and all(_alike(*pair) for pair in pairs)
    texts, blobs = (pa.types.is_string, pa.types.is_large_string), (pa.types.is_binary, pa.types.is_large_binary)
    return one == other or any(
        all(any(kind(each) for kind in same) for each in (one, other)) for same in (texts, blobs)
    )


def remember(
    place: TaskPlace, schema: str, portions: Sequence[Portion], to: str, known: Sequence[FileFacts] = ()
) -> str:
    """Write a piece of an index under the numbers of its samples; returns the number of rows.

    schema: from `survey`. known: facts of the piece's files on the driver's machine.
    """
    check_files(known)
    columns = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema)))
    rows = 0
    with work(place) as (store, folder):
        with pq.ParquetWriter(
            folder / "piece.parquet", columns, compression="none", use_dictionary=False, write_statistics=False
        ) as writer:
            for url, name, shift, groups in portions:
                with opened(open_store(url), name) as file:
                    for group in groups:
                        table = file.read_row_group(group)
                        writer.write_table(_fitted(table, columns, shift))
                        rows += table.num_rows
        store.publish(folder / "piece.parquet", to)
    return str(rows)


def _fitted(table: pa.Table, columns: pa.Schema, shift: int) -> pa.Table:
    """A table with all columns, NULL where it has none of them. shift: added to the numbers of samples."""
    fitted: dict[str, Any] = {}
    for field in columns:
        if field.name == "_row":
            fitted["_row"] = ints(numbers(table["_row"]).astype(np.int64) + shift)
        elif field.name in table.column_names:
            fitted[field.name] = table[field.name].cast(field.type)
        else:
            fitted[field.name] = pa.nulls(len(table), field.type)
    return pa.table(fitted, schema=columns)


def extend(place: TaskPlace, keys: Sequence[str], first_rows: Sequence[int], removed: str, to: str) -> str:
    """Write the match keys of the samples of a partition that stay, as an index remembers them; returns their number.

    keys: files of match keys. removed: file of the removed samples, "" for none. The rest is as in `index.extend`.
    """
    with work(place) as (store, folder):
        numbers_of = np.frombuffer(store.bytes_at(removed, 0), np.int64) if removed else np.zeros(0, np.int64)
        gone = pa.table({"_row": ints(numbers_of)})
        files, target = [local(store, name, folder) for name in keys], folder / "index.parquet"
        with MatchKeys(files, [], limits(place), folders=[folder]) as relations:
            count = indexes.extend(relations, first_rows, gone, target)
        store.publish(target, to)
    return str(count)


def add_up(place: TaskPlace, names: Sequence[str], to: str) -> str:
    """Write the rows of several files to one, in order, row group by row group; returns their number."""
    with work(place) as (store, folder):
        schema = pa.unify_schemas([_schema(store, name) for name in names], promote_options="permissive")
        rows = 0
        with pq.ParquetWriter(folder / "index.parquet", schema, compression="zstd", use_dictionary=False) as writer:
            for name in names:
                with opened(store, name) as file:
                    for group in range(file.num_row_groups):
                        table = file.read_row_group(group)
                        writer.write_table(_fitted(table, schema, 0))
                        rows += table.num_rows
        store.publish(folder / "index.parquet", to)
    return str(rows)

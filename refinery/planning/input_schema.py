"""Fourth phase: the schema of the input's columns.

Types of JSON fields are those of all their values in all of the input, so the fields that SQL names are looked at in
every sample.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path

import pyarrow as pa

from refinery.common.cache_files import read_cached, write_cached
from refinery.common.connections import connect
from refinery.common.field_profile import InputProfile
from refinery.common.field_types import NOTHING, Structure, sql_of, structure_of
from refinery.common.fields import field_name
from refinery.common.lazy import duckdb
from refinery.compiler.model import Schema
from refinery.errors import DataError
from refinery.io.content_digest import how_cut, stamp_of
from refinery.io.field_scan import profile_of
from refinery.io.model import Keys, Shard
from refinery.io.readers.read import read
from refinery.kernels.core.cache import cache_root
from refinery.operators.versions import versions
from refinery.planning.phase import Phase, attempt
from refinery.planning.samples import Samples
from refinery.storage.file_digests import can_be_trusted

# Profiles in the user's cache folder, of a few kB each.
_MOST = 500
# Bytes of an input that commands which run nothing look at as a whole; bytes of the part that they see of a larger one.
WHOLE, PART = 2 << 30, 256 << 20
# Bytes of an input from which on a cluster looks at it: a task costs more than a few seconds of this process.
FAR = 1 << 30
# Schema of samples that cannot be read: any name may be that of a field.
ANY_FIELDS = Schema(True, unknown=True)


def part_of(shards: Sequence[Shard]) -> list[Shard]:
    """The shards, or some from all over a large input."""
    size = sum(shard.size for shard in shards)
    step = max(1, size // PART) if size > WHOLE else 1
    return list(shards[::step])


@dataclass(frozen=True)
class SchemaSettings:
    """Settings that decide the schema of a recipe's samples.

    names: fields that its SQL may read, in lower case. declared: types that it declares, by the keys of fields. profiles:
    `module:function` that looks at the shards of a large input on a cluster, or "". workers: threads that look at others.
    """

    names: frozenset[str]
    declared: Mapping[Keys, str]
    profiles: str
    workers: int


def find_schema(settings: SchemaSettings, samples: Samples, complete: bool, place: str) -> Phase[Schema]:
    """The schema of the samples. complete: of all of them, not of a part of a large input."""
    if not samples.known:
        return Phase(ANY_FIELDS)
    seen = samples.shards if complete else part_of(samples.shards)
    phase = attempt(partial(input_schema, settings, samples.lines, seen), ANY_FIELDS, place)
    schema = phase.value
    if samples.assumed and schema.columns:
        schema = replace(schema, columns={**samples.assumed, **schema.columns})
    return replace(phase, value=schema, notes=tuple(_of_part(schema, len(seen), len(samples.shards))))


def _of_part(schema: Schema, seen: int, shards: int) -> list[str]:
    """A line on types of fields that a run may find to be others."""
    if seen == shards or not any(schema.columns.values()):
        return []
    return [f"types of fields are those in {seen} of {shards} shards: a run looks at all values, and may find others"]


def input_schema(settings: SchemaSettings, lines: bool, shards: Sequence[Shard]) -> Schema:
    """Schema of a batch; JSON fields have the types of all their values, if the recipe's SQL may name them."""
    if not lines:
        columns = typed_columns(shards)
        return Schema(False, columns, unknown=not columns)
    declared, wanted = settings.declared, settings.names
    known = {keys[0].lower() for keys in declared if len(keys) == 1}
    if wanted <= known:
        return schema_of_fields(InputProfile(), declared) if wanted else Schema(True)
    return schema_of_fields(profile_of_input(settings, shards, wanted - known), declared)


def schema_of_fields(profile: InputProfile, declared: Mapping[Keys, str] | None = None) -> Schema:
    """Schema of JSON lines; columns that are not looked at have the type ""."""
    structures = {name: structure_of(fields) for name, fields in profile.fields.items()}
    for keys, kind in (declared or {}).items():
        declare(structures, keys, kind)
    columns = {name: "" for name in profile.names} | {name: sql_of(kind) for name, kind in structures.items()}
    nested = {
        name: json.dumps(kind) for name, kind in structures.items() if kind == NOTHING or not isinstance(kind, str)
    }
    return Schema(True, columns, unknown=not columns, structures=nested, declared=declared or {})


def declare(structures: dict[str, Structure], keys: Keys, kind: str) -> None:
    """Put a declared type into the types of fields. A nested field whose parent is looked at makes it a STRUCT."""
    head, *rest = keys
    if not rest:
        structures[head] = kind
    elif head in structures:
        inner = structures[head]
        within: dict[str, Structure] = inner if isinstance(inner, dict) else {}
        if not isinstance(inner, dict) and inner != NOTHING:
            raise DataError(
                f"fields declares {field_name(keys)}, but {head} is {sql_of(inner)} in the input, which has no members. "
                f"Declare a type of {head}"
            )
        within.setdefault(rest[0], NOTHING)
        declare(within, tuple(rest), kind)
        structures[head] = within


def profile_of_input(settings: SchemaSettings, shards: Sequence[Shard], wanted: AnySet[str]) -> InputProfile:
    """Profile of the fields that are looked at, from the user's cache folder if the input is unchanged."""
    stamps = [stamp_of(shard) for shard in shards]
    trusted = all(stamp and can_be_trusted(changed) for stamp, changed in stamps)
    place = cache_root() / "fields" / f"{_key(shards, wanted, [stamp for stamp, _ in stamps])}.json"
    if trusted and (stored := _stored(place)) is not None:
        return stored
    whole = InputProfile()
    for profile in _on_cluster(settings.profiles, shards, wanted) or _here(shards, wanted, settings.workers):
        whole.merge(profile)
    if trusted:
        write_cached(place, json.dumps(whole.plain()).encode(), _MOST)
    return whole


def _here(shards: Sequence[Shard], wanted: AnySet[str], workers: int) -> Iterator[InputProfile]:
    with ThreadPoolExecutor(max(1, workers)) as pool:
        yield from pool.map(partial(profile_of, wanted=wanted), shards)


def _on_cluster(profiles: str, shards: Sequence[Shard], wanted: AnySet[str]) -> list[InputProfile] | None:
    """Profiles of the shards of a large input, by tasks of the recipe's cluster; None if this process looks at them."""
    module, _, name = profiles.partition(":")
    if not module or sum(shard.size for shard in shards) < FAR:
        return None
    profiles_of_shards: list[InputProfile] | None = getattr(import_module(module), name)(shards, wanted)
    return profiles_of_shards


def _key(shards: Sequence[Shard], wanted: AnySet[str], stamps: Sequence[str]) -> str:
    read_as = [[how_cut(shard), stamp, shard.start, shard.end] for shard, stamp in zip(shards, stamps, strict=True)]
    return hashlib.sha256(json.dumps([versions(), sorted(wanted), read_as]).encode()).hexdigest()


def _stored(place: Path) -> InputProfile | None:
    text = read_cached(place)
    try:
        return None if text is None else InputProfile.of_plain(json.loads(text))
    except (ValueError, KeyError, TypeError):
        return None


def typed_columns(shards: Sequence[Shard]) -> dict[str, str]:
    """DuckDB types of the first batch's columns."""
    for shard in shards:
        for batch in read(shard, 1 << 20):
            try:
                return _describe(batch.table.slice(0, 0))
            except duckdb.Error as error:
                raise DataError(f"{shard.source.path}: DuckDB cannot read its columns: {error}") from error
    return {}


def _describe(table: pa.Table) -> dict[str, str]:
    if not table.num_columns:
        return {}
    with connect() as con:
        con.register("_columns", table)
        kinds = [kind for _, kind, *_ in con.execute("DESCRIBE SELECT * FROM _columns").fetchall()]
    return dict(zip(table.column_names, kinds, strict=True))  # DuckDB renames columns that differ only in letter case

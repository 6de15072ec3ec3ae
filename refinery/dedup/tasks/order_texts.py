"""Task that looks at the texts by which samples are preferred: do they stand for numbers?"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from refinery.common.lazy import pc
from refinery.dedup.tasks.files import opened
from refinery.storage.open import open_store
from refinery.workers.executor import TaskPlace

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def order_texts(place: TaskPlace, columns: Sequence[str], names: Sequence[str]) -> str:
    """For each column in each file of match keys that has texts: column, number of texts, of those that are numbers, and two sizes of
    these, fewer if all have one size. As JSON.
    """
    store, seen = open_store(place.store), []
    for name in names:
        with opened(store, name) as file:
            schema = file.schema_arrow
            for column in columns:
                if column in schema.names and _is_text(schema.field(column).type):
                    seen.append([column, *_looked(file.read([column]).column(0).drop_null())])
    return json.dumps(seen)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _looked(texts: pa.ChunkedArray) -> tuple[int, int, list[int]]:
    numbers = texts.filter(pc.match_substring_regex(texts, _NUMBER))
    return len(texts), len(numbers), pc.unique(pc.utf8_length(numbers)).to_pylist()[:2]

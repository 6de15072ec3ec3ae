"""Add the fields of partitions to samples that are JSON lines."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.io.batch import LINE, Batch
from refinery.io.model import Partitions
from refinery.io.writers.set_fields import set_members
from refinery.kernels.core.arrow import of_texts, strings, texts


def with_fields(batch: Batch, partitions: Partitions) -> Batch:
    """Lines with the partitions' fields at their end; a field that a line has itself stays."""
    column = batch.table[LINE]
    rows = np.arange(len(batch))
    for key, value, is_integer in partitions:
        lines = texts(column)
        absent = np.zeros(len(lines), np.bool_)
        name = key.encode()
        kernels.json.jsontext.lacking(
            lines.data, lines.offsets, np.frombuffer(name + b"\0", np.uint8)[: len(name)], absent
        )
        text = value if is_integer and value is not None else json.dumps(value, ensure_ascii=False)
        values = of_texts([text if lacks else None for lacks in absent.tolist()])
        data, offsets = set_members(column, rows, (key,), values, quote=False)
        column = strings(data, offsets, np.ones(len(rows), np.bool_))
    return replace(batch, table=pa.table({LINE: column}))

"""Samples whose text is made of a list of chat messages."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from refinery.io.batch import LINE, RAW_LIMIT, BadSample, Batch
from refinery.io.chat_texts import TEMPLATE, NoMessages, Template
from refinery.io.model import Source
from refinery.io.writers.set_fields import set_members
from refinery.kernels.core.arrow import of_texts, strings

_TEXT = "text"


def with_texts_of_chats(batch: Batch, source: Source) -> Batch:
    """Lines with the field `text` set to the text of their messages; a line without messages is a BadSample."""
    field = source.option("text_from", "")
    if not field:
        return batch
    template = Template.of(source.option("template", TEMPLATE))
    values: list[str] = []
    good: list[int] = []
    bad: list[BadSample] = []
    for i in range(len(batch)):
        try:
            values.append(json.dumps(template.text_of(batch.sample(i).get(field)), ensure_ascii=False))
            good.append(i)
        except NoMessages as error:
            raw, reason = batch.raw(i)[:RAW_LIMIT], f"the field {field!r} {error}"
            bad.append(BadSample(int(batch.rows[i]), batch.line_number(i), raw, reason))
    kept = batch.take(np.array(good, np.int64))
    if good:
        rows = np.arange(len(good))
        data, offsets = set_members(kept.table[LINE], rows, (_TEXT,), of_texts(values), quote=False)
        kept = replace(kept, table=pa.table({LINE: strings(data, offsets, np.ones(len(good), np.bool_))}))
    return replace(kept, bad=[*batch.bad, *bad], verbatim=False)

"""A first recipe for the data of a user: fields found in samples, the field of text, common steps with comments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

from refinery.common.fields import keys_of
from refinery.errors import DataError
from refinery.inspect.analyze.request import stem
from refinery.io.batch import LINE
from refinery.io.first_samples import FileFields, closer_look
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.io.sources import cut, find

_BYTES, _SAMPLES, _LINE = 256 << 10, 200, 4 << 20

_TEXT = """\
# A recipe for {data}, written by `refinery init`. Keys: docs/recipes.md; operators: `refinery ops`.
#   refinery check {file}          shows its problems, reads nothing but samples
#   refinery run {file} --show     runs it, with examples of what each step did
#
# Fields of {samples} samples, with the characters of an average text:
{fields}
dataset_path: {path}
export_path: {export}
{key}

process:
  # Mappers change texts.
  - fix_unicode_mapper:                 # text that was decoded wrongly
  - whitespace_normalization_mapper:    # all kinds of white space become plain spaces

  # Filters remove samples outside of their bounds. `refinery analyze {name}` shows what bounds would remove.
  - words_num_filter:
      min_num: 5                        # shorter texts go
  - alphanumeric_filter:
      min_ratio: 0.6                    # characters that are letters or digits
  - character_repetition_filter:
      rep_len: 10
      max_ratio: 0.5                    # characters in repeated passages

  # Deduplicators keep the first of equal samples; document_minhash_deduplicator also finds those that are nearly equal.
  - document_deduplicator:
"""


def starter_recipe(data: str, file: str) -> str:
    """The text of a recipe for a file, folder, pattern or URL. file: name that the recipe will have.

    Raises DataError if the data cannot be read, have no sample, or have no field of text.
    """
    shards = cut(find([data])[0])
    looks = closer_look(shards).glimpses
    if not looks:
        raise DataError(f"{data}: no sample can be read, so there is no field to refine")
    lengths = _lengths(shards, looks)
    if not lengths:
        raise DataError(f"{data}: no field holds text. Its fields are {', '.join(sorted(looks[0].names))}")
    key = max(lengths, key=lambda name: lengths[name])
    name = stem(data)
    chosen = f"text_keys: {json.dumps(key, ensure_ascii=False)}  # the field that steps refine: the one with the longest texts"
    return _TEXT.format(
        data=json.dumps(data, ensure_ascii=False),
        file=json.dumps(file, ensure_ascii=False)[1:-1],
        samples=f"{sum(look.samples for look in looks):,}" if not looks[0].typed else "the",
        fields="\n".join(_described(looks, lengths)),
        path=json.dumps(data, ensure_ascii=False),
        export=json.dumps(f"outputs/{name}/{name}.jsonl", ensure_ascii=False),
        key=chosen,
        name=json.dumps(data, ensure_ascii=False),
    )


def _described(looks: Sequence[FileFields], lengths: Mapping[str, float]) -> list[str]:
    """A comment for each field, those of text first."""
    names = sorted({name for look in looks for name in look.names}, key=lambda name: (-lengths.get(name, -1), name))
    return [f"#   {json.dumps(name, ensure_ascii=False)}: {_kind(name, looks, lengths)}" for name in names]


def _kind(name: str, looks: Sequence[FileFields], lengths: Mapping[str, float]) -> str:
    if name in lengths:
        return f"text, {lengths[name]:,.0f}"
    kinds = dict.fromkeys(look.others[name] for look in looks if name in look.others)
    return " or ".join(kinds) or "text or null"


def _lengths(shards: Sequence[Shard], looks: Sequence[FileFields]) -> dict[str, float]:
    """Average characters of the fields that hold text in every file, from samples of the first."""
    names = set(looks[0].texts).intersection(*(look.texts for look in looks))
    values: dict[str, list[int]] = {name: [] for name in looks[0].texts if name in names}
    for sample in _samples(shards[0]):
        for name, found in values.items():
            if isinstance(text := _member(sample, name), str):
                found.append(len(text))
    return {name: sum(found) / len(found) if found else 0.0 for name, found in values.items()}


def _samples(shard: Shard) -> list[Any]:
    with closing(read(shard, _BYTES, _SAMPLES, _LINE)) as batches:  # type: ignore[type-var]
        found: list[Any] = []
        for batch in islice(batches, 8):
            table = batch.table
            found += (
                [_parsed(line) for line in table[LINE].to_pylist()] if LINE in table.column_names else table.to_pylist()
            )
        return found


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _member(sample: Any, name: str) -> Any:
    for key in keys_of(name):
        sample = sample.get(key) if isinstance(sample, dict) else None
    return sample

"""Removal of ranges of bytes that another program has found in the texts."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from refinery.kernels.core.arrow import of_texts

OPERATOR = {
    "doc": (
        "Cut ranges of bytes out of each text, and remove samples if nothing is left. The ranges are a field, a list of "
        "[begin, end], such as repeated substrings; without it a text stays. With fuzzy_merge, ranges with little text between them "
        "are joined first: the next range is added to the hull of the ranges before while they cover at least merge_fuzziness "
        "of it, from both ends. A range beyond the text, or one that cuts a character in two, puts the sample into quarantine."
    ),
    "version": 1,
    "peer": "interval_filter of datamap-rs, which fails at ranges that overlap unless they are joined; here they are one",
    "params": {
        "interval_field": {"type": "sql", "doc": "The ranges: a field of lists of two numbers, or JSON of them."},
        "fuzzy_merge": {"type": "bool", "default": False, "doc": "Join ranges that nearly touch."},
        "merge_fuzziness": {
            "type": "float",
            "default": 1.0,
            "min": 0,
            "max": 1,
            "doc": "Smallest covered share of joined ranges.",
        },
    },
    "stats": {"cut_bytes": {"type": "BIGINT", "doc": "Bytes that are cut out."}},
    "functions": {
        "without_intervals": {
            "columns": ["VARCHAR", "BIGINT[][]"],
            "constants": ["BOOLEAN", "DOUBLE"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "without_intervals",
        }
    },
    "sql": """
        SELECT
          CASE WHEN {{ interval_field }} IS NOT NULL THEN without_intervals(
            {{ text }}, json_extract({{ interval_field }}::JSON, '$')::BIGINT[][], {{ fuzzy_merge | lit }},
            {{ merge_fuzziness | lit }}::DOUBLE
          ) END AS _delta,
          coalesce(strlen({{ text }}) - strlen(_delta), 0) AS cut_bytes,
          _delta AS delta,
          coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {
            "text": "0123456789",
            "params": {"interval_field": "'[[0, 2], [4, 5]]'"},
            "out": "2356789",
            "stats": {"cut_bytes": 3},
            "keep": True,
        },
        {"text": "0123456789", "params": {"interval_field": "[[6, 9], [2, 7]]"}, "out": "019", "keep": True},
        {
            "text": "0123456789",
            "params": {"interval_field": "'[[0, 4], [5, 9]]'", "fuzzy_merge": True, "merge_fuzziness": 0.8},
            "out": "9",
            "keep": True,
        },
        {"text": "é–x", "params": {"interval_field": "'[[2, 5]]'"}, "out": "éx", "keep": True},
        {"text": "é–x", "params": {"interval_field": "'[[1, 5]]'"}, "quarantined": "cuts a character in two"},
        {"text": "ab", "params": {"interval_field": "'[[1, 3]]'"}, "quarantined": "beyond the text"},
        {"text": "ab", "params": {"interval_field": "'[[0, 2]]'"}, "keep": False},
        {"text": "ab", "params": {"interval_field": "NULL"}, "out": "ab", "keep": True},
        {"text": "", "params": {"interval_field": "'[]'"}, "keep": False},
    ],
}

Range = tuple[int, int]


def without_intervals(column: pa.Array, intervals: pa.Array, fuzzy: bool, fuzziness: float) -> pa.Array:
    """Each text without its ranges, NULL where it has none."""
    pairs = zip(column.to_pylist(), intervals.to_pylist(), strict=True)
    return of_texts(
        [_cut(text, ranges, fuzzy, fuzziness) if text is not None and ranges else None for text, ranges in pairs]
    )


def _cut(text: str, ranges: Sequence[Sequence[int]], fuzzy: bool, fuzziness: float) -> str:
    data = text.encode()
    hulls = _union([_range(one, len(data)) for one in ranges])
    if fuzzy:
        backward = [(-end, -begin) for begin, end in reversed(hulls)]
        mirrored = [(-end, -begin) for begin, end in _joined(backward, fuzziness)]
        hulls = _union([*_joined(hulls, fuzziness), *mirrored])
    parts, at = list[bytes](), 0
    for begin, end in hulls:
        parts.append(data[at:begin])
        at = end
    try:
        return "".join(part.decode() for part in [*parts, data[at:]])
    except UnicodeDecodeError:
        raise ValueError(f"a range of {ranges} cuts a character in two") from None


def _range(given: Sequence[int], size: int) -> Range:
    if len(given) != 2 or not 0 <= given[0] <= given[1] <= size:
        raise ValueError(f"the range {given} is no range, or lies beyond the text of {size} bytes")
    return given[0], given[1]


def _union(ranges: Sequence[Range]) -> list[Range]:
    """Disjoint ranges, in order, that cover what the ranges cover."""
    found = list[Range]()
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1] and (begin < found[-1][1] or begin == end):
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def _joined(ranges: Sequence[Range], fuzziness: float) -> list[Range]:
    """Hulls of neighbouring ranges, joined from the first one on while they cover enough of their hull."""
    hulls, covered = list[Range](), 0
    for begin, end in ranges:
        size = end - begin
        if hulls and covered + size >= fuzziness * (end - hulls[-1][0]):
            hulls[-1], covered = (hulls[-1][0], end), covered + size
        else:
            hulls.append((begin, end))
            covered = size
    return hulls

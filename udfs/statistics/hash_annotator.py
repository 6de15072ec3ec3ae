"""Hash of a text or of another value, as a statistic."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.core.arrow import of_texts

OPERATOR = {
    "doc": "Measure the hash xxh3 of a text or of another value, as a decimal number in a text. The statistic has the name hash_destination.",
    "version": 1,
    "peer": "hash_annotator of datamap-rs, which writes a field",
    "params": {
        "hash_source": {"type": "sql", "default": "text", "doc": "What is hashed: text, a field or an expression."},
        "hash_destination": {"type": "str", "default": "text_hash", "doc": "Name of the statistic."},
        "num_bits": {"type": "int", "default": 128, "min": 64, "max": 128, "doc": "Bits of the hash, 64 or 128."},
    },
    "stats": {"{hash_destination}": {"type": "VARCHAR", "doc": "The hash."}},
    "checks": "check",
    "functions": {
        "xxh3_hash": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "hashes",
        }
    },
    "sql": "SELECT xxh3_hash(({{ hash_source }})::VARCHAR, {{ num_bits | lit }}) AS {{ hash_destination | ident }}",
    "examples": [
        {"text": "", "stats": {"text_hash": "204254712233039002205064565430793619839"}},
        {"text": "é", "params": {"num_bits": 64, "hash_destination": "h"}, "stats": {"h": "17839895020865391795"}},
        {"text": "a", "params": {"hash_source": "NULL"}, "stats": {"text_hash": None}},
        {"text": "a", "params": {"num_bits": 100}, "error": True},
    ],
}


def check(params: dict[str, int]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    bits = params["num_bits"]
    return [] if bits in (64, 128) else [f"num_bits is {bits}: give 64 or 128"]


def hashes(column: pa.Array, bits: int) -> pa.Array:
    """Hash of each value; NULL for NULL."""
    import xxhash

    digest = xxhash.xxh3_64_intdigest if bits == 64 else xxhash.xxh3_128_intdigest
    return of_texts([None if value is None else str(digest(value.encode())) for value in column.to_pylist()])

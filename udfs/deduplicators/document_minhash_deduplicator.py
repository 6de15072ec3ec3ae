"""Remove near-duplicate documents by MinHash and locality-sensitive hashing; kernels."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Remove documents that share most of their shingles (runs of window_size tokens) with an earlier one. Two "
        "documents are candidates if all minima of one band agree. With b bands of r minima, a pair with Jaccard "
        "similarity s is a candidate with probability 1 - (1 - s^r)^b. Connected candidates form a cluster. "
        "jaccard_threshold chooses b and r; it is a strict limit only with verify. The kept rows are exactly those "
        "of Data-Juicer, where all documents with fewer tokens than the window are duplicates of each other; a run "
        "notes their number. With short: compare, the default of hash: fast, such a document is one shingle and "
        "matches only the same shingle, and a document without tokens is never a duplicate."
    ),
    "version": 2,
    "peer": "document_minhash_deduplicator of Data-Juicer 1.6.1; MinHash of datatrove 0.10.1",
    "resources": {"loads": {"tokenization": "sentencepiece"}},
    "params": {
        "tokenization": {
            "type": "str",
            "default": "space",
            "choices": ["space", "punctuation", "character", "sentencepiece", "word", "english"],
            "doc": (
                "Kind of tokens: text between U+0020 (a line feed does not separate tokens), text between two "
                "punctuation characters, single characters, the pieces of tokenizer_model, runs of letters and "
                "digits (`word`), or words and marks as datatrove cuts them for English (`english`)."
            ),
        },
        "window_size": {"type": "int", "default": 5, "min": 1, "doc": "Tokens of a shingle."},
        "lowercase": {"type": "bool", "default": True, "doc": "Compare in lower case."},
        "ignore_pattern": {
            "type": "regex",
            "default": None,
            "nullable": True,
            "doc": "Pattern of text to remove, after lower-casing and before splitting.",
        },
        "num_permutations": {"type": "int", "default": 256, "min": 1, "doc": "Minima of a signature."},
        "jaccard_threshold": {
            "type": "float",
            "default": 0.7,
            "min": 0,
            "max": 1,
            "doc": "The similarity around which pairs become candidates; bands and rows are chosen for it.",
        },
        "num_bands": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "Bands; has an effect only together with num_rows_per_band.",
        },
        "num_rows_per_band": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "Minima of a band; has an effect only together with num_bands.",
        },
        "bands": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "Bands, together with rows: num_permutations is then bands x rows (20 and 13 in Nemotron-CC).",
        },
        "rows": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "Minima of a band, together with bands.",
        },
        "short": {
            "type": "str",
            "default": None,
            "nullable": True,
            "choices": ["data_juicer", "compare", "keep"],
            "doc": (
                "Treatment of texts with fewer tokens than the window: `data_juicer` removes all but the first of "
                "them, `compare` takes such a text as one shingle, which matches only the same text, `keep` compares "
                "them with nothing. The default is `data_juicer` with that hash, `compare` with `hash: fast`, and `keep` "
                "with `hash: datatrove`."
            ),
        },
        "tokenizer_model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{tokenizer_model}",
            "needed": {"tokenization": "sentencepiece"},
            "doc": "Tokenizer for sentencepiece: a SentencePiece model, or a tokenizer.json of the tokenizers library.",
        },
        "hash": {
            "type": "str",
            "default": "data_juicer",
            "default_when": [
                {"when": {"tokenization": "word"}, "default": "fast"},
                {"when": {"tokenization": "english"}, "default": "fast"},
                {"when": {"normalize": "datatrove"}, "default": "fast"},
            ],
            "choices": ["data_juicer", "fast", "datatrove"],
            "doc": (
                "Hash functions: `data_juicer` gives exactly its results; `fast` is refinery's own, with which short "
                "documents are not duplicates of each other. It is the default for shingles that Data-Juicer does "
                "not have. `datatrove` gives datatrove's signatures of the same words, for its signature files; it "
                "needs normalize: datatrove and tokenization: english or word."
            ),
        },
        "hash_fc": {
            "type": "str",
            "default": None,
            "nullable": True,
            "choices": ["xxhash", "sha1"],
            "doc": "For hash: datatrove, its hash function of a shingle; the default is xxhash.",
        },
        "precision": {
            "type": "int",
            "default": None,
            "nullable": True,
            "doc": "For hash: datatrove, the bits of its hashes and minima, 32 or 64; the default is 64.",
        },
        "seed": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 0,
            "max": 4294967295,
            "doc": "For hash: datatrove, the seed of its permutations; the default is 1.",
        },
        "normalize": {
            "type": "str",
            "default": "none",
            "choices": ["none", "datatrove"],
            "doc": (
                "Normalisation of the text; datatrove: lower case, numbers become 0, punctuation becomes a space, "
                "accents are removed. For datatrove's MinHash, use it with tokenization: word, n_grams: 5, "
                "num_buckets: 14 and hashes_per_bucket: 8."
            ),
        },
        "n_grams": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "datatrove's name of window_size; takes precedence over it.",
        },
        "num_buckets": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "datatrove's name of num_bands. With it num_permutations is num_buckets x hashes_per_bucket.",
        },
        "hashes_per_bucket": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "datatrove's name of num_rows_per_band; if only one of the two is set, the other is 14 or 8.",
        },
    },
    "aliases": {
        "ray_bts_minhash_deduplicator": {
            "doc": (
                "Data-Juicer's MinHash on Ray: the same operator under another name. Its parameters for Ray's actors "
                "have no effect."
            ),
            "params": {
                "union_find_parallel_num": {"type": "any", "default": "auto", "doc": "Without effect."},
                "union_threshold": {"type": "int", "default": 256, "nullable": True, "doc": "Without effect."},
                "max_pending_edge_buffer_task": {
                    "type": "int",
                    "default": 20,
                    "nullable": True,
                    "doc": "Without effect.",
                },
                "num_edge_buffer_task_returns": {
                    "type": "int",
                    "default": 10,
                    "nullable": True,
                    "doc": "Without effect.",
                },
                "max_pending_filter_tasks": {"type": "int", "default": 20, "nullable": True, "doc": "Without effect."},
                "num_filter_task_returns": {"type": "int", "default": 10, "nullable": True, "doc": "Without effect."},
                "merge_batch_size": {"type": "int", "default": 1000, "nullable": True, "doc": "Without effect."},
                "minhash_batch_size": {"type": "any", "default": "auto", "nullable": True, "doc": "Without effect."},
                "memory_per_sample": {"type": "float", "default": 0.1, "nullable": True, "doc": "Without effect."},
                "actor_memory": {"type": "int", "default": None, "nullable": True, "doc": "Without effect."},
                "task_memory": {"type": "int", "default": None, "nullable": True, "doc": "Without effect."},
            },
        },
        "ray_bts_minhash_cpp_deduplicator": {
            "doc": (
                "Data-Juicer's MinHash in C++ on Ray: the same operator under another name. Its parameters for Ray's "
                "actors have no effect. Data-Juicer's operator ignores lowercase and ignore_pattern, joins tokens "
                "without a separator and leaves out each document's last shingle; this one does not."
            ),
            "params": {
                "union_find_parallel_num": {"type": "any", "default": "auto", "doc": "Without effect."},
                "union_threshold": {"type": "int", "default": 256, "nullable": True, "doc": "Without effect."},
                "max_pending_edge_buffer_task": {
                    "type": "int",
                    "default": 20,
                    "nullable": True,
                    "doc": "Without effect.",
                },
                "num_edge_buffer_task_returns": {
                    "type": "int",
                    "default": 10,
                    "nullable": True,
                    "doc": "Without effect.",
                },
                "max_pending_filter_tasks": {"type": "int", "default": 20, "nullable": True, "doc": "Without effect."},
                "num_filter_task_returns": {"type": "int", "default": 10, "nullable": True, "doc": "Without effect."},
                "merge_batch_size": {"type": "int", "default": 1000, "nullable": True, "doc": "Without effect."},
            },
        },
    },
    "checks": "check",
    "refuses": [
        {
            "when": {"hash": "data_juicer", "tokenization": "word"},
            "say": (
                "hash: data_juicer gives Data-Juicer's rows, and Data-Juicer has no tokenization: word; set "
                "tokenization: space, punctuation or character, or hash: fast"
            ),
        },
        {
            "when": {"hash": "data_juicer", "tokenization": "english"},
            "say": (
                "hash: data_juicer gives Data-Juicer's rows, and Data-Juicer has no tokenization: english; set "
                "tokenization: space, punctuation or character, or hash: fast"
            ),
        },
    ],
    "functions": {
        "minhash_marks": {
            "columns": ["VARCHAR"],
            # fmt: off
            "constants": [
                "VARCHAR",
                "VARCHAR",
                "BOOLEAN",
                "VARCHAR",
                "VARCHAR",
                "BIGINT",
                "VARCHAR",
                "BIGINT",
                "DOUBLE",
                "BIGINT",
                "BIGINT",
                "VARCHAR",
                "BIGINT",
                "BIGINT",
                "VARCHAR",
            ],
            # fmt: on
            "returns": "STRUCT(bands UBIGINT[], signature BLOB, short BOOLEAN)",
            "runs": "kernel",
            "call": "minhash_marks",
        },
        "minhash_shingles": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "BOOLEAN", "VARCHAR", "VARCHAR", "BIGINT"],
            "returns": "UBIGINT[]",
            "runs": "kernel",
            "call": "minhash_shingles",
        },
        "jaccard": {
            "columns": ["UBIGINT[]", "UBIGINT[]"],
            "constants": [],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "jaccard_of_sets",
        },
        "estimate_jaccard": {
            "columns": ["BLOB", "BLOB"],
            "constants": [],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "estimate_jaccard",
        },
    },
    "match": "bands",
    "sql": """
        {% set shingles -%}
        {{ normalize | lit }}, {{ tokenization | lit }}, {{ lowercase | lit }}, {{ ignore_pattern | lit }},
        {{ tokenizer_model | lit }}, {{ (n_grams or window_size) | lit }}
        {%- endset %}
        {% if num_buckets or hashes_per_bucket %}
        {% set bands, rows = num_buckets or 14, hashes_per_bucket or 8 %}
        {% set permutations = bands * rows %}
        {% elif bands and rows %}
        {% set permutations = bands * rows %}
        {% else %}
        {% set bands, rows, permutations = num_bands, num_rows_per_band, num_permutations %}
        {% endif %}
        SELECT minhash_marks({{ text }}, {{ shingles }}, {{ hash | lit }}, {{ permutations | lit }},
        {{ jaccard_threshold | lit }}, {{ bands | lit }}, {{ rows | lit }},
        {{ (short or {'data_juicer': 'data_juicer', 'datatrove': 'keep'}.get(hash, 'compare')) | lit }},
        {{ (seed if seed is not none else 1) | lit }}, {{ (precision or 64) | lit }}, {{ (hash_fc or 'xxhash') | lit }}) AS marks
    """,
    "compare": """
        SELECT minhash_shingles({{ text }}, {{ normalize | lit }}, {{ tokenization | lit }}, {{ lowercase | lit }},
        {{ ignore_pattern | lit }}, {{ tokenizer_model | lit }}, {{ (n_grams or window_size) | lit }}) AS shingles
    """,
    "examples": [
        {
            "texts": ["one two three four five six", "ONE two  three four five six", "one two three four five"],
            "kept": [0, 2],
        },
        {
            "texts": ["one two three", "one two", "one two three", "", " ", ""],
            "params": {"hash": "fast"},
            "kept": [0, 1, 3, 4, 5],
        },
        {"texts": ["one two three", "one two", "something else", "one two three four five six"], "kept": [0, 3]},
        {"texts": ["one two", "one three", "one two"], "params": {"short": "compare"}, "kept": [0, 1]},
        {"texts": ["one two", "one two", ""], "params": {"short": "keep"}, "kept": [0, 1, 2]},
        {
            "texts": ["The same long text, with a few words", "The same long text, with a few words.", "Another text"],
            "params": {"tokenization": "character", "window_size": 24, "bands": 20, "rows": 13},
            "kept": [0, 2],
        },
        {
            "texts": ["a line\nand the next one of it", "a line and the next one of it"],
            "params": {"window_size": 2, "num_bands": 1, "num_rows_per_band": 64},
            "kept": [0, 1],
        },
        {
            "texts": ["Café prices: 12.50, then 3.", "CAFE PRICES 7 (then 3)"],
            "params": {
                "normalize": "datatrove",
                "tokenization": "word",
                "n_grams": 2,
                "num_buckets": 14,
                "hashes_per_bucket": 8,
            },
            "kept": [0],
        },
        {
            "texts": ["It's a café.", "ITS a cafe", "it's a cafe", "it's"],
            "params": {"normalize": "datatrove", "tokenization": "english", "hash": "datatrove", "n_grams": 2},
            "kept": [0, 1, 3],
        },
        {
            "texts": ["数据处理很重要", "数据处理很重要。", "完全不同的句子"],
            "params": {"tokenization": "character", "ignore_pattern": "\\p{P}"},
            "kept": [0, 2],
        },
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return _bands_alone(params) + _bands_fit(params) + _tokenizer(params) + _datatrove(params)


def _datatrove(params: dict[str, Any]) -> list[str]:
    """Problems of `hash: datatrove`, whose signatures are those of datatrove's words alone, and of its further parameters."""
    if params.get("hash") != "datatrove":
        alone = [name for name in ("seed", "precision", "hash_fc") if params.get(name) is not None]
        return [f"{name} is for hash: datatrove; set that, or leave {name} out" for name in alone]
    problems = []
    if params.get("normalize") != "datatrove":
        problems.append("hash: datatrove gives the signatures of normalised texts; set normalize: datatrove")
    if params.get("tokenization") not in ("english", "word"):
        problems.append("hash: datatrove gives the signatures of words; set tokenization: english, or word")
    if params.get("ignore_pattern"):
        problems.append("hash: datatrove has no ignore_pattern; leave it out, or set hash: fast")
    if params.get("short") not in (None, "keep"):
        problems.append("datatrove has no signature of a text with fewer words than the window; set short: keep")
    if params.get("precision") not in (None, 32, 64):
        problems.append(f"precision is {params['precision']}; set it to 32 or 64")
    return problems


def _bands_alone(params: dict[str, Any]) -> list[str]:
    """Problems of `bands` and `rows`, which replace the other names of the same numbers."""
    own = [name for name in ("bands", "rows") if params.get(name)]
    if not own:
        return []
    if len(own) == 1:
        return [f"{own[0]} needs {'rows' if own == ['bands'] else 'bands'} beside it, such as bands: 20, rows: 13"]
    others = ("num_bands", "num_rows_per_band", "num_buckets", "hashes_per_bucket")
    return [f"{name} is another name of what bands and rows say; leave it out" for name in others if params.get(name)]


def _bands_fit(params: dict[str, Any]) -> list[str]:
    bands, rows, permutations = (params.get(n) for n in ("num_bands", "num_rows_per_band", "num_permutations"))
    if not bands or not rows or not permutations or params.get("num_buckets") or params.get("hashes_per_bucket"):
        return []
    if bands * rows <= permutations:
        return []
    return [
        f"{bands} bands of {rows} minima need {bands * rows} permutations, and there are {permutations}: set "
        f"num_permutations to {bands * rows}, or fewer bands (Data-Juicer would take all documents for duplicates)"
    ]


def _tokenizer(params: dict[str, Any]) -> list[str]:
    if params.get("tokenization") != "sentencepiece":
        return []
    model = params.get("tokenizer_model")
    if not model:
        return ["tokenization: sentencepiece needs a tokenizer_model: a SentencePiece model or a tokenizer.json"]
    return subwords.check({"tokenization": True, "model": model})


def minhash_marks(
    column: pa.Array,
    normalize: str,
    tokenization: str,
    lowercase: bool,
    ignore_pattern: str | None,
    tokenizer_model: str | None,
    window: int,
    hash: str,
    permutations: int,
    threshold: float,
    bands: int | None,
    rows: int | None,
    short: str,
    seed: int = 1,
    precision: int = 64,
    hash_fc: str = "xxhash",
) -> pa.Array:
    """Band keys and signature of each text; see `minhash_texts.signatures`. Bands and rows default to the best ones."""
    from refinery.kernels.dedup import minhash_bands, minhash_texts

    if not bands or not rows:
        bands, rows = minhash_bands.optimum(threshold, permutations)
    room = minhash_texts.room_of_thread()
    found = minhash_texts.split(column, normalize, tokenization, lowercase, ignore_pattern, tokenizer_model, room)
    choice = minhash_texts.DatatroveHash(seed, precision, hash_fc)
    return minhash_texts.signatures(found, window, hash, permutations, bands, rows, short, choice)


def minhash_shingles(
    column: pa.Array,
    normalize: str,
    tokenization: str,
    lowercase: bool,
    ignore_pattern: str | None,
    tokenizer_model: str | None,
    window: int,
) -> pa.Array:
    """The distinct shingles of each text as sorted 64-bit hashes; NULL for NULL."""
    from refinery.kernels.dedup import minhash_texts

    found = minhash_texts.split(column, normalize, tokenization, lowercase, ignore_pattern, tokenizer_model)
    return minhash_texts.shingle_set(found, window)


def jaccard_of_sets(left: pa.Array, right: pa.Array) -> pa.Array:
    """Jaccard similarity of each pair of shingle sets."""
    from refinery.kernels.dedup import jaccard

    return jaccard.jaccard(left, right)


def estimate_jaccard(left: pa.Array, right: pa.Array) -> pa.Array:
    """Estimated Jaccard similarity of each pair of signatures."""
    from refinery.kernels.dedup import jaccard

    return jaccard.estimate(left, right)

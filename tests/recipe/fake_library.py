"""Operators as the loader sees them, without files: enough of their parameters for the public recipes and for traps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX = 2**63 - 1


@dataclass(frozen=True)
class Param:
    name: str
    type: str
    default: Any = None
    required: bool = False
    nullable: bool = False
    min: float | None = None
    max: float | None = None
    choices: tuple[Any, ...] | None = None
    doc: str = ""


@dataclass(frozen=True)
class Operator:
    name: str
    kind: str
    params: dict[str, Param]
    bounds: dict[str, list[str]] = field(default_factory=dict)
    needs: dict[str, str] = field(default_factory=dict)
    says: tuple[str, ...] = ()

    def check(self, params: dict[str, Any]) -> list[str]:
        return [sentence.format(**params) for sentence in self.says]


@dataclass(frozen=True)
class Library:
    operators: dict[str, Operator]

    def without(self, *names: str) -> Library:
        return Library({name: op for name, op in self.operators.items() if name not in names})


def operator(name: str, *params: Param, **more: Any) -> Operator:
    return Operator(name, name.rsplit("_", 1)[1], {param.name: param for param in params}, **more)


def ratio(name: str, default: float) -> Param:
    return Param(name, "float", default, min=0)


def count(name: str, default: int) -> Param:
    return Param(name, "int", default, min=0)


LANG = Param("lang", "str", "en")
TOKENS = Param("tokenization", "bool", False)
REP_LEN = Param("rep_len", "int", 10, min=1)
RATIOS = (ratio("min_ratio", 0.0), ratio("max_ratio", 1.0))
SHINGLES = (
    Param("tokenization", "str", "space", choices=("space", "punctuation", "character", "sentencepiece")),
    Param("window_size", "int", 6, min=1),
    Param("lowercase", "bool", True),
    Param("ignore_pattern", "regex", None, nullable=True),
)
WORDS_DIR = Param("words_dir", "folder", None, nullable=True)
BETWEEN = {"ratio": ["min_ratio", "max_ratio"]}
PLAIN = (
    "clean_email_mapper clean_links_mapper clean_copyright_mapper clean_html_mapper fix_unicode_mapper "
    "punctuation_normalization_mapper whitespace_normalization_mapper remove_bibliography_mapper expand_macro_mapper "
    "remove_words_with_incorrect_substrings_mapper"
).split()

FOUNDATION = Library(
    {
        op.name: op
        for op in (
            *(operator(name) for name in PLAIN),
            operator("remove_header_mapper", Param("drop_no_head", "bool", True)),
            operator(
                "remove_comments_mapper",
                Param("doc_type", "str_or_list", "tex"),
                Param("inline", "bool", True),
                Param("multiline", "bool", True),
            ),
            operator("remove_long_words_mapper", count("min_len", 1), count("max_len", MAX)),
            operator(
                "replace_content_mapper",
                Param("pattern", "regex", None, nullable=True),
                Param("repl", "str_or_list", ""),
                Param("flags", "list[int]", ()),
                Param("extra", "any", None),
            ),
            operator("text_chunk_mapper", Param("max_len", "int", None, required=True, min=1)),
            operator("alphanumeric_filter", TOKENS, ratio("min_ratio", 0.25), ratio("max_ratio", MAX), bounds=BETWEEN),
            operator("average_line_length_filter", count("min_len", 10), count("max_len", MAX)),
            operator("maximum_line_length_filter", count("min_len", 10), count("max_len", MAX)),
            operator(
                "text_length_filter", count("min_len", 10), count("max_len", MAX), bounds={"n": ["min_len", "max_len"]}
            ),
            operator("character_repetition_filter", REP_LEN, *RATIOS, bounds=BETWEEN),
            operator("word_repetition_filter", LANG, TOKENS, REP_LEN, *RATIOS, bounds=BETWEEN),
            operator("special_characters_filter", *RATIOS, bounds=BETWEEN),
            operator("stopwords_filter", LANG, TOKENS, *RATIOS, WORDS_DIR),
            operator("flagged_words_filter", LANG, TOKENS, *RATIOS, Param("use_words_aug", "bool", False), WORDS_DIR),
            operator("words_num_filter", LANG, TOKENS, count("min_num", 10), count("max_num", MAX)),
            operator("suffix_filter", Param("suffixes", "list[str]", ())),
            operator("sql_filter", Param("where", "sql", required=True)),
        )
    }
)

COMPLETE = Library(
    FOUNDATION.operators
    | {
        op.name: op
        for op in (
            operator("language_id_score_filter", Param("lang", "str_or_list", ""), ratio("min_score", 0.8)),
            operator("perplexity_filter", LANG, ratio("max_ppl", 1500)),
            operator(
                "document_deduplicator", Param("lowercase", "bool", False), Param("ignore_non_character", "bool", False)
            ),
            operator("document_minhash_deduplicator", *SHINGLES),
            operator("document_simhash_deduplicator", *SHINGLES, count("num_blocks", 6), count("hamming_distance", 4)),
            operator(
                "ray_bts_minhash_deduplicator",
                *SHINGLES,
                Param("union_find_parallel_num", "any", "auto"),
                Param("memory_per_sample", "float", 0.1),
            ),
        )
    }
)

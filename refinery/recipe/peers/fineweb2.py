"""FineWeb-2: a mapping of thresholds and stop words of one language, named by the file (`fra_Latn.yml`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from refinery.recipe.peers.model import FindFile, Item, Source, Translation

PEER = "FineWeb-2"
_KEYS = {
    "dup_line_frac", "dup_n_grams", "language_score", "line_punct_thr", "max_avg_word_length", "max_non_alpha_words_ratio",
    "min_avg_word_length", "new_line_ratio", "stopwords", "top_n_grams",
}  # fmt: skip
_NAME = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")


def is_fineweb2(content: Any) -> bool:
    """Return whether a file's content is a configuration of a language of FineWeb-2."""
    return isinstance(content, dict) and "language_score" in content and len(_KEYS & content.keys()) >= 6


def translate(source: Source, find: FindFile) -> Translation:
    """Translate the configuration of a language."""
    result, content = Translation(PEER), dict(source.content)
    name = Path(source.path).name.partition(".")[0]
    if not _NAME.fullmatch(name):
        missing = f"the file's name {name!r} must be the language and script, such as fra_Latn"
        result.items.append(Item("language", 1, missing=missing))
        return result
    result.notes += [f"{key} has no part in FineWeb-2's pipeline." for key in content if key not in _KEYS]
    result.notes.append(
        "Its pipeline also deduplicates by MinHash, between language and filters, over this language's words. "
        "document_minhash_deduplicator with hash: fast can stand there; it cuts words at white space."
    )
    own = {"language": name}

    def item(theirs: str, key: str, step: dict[str, Any], *notes: str) -> None:
        result.items.append(Item(theirs, source.line(key), [step], notes=notes))

    item(
        "LanguageFilter",
        "language_score",
        {
            "language_filter": {
                "backend": "glotlid",
                "languages": [name],
                "language_threshold": content["language_score"],
            }
        },
        "The model of GlotLID is a file of 1.7 GB: refinery assets.",
    )
    off = {"dup_para_frac": 0, "dup_line_char_frac": 0, "dup_para_char_frac": 0}
    repetition = {key: content[key] for key in ("dup_line_frac", "top_n_grams", "dup_n_grams") if key in content}
    item("GopherRepetitionFilter", "dup_line_frac", {"gopher_repetition_filter": {**own, **off, **repetition}})
    quality = {key: content[key] for key in ("line_punct_thr", "new_line_ratio") if key in content}
    fineweb = {**own, "short_line_thr": 999, "char_duplicates_ratio": 0.1, **quality}
    item("FineWebQualityFilter", "line_punct_thr", {"fineweb_quality_filter": fineweb})
    lengths = ("max_avg_word_length", "min_avg_word_length", "max_non_alpha_words_ratio")
    gopher = {key: content[key] for key in lengths if key in content}
    stops = {"stop_words": content["stopwords"]} if "stopwords" in content else {}
    item("GopherQualityFilter", "stopwords", {"gopher_quality_filter": {**own, **gopher, **stops, "min_stop_words": 2}})
    item("FTFYFormatter", "", {"ftfy_mapper": None})
    item("PIIFormatter", "", {"pii_mapper": None})
    item("SymbolLinesFormatter", "", {"symbol_lines_mapper": {"symbols_to_remove": ["|"], "replace_char": "\n"}})
    return result

"""DCLM: a list of sources, each with `steps` of functions (`func`) and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refinery.recipe.peers.model import FindFile, Item, Source, Translation

PEER = "DCLM"
_URL = "metadata.WARC-Target-URI"
# Operators of refinery that have the meaning of several tools.
_SHARED = {
    "alphabetic_word_ratio_filter", "newline_removal_modifier", "stop_word_filter", "substring_filter",
    "substring_line_modifier", "symbol_ratio_filter", "url_substring_filter", "word_removal_ratio_filter",
}  # fmt: skip
_FILES = ("banlist_from_fname", "banlist_file")
_ONLY_AROUND = "it only cuts texts into lines, or joins them, around a step on lines; here such steps take whole texts"
_MISSING = {
    "exact_dedup": "which copy stays is chosen by the MD5 of another field; document_deduplicator, key_deduplicator and "
    "document_line_deduplicator keep the first",
    "html_content_extraction_modifier": "use extract_html_mapper with by: justext",
}


def is_dclm(content: Any) -> bool:
    """Return whether a file's content is a configuration of DCLM."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(source, dict) and isinstance(source.get("steps"), list) for source in content)
        and all(isinstance(step, dict) and "func" in step for source in content for step in source["steps"])
    )


def translate(source: Source, find: FindFile) -> Translation:
    """Translate a configuration of DCLM."""
    result = Translation(PEER)
    if len(source.content) > 1:
        missing = "a recipe has one pipeline, and each source has steps of its own: make a file of each"
        result.items.append(Item("sources", 1, missing=missing))
        return result
    reader = _Steps(source, find, result)
    for number, one in enumerate(source.content):
        for at, step in enumerate(one["steps"]):
            reader.add(step, (number, "steps", at), one["steps"][at + 1 :])
    return result


class _Steps:
    def __init__(self, source: Source, find: FindFile, result: Translation) -> None:
        self.source, self.find, self.result = source, find, result
        self.url = "url"
        self.scores: dict[str, str] = {}  # key of a page -> reason why no step makes it
        self.rules: dict[str, Callable[[dict[str, Any]], Item]] = {
            "move_url_modifier": self._move_url,
            "key_name_modifier": self._rename,
            "detect_lang_whole_page_enricher": self._detect_language,
            "language_filter": self._language,
            "classify_fasttext_hq_prob_enricher": self._classify,
            "quality_filter": self._quality,
            "split_lines_modifier": self._around,
            "join_lines_modifier": self._around,
        }
        self.models: dict[str, str] = {}  # key of a page -> model that makes its score
        self.at = 0

    def add(self, step: Mapping[str, Any], keys: tuple[Any, ...], later: Sequence[Mapping[str, Any]]) -> None:
        name = str(step["func"])
        self.at, self.name = self.source.line(*keys), name
        given = {key: value for key, value in step.items() if key != "func" and not str(key).startswith("_")}
        self.result.items.append(self.rules.get(name, self._same)(given))

    def _item(self, *steps: dict[str, Any], missing: str = "", notes: Sequence[str] = ()) -> Item:
        return Item(self.name, self.at, steps, missing, notes)

    def _same(self, given: dict[str, Any]) -> Item:
        """A function whose operator has its name and its arguments."""
        if self.name in _MISSING:
            return self._item(missing=_MISSING[self.name])
        notes = []
        for key in _FILES:
            if isinstance(given.get(key), str):
                given[key] = self.find(given[key])
        if self.name == "url_substring_filter":
            given["url_key"] = self.url
            if given.get("exact_domain_match") and given.get("ignore_chars"):
                notes.append(
                    "As in DCLM, hosts that begin with www. become .host, and miss a list without leading dots."
                )
        if self.name == "url_removal_modifier":
            notes.append("As in DCLM, addresses go only from texts that begin with letters of a top-level domain.")
        if self.name in _SHARED:
            given = {"as": "dclm", **given}
        return self._item({self.name: given}, notes=notes)

    def _move_url(self, given: dict[str, Any]) -> Item:
        self.url = _URL
        return self._item(notes=[f"Filters read the address from {_URL}."])

    def _rename(self, given: dict[str, Any]) -> Item:
        old, new = str(given.get("old_key", "content")), str(given.get("new_key", "text"))
        if new != "text":
            return self._item(
                missing="only the field of the text can have another name; rename fields with export_fields"
            )
        self.result.keys["text_keys"] = old
        return self._item(notes=[f"The text stays in the field {old!r}; export_fields can rename it."])

    def _around(self, given: dict[str, Any]) -> Item:
        return self._item(notes=[f"No step: {_ONLY_AROUND}."])

    def _detect_language(self, given: dict[str, Any]) -> Item:
        model = str(given.get("model", "fasttext"))
        key = f"{given.get('key_prefix', 'language_id_whole_page')}_{model}"
        if model == "fasttext":
            self.models[key] = "lid.176.bin"
            return self._item(notes=["The next language_filter runs the model lid.176.bin (refinery assets)."])
        self.scores[key] = reason = f"languages are found by fastText here, not by {model}"
        return self._item(missing=reason)

    def _language(self, given: dict[str, Any]) -> Item:
        key = str(given.get("key", ""))
        if key in self.scores:
            return self._item(missing=f"it needs {key}: {self.scores[key]}")
        languages, threshold = given.get("keep_languages", []), given.get("threshold", 0.0)
        if key in self.models:
            return self._item({"language_filter": {"languages": languages, "language_threshold": threshold}})
        params = {"as": "dclm", "key": _field(key), "keep_languages": languages, "threshold": threshold}
        return self._item({"language_filter": params})

    def _classify(self, given: dict[str, Any]) -> Item:
        self.models[str(given.get("key", ""))] = self.find(str(given.get("model_filename", "")))
        return self._item(notes=["The next quality_filter runs the model."])

    def _quality(self, given: dict[str, Any]) -> Item:
        key = str(given.get("key", ""))
        if key not in self.models:
            given["key"] = _field(key)
            return self._item({"quality_filter": given})
        bound = "max_score" if given.get("lower_better") else "min_score"
        least = {"min_score": 0} if bound == "max_score" else {}
        params = {"model": self.models[key], "labels": ["hq"], **least, bound: given.get("threshold", 0.0)}
        return self._item({"fasttext_filter": params}, notes=["The score is that of the label __label__hq."])


def _field(path: str) -> str:
    """A dotted path as SQL."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in path.split("."))

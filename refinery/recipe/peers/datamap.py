"""datamap-rs: a `pipeline` of processors (`name`) with `kwargs`, or a group filter.

The program takes no notice of arguments that it does not know, and takes its default for a value of another type. So does
the translation, with a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from refinery.recipe.peers.model import FindFile, Item, Source, Translation

PEER = "datamap-rs"
_SHARED = {
    "alphabetic_word_ratio_filter", "newline_removal_modifier", "stop_word_filter", "substring_line_modifier",
    "symbol_ratio_filter", "url_substring_filter", "word_removal_ratio_filter",
}  # fmt: skip
_FILES = ("banlist_file", "cursed_regex_file", "fast_text_file", "tokenizer_file")
_STEP_KEYS = {"name", "kwargs", "step"}
# Processors that only add fields of the output, on which no other one depends.
_NOT_WRITTEN = {
    "add_id": "samples have their numbers, _row, in the tables of the run",
    "rename_modifier": "export_fields renames fields of the export",
    "constant_annotator": "a view over the export can add a constant",
    "gzip_annotator": "no operator measures how well a text compresses",
}
_NO_PLACE = {
    "token_count_annotator": "token_stats counts the tokens of a tokenizer; its count is token_count",
    "ultrafineweb_annotator": "its cleaning of texts is not that of fasttext_annotator; use fasttext_filter",
}
# Arguments of each processor with the type that the program reads; other arguments have no effect there.
_Types = tuple[type, ...]
_NUMBER: _Types = (int, float)
_WHOLE: _Types = (int,)
_TEXT: _Types = (str,)
_BOOL: _Types = (bool,)
_LIST: _Types = (list, str)
_BOUNDS: dict[str, _Types] = {"lower_bound": _NUMBER, "upper_bound": _NUMBER}
ARGUMENTS: dict[str, dict[str, _Types]] = {
    "text_len_filter": {"lower_bound": _WHOLE, "upper_bound": _WHOLE},
    "page_len_filter": {"length_type": _TEXT, "lower_bound": _WHOLE, "upper_bound": _WHOLE, "ignore_punctuation": _BOOL},
    "word_len_filter": _BOUNDS,
    "symbol_ratio_filter": {"max_symbol_to_word_ratio": _NUMBER},
    "bullet_filter": {"max_bullet_ratio": _NUMBER},
    "ellipsis_line_ratio_filter": {"max_ratio": _NUMBER},
    "alphabetic_word_ratio_filter": {"max_ratio": _NUMBER},
    "stop_word_filter": {"count_unique": _BOOL, "min_stop_word": _WHOLE},
    "massive_web_repetition_filter": {},
    "newline_removal_modifier": {"max_consecutive": _WHOLE},
    "ratio_line_modifier": {"check": _TEXT, "upper_bound": _NUMBER},
    "regex_line_modifier": {"regex": _TEXT},
    "line_len_modifier": {"lower_bound": _WHOLE},
    "substring_line_modifier": {"banlist": _LIST, "max_len": _WHOLE, "remove_substring_only": _BOOL, "location": _TEXT},
    "word_count_adder": {"word_count_field": _TEXT},
    "word_removal_ratio_filter": {"word_count_field": _TEXT, "upper_bound": _NUMBER},
    "url_substring_filter": {
        "url_key": _TEXT, "alt_url_key": _TEXT, "banlist": _LIST, "banlist_file": _TEXT, "ignore_chars": _LIST,
        "num_banned_substrs": _WHOLE, "exact_domain_match": _BOOL, "match_substrings": _BOOL, "case_sensitive": _BOOL,
        "exact_subdomain_match": _BOOL, "exact_url_match": _BOOL, "exact_part_match": _BOOL,
    },
}  # fmt: skip


def is_datamap(content: Any) -> bool:
    """Return whether a file's content is a configuration of datamap-rs."""
    if not isinstance(content, dict):
        return False
    steps = content.get("pipeline")
    if isinstance(steps, list) and steps:
        return all(isinstance(step, dict) and "name" in step and {*step} <= _STEP_KEYS for step in steps)
    return "group_keys" in content and "sort_keys" in content


def translate(source: Source, find: FindFile) -> Translation:
    """Translate a configuration of datamap-rs."""
    result = Translation(PEER)
    content = source.content
    if content.get("text_field", "text") != "text":
        result.keys["text_keys"] = content["text_field"]
    if "group_keys" in content:
        result.items.append(_group_filter(content, source))
        return result
    reader = _Steps(find, result)
    for at, step in enumerate(content["pipeline"]):
        result.items.append(reader.item(step, source.line("pipeline", at)))
    return result


def _group_filter(content: Mapping[str, Any], source: Source) -> Item:
    """One sample of each group, the first or last in the order of the keys."""
    place = content.get("keep_idx", 0)
    if place not in (0, -1):
        return Item(
            "group filter", 1, missing=f"keep_idx {place}: key_deduplicator keeps the first or the last of an order"
        )
    keys = ", ".join(_field(key) for key in content["group_keys"])
    orders = [_first(key) for key in content["sort_keys"]]
    direction = "DESC" if place == -1 else "ASC"
    keep = ", ".join(f"{order} {direction} NULLS LAST" for order in orders) or "first"
    params = {"key": keys if len(content["group_keys"]) == 1 else f"ROW({keys})", "keep": keep}
    notes = ["Samples without the key are not compared, and stay."]
    return Item("group filter", source.line("group_keys"), [{"key_deduplicator": params}], notes=notes)


def _first(keys: Any) -> str:
    fields = [_field(key) for key in (keys if isinstance(keys, list) else [keys])]
    return fields[0] if len(fields) == 1 else f"coalesce({', '.join(fields)})"


# Arguments that name a field which the processor writes, and those that name fields which it reads. Here the first are
# statistics, named by the last part of the path, and the others SQL.
_WRITES = {
    "fasttext_annotator": "output_field", "max_extractor": "output_attribute", "word_count_adder": "word_count_field",
    "hash_annotator": "hash_destination", "madlad400_sentence_annotator": "annotation_key",
}  # fmt: skip
_READS = {
    "float_filter": "float_field", "string_eq_filter": "str_field", "max_extractor": "main_attribute",
    "madlad400_rule_filter": "annotation_key", "word_removal_ratio_filter": "word_count_field",
    "madlad400_sentence_annotator": "langid_field", "interval_filter": "interval_field",
}  # fmt: skip


class _Steps:
    def __init__(self, find: FindFile, result: Translation) -> None:
        self.find, self.result = find, result
        self.written: dict[str, str] = {}  # path of a field that a processor writes -> statistic

    def item(self, step: Mapping[str, Any], line: int) -> Item:
        name = str(step["name"])
        given = dict(step.get("kwargs") or {})
        if name in _NO_PLACE:
            return Item(name, line, missing=_NO_PLACE[name])
        if name in _NOT_WRITTEN:
            return Item(name, line, notes=[f"No step: its field is not written ({_NOT_WRITTEN[name]})."])
        field = given.pop("text_field", None)
        known, notes = _as_the_program_reads(name, given)
        if known.pop("max_text_length", 0):
            return Item(name, line, missing="max_text_length: the whole text is classified here")
        for key in _FILES:
            if isinstance(known.get(key), str):
                known[key] = self.find(known[key])
        notes += self._own_notes(name, known)
        self._fields(name, known)
        if field is not None and field != self.result.keys.get("text_keys", "text"):
            known["text_key"] = field
        shared = {"as": "datamap"} if name in _SHARED else {}
        beside = {"name": str(step["step"])} if "step" in step else {}
        return Item(name, line, [{name: {**shared, **known}, **beside}], notes=notes)

    def _own_notes(self, name: str, params: dict[str, Any]) -> list[str]:
        if name == "regex_line_modifier" and "regex" not in params:
            return ["Its default expression is used, as by the program."]
        if name == "substring_line_modifier" and "max_len" not in params:
            return ["The program has no limit of words here: lines of any length lose it."]
        if name == "madlad400_sentence_annotator" and 1 not in params.get("rules_to_include", [1]):
            params.pop("fast_text_file", None)
            params.pop("langid_field", None)
            return ["Without rule 1, no sentence is asked for its language."]
        return []

    def _fields(self, name: str, params: dict[str, Any]) -> None:
        """Put statistics and SQL in place of the paths of fields."""
        if name in _READS and _READS[name] in params:
            params[_READS[name]] = self._read(str(params[_READS[name]]))
        key = _WRITES.get(name, "")
        if key in params:
            path = str(params[key])
            params[key] = self.written[path] = path.rpartition(".")[2]

    def _read(self, path: str) -> str:
        """SQL for a field: below a statistic that an earlier processor makes, or of the data."""
        if path in self.written:
            return _part(self.written[path])
        above = max((known for known in self.written if path.startswith(f"{known}.")), key=len, default="")
        if not above:
            return _field(path)
        inner = path.removeprefix(f"{above}.").replace("'", "''")
        return f"{_part(self.written[above])} ->> '{inner}'"


def _as_the_program_reads(name: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments that the program takes, and notes on the others."""
    if name not in ARGUMENTS:
        return dict(given), []
    known, notes = {}, []
    for key, value in given.items():
        kinds = ARGUMENTS[name].get(key)
        if kinds is None:
            notes.append(f"datamap-rs does not read {key}, so {value!r:.60} has no effect.")
        elif not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            notes.append(f"{key} is {value!r:.60}, which datamap-rs takes for its default.")
        else:
            known[key] = value
    return known, notes


def _field(path: str) -> str:
    """A dotted path as SQL."""
    return ".".join(_part(part) for part in str(path).split("."))


def _part(name: str) -> str:
    return name if re.fullmatch(r"[a-z][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'

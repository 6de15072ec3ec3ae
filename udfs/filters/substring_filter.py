"""Filter on substrings: DCLM's list of banned ones, or the one that NeMo Curator asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.kernels.core.file_state import state_of

OPERATOR = {
    "doc": (
        "As dclm: remove samples with one of the banned substrings. They are joined with | to one regular expression of Python, "
        "unescaped: `.` is any character. Without case_sensitive, text and list are compared in lower case (str.lower); "
        "exact_word asks for \\b at both ends. As nemo: keep samples with the substring, as it stands."
    ),
    "version": 1,
    "peer": "substring_filter of DCLM, SubstringFilter of NeMo Curator",
    "params": {
        "as": {"type": "str", "default": "dclm", "choices": ["dclm", "nemo"], "doc": "Whose filter it is."},
        "banlist": {
            "type": "str_or_list",
            "default": None,
            "nullable": True,
            "doc": "As dclm: banned substring, or list of them.",
        },
        "banlist_from_fname": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "As dclm: file with a banned substring in each line, in place of banlist. Empty lines do not count.",
        },
        "location": {
            "type": "str",
            "default": "any",
            "choices": ["any", "prefix", "suffix"],
            "doc": "As dclm: where a substring is banned; suffix is also before a line feed at the end.",
        },
        "case_sensitive": {"type": "bool", "default": False, "doc": "As dclm: compare with letter case."},
        "exact_word": {
            "type": "bool",
            "default": False,
            "doc": "As dclm: a substring that is a part of a word is none.",
        },
        "substring": {"type": "str", "default": None, "nullable": True, "doc": "As nemo: the substring to keep."},
        "position": {
            "type": "str",
            "default": "any",
            "choices": ["any", "prefix", "suffix"],
            "doc": "As nemo: where it must be.",
        },
    },
    "stats": {"substring": {"type": "BIGINT", "most": 1, "doc": "1 if a substring is there, else 0."}},
    "checks": "check",
    "functions": {
        "banned_substring_found": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "VARCHAR", "VARCHAR", "BOOLEAN", "BOOLEAN"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "banned_substring_found",
        }
    },
    "sql": """
        {% if params["as"] == "nemo" %}
        {% set test = {"any": "contains", "prefix": "starts_with", "suffix": "ends_with"}[position] %}
        SELECT {{ test }}({{ text }}, {{ substring | lit }})::BIGINT AS substring, substring = 1 AS keep
        {% else %}
        {% set banned = [banlist] if banlist is string else banlist or [] %}
        {% set file = banlist_from_fname or "" %}
        SELECT
          CASE WHEN {{ feature("may_match", patterns=banned, file=file, ignore_case=not case_sensitive) }}
          THEN banned_substring_found(
            {{ text }}, {{ banned | lit }}::VARCHAR[], {{ file | lit }}, {{ location | lit }}, {{ case_sensitive | lit }},
            {{ exact_word | lit }}
          ) ELSE 0 END AS substring,
          substring = 0 AS keep
        {% endif %}
    """,
    "examples": [
        {"text": "Lorem IPSUM dolor", "params": {"banlist": "lorem ipsum"}, "stats": {"substring": 1}, "keep": False},
        {"text": "some text", "params": {"banlist": ["lorem ipsum", "{"]}, "stats": {"substring": 0}, "keep": True},
        {"text": "a b", "params": {"banlist": ["lorem", "a.b"]}, "keep": False},
        {"text": "other", "params": {"banlist": "the", "exact_word": True}, "keep": True},
        {"text": "the end\\n", "params": {"banlist": "END", "location": "suffix"}, "keep": True},
        {"text": "the end\n", "params": {"banlist": "END", "location": "suffix"}, "keep": False},
        {
            "text": "\u0130stanbul",
            "params": {"banlist_from_fname": "list.txt", "exact_word": True},
            "files": {"list.txt": "ankara\n\ni.stanbul\n"},
            "keep": False,
        },
        {"text": "", "params": {"banlist": "a"}, "stats": {"substring": 0}, "keep": True},
        {"text": "The end", "params": {"as": "nemo", "substring": "end"}, "stats": {"substring": 1}, "keep": True},
        {"text": "", "params": {"as": "nemo", "substring": ".", "position": "suffix"}, "keep": False},
        {"text": "a", "params": {"banlist": "("}, "error": True},
        {"text": "a", "params": {"banlist": [""]}, "error": True},
        {"text": "a", "params": {}, "error": True},
        {"text": "a", "params": {"banlist": "a", "position": "prefix"}, "error": True},
        {"text": "a", "params": {"as": "nemo", "substring": "a", "exact_word": True}, "error": True},
        {"text": "a", "params": {"as": "nemo", "substring": "a", "banlist": "b"}, "error": True},
    ],
}


_DEFAULTS = {"location": "any", "case_sensitive": False, "exact_word": False}  # of parameters that NeMo lacks


def check(params: Mapping[str, Any]) -> list[str]:
    """Parameters that are missing or those of the other peer, and expressions that Python does not accept."""
    lists = [name for name in ("banlist", "banlist_from_fname") if params[name]]
    if params["as"] == "nemo":
        others = [name for name in _DEFAULTS if params[name] != _DEFAULTS[name]]
        problems = [f"{name} is a parameter of dclm: leave it out, or set `as: dclm`" for name in lists + others]
        return problems + ([] if params["substring"] else ["substring is missing: give the text that is kept"])
    if params["substring"] is not None or params["position"] != "any":
        name = "position" if params["substring"] is None else "substring"
        return [f"{name} is a parameter of nemo: leave it out, or set `as: nemo`"]
    if not lists:
        return ["banlist is missing: give banned substrings, or a file of them as banlist_from_fname"]
    banned = [params["banlist"]] if isinstance(params["banlist"], str) else params["banlist"] or []
    try:
        _pattern(banned, params["banlist_from_fname"] or "", "any", True, False)
    except (re.error, UnicodeDecodeError, OverflowError, ValueError) as error:
        return [f"{lists[-1]}: the substrings are no regular expression of Python's re: {error}"]
    return []


def _pattern(
    banned: Sequence[str], file: str, location: str, case_sensitive: bool, exact_word: bool
) -> re.Pattern[str]:
    if file:
        banned = _lines(file, state_of(Path(file)))
    if not banned or "" in banned:
        raise ValueError("an empty one is in every text")
    return _compiled(tuple(banned), location, case_sensitive, exact_word)


@lru_cache(maxsize=4)
def _lines(file: str, state: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(line for line in Path(file).read_text(encoding="utf-8").splitlines() if line)


@lru_cache(maxsize=16)
def _compiled(banned: tuple[str, ...], location: str, case_sensitive: bool, exact_word: bool) -> re.Pattern[str]:
    pattern = f"(?:{'|'.join(one if case_sensitive else one.lower() for one in banned)})"
    if exact_word:
        pattern = rf"\b{pattern}\b"
    return re.compile(("^" if location == "prefix" else "") + pattern + ("$" if location == "suffix" else ""))


def banned_substring_found(
    column: pa.Array, banned: list[str], file: str | None, location: str, case_sensitive: bool, exact_word: bool
) -> pa.Array:
    """1 for each text with a banned substring, else 0; NULL for NULL."""
    if file is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.int64())
    search = _pattern(banned or (), file, location, bool(case_sensitive), bool(exact_word)).search

    def found(text: str) -> int:
        return int(search(text if case_sensitive else text.lower()) is not None)

    return pa.array([None if text is None else found(text) for text in column.to_pylist()], pa.int64())

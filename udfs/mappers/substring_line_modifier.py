"""Removal of substrings from lines, or of lines with a substring, as DCLM and datamap-rs do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import each, of_texts

OPERATOR = {
    "doc": (
        "Remove the lines that contain a banned substring, or with remove_substring_only the substring. The list is joined with | "
        "to one regular expression, unescaped: `Read more...` also matches `Read more of`. Lines of more than max_length (datamap: "
        "max_len) words stay as they are. dclm ignores letter case unless case_sensitive, takes a blank before the substring along "
        "(after a prefix), removes lines that become blank, strips the text, and removes samples without text. datamap minds letter "
        "case, replaces the substring and the blanks at both sides by one blank (a prefix or suffix by nothing), removes blank "
        "lines of that kind, ends lines as Rust's lines() does, and keeps all samples."
    ),
    "version": 1,
    "peer": "substring_line_modifier of DCLM and of datamap-rs",
    "params": {
        "as": {"type": "str", "default": "dclm", "choices": ["dclm", "datamap"], "doc": "Whose modifier it is."},
        "banlist": {"type": "str_or_list", "doc": "Substring, or list of them."},
        "location": {
            "type": "str",
            "default": "any",
            "choices": ["any", "prefix", "suffix"],
            "doc": "Where in a line a substring must be.",
        },
        "remove_substring_only": {
            "type": "bool",
            "default": False,
            "default_when": [{"when": {"as": "datamap"}, "default": True}],
            "doc": "Remove substrings in place of lines.",
        },
        "case_sensitive": {"type": "bool", "default": False, "doc": "As dclm: compare with letter case."},
        "max_length": {
            "type": "int",
            "default": None,
            "nullable": True,
            "doc": "As dclm: most words, separated by white space, of a line that is changed.",
        },
        "max_len": {
            "type": "int",
            "default": None,
            "nullable": True,
            "doc": "As datamap: most words of UAX 29 of a line that is changed.",
        },
    },
    "checks": "check",
    "functions": {
        "substring_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "VARCHAR", "BOOLEAN", "BIGINT", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "without_substrings",
        },
        "substring_lines_delta_of_datamap": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "VARCHAR", "BIGINT", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "without_substrings_of_datamap",
        },
    },
    "sql": """
        {% set datamap = params["as"] == "datamap" %}
        {% set banned = [banlist] if banlist is string else banlist %}
        {% set possible = feature("may_match", patterns=banned, file="", ignore_case=not (datamap or case_sensitive)) %}
        SELECT
        {% if datamap %}
          CASE WHEN {{ possible }} OR contains({{ text }}, chr(13)) OR ends_with({{ text }}, chr(10))
            {% if remove_substring_only %}OR regexp_matches({{ text }}, '(?m)^[\\t\\v\\f \\x{85}\\p{Z}]+$'){% endif %}
          THEN substring_lines_delta_of_datamap(
            {{ text }}, {{ banned | lit }}::VARCHAR[], {{ location | lit }},
            {{ (-1 if max_len is none else max_len) | lit }}, {{ remove_substring_only | lit }}
          ) END AS delta
        {% else %}
          CASE WHEN {{ possible }} THEN substring_lines_delta(
            {{ text }}, {{ banned | lit }}::VARCHAR[], {{ location | lit }}, {{ case_sensitive | lit }},
            {{ (-1 if max_length is none else max_length) | lit }}, {{ remove_substring_only | lit }}
          ) ELSE {{ feature("tidy_lines", drop_blank=remove_substring_only) }} END AS _delta,
          _delta AS delta,
          coalesce(_delta, {{ text }}) <> '' AS keep_empty
        {% endif %}
    """,
    "examples": [
        {
            "text": "Only 3 items in Cart\nGoods\nITEMS IN CART",
            "params": {"banlist": "items in cart", "remove_substring_only": True},
            "out": "Only 3\nGoods",
            "keep": True,
        },
        {
            "text": "A story. Read more...\nRead more of it\nRead more... ",
            "params": {"banlist": "Read more...", "location": "suffix", "remove_substring_only": True},
            "out": "A story.\nRead more of it\nRead more...",
            "keep": True,
        },
        {
            "text": "Enable JavaScript.\n\nA long line on javascript in pages.",
            "params": {"banlist": ["javascript", "cookies"], "max_length": 3},
            "out": "A long line on javascript in pages.",
            "keep": True,
        },
        {"text": "Sign-in", "params": {"banlist": "Sign-in", "location": "prefix"}, "keep": False},
        {"text": " a ", "params": {"banlist": "x"}, "out": "a", "keep": True},
        {"text": "", "params": {"banlist": "x"}, "keep": False},
        {
            "text": "one items in cart two\r\nitems in cart\nItems in cart\n",
            "params": {"as": "datamap", "banlist": "items in cart"},
            "out": "one two\nItems in cart",
        },
        {"text": "", "params": {"as": "datamap", "banlist": "x"}, "out": ""},
        {"text": "a", "params": {"banlist": "("}, "error": True},
        {"text": "a", "params": {"as": "datamap", "banlist": "b", "max_length": 10}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Parameters of the other peer, and substrings that are no regular expression."""
    datamap = params["as"] == "datamap"
    other, name, cure = ("dclm", "max_length", "max_len") if datamap else ("datamap", "max_len", "max_length")
    problems = []
    if params[name] is not None:
        problems.append(f"{name} is a parameter of {other}, which {params['as']} ignores: set {cure}, or leave it out")
    if datamap and params["case_sensitive"]:
        problems.append("case_sensitive is a parameter of dclm: datamap always minds letter case")
    banned = [params["banlist"]] if isinstance(params["banlist"], str) else params["banlist"]
    if not banned or "" in banned:
        return [*problems, "banlist has an empty substring, which is in every line"]
    try:
        re.compile("|".join(banned))
    except (re.error, OverflowError) as error:
        problems.append(f"banlist: the substrings are no regular expression of Python's re: {error}")
    return problems


@lru_cache(maxsize=16)
def _pattern(banned: tuple[str, ...], location: str, blank: str, end: str, both: bool, flags: int) -> re.Pattern[str]:
    """Expression for the substrings with the blanks beside them; `end` is the end of a line."""
    choice = f"(?:{'|'.join(banned)})"
    if location == "prefix":
        return re.compile(f"^{choice}{blank}?", flags)
    if location == "suffix":
        return re.compile(f"{blank}?{choice}{end}", flags)
    return re.compile(f"{blank}?{choice}{blank + '?' if both else ''}", flags)


def without_substrings(
    column: pa.Array,
    banned: Sequence[str],
    location: str | None,
    case_sensitive: bool,
    most: int,
    only: bool,
) -> pa.Array:
    """Each text as DCLM leaves it; NULL where nothing changes."""
    if location is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.string())
    banned = tuple(one if case_sensitive else one.lower() for one in banned)
    pattern = _pattern(banned, location, r"\s", "$", False, 0 if case_sensitive else re.IGNORECASE)

    def line_of(line: str) -> str | None:
        if 0 <= most < len(line.split()):
            return line
        if not only:
            return None if pattern.search(line) else line
        found = pattern.sub("", line)
        return None if line and (not found or found.isspace()) else found

    return each(column, lambda text: "\n".join(_kept(text.split("\n"), line_of)).strip())


def without_substrings_of_datamap(
    column: pa.Array, banned: Sequence[str], location: str | None, most: int, only: bool
) -> pa.Array:
    """Each text as datamap-rs leaves it; NULL where nothing changes."""
    if location is None:
        return pa.nulls(len(column), pa.string())
    pattern = _pattern(tuple(banned), location, _RUST_BLANK, r"\Z", True, 0)
    replacement = " " if location == "any" else ""

    def line_of(line: str) -> str | None:
        if not line:
            return line
        if only:
            found = pattern.sub(replacement, line)
            changed = None if _BLANK.fullmatch(found) else found
        else:
            changed = None if pattern.search(line) else line
        return line if changed != line and 0 <= most < _unicode_words(line) else changed

    return each(column, lambda text: "\n".join(_kept(_rust_lines(text), line_of)))


_RUST_BLANK = r"[^\S\x1c-\x1f]"  # Rust's white space
_BLANK = re.compile(f"{_RUST_BLANK}*")


def _rust_lines(text: str) -> list[str]:
    """Lines as Rust cuts them: a line feed, or a carriage return and a line feed, ends a line."""
    *lines, last = text.split("\n")
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def _unicode_words(line: str) -> int:
    from refinery.kernels.unicode.word_segments import word_counts

    return int(word_counts(of_texts([line]))[0].as_py())


def _kept(lines: Sequence[str], line_of: Callable[[str], str | None]) -> Iterator[str]:
    return (found for line in lines if (found := line_of(line)) is not None)

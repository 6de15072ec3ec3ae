"""Removal of addresses from a text, as DCLM does it."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.extras import install_command
from refinery.kernels.core.arrow import of_texts
from refinery.kernels.core.file_state import state_of

OPERATOR = {
    "doc": (
        "Remove URLs, host names with a top-level domain (`README.md` is one) and IPv4-like numbers, with up to ten white space "
        "characters before them, and samples whose text is then empty. Names of top-level domains match in lower case. Like DCLM, "
        "whatever is not a number is removed only from texts that begin with the letters of some top-level domain, in any "
        "letter case: from `See https://…` (se), not from `We like https://…`; `everywhere` removes it from all texts."
    ),
    "version": 1,
    "peer": "url_removal_modifier of DCLM",
    "params": {
        "tlds_filepath": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "File with a top-level domain in each line, such as IANA's; null: the list that tldextract brings along.",
        },
        "everywhere": {"type": "bool", "default": False, "doc": "Do not look at how a text begins."},
    },
    "checks": "check",
    "functions": {
        "url_removal_delta": {
            "columns": ["VARCHAR", "BOOLEAN", "BOOLEAN"],
            "constants": ["VARCHAR", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "without_urls",
        }
    },
    "sql": """
        SELECT
          regexp_matches({{ text }}, '[-a-zA-Z0-9@:%._+~#=]\\.([a-z]|[^\\x00-\\x7F])') AS _names,
          regexp_matches({{ text }}, '[0-9]\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]') AS _numbers,
          CASE WHEN _names OR _numbers THEN url_removal_delta(
            {{ text }}, _names, _numbers, {{ (tlds_filepath or "") | lit }}, {{ everywhere | lit }}
          ) END AS _delta,
          _delta AS delta,
          coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {
            "text": "See https://example.com/a?b=c#d now, or README.md and e.g.the rest.",
            "params": {"tlds_filepath": "tlds.txt"},
            "files": {"tlds.txt": "com\nmd\nse\n"},
            "out": "See now, or and e.g.the rest.",
            "keep": True,
        },
        {
            "text": "We like https://example.com and 1.2.3.4:80/x today.",
            "params": {"tlds_filepath": "tlds.txt"},
            "files": {"tlds.txt": "# list\nCOM\nSE\n"},
            "out": "We like https://example.com and today.",
            "keep": True,
        },
        {
            "text": "We like \n https://example.com, a@b.com and J@X.COM",
            "params": {"tlds_filepath": "tlds.txt", "everywhere": True},
            "files": {"tlds.txt": "com\n"},
            "out": "We like, and J@X.COM",
            "keep": True,
        },
        {"text": "example.org www.example.net/x", "params": {"everywhere": True}, "keep": False},
        {"text": "plain text", "out": "plain text", "keep": True},
        {"text": "", "keep": False},
        {"text": "", "params": {"tlds_filepath": "tlds.txt"}, "files": {"tlds.txt": "\n"}, "error": True},
    ],
}

_HOST = "-a-zA-Z0-9@:%._+~#="  # characters before the top-level domain
_HOST_CHARACTERS = string.ascii_letters + string.digits + "-@:%._+~#="
_TAIL = "[-a-zA-Z0-9()@:%_+.~#?&/=]*"
_MOST = 256  # characters before the dot
_BEFORE = 10 + len("https://")

_DOT = re.compile(r"\.(?=[a-z]|[^\x00-\x7F])")
_FOUR = re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_NUMBERS = re.compile(rf"\s{{0,10}}\b(?:(?:https?|ftp)://)?(?:[0-2]?[0-9]{{1,2}}\.){{3}}[0-2]?[0-9]{{1,2}}{_TAIL}")
_AHEAD = _BEFORE + _MOST + 63 + 2  # from the beginning of an address to behind its top-level domain


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems of the list of top-level domains."""
    path = params["tlds_filepath"]
    if path is None:
        if find_spec("tldextract") is None:
            return [
                "tlds_filepath: null takes the list of the package tldextract, which is not installed: "
                f"{install_command('urls')}; or give a file, such as https://data.iana.org/TLD/tlds-alpha-by-domain.txt"
            ]
        return []
    try:
        names = _listed(path)
    except (OSError, UnicodeDecodeError) as error:
        return [f"tlds_filepath {path} cannot be read as UTF-8: {error}"]
    if not names:
        return [f"tlds_filepath {path} names no top-level domain"]
    wrong = next((name for name in names if "." in name or ("\0" <= name[0] <= "\x7f" and not name[0].islower())), None)
    return (
        [] if wrong is None else [f"tlds_filepath {path}: {wrong!r} is no top-level domain, which begins with a letter"]
    )


def _listed(path: str) -> list[str]:
    lines = (line.strip().lower() for line in Path(path).read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@lru_cache(maxsize=4)
def _patterns(path: str, *state: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Expressions for an address, and for the top-level domains in any letter case."""
    names = _listed(path) if path else _of_package()
    choice = _choice(names)
    address = rf"\s{{0,10}}(?:(?:https?|ftp)://)?[{_HOST}]{{1,{_MOST}}}\.(?:{choice})\b{_TAIL}"
    return re.compile(address), re.compile(choice, re.IGNORECASE)


def _choice(names: Iterable[str]) -> str:
    """Expression for one of the names, the longest first; those of a first letter together, which is faster."""
    groups: dict[str, list[str]] = {}
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        groups.setdefault(name[0], []).append(re.escape(name[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items())


def _of_package() -> list[str]:
    from tldextract import TLDExtract

    known = TLDExtract(suffix_list_urls=(), cache_dir=None, fallback_to_snapshot=True).tlds
    return [name for name in known if "." not in name]


def without_urls(column: pa.Array, names: pa.Array, numbers: pa.Array, path: str | None, everywhere: bool) -> pa.Array:
    """Each text without addresses; NULL where nothing changes. names, numbers: false for texts without such addresses."""
    if path is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.string())
    address, domain = _patterns(path, *(state_of(path) if path else ()))

    def new(text: str | None, names: bool, numbers: bool) -> str | None:
        found = text
        if found and names and (everywhere or domain.match(found)):
            found = _without(found, _names(found), address)
        if found and numbers:
            found = _without(found, _four(found), _NUMBERS)
        return None if found == text else found

    return of_texts(list(map(new, column.to_pylist(), names.to_pylist(), numbers.to_pylist())))


def _names(text: str) -> Iterator[tuple[int, int]]:
    """Each dot that may be before a top-level domain, and the earliest beginning of an address with it."""
    for candidate in _DOT.finditer(text):
        dot = candidate.start()
        host = text[max(0, dot - _MOST) : dot]
        begin = dot - len(host) + len(host.rstrip(_HOST_CHARACTERS))
        if begin < dot:
            yield dot, begin - _BEFORE


def _four(text: str) -> Iterator[tuple[int, int]]:
    """Each place that may be in four numbers, and the earliest beginning of an address with it."""
    return ((found.start(), found.start() - 2 - _BEFORE) for found in _FOUR.finditer(text))


def _without(text: str, places: Iterable[tuple[int, int]], address: re.Pattern[str]) -> str:
    """`address.sub("", text)`, which looks only around places that may be in an address, from a beginning on.

    No search goes further than an address can reach. A name that begins behind a place is left to a later one; of four
    numbers, places in the middle of others have no turn of their own.
    """
    kept, at = list[str](), 0  # at: behind the last match
    for place, begin in places:
        if place < at:
            continue
        found = address.search(text, max(at, begin), place + _AHEAD)
        mine = found is not None and (found.start() <= place or address is _NUMBERS)
        whole = address.match(text, found.start()) if found is not None and mine else None
        if whole is not None:
            kept.append(text[at : whole.start()])
            at = whole.end()
    return "".join(kept) + text[at:]

"""Replace e-mail and IPv4 addresses by made-up ones, as datatrove's PIIFormatter; a kernel finds the few texts with any."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import string
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import delta
from refinery.kernels.text.pii import kinds, mark_rows

OPERATOR = {
    "doc": (
        "Replace e-mail addresses, then public IPv4 addresses, by a list of replacements each, which follow one another "
        "in rotation. datatrove goes on in the list from one document to the next, so its texts depend on the order "
        "and on the number of tasks. Here every text begins anew (rotation: first), as if datatrove had no other "
        "document, or at a place in the list that the text itself decides (rotation: spread), which uses all "
        "replacements about equally often. An address needs no boundary around its numbers: of 999.8.8.8 the first 9 "
        "stays. Numbers with leading zeros and, with only_remove_public_ips, private and reserved addresses stay; "
        "Python's ipaddress tells which are public."
    ),
    "version": 1,
    "peer": "PIIFormatter of datatrove 0.10.1",
    "params": {
        "remove_emails": {"type": "bool", "default": True, "doc": "Replace e-mail addresses."},
        "remove_ips": {"type": "bool", "default": True, "doc": "Replace IPv4 addresses."},
        "only_remove_public_ips": {"type": "bool", "default": True, "doc": "Replace only public IPv4 addresses."},
        "email_replacement": {
            "type": "str_or_list",
            "default": ["email@example.com", "firstname.lastname@example.org"],
            "doc": "Replacements of e-mail addresses, used in rotation.",
        },
        "ip_replacement": {
            "type": "str_or_list",
            "default": [
                "22.214.171.124",
                "126.96.36.199",
                "188.8.131.52",
                "184.108.40.206",
                "220.127.116.11",
                "18.104.22.168",
            ],
            "doc": "Replacements of IPv4 addresses, used in rotation.",
        },
        "rotation": {
            "type": "str",
            "default": "first",
            "choices": ["first", "spread"],
            "doc": "Replacement with which a text begins: the first, or one that depends on the text.",
        },
    },
    "checks": "problems",
    "functions": {
        "pii_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "VARCHAR[]", "BOOLEAN", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "replace_pii",
        }
    },
    "sql": """
        {% set emails = [email_replacement] if email_replacement is string else email_replacement %}
        {% set ips = [ip_replacement] if ip_replacement is string else ip_replacement %}
        {% if remove_emails or remove_ips %}
        SELECT pii_delta({{ text }}, {{ emails | lit if remove_emails else 'CAST([] AS VARCHAR[])' }},
            {{ ips | lit if remove_ips else 'CAST([] AS VARCHAR[])' }},
            {{ only_remove_public_ips | lit }}, {{ (rotation == 'spread') | lit }}) AS delta
        {% else %}
        SELECT CAST(NULL AS VARCHAR) AS delta
        {% endif %}
    """,
    "examples": [
        {
            "text": "a@b.org, c.d@e.co.uk and root@localhost; JANE@EXAMPLE.COM",
            "out": "email@example.com, firstname.lastname@example.org and root@localhost; email@example.com",
        },
        {"text": "8.8.8.8 and 10.0.0.1 and 1.1.1.1", "out": "22.214.171.124 and 10.0.0.1 and 126.96.36.199"},
        {
            "text": "999.8.8.8, 08.8.8.8, v1.2.3",
            "params": {"ip_replacement": "_"},
            "out": "9_, 08.8.8.8, v1.2.3",
        },
        {"text": "10.0.0.1", "params": {"only_remove_public_ips": False, "ip_replacement": "<ip>"}, "out": "<ip>"},
        {"text": "a@b.org at 8.8.8.8", "params": {"remove_emails": False}, "out": "a@b.org at 22.214.171.124"},
        {"text": "a@b.org at 8.8.8.8", "params": {"remove_ips": False}, "out": "email@example.com at 8.8.8.8"},
        {"text": "jörg@web.de, x@y.z@w.v", "params": {"email_replacement": "_"}, "out": "jörg@web.de, _@w.v"},
        {"text": "me@[8.8.8.8]", "params": {"email_replacement": "<\\1>"}, "out": "<\\1>"},
        {"text": "a@b.org 4", "params": {"rotation": "spread"}, "out": "firstname.lastname@example.org 4"},
        {"text": "", "out": ""},
        {"text": "a@b.org", "params": {"email_replacement": []}, "error": True},
    ],
}

# datatrove's patterns, of Python's `re`.
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
_EMAIL = re.compile(
    rf"\b{_LOCAL}(?:\.{_LOCAL})*@(?:(?:{_LABEL}\.)+{_LABEL}"
    rf"|\[(?:{_BYTE}\.){{3}}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?|[A-Za-z0-9-]*[A-Za-z0-9]:)])"
)
_IP = re.compile(rf"(?:{_BYTE}\.){{3}}{_BYTE}")
# Characters that a match can have before and behind its only @.
_BEFORE = string.ascii_letters + string.digits + "!#$%&'*+/=?^_`{|}~.-"
_BEHIND = re.compile(r"[A-Za-z0-9.:\[\]-]*")
_PIECE = 512  # characters before an @ that are looked at together


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters, as sentences."""
    empty = [name for name in ("email_replacement", "ip_replacement") if params.get(name) in ([], ())]
    return [f"{name}: there must be at least one replacement; an empty text removes the addresses" for name in empty]


def replace_pii(
    column: pa.Array, emails: Sequence[str], ips: Sequence[str], public_only: bool, spread: bool
) -> pa.Array:
    """Each text with its addresses replaced; NULL where nothing changes. An empty list leaves the kind as it is."""
    exact = partial(_replaced, emails=tuple(emails), ips=tuple(ips), public_only=public_only, spread=spread)
    return delta(column, mark_rows, kinds(), bool(emails), bool(ips), exact=exact)


def _replaced(text: str, emails: Sequence[str], ips: Sequence[str], public_only: bool, spread: bool) -> str:
    start = _place(text) if spread else 0
    if emails:
        text = _joined(text, _emails(text), rotated(emails, start))
    if ips:
        matches = (match.span() for match in _IP.finditer(text) if _is_wanted(match[0], public_only))
        text = _joined(text, matches, rotated(ips, start))
    return text


def _place(text: str) -> int:
    """A number that depends on nothing but the text."""
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8], "little")


def rotated(values: Sequence[str], start: int) -> Callable[[], str]:
    """The values in rotation, from place `start` on, one at each call."""
    return partial(next, islice(cycle(values), start % len(values), None))


def _joined(text: str, spans: Iterator[tuple[int, int]], replacement: Callable[[], str]) -> str:
    """The text with ascending spans replaced."""
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], replacement()]
        done = end
    return "".join(parts) + text[done:]


def _emails(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the matches in the text. A match has one @, so it is looked for only around each of them."""
    done = 0
    at = text.find("@")
    while at >= 0:
        start = _begin(text, done, at)
        behind = _BEHIND.match(text, at + 1)
        match = _EMAIL.search(text, start, behind.end() if behind else at + 1) if start < at else None
        if match:
            yield match.span()
            done = match.end()
        at = text.find("@", max(at + 1, done))


def _begin(text: str, done: int, at: int) -> int:
    """The first character from `done` on from which a match may reach the @."""
    start = at
    while start > done:
        low = max(done, start - _PIECE)
        start = low + len(text[low:start].rstrip(_BEFORE))
        if start > low:
            break
    return start


def _is_wanted(address: str, public_only: bool) -> bool:
    try:
        return ipaddress.ip_address(address).is_global or not public_only
    except ValueError:  # a leading zero
        return False

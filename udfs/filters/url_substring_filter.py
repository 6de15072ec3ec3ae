"""Filter on listed domains and words in addresses, as DCLM and datamap-rs (Dolma 3) do it under one name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import regex

from refinery.kernels.core.file_state import state_of
from refinery.kernels.words.url_lists import Trie, UrlListError, entries
from refinery.kernels.words.web_hosts import host_of

OPERATOR = {
    "doc": (
        "Remove samples whose address has at least num_banned_substrs entries of a list in it. By default an entry is "
        "looked for anywhere, with match_substrings: false only as a whole word. exact_domain_match compares the host "
        "with the list instead, and of datamap exact_subdomain_match the first of three or more labels of the host, "
        "exact_url_match the address, exact_part_match its pieces between other characters than ASCII letters and "
        "digits. Addresses are compared in lower case unless case_sensitive is true, and the texts of ignore_chars are "
        "cut out of what is compared: with [www], www.example.com becomes .example.com, which a list without leading "
        "dots does not have. as: dclm | datamap chooses between two programs. DCLM counts different entries, the "
        "longest at each place; its words end as \\b of Python's re says, so _ is a letter; it compares the list in lower "
        "case, too; its host has user and port. datamap counts all places, of entries that overlap the one that ends "
        "first; _ ends its words; it compares the list as it is written, but in lower case with case_sensitive: true; its host is "
        "the one that browsers see. A sample without an address goes to quarantine (dclm) or is removed (datamap), and "
        "with datamap's comparisons of hosts an address without a host goes to quarantine. Blank lines of a list are "
        "skipped (in DCLM they remove everything)."
    ),
    "version": 1,
    "peer": "url_substring_filter of DCLM, UrlSubstringFilter of datamap-rs",
    "params": {
        "as": {
            "type": "str",
            "default": "dclm",
            "choices": ["dclm", "datamap"],
            "doc": "Program whose results are wanted.",
        },
        "banlist": {"type": "str_or_list", "default": None, "nullable": True, "doc": "Entries."},
        "banlist_from_fname": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "Of dclm: file with an entry a line, plain or gzip, in place of banlist.",
        },
        "banlist_file": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "Of datamap: file with an entry a line, plain or gzip.",
        },
        "ignore_chars": {
            "type": "str_or_list",
            "default": [],
            "nullable": True,
            "doc": "Texts that are cut out of what is compared.",
        },
        "num_banned_substrs": {"type": "int", "default": 1, "min": 1, "doc": "Entries that remove a sample."},
        "exact_domain_match": {"type": "bool", "default": False, "doc": "Compare the host."},
        "match_substrings": {"type": "bool", "default": True, "doc": "Find entries within words, too."},
        "case_sensitive": {"type": "bool", "default": False, "doc": "Compare addresses as they are written."},
        "exact_subdomain_match": {"type": "bool", "default": False, "doc": "Of datamap: compare the first label."},
        "exact_url_match": {"type": "bool", "default": False, "doc": "Of datamap: compare the whole address."},
        "exact_part_match": {"type": "bool", "default": False, "doc": "Of datamap: compare pieces of the address."},
        "url_key": {"type": "str", "default": "url", "doc": "Field with the address."},
        "alt_url_key": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "Of datamap: field with the address where url_key has none.",
        },
    },
    "stats": {
        "banned_in_url": {"type": "BIGINT", "doc": "Entries in the address; NULL without an address."},
    },
    "checks": "problems",
    "functions": {
        "url_substrings": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "VARCHAR[]", "VARCHAR", "VARCHAR[]", "BOOLEAN"],
            "returns": "BIGINT",
            "runs": "kernel",  # some microseconds per sample: threads hardly wait for each other
            "call": "url_substrings",
        }
    },
    "sql": """
        {% set how = 'domain' if exact_domain_match else 'subdomain' if exact_subdomain_match else
            'url' if exact_url_match else 'part' if exact_part_match else
            'substring' if match_substrings else 'word' %}
        {% set file = banlist_from_fname or banlist_file %}
        {% set inline = [] if file else [banlist] if banlist is string else banlist or [] %}
        {% set ignored = [ignore_chars] if ignore_chars is string else ignore_chars or [] %}
        SELECT url_substrings(coalesce(
            {% if alt_url_key is none %}
            json_extract_string(to_json({{ field(url_key) }}), '$')
            {% else %}
            {# a key that the objects of the input lack is a missing address, since the other one may be there #}
            {% for key in [url_key, alt_url_key] %}
            {% set keys = key.split('.') %}
            {% set path = '$' ~ (keys[1:] | map('tojson') | map('replace', '"', '."', 1) | join('')) %}
            json_extract_string(to_json({{ field(keys[0]) }}), {{ path | lit }}){{ '' if loop.last else ',' }}
            {% endfor %}
            {% endif %}),
            {{ params['as'] | lit }}, {{ how | lit }}, CAST({{ inline | lit }} AS VARCHAR[]), {{ file | lit }},
            CAST({{ ignored | lit }} AS VARCHAR[]), {{ case_sensitive | lit }}) AS banned_in_url,
            banned_in_url < {{ (num_banned_substrs if how in ('substring', 'word') else 1) | lit }} AS keep
    """,
    "examples": [
        {
            "text": "",
            "fields": {"url": "https://a.org/best-CASINO/casino"},
            "params": {"banlist": ["casino", "poker"]},
            "stats": {"banned_in_url": 1},
            "keep": False,
        },
        {
            "text": "",
            "fields": {"url": "https://a.org/best-CASINO/casino"},
            "params": {"banlist": ["casino", "poker"], "num_banned_substrs": 2, "as": "datamap"},
            "stats": {"banned_in_url": 2},
            "keep": False,
        },
        {
            "text": "",
            "fields": {"url": "https://a.org/slots_list/bet/better"},
            "params": {"banlist": ["slots", "BET"], "match_substrings": False},
            "stats": {"banned_in_url": 1},
            "keep": False,
        },
        {
            "text": "",
            "fields": {"url": "https://a.org/slots_list/bet/better"},
            "params": {"banlist": ["slots", "BET", "better", "be"], "match_substrings": False, "as": "datamap"},
            "stats": {"banned_in_url": 1},
            "keep": False,
        },
        {
            "text": "",
            "fields": {"url": "https://www.a.org:8080/"},
            "params": {"banlist": ["a.org", ".a.org"], "exact_domain_match": True, "ignore_chars": "www"},
            "stats": {"banned_in_url": 0},
            "keep": True,
        },
        {
            "text": "",
            "fields": {"url": "https://www.a.org:8080/"},
            "params": {"banlist": ".a.org", "exact_domain_match": True, "ignore_chars": "www", "as": "datamap"},
            "stats": {"banned_in_url": 1},
            "keep": False,
        },
        {
            "text": "",
            "fields": {"url": "c-a-s.i.n.o"},
            "params": {"banlist_from_fname": "list", "ignore_chars": ["-", "."]},
            "files": {"list": "\nCasino\r\n"},
            "keep": False,
        },
        {
            "text": "",
            "fields": {"url": None, "warc_url": "https://x.org/"},
            "params": {"banlist": ["x"], "as": "datamap", "alt_url_key": "warc_url"},
            "keep": False,
        },
        {
            "text": "",
            "fields": {"metadata": {"warc_url": "https://x.org/"}},
            "params": {
                "as": "datamap",
                "banlist": ["x"],
                "url_key": "metadata.WARC-Target-URI",
                "alt_url_key": "metadata.warc_url",
            },
            "keep": False,
        },
        {"text": "", "params": {"banlist": ["x"]}, "quarantined": "the sample has no address"},
        {"text": "", "params": {"banlist": ["x"], "as": "datamap"}, "keep": False},
        {
            "text": "",
            "fields": {"url": "a.org/x"},
            "params": {"banlist": ["x"], "as": "datamap", "exact_subdomain_match": True},
            "quarantined": "relative address",
        },
        {"text": "", "params": {"banlist": ["x"], "exact_url_match": True}, "error": True},
        {"text": "", "params": {"banlist": []}, "error": True},
    ],
}

_OF_DCLM = ("banlist_from_fname",)
_OF_DATAMAP = ("banlist_file", "exact_subdomain_match", "exact_url_match", "exact_part_match", "alt_url_key")
_PARTS = re.compile(r"[^a-zA-Z0-9]+")
# Letters and digits as Rust's char::is_alphanumeric knows them.
_ALPHANUMERIC = regex.compile(r"[\p{Alphabetic}\p{N}]")


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters and of the list, as sentences."""
    peer = params["as"]
    others = _OF_DATAMAP if peer == "dclm" else _OF_DCLM
    wrong = [
        f"{name} is no parameter of {peer}'s url_substring_filter (as: {peer})" for name in others if params.get(name)
    ]
    path = params.get("banlist_from_fname") or params.get("banlist_file")
    if wrong:
        return wrong
    if path and path.endswith(".pkl"):
        return [f"{path}: a compiled expression is not read; write its entries into a text file, one a line"]
    if path and params.get("banlist") and peer == "datamap":
        return ["banlist and banlist_file are both given; take one of them away"]
    try:
        found = entries(path) if path else params.get("banlist")
    except UrlListError as error:
        return [str(error)]
    return [] if found else ["the list of banned entries is empty: give banlist, or a file of entries"]


# What is counted in an address.
Count = Callable[[str], int]


def url_substrings(
    column: pa.Array, peer: str, how: str, inline: Sequence[str], path: str | None, ignored: Sequence[str], case: bool
) -> pa.Array:
    """Entries of the list in each address."""
    state = state_of(path) if path else ()
    count = _counter(peer, how, tuple(inline), path, state, case)
    part = partial(_compared, peer, how, tuple(ignored), case)
    found = [_counted(url, peer, part, count) for url in column.to_pylist()]
    return pa.array(found, pa.int64())


def _counted(url: str | None, peer: str, part: Callable[[str], str | None], count: Count) -> int | None:
    if url is None:
        if peer == "datamap":
            return None
        raise ValueError("the sample has no address")
    compared = part(url)
    return 0 if compared is None else count(compared)


def _compared(peer: str, how: str, ignored: Sequence[str], case: bool, url: str) -> str | None:
    """The part of an address that is compared with the list; None if there is no such part."""
    if how == "domain":
        url = urlparse(url).netloc if peer == "dclm" else host_of(url)
    elif how == "subdomain":
        labels = host_of(url).split(".")
        if len(labels) < 3:
            return None
        url = labels[0]
    if not case:
        url = url.lower()
    for text in ignored:
        url = url.replace(text, "")
    return url


@lru_cache(maxsize=16)
def _counter(
    peer: str, how: str, inline: tuple[str, ...], path: str | None, state: tuple[int, ...], case: bool
) -> Count:
    lower = case if peer == "datamap" else not case
    given = filter(None, entries(path) if path else inline)
    banned = frozenset(entry.lower() if lower else entry for entry in given)
    if how in ("domain", "subdomain", "url"):
        return lambda text: int(text in banned)
    if how == "part":
        return lambda text: int(not banned.isdisjoint(_PARTS.split(text)))
    if peer == "dclm":
        return partial(_different, Trie(banned), how == "word")
    return partial(_places, Trie(entry[::-1] for entry in banned), how == "word")


def _different(trie: Trie, words: bool, text: str) -> int:
    """Number of different entries in a text, the longest at each place, as a regular expression of all finds them."""
    found, at = set(), 0
    while at < len(text):
        end = at
        if text[at] in trie.root and (not words or _is_edge(text, at)):
            end = max((end for end in trie.ends(text, at) if not words or _is_edge(text, end)), default=at)
        if end > at:
            found.add(text[at:end])
        at = max(end, at + 1)
    return len(found)


def _is_edge(text: str, at: int) -> bool:
    """`\\b` of Python's re between the characters before and at a place."""
    return _is_word(text[at - 1 : at]) is not _is_word(text[at : at + 1])


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum()


def _places(reversed_trie: Trie, words: bool, text: str) -> int:
    """Number of places of entries, of which that which ends first is taken and the next begin behind it."""
    return sum(1 for start, end in _spans(reversed_trie, text) if not words or _stands_alone(text, start, end))


def _spans(reversed_trie: Trie, text: str) -> Iterator[tuple[int, int]]:
    backwards, size, done = text[::-1], len(text), 0
    for end in range(1, size + 1):
        if text[end - 1] not in reversed_trie.root:
            continue
        starts = [size - stop for stop in reversed_trie.ends(backwards, size - end) if size - stop >= done]
        if starts:
            yield min(starts), end
            done = end


def _stands_alone(text: str, start: int, end: int) -> bool:
    around: Collection[str] = (text[start - 1 : start], text[end : end + 1])
    return not any(char and _ALPHANUMERIC.match(char) for char in around)

"""Filter on lists of addresses, domains and words in addresses, as datatrove's URLFilter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refinery.errors import did_you_mean
from refinery.kernels.core.arrow import ints, of_texts, structs
from refinery.kernels.core.file_state import state_of
from refinery.kernels.words.hosts import authority, host_parts, registered_domain
from refinery.kernels.words.url_lists import Trie, UrlListError, entries, member_entries

OPERATOR = {
    "doc": (
        "Remove samples whose address is on a list, in this order: its registered domain, then its whole host name, "
        "is one of the domains (reasons `domain`, `subdomain`); it is one of the addresses (`url`); a piece between "
        "characters other than ASCII letters and digits is one of banned_words (`hard_blacklisted`); at least "
        "soft_word_threshold of the soft_banned_words are pieces (`soft_blacklisted`); one of banned_subwords is in "
        "the lower-case address without such characters (`blacklisted_subword`). Pieces are compared as they are "
        "written, so an upper-case word in an address matches none. Domains and addresses are compared exactly, too. "
        "Registered domains follow the public suffix list of the installed tldextract, without private suffixes. "
        "Nothing is bundled: `lists` is a folder of lists, and each list can be given inline or as a file (one entry a "
        "line, plain or gzip). Lines that begin with # and blank lines are skipped; datatrove takes a blank line for a "
        "word that every address with a slash at its end has. A sample without an address goes to quarantine "
        "(datatrove's run ends); with no_url: keep it is kept."
    ),
    "version": 1,
    "peer": "URLFilter of datatrove 0.10.1",
    "needs": {"tldextract": "urls"},
    "resources": {"loads": {"use_integrated_lists": True}},
    "params": {
        "soft_word_threshold": {
            "type": "int",
            "default": 2,
            "doc": "Different soft_banned_words that remove a sample.",
        },
        "extra_domains": {"type": "str_or_list", "default": [], "nullable": True, "doc": "Domains and host names."},
        "extra_urls": {"type": "str_or_list", "default": [], "nullable": True, "doc": "Addresses."},
        "banned_words": {
            "type": "str_or_list",
            "default": [],
            "nullable": True,
            "doc": "Words, one of which is enough to remove the sample.",
        },
        "banned_subwords": {
            "type": "str_or_list",
            "default": [],
            "nullable": True,
            "doc": "Parts of words, one of which is enough to remove the sample.",
        },
        "soft_banned_words": {
            "type": "str_or_list",
            "default": [],
            "nullable": True,
            "doc": "Words, several of which together remove the sample.",
        },
        "use_integrated_lists": {"type": "bool", "default": True, "doc": "Use the lists of the folder `lists`."},
        "lists": {
            "type": "folder",
            "default": None,
            "nullable": True,
            "asset": "banned_subwords.txt",
            "needed": "use_integrated_lists",
            "doc": "Folder with datatrove's lists (the folder datatrove/assets of its package), with files of those "
            "names (domains, urls, banned_words.txt, banned_subwords.txt, soft_banned_words.txt, each perhaps .gz), "
            "or with the categories of UT1: folders with files domains and urls.",
        },
        "categories": {
            "type": "list[str]",
            "default": None,
            "nullable": True,
            "doc": "Categories of UT1 to use, such as adult; null: all in `lists`.",
        },
        "domains_file": {"type": "file", "default": None, "nullable": True, "doc": "File of more domains."},
        "urls_file": {"type": "file", "default": None, "nullable": True, "doc": "File of more addresses."},
        "banned_words_file": {"type": "file", "default": None, "nullable": True, "doc": "File of more banned_words."},
        "banned_subwords_file": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "File of more banned_subwords.",
        },
        "soft_banned_words_file": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "File of more soft_banned_words.",
        },
        "url_key": {"type": "str", "default": "url", "doc": "Field with the address."},
        "no_url": {
            "type": "str",
            "default": "quarantine",
            "choices": ["quarantine", "keep"],
            "doc": "What happens to samples whose address is missing or empty.",
        },
    },
    "stats": {
        "url_list": {"type": "VARCHAR", "doc": "List that the address is on; empty for none, soft words left out."},
        "url_soft_words": {"type": "BIGINT", "doc": "Different soft_banned_words in the address."},
    },
    "checks": "problems",
    "functions": {
        "url_on_lists": {
            "columns": ["VARCHAR"],
            "constants": [
                "VARCHAR",
                "VARCHAR[]",
                "VARCHAR[]",
                "VARCHAR[]",
                "VARCHAR[]",
                "VARCHAR[]",
                "VARCHAR[]",
                "VARCHAR[]",
                "BOOLEAN",
            ],
            "returns": "STRUCT(list VARCHAR, soft BIGINT)",
            "runs": "kernel",  # a few microseconds per sample: threads hardly wait for each other
            "call": "url_on_lists",
        }
    },
    "sql": """
        {% set inline = [] %}
        {% for given in [extra_domains, extra_urls, banned_words, banned_subwords, soft_banned_words] %}
        {% set _ = inline.append([given] if given is string else given or []) %}
        {% endfor %}
        SELECT url_on_lists(json_extract_string(to_json({{ field(url_key) }}), '$'),
            {{ (lists if use_integrated_lists else none) | lit }}, CAST({{ categories | lit }} AS VARCHAR[]),
            CAST({{ [domains_file, urls_file, banned_words_file, banned_subwords_file, soft_banned_words_file] | lit }}
                AS VARCHAR[]),
            {% for given in inline %}CAST({{ given | lit }} AS VARCHAR[]), {% endfor %}
            {{ (no_url == 'keep') | lit }}) AS _found,
            _found.list AS url_list, _found.soft AS url_soft_words,
            url_list <> 'domain' AS keep_domain, url_list <> 'subdomain' AS keep_subdomain, url_list <> 'url' AS keep_url,
            url_list <> 'hard_blacklisted' AS keep_hard_blacklisted,
            url_soft_words < {{ soft_word_threshold | lit }} AS keep_soft_blacklisted,
            url_list <> 'blacklisted_subword' AS keep_blacklisted_subword
    """,
    "examples": [
        {
            "text": "",
            "fields": {"url": "https://www.bad.co.uk/a"},
            "params": {"use_integrated_lists": False, "extra_domains": ["bad.co.uk", "co.uk"]},
            "stats": {"url_list": "domain", "url_soft_words": 0},
            "keep": False,
            "reason": "domain",
        },
        {
            "text": "",
            "fields": {"url": "https://me.github.io/a"},
            "params": {"use_integrated_lists": False, "extra_domains": ["me.github.io", "#github.io"]},
            "keep": False,
            "reason": "subdomain",
        },
        {
            "text": "",
            "fields": {"url": "https://a.org/Free-casino/WIN"},
            "params": {"use_integrated_lists": False, "banned_words": "free", "soft_banned_words": ["casino", "win"]},
            "stats": {"url_list": "", "url_soft_words": 1},
            "keep": True,
        },
        {
            "text": "",
            "fields": {"url": "https://a.org/win/casino"},
            "params": {
                "use_integrated_lists": False,
                "soft_banned_words": ["casino", "win"],
                "banned_subwords": "casino",
            },
            "stats": {"url_list": "blacklisted_subword", "url_soft_words": 2},
            "keep": False,
            "reason": "soft_blacklisted",
        },
        {
            "text": "",
            "fields": {"url": "https://a.org/big-C.asino"},
            "params": {"lists": "lists"},
            "files": {"lists/adult/domains": "b.org\n", "lists/banned_subwords.txt": "# words\n\nCas-ino\n"},
            "keep": False,
            "reason": "blacklisted_subword",
        },
        {
            "text": "",
            "fields": {"url": "https://b.org/x/"},
            "params": {"lists": "lists", "categories": ["adult"], "urls_file": "more"},
            "files": {"lists/adult/urls": "b.org/x/\n", "lists/games/domains": "b.org\n", "more": "https://b.org/x/\n"},
            "keep": False,
            "reason": "url",
        },
        {"text": "", "params": {"use_integrated_lists": False, "no_url": "keep"}, "keep": True},
        {"text": "", "params": {"use_integrated_lists": False}, "quarantined": "the sample has no address"},
        {"text": "", "fields": {"url": "x"}, "error": True},
        {
            "text": "",
            "params": {"lists": "lists", "categories": ["adlut"]},
            "files": {"lists/adult/domains": "b.org\n"},
            "error": True,
        },
    ],
}

_OTHERS = re.compile(r"[^a-zA-Z0-9]+")
# Parameters of files and files of datatrove's lists, in one order. The first two are also in its archive and in UT1.
_FILES = ("domains_file", "urls_file", "banned_words_file", "banned_subwords_file", "soft_banned_words_file")
_NAMES = ("domains", "urls", "banned_words.txt", "banned_subwords.txt", "soft_banned_words.txt")
_IN_CATEGORIES = 2
_ARCHIVES = "url_filterblacklists*.tar.gz"


class Lists(NamedTuple):
    """Lists that addresses are compared with."""

    domains: frozenset[str]
    urls: frozenset[str]
    words: frozenset[str]
    subwords: Trie
    soft_words: frozenset[str]


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the lists, as sentences."""
    folder = params.get("lists") if params.get("use_integrated_lists") else None
    if params.get("use_integrated_lists") and not folder:
        return ["`lists` is not given: name a folder of lists, or write use_integrated_lists: false"]
    try:
        files = _files(folder, params.get("categories"), [params.get(name) for name in _FILES])
        empty = folder and not any(_read(file) for file in files if file[1].startswith(str(folder)))
        for file in files:
            _read(file)
    except UrlListError as error:
        return [str(error)]
    wanted = f"there must be {', '.join(_NAMES)}, or folders with domains and urls"
    return [f"{folder}: no list with an entry; {wanted}"] if empty else []


# Number of a list, path of its file, and whether it is an archive that has a file of the list's name.
File = tuple[int, str, bool]


def _files(folder: str | None, categories: Sequence[str] | None, single: Sequence[str | None]) -> list[File]:
    """Files of all lists. Raises UrlListError."""
    found = [(number, path, False) for number, path in enumerate(single) if path]
    for number, name in enumerate(_NAMES if folder else ()):
        base = Path(str(folder))
        places = [base, *_category_folders(base, categories)] if number < _IN_CATEGORIES else [base]
        paths = [path for place in places for path in (place / name, place / f"{name}.gz") if path.is_file()]
        found += [(number, str(path), False) for path in paths]
        archives = sorted(base.glob(_ARCHIVES)) if number < _IN_CATEGORIES else []
        found += [(number, str(path), True) for path in archives]
    return found


def _category_folders(folder: Path, categories: Sequence[str] | None) -> list[Path]:
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    for category in categories or ():
        if category not in names:
            raise UrlListError(f"{folder}: there is no category {category!r}{did_you_mean(category, names)}")
    return [folder / name for name in (names if categories is None else categories)]


def _read(file: File) -> Sequence[str]:
    number, path, is_archive = file
    return member_entries(path, _NAMES[number]) if is_archive else entries(path)


@lru_cache(maxsize=4)
def _lists(files: tuple[tuple[File, tuple[int, ...]], ...], inline: tuple[tuple[str, ...], ...]) -> Lists:
    """The lists of files, each with its state, and of entries in the recipe."""
    all_entries = [
        [entry.strip() if number < _IN_CATEGORIES else entry for entry in own] for number, own in enumerate(inline)
    ]
    for file, _ in files:
        all_entries[file[0]] += _read(file)
    # Domains and addresses are millions, and stripped where they are read.
    plain = [[entry for entry in own if entry and entry[0] != "#"] for own in all_entries]
    words, subwords, soft = (frozenset(map(_normal, own)) for own in plain[_IN_CATEGORIES:])
    domains, urls = map(frozenset, plain[:_IN_CATEGORIES])
    return Lists(domains, urls, words - {""}, Trie(subwords), soft - {""})


def _normal(text: str) -> str:
    return _OTHERS.sub("", text).lower()


def url_on_lists(
    column: pa.Array, folder: str | None, categories: Sequence[str] | None, single: Sequence[str | None], *given: Any
) -> pa.Array:
    """The list of each address, and its number of soft words. given: the lists of the recipe; keep those without one."""
    *inline, keep = given
    files = tuple((file, state_of(file[1])) for file in _files(folder, categories, single))
    lists = _lists(files, tuple(map(tuple, inline)))
    found = [_judged(url, lists, keep) for url in column.to_pylist()]
    soft = np.array([number for _, number in found], np.int64)
    return structs(np.ones(len(found), np.bool_), list=of_texts([name for name, _ in found]), soft=ints(soft))


def _judged(url: str | None, lists: Lists, keep: bool) -> tuple[str, int]:
    """The list that an address is on, and the number of its soft words."""
    if not url:
        if keep:
            return "", 0
        raise ValueError("the sample has no address; no_url: keep would keep it")
    pieces = set(_OTHERS.split(url))
    return _list_of(url, pieces, lists), len(lists.soft_words & pieces)


def _list_of(url: str, pieces: set[str], lists: Lists) -> str:
    fqdn, suffix = host_parts(authority(url))
    if registered_domain(fqdn, suffix) in lists.domains:
        return "domain"
    if fqdn in lists.domains:
        return "subdomain"
    if url in lists.urls:
        return "url"
    if not lists.words.isdisjoint(pieces):
        return "hard_blacklisted"
    return "blacklisted_subword" if lists.subwords.is_in(_normal(url)) else ""

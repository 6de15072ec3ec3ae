"""Title, author and date of a page by trafilatura, and the language that the page declares."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from typing import Any

# Beginning of a page in which its language is looked for.
_HEAD = 65_536
_HTML = re.compile(r"<html\b([^>]*)>", re.I)
_LANG = re.compile(r"""(?:^|[\s"'])(?:xml:)?lang\s*=\s*["']?\s*([A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*)""", re.I)
_META = re.compile(r"<meta\b([^>]*)>", re.I)
_NAMED = re.compile(
    r"""(?:http-equiv|name|property|itemprop)\s*=\s*["']?\s*(?:content-language|language|dc\.language|dcterms\.language|inlanguage|og:locale)\b""",
    re.I,
)
_CONTENT = re.compile(r"""\bcontent\s*=\s*["']?\s*([A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*)""", re.I)
# The latest date where a recipe gives none: htmldate's own is today, which would be another one in each run.
_NO_END = "9999-12-31"


def metadata_of_page(page: str, url: str, wanted: Collection[str], max_date: str | None) -> dict[str, str | None]:
    """Title, author, date (`2026-02-17`) and language of a page, as far as wanted; None for what is not found."""
    metadata: dict[str, str | None] = {}
    if {"title", "author", "date"} & {*wanted} and page.strip():
        document = _document(page, url, "date" in wanted, max_date or _NO_END)
        metadata |= {name: getattr(document, name) or None for name in ("title", "author", "date") if name in wanted}
    if "language" in wanted:
        metadata["language"] = declared_language(page)
    return metadata


def _document(page: str, url: str, thorough: bool, max_date: str) -> Any:
    """trafilatura's metadata. thorough: look for a date everywhere, which takes most of the time."""
    from trafilatura.metadata import extract_metadata

    for name in ("trafilatura", "htmldate"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    dates = {"original_date": True, "extensive_search": thorough, "max_date": max_date}
    return extract_metadata(page, default_url=url or None, date_config=dates)


def declared_language(page: str) -> str | None:
    """The language that a page declares: `lang` of its `html` element, else of its first `meta` element for it.

    In lower case, the parts joined by `-`: `de-at`.
    """
    head = page[:_HEAD]
    html = _HTML.search(head)
    language = _LANG.search(html[1]) if html else None
    if language is None:
        named = (_CONTENT.search(meta[1]) for meta in _META.finditer(head) if _NAMED.search(meta[1]))
        language = next(filter(None, named), None)
    return language[1].replace("_", "-").lower() if language else None

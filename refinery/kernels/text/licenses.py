"""Creative Commons licences that the HTML of a page links to, as dolma names them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import regex

from refinery.kernels.core.arrow import ints, of_texts, structs

# A text without one of these is not searched.
_SIGNS = ("creativecommons.org/licenses", "creativecommons.org/publicdomain")

_QUOTE = "(?:'|\"|&quot;)"
# Links and meta elements, with the type, version and language of the licence.
ELEMENTS = regex.compile(
    r"<(?:a|A|meta)\s[\w\p{Punct}\s=]*\n*(?:href|HREF|content)=" + _QUOTE + r"?https*://creativecommons\.org/"
    r"(?:licenses/(?P<type>by(?:-nc)?(?:-nd)?(?:-sa)?)|(?P<type>publicdomain/(?:zero|certification|mark)))"
    r"(?P<version>/\d+\.\d+)?(?:(?:/\w{2})?/(?:(?:deed|legalcode)\.)?(?P<lang>\w{2}))?.*?" + _QUOTE + r".*?>"
)
# Addresses anywhere, with the type.
ADDRESSES = regex.compile(
    r'https?://creativecommons\.org/licenses/(?P<type>by|by-sa|by-nd|by-nc|by-nc-sa|by-nc-nd|publicdomain)["/ >]'
)


def licenses(html: str, pattern: regex.Pattern[str]) -> list[str]:
    """Names of the licences of a page, in order."""
    if not any(sign in html for sign in _SIGNS):
        return []
    return [_name(match.groupdict()) for match in pattern.finditer(html)]


def _name(parts: dict[str, str | None]) -> str:
    version = (parts.get("version") or "").strip("/")
    return "_".join(filter(None, ("cc", parts["type"], version, parts.get("lang"))))


def first_license(column: pa.Array, pattern: regex.Pattern[str]) -> pa.Array:
    """A struct of the first licence of each page and the number of licences; NULL for NULL."""
    pages = column.to_pylist()
    names = [[] if page is None else licenses(page, pattern) for page in pages]
    valid = np.array([page is not None for page in pages], np.bool_)
    counts = ints(np.array([len(of_page) for of_page in names], np.int64))
    return structs(valid, first=of_texts([of_page[0] if of_page else None for of_page in names]), n=counts)


of_elements = partial(first_license, pattern=ELEMENTS)
of_addresses = partial(first_license, pattern=ADDRESSES)

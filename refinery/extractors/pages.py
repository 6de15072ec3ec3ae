"""Text of a page by one of the libraries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from refinery.extractors.stop_words import dense_lines, has_blanks, stop_words

# Sizes that trafilatura reads from a configuration.
_SIZES = ("min_extracted_size", "min_output_size", "min_duplcheck_size", "max_repetitions", "max_tree_size")


def text_of_page(page: str, by: str, settings: Mapping[str, Any], language: str) -> str:
    """The text of a page; empty if nothing is found. language: that of the stop words, where the settings need any."""
    if not page.strip():  # some libraries refuse a page without anything
        return ""
    return _EXTRACTORS[by](page, dict(settings), language)


def _by_trafilatura(page: str, settings: dict[str, Any], language: str) -> str:
    import trafilatura
    from trafilatura.deduplication import LRU_TEST

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it reports every page without a text
    density, sizes = (
        settings.pop("required_stopword_density", None),
        {name: settings.pop(name, None) for name in _SIZES},
    )
    LRU_TEST.clear()  # `deduplicate` remembers segments of earlier pages: a text would depend on the order of pages
    config = _config(tuple((name, value) for name, value in sizes.items() if value is not None))
    text = trafilatura.extract(page, config=config, **settings) or ""
    return text if density is None else "\n\n".join(dense_lines(text, language, density))


@lru_cache(maxsize=16)
def _config(sizes: tuple[tuple[str, int], ...]) -> Any:
    """trafilatura's configuration with some other sizes."""
    from copy import deepcopy

    from trafilatura.settings import DEFAULT_CONFIG

    config = deepcopy(DEFAULT_CONFIG)
    for name, value in sizes:
        config.set("DEFAULT", name.upper(), str(value))
    return config


def _by_resiliparse(page: str, settings: dict[str, Any], language: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    density = settings.pop("required_stopword_density", None)
    text = extract_plain_text(page, **settings)
    return text if density is None else "\n\n".join(dense_lines(text, language, density))


def _by_justext(page: str, settings: dict[str, Any], language: str) -> str:
    import justext

    everything = settings.pop("keep_boilerplate", not has_blanks(language))
    paragraphs = justext.justext(page, stop_words(language), **settings)
    return "\n\n".join(each.text for each in paragraphs if everything or not each.is_boilerplate)


_EXTRACTORS: dict[str, Callable[[str, dict[str, Any], str], str]] = {
    "trafilatura": _by_trafilatura,
    "resiliparse": _by_resiliparse,
    "justext": _by_justext,
}

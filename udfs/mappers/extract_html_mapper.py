"""Text of web pages by trafilatura, resiliparse or jusText, with title, author, date and language as fields."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from refinery.extractors.page_metadata import metadata_of_page
from refinery.extractors.pages import text_of_page
from refinery.extractors.settings import PACKAGES, chosen, missing, problems
from refinery.extractors.stop_words import has_blanks, list_name

OPERATOR = {
    "doc": (
        "Replace the HTML of a page by its text, which trafilatura, resiliparse or jusText extracts with the settings of a "
        "pipeline (`as`); each parameter of the library can be set. The step works on text: the reader of WARC decodes pages. "
        "A page without a text is removed (reason `empty`) unless `drop_empty` is false. A page on which the library fails, or "
        "that takes longer than `timeout`, goes to quarantine; pages run in worker processes, so one that ends its process "
        "costs itself alone. A text depends on its page alone: what trafilatura's `deduplicate` remembers is cleared "
        "before each page. Title, author, date and language become fields where the parameters name them; they are "
        "trafilatura's and, for the language, what the page declares. A page that has none keeps its field."
    ),
    "version": 1,
    "peer": "datatrove Trafilatura; DCLM, dolma, NeMo Curator",
    "params": {
        "by": {
            "type": "str",
            "default": "trafilatura",
            "choices": ["trafilatura", "resiliparse", "justext"],
            "default_when": [
                {"when": {"as": "dclm"}, "default": "resiliparse"},
                {"when": {"as": "dolma"}, "default": "resiliparse"},
                {"when": {"as": "nemo"}, "default": "justext"},
            ],
            "doc": "The library.",
        },
        "as": {
            "type": "str",
            "default": None,
            "nullable": True,
            "choices": ["datatrove", "dclm", "dolma", "nemo", "library"],
            "doc": (
                "The pipeline whose values all parameters below have that are not set (docs/web.md has them); `library`: "
                "those of the library itself. null: `datatrove` (FineWeb) for trafilatura, `dclm` for resiliparse, `nemo` for justext."
            ),
        },
        "timeout": {
            "type": "float",
            "default": None,
            "nullable": True,
            "min": 0.001,
            "doc": "Most seconds for a page. null: 1 with trafilatura as datatrove has it, else 10.",
        },
        "drop_empty": {"type": "bool", "default": True, "doc": "Remove pages without a text."},
        "favor_precision": {"type": "bool", "default": None, "doc": "trafilatura: prefer less text. datatrove: true."},
        "favor_recall": {"type": "bool", "default": None, "doc": "trafilatura: prefer more text."},
        "fast": {"type": "bool", "default": None, "doc": "trafilatura: do not compare with other extractors."},
        "include_comments": {
            "type": "bool",
            "default": None,
            "doc": "trafilatura: readers' comments. datatrove: false.",
        },
        "include_tables": {"type": "bool", "default": None, "doc": "trafilatura: tables."},
        "include_images": {"type": "bool", "default": None, "doc": "trafilatura: images."},
        "include_links": {"type": "bool", "default": None, "doc": "trafilatura: targets of links."},
        "include_formatting": {
            "type": "bool",
            "default": None,
            "doc": "trafilatura: headings, bold and such as Markdown.",
        },
        "deduplicate": {
            "type": "bool",
            "default": None,
            "doc": "trafilatura: drop segments that a page repeats more often than `max_repetitions`. datatrove and nemo: true.",
        },
        "output_format": {
            "type": "str",
            "default": None,
            "nullable": True,
            "choices": ["txt", "markdown", "html", "xml"],
            "doc": "trafilatura: the form of the text.",
        },
        "prune_xpath": {"type": "str_or_list", "default": None, "doc": "trafilatura: elements to leave out, in XPath."},
        "min_extracted_size": {
            "type": "int",
            "default": None,
            "min": 0,
            "doc": "trafilatura: characters below which it tries again.",
        },
        "min_output_size": {
            "type": "int",
            "default": None,
            "min": 0,
            "doc": "trafilatura: fewest characters of a text.",
        },
        "min_duplcheck_size": {
            "type": "int",
            "default": None,
            "min": 0,
            "doc": "trafilatura: fewest characters of a repeated segment.",
        },
        "max_repetitions": {"type": "int", "default": None, "min": 0, "doc": "trafilatura: most copies of a segment."},
        "max_tree_size": {"type": "int", "default": None, "min": 1, "doc": "trafilatura: most elements of the text."},
        "preserve_formatting": {
            "type": "any",
            "default": None,
            "nullable": True,
            "choices": [True, False, "minimal_html"],
            "doc": "resiliparse: keep lines, paragraphs and lists; `minimal_html` keeps some elements. dolma: true.",
        },
        "main_content": {
            "type": "bool",
            "default": None,
            "doc": "resiliparse: the main part alone. dclm, dolma and nemo: true.",
        },
        "list_bullets": {"type": "bool", "default": None, "doc": "resiliparse: marks of list items. dolma: true."},
        "alt_texts": {"type": "bool", "default": None, "doc": "resiliparse: texts for images. dolma and nemo: false."},
        "links": {"type": "bool", "default": None, "doc": "resiliparse: targets of links."},
        "form_fields": {"type": "bool", "default": None, "doc": "resiliparse: fields of forms."},
        "noscript": {"type": "bool", "default": None, "doc": "resiliparse: elements for browsers without scripts."},
        "comments": {
            "type": "bool",
            "default": None,
            "doc": "resiliparse: readers' comments are main content. dolma: true.",
        },
        "post_meta": {"type": "bool", "default": None, "doc": "resiliparse: date and author lines of posts."},
        "hidden_elements": {
            "type": "bool",
            "default": None,
            "doc": "resiliparse: elements with classes of hidden ones.",
        },
        "skip_elements": {
            "type": "list[str]",
            "default": None,
            "doc": "resiliparse: CSS selectors of elements to leave out.",
        },
        "stoplist": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": 'The language of jusText\'s stop words, by its English name or code; `""`: none. nemo: English.',
        },
        "stoplist_key": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "Field with the language of a page for `stoplist`; where it is missing or unknown, `stoplist` counts.",
        },
        "length_low": {
            "type": "int",
            "default": None,
            "min": 0,
            "doc": "justext: characters below which a paragraph is short.",
        },
        "length_high": {
            "type": "int",
            "default": None,
            "min": 0,
            "doc": "justext: characters above which a paragraph is long.",
        },
        "stopwords_low": {
            "type": "float",
            "default": None,
            "min": 0,
            "max": 1,
            "doc": "justext: share of stop words of a near-good paragraph.",
        },
        "stopwords_high": {
            "type": "float",
            "default": None,
            "min": 0,
            "max": 1,
            "doc": "justext: share of stop words of a good paragraph.",
        },
        "max_link_density": {
            "type": "float",
            "default": None,
            "min": 0,
            "doc": "justext: most characters of links, as a share.",
        },
        "max_heading_distance": {
            "type": "int",
            "default": None,
            "min": 0,
            "doc": "justext: characters between a heading and its paragraph.",
        },
        "no_headings": {"type": "bool", "default": None, "doc": "justext: treat headings as paragraphs."},
        "keep_boilerplate": {
            "type": "bool",
            "default": None,
            "doc": "justext: keep all paragraphs. dclm: true; nemo: true for languages without blanks between words.",
        },
        "required_stopword_density": {
            "type": "float",
            "default": None,
            "min": 0,
            "max": 1,
            "doc": "trafilatura, resiliparse: least share of stop words of a line that stays, not for languages without blanks. nemo: 0.32.",
        },
        "title_key": {"type": "str", "default": None, "nullable": True, "doc": "Field for the title of the page."},
        "author_key": {"type": "str", "default": None, "nullable": True, "doc": "Field for the author of the page."},
        "date_key": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "Field for the date of the page, `2026-02-17`.",
        },
        "language_key": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "Field for the language that the page declares, `de-at`.",
        },
        "url_key": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "Field with the address, which may hold the date.",
        },
        "max_date": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "Latest date that a page can have, such as the crawl's; null: any.",
        },
    },
    "writes": {"title_key": "VARCHAR", "author_key": "VARCHAR", "date_key": "VARCHAR", "language_key": "VARCHAR"},
    "checks": "check",
    "functions": {
        "extracted_page": {
            "columns": ["VARCHAR", "VARCHAR", "VARCHAR"],
            "constants": ["DOUBLE", "VARCHAR"],
            "returns": "STRUCT(text VARCHAR, title VARCHAR, author VARCHAR, date VARCHAR, language VARCHAR, fault VARCHAR)",
            "runs": "process",
            "prepare": "prepare",
        }
    },
    "sql": """
        {% set quick = by == 'trafilatura' and params['as'] in (none, 'datatrove') %}
        SELECT
          extracted_page(
            {{ text }},
            {% if url_key is none %}''{% else %}coalesce(CAST({{ field(url_key) }} AS VARCHAR), ''){% endif %},
            {% if stoplist_key is none %}''{% else %}coalesce(CAST({{ field(stoplist_key) }} AS VARCHAR), ''){% endif %},
            CAST({{ (timeout or (1 if quick else 10)) | lit }} AS DOUBLE),
            {{ params | tojson | lit }}
          ) AS _page,
          _page.fault AS fault,
          _page.text AS delta
          {% if title_key is not none %}, _page.title AS value_title_key{% endif %}
          {% if author_key is not none %}, _page.author AS value_author_key{% endif %}
          {% if date_key is not none %}, _page.date AS value_date_key{% endif %}
          {% if language_key is not none %}, _page.language AS value_language_key{% endif %}
          {% if drop_empty %}, _page.text IS NULL OR _page.text <> '' AS keep_empty{% endif %}
    """,
    "examples": [
        {
            "text": "<html lang=en><head><title>Weir</title></head><body><nav><a href=/>Home</a></nav><main><h1>The weir</h1><p>The old weir was repaired in April, when the water was low enough for the masons.</p></main></body></html>",
            "params": {"by": "resiliparse", "language_key": "lang"},
            "out": "The weir\n\nThe old weir was repaired in April, when the water was low enough for the masons.",
            "written": {"lang": "en"},
        },
        {
            "text": "<html><body><nav>Home | News</nav><article><h1>The weir</h1><p>The old weir was repaired in April, when the water was low enough for the masons to reach the foundations without pumping.</p></article></body></html>",
            "out": "The weir\nThe old weir was repaired in April, when the water was low enough for the masons to reach the foundations without pumping.",
        },
        {"text": "", "keep": False},
        {"text": "<script>run()</script>", "params": {"as": "dolma"}, "keep": False},
        {"text": " ", "params": {"drop_empty": False}, "out": "", "keep": True},
        {
            "text": "A text without marks.",
            "params": {"by": "resiliparse", "as": "library"},
            "out": "A text without marks.",
        },
        {"text": "x", "params": {"by": "resiliparse", "favor_recall": True}, "error": True},
        {"text": "x", "params": {"by": "justext", "as": "datatrove"}, "error": True},
        {"text": "x", "params": {"by": "justext", "stoplist": "Klingon"}, "error": True},
    ],
}

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    found = problems(params)
    if found:
        return found
    packages = [PACKAGES[params["by"]]]
    if any(params[name] is not None for name in ("title_key", "author_key", "date_key")):
        packages.append("trafilatura")
    settings = chosen(params)
    if settings.get("stoplist") or params["stoplist_key"]:
        packages.append("justext")
    found = missing([name for name in dict.fromkeys(packages) if importlib.util.find_spec(name) is None])
    stoplist = settings.get("stoplist") or ""
    if stoplist and list_name(stoplist) is None and has_blanks(stoplist):
        found.append(
            f"stoplist: jusText has no stop words of {stoplist!r}: give a language by its English name or code"
        )
    if settings.get("required_stopword_density") is not None and not (stoplist or params["stoplist_key"]):
        found.append("required_stopword_density needs a language: give stoplist, or stoplist_key")
    if params["max_date"] is not None and not _DATE.fullmatch(params["max_date"]):
        found.append(f"max_date is {params['max_date']!r}; write it as 2026-02-17")
    return found


def prepare(given: str) -> None:
    """Import the library, and have it load what it loads at its first page; this takes seconds for dates."""
    page = '<html><body><p class="date">作者：林青 发布时间：2026年3月2日</p></body></html>'  # dates in words are read by all languages
    extracted_page(page, "", "", given)


def extracted_page(page: str, url: str, language: str, given: str) -> dict[str, str | None]:
    """The text of a page and its metadata. language: of the page, "" if it is not known. given: parameters as JSON."""
    params, settings, wanted = _parameters(given)
    settings = dict(settings)
    fallback = settings.pop("stoplist", "")
    settings.pop("stoplist_key", None)
    known = language if language and (list_name(language) or not has_blanks(language)) else fallback
    found = {"text": text_of_page(page, params["by"], settings, known)}
    return found | (metadata_of_page(page, url, wanted, params["max_date"]) if wanted else {})


@lru_cache(maxsize=16)
def _parameters(given: str) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    """The step's parameters, the settings of its library, and the metadata that it writes."""
    params = json.loads(given)
    wanted = tuple(name for name in ("title", "author", "date", "language") if params[f"{name}_key"] is not None)
    return params, chosen(params), wanted

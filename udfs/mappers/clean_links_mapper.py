"""Replace links of all kinds; the kernel is in `refinery.kernels.text.links`."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from refinery.kernels.text import patterns

OPERATOR = {
    "doc": (
        "Replace links: scheme: and a slash, letter, digit or percent sign, www., or host.tld/, each followed by at "
        "least two more characters. So mailto:a@b.co is removed, note:this counts as a link, too, and example.com/ "
        "and x.io/p stay. Closed parentheses belong to a link, punctuation at its end does not. `pattern` replaces "
        "the default pattern; it is used by the regex module with DOTALL, and may be written as r'...'."
    ),
    "version": 1,
    "peer": "clean_links_mapper of Data-Juicer 1.6.1",
    "params": {
        "pattern": {"type": "regex", "default": None, "nullable": True, "doc": "Pattern to replace; null: links."},
        "repl": {"type": "str", "default": "", "doc": "Replacement; \\g<0> is the match, \\1 a group."},
    },
    "functions": {
        "clean_links_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "clean",
        },
        "clean_links_pattern_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "clean_pattern",
        },
    },
    "checks": "problems",
    "sql": """
        SELECT {% if pattern is none %}
            clean_links_delta({{ text }}, {{ repl | lit }}) AS delta
        {% else %}
            clean_links_pattern_delta({{ text }}, {{ pattern | lit }}, {{ repl | lit }}) AS delta
        {% endif %}
    """,
    "examples": [
        {"text": "see https://example.org/a?b=c.", "out": "see ."},
        {"text": "<http://a.bc/d> (www.x.org/e)", "params": {"repl": "LINK"}, "out": "<LINK> (LINK)"},
        {"text": "https://en.wikipedia.org/wiki/Set_(music), then", "params": {"repl": "_"}, "out": "_, then"},
        {"text": "mailto:jane@x.org or tel:+1", "params": {"repl": "_"}, "out": "_ or tel:+1"},
        {"text": "example.com/ and x.io/p stay, x.io/page goes", "out": "example.com/ and x.io/p stay,  goes"},
        {"text": "note:this is one, a::b is not", "params": {"repl": "_"}, "out": "_ is one, a::b is not"},
        {"text": "at ftp://a.bc/d", "params": {"repl": "<\\g<0>>"}, "out": "at <ftp://a.bc/d>"},
        {"text": "[docs](x.html)", "params": {"pattern": "r'\\[(.*?)\\]\\(.*?\\)'", "repl": "\\1"}, "out": "docs"},
    ],
}


def clean(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """Each text with its links replaced; NULL where there are none."""
    from refinery.kernels.text import links  # imported late: checking a recipe needs no kernel

    return links.clean_links(column, repl)


clean_pattern = patterns.clean_pattern
problems = partial(patterns.problems, default=patterns.LINK_PATTERN)

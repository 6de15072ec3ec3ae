"""Replace e-mail addresses; the kernel is in `refinery.kernels.text.emails`."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from refinery.kernels.text import patterns

OPERATOR = {
    "doc": (
        "Replace e-mail addresses. The domain must be lower-case and end with a dot and letters, so JANE@EXAMPLE.COM "
        "stays; it need not end at a word boundary, so of a@b.org2 the 2 stays. `pattern` replaces the default "
        "pattern; it is used by the regex module with DOTALL, and may be written as r'...'."
    ),
    "version": 1,
    "peer": "clean_email_mapper of Data-Juicer 1.6.1",
    "params": {
        "pattern": {
            "type": "regex",
            "default": None,
            "nullable": True,
            "doc": "Pattern to replace; null: e-mail addresses.",
        },
        "repl": {"type": "str", "default": "", "doc": "Replacement; \\g<0> is the match, \\1 a group."},
    },
    "functions": {
        "clean_email_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "clean",
        },
        "clean_email_pattern_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "clean_pattern",
        },
    },
    "checks": "problems",
    # Most texts have no @, which SQL checks before it calls the kernel.
    "sql": """
        SELECT {% if pattern is none %}
            CASE WHEN contains({{ text }}, '@') THEN clean_email_delta({{ text }}, {{ repl | lit }}) END AS delta
        {% else %}
            clean_email_pattern_delta({{ text }}, {{ pattern | lit }}, {{ repl | lit }}) AS delta
        {% endif %}
    """,
    "examples": [
        {"text": "write to Jane.Doe+x@mail.example.org.", "out": "write to ."},
        {"text": "a@b.org and c_d@e-f.co.uk", "params": {"repl": "<EMAIL>"}, "out": "<EMAIL> and <EMAIL>"},
        {"text": "JANE@EXAMPLE.COM, jane@example.COM", "out": "JANE@EXAMPLE.COM, jane@example.COM"},
        {"text": "end@x.y1z", "out": "1z"},
        {"text": "a@b.org2 and root@localhost", "params": {"repl": "_"}, "out": "_2 and root@localhost"},
        {"text": "jörg@web.de", "params": {"repl": "_"}, "out": "jö_"},
        {"text": "mail a@b.org", "params": {"repl": "<\\g<0>>"}, "out": "mail <a@b.org>"},
        {"text": "me@corp.ex", "params": {"pattern": "r'@(\\w+)\\.ex'", "repl": " at \\1"}, "out": "me at corp"},
    ],
}


def clean(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """Each text with its addresses replaced; NULL where there are none."""
    from refinery.kernels.text import emails  # imported late: checking a recipe needs no kernel

    return emails.clean_emails(column, repl)


clean_pattern = patterns.clean_pattern
problems = partial(patterns.problems, default=patterns.EMAIL_PATTERN)

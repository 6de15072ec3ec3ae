"""Creative Commons licences in the HTML of a page."""

from __future__ import annotations

from refinery.kernels.text.licenses import of_addresses as licenses_of

__all__ = ["licenses_of"]

OPERATOR = {
    "doc": (
        "Find Creative Commons licences in the HTML of a page, by addresses anywhere in it: the first one, and their number; "
        "versions and languages are left out. A sample without HTML has NULL; dolma fails there."
    ),
    "version": 1,
    "peer": "cc_re_fast of dolma 1.2.1, which has a type of span for each licence",
    "params": {
        "html_field": {
            "type": "str",
            "default": "html",
            "doc": "Field with the HTML, of dolma metadata.html; dots go into objects.",
        }
    },
    "stats": {
        "cc_license": {"type": "VARCHAR", "doc": "The first licence; NULL without any."},
        "cc_licenses": {"type": "BIGINT", "doc": "Licences."},
    },
    "functions": {
        "cc_re_fast_licenses": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "STRUCT(first VARCHAR, n BIGINT)",
            "runs": "python",
            "call": "licenses_of",
        }
    },
    "sql": """
        SELECT cc_re_fast_licenses(json_extract_string(to_json({{ field(html_field) }}), '$')) AS _found,
            _found.first AS cc_license, _found.n AS cc_licenses
    """,
    "examples": [
        {
            "text": "A page.",
            "fields": {"html": "see https://creativecommons.org/licenses/by-sa/4.0/deed.fr"},
            "stats": {"cc_license": "cc_by-sa", "cc_licenses": 1},
        },
        {
            "text": "A page.",
            "fields": {"html": "<p>creativecommons.org/licenses</p>"},
            "stats": {"cc_license": None, "cc_licenses": 0},
        },
        {"text": "", "stats": {"cc_license": None, "cc_licenses": None}},
    ],
}

"""Addresses in a text."""

FEATURE = {
    "doc": "The addresses in a text, in order: http:// or https:// and the ASCII characters of an address after it.",
    "version": 1,
    "sql": r"""
        CASE WHEN contains({{ text }}, 'http') THEN
            regexp_extract_all({{ text }}, 'https?://(?:[-A-Za-z0-9$_@.&+/:=?#~!*(),]|%[0-9A-Fa-f]{2})+')
        ELSE []::VARCHAR[] END
    """,
}

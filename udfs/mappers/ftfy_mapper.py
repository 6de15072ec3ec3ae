"""Repair broken Unicode with chosen fixes of ftfy, as datatrove's FTFYFormatter; kernels pass over sound texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import delta, each
from refinery.kernels.unicode.unicode_fixes import by_segments, fix_rows
from refinery.kernels.unicode.unicode_fixes_tables import MAPS, tables

OPERATOR = {
    "doc": (
        "Repair broken Unicode with ftfy. By default what is broken is fixed and what is merely unusual stays: mojibake, "
        "HTML entities, terminal escapes and control characters go; curly quotes, ligatures, full-width forms, line "
        "ends and the normalization form stay as they are. fix_unicode_mapper has all fixes and NFC instead. Lines are "
        "repaired one by one. With unescape_html: auto, entities stay from the first line with a < on."
    ),
    "version": 2,
    "peer": "FTFYFormatter of datatrove 0.10.1 (results follow the release of ftfy; matched with 6.3.1)",
    "params": {
        "unescape_html": {
            "type": "any",
            "default": "auto",
            "doc": "Replace HTML entities: auto, true or false.",
        },
        "remove_terminal_escapes": {"type": "bool", "default": True, "doc": "Remove escapes such as colours."},
        "fix_encoding": {"type": "bool", "default": True, "doc": "Repair mojibake."},
        "restore_byte_a0": {
            "type": "bool",
            "default": True,
            "doc": "A space may be a no-break space that was part of mojibake.",
        },
        "replace_lossy_sequences": {
            "type": "bool",
            "default": True,
            "doc": "Mojibake that has lost a part becomes U+FFFD.",
        },
        "decode_inconsistent_utf8": {
            "type": "bool",
            "default": True,
            "doc": "Repair pieces that look like UTF-8 where no encoding explains all.",
        },
        "fix_c1_controls": {"type": "bool", "default": True, "doc": "Read U+0080 to U+009F as Windows-1252."},
        "fix_latin_ligatures": {"type": "bool", "default": False, "doc": "Replace ligatures by letters."},
        "fix_character_width": {"type": "bool", "default": False, "doc": "Replace full-width and half-width forms."},
        "uncurl_quotes": {"type": "bool", "default": False, "doc": "Replace curly quotes by straight ones."},
        "fix_line_breaks": {"type": "bool", "default": False, "doc": "Replace all line ends by line feeds."},
        "fix_surrogates": {
            "type": "bool",
            "default": True,
            "doc": "No effect: a text that was read has no surrogates.",
        },
        "remove_control_chars": {"type": "bool", "default": True, "doc": "Remove control characters without effect."},
        "normalization": {
            "type": "str",
            "default": None,
            "nullable": True,
            "choices": ["NFC", "NFD", "NFKC", "NFKD"],
            "doc": "Unicode normalization form; null: none.",
        },
    },
    "checks": "problems",
    "functions": {
        "ftfy_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "VARCHAR", "VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "fix_texts",
        }
    },
    "sql": """
        {% set fixes = [] %}
        {% for name in ['remove_terminal_escapes', 'fix_encoding', 'restore_byte_a0', 'replace_lossy_sequences',
            'decode_inconsistent_utf8', 'fix_c1_controls', 'fix_latin_ligatures', 'fix_character_width',
            'uncurl_quotes', 'fix_line_breaks', 'fix_surrogates', 'remove_control_chars'] if params[name] %}
        {% set _ = fixes.append(name) %}
        {% endfor %}
        SELECT ftfy_delta({{ text }}, CAST({{ fixes | lit }} AS VARCHAR[]), {{ unescape_html | string | lower | lit }},
            {{ (normalization or '') | lit }}) AS delta
    """,
    "examples": [
        {"text": "âœ” “sÃ³lo” ﬁne…\r\n", "out": "✔ “sólo” ﬁne…\r\n"},
        {"text": "Ｆｕｌｌ，ｗｉｄｔｈ e\u0301\x07\x1b[31mred\x1b[0m", "out": "Ｆｕｌｌ，ｗｉｄｔｈ e\u0301red"},
        {"text": "a &lt; b\nx <i> &amp;", "out": "a < b\nx <i> &amp;"},
        {"text": "x <i> &amp;", "params": {"unescape_html": True}, "out": "x <i> &"},
        {"text": "a &lt; sÃ³lo", "params": {"unescape_html": False, "fix_encoding": False}, "out": "a &lt; sÃ³lo"},
        {"text": "“a”\r\nﬁ", "params": {"uncurl_quotes": True, "fix_line_breaks": True}, "out": '"a"\nﬁ'},
        {"text": "e\u0301½", "params": {"normalization": "NFKC"}, "out": "é1⁄2"},
        {"text": "\x1b[1mbold\x07", "params": {"remove_control_chars": False}, "out": "bold\x07"},
        {"text": "â€� x", "params": {"replace_lossy_sequences": False}, "out": "â€� x"},
        {"text": "“lâ€™Ã©tÃ©”", "params": {"decode_inconsistent_utf8": False}, "out": "“lâ€™Ã©tÃ©”"},
        {"text": "", "out": ""},
        {"text": "a", "params": {"unescape_html": "yes"}, "error": True},
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters, as sentences."""
    value = params.get("unescape_html")
    known = value == "auto" or isinstance(value, bool)
    return [] if known else [f"unescape_html: {value!r} is neither auto nor true nor false"]


def fix_texts(column: pa.Array, fixes: list[str], unescape: str, form: str) -> pa.Array:
    """Each text as ftfy returns it with these fixes; NULL where nothing changes."""
    fixed, place, known = _fixer(tuple(sorted(fixes)), unescape, form or None)
    if known is None:
        return each(column, fixed)
    return delta(column, partial(fix_rows, markup=place), *known, exact=fixed)


@lru_cache(maxsize=16)
def _fixer(fixes: tuple[str, ...], unescape: str, form: Any) -> tuple[Callable[[str], str], int, Any]:
    """A function that fixes a text, the place from which entities stay (-1: as `auto`), the tables of the kernels."""
    import ftfy

    names = {name: name in fixes for name in OPERATOR["params"] if name not in ("unescape_html", "normalization")}
    # As in datatrove, with explain: without it, ftfy's step for encodings ignores the parameters.
    config = ftfy.TextFixerConfig(**names, unescape_html=False, normalization=form)
    with_entities = config._replace(unescape_html=True)
    place = {"auto": -1, "true": 1 << 62, "false": 0}[unescape]
    known = tables(form, tuple(name for name in MAPS if name in fixes))
    # The kernels see a terminal escape only if it begins with a character that goes anyway.
    if known is None or "remove_control_chars" not in fixes:
        how = {"auto": "auto", "true": True, "false": False}[unescape]
        return partial(ftfy.fix_text, config=config._replace(unescape_html=how)), place, None

    def of_segment(segment: str, entities: bool) -> str:
        return ftfy.fix_and_explain(segment, with_entities if entities else config).text

    return partial(by_segments, tables=known, exact=of_segment, place=place), place, known

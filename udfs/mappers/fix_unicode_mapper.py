"""Repair broken Unicode as ftfy does: a kernel for sound texts and character maps, ftfy itself for the rest."""

from __future__ import annotations

import unicodedata
from functools import lru_cache, partial
from typing import Any, cast

import pyarrow as pa

from refinery.kernels.core.arrow import delta, each
from refinery.kernels.unicode.unicode_fixes import LOOSE, TRUSTING, by_segments, fix_rows, once
from refinery.kernels.unicode.unicode_fixes_tables import FORMS, FixTables, Form, tables

OPERATOR = {
    "doc": (
        "Repair broken Unicode with ftfy's default fixes: mojibake, HTML entities, curly quotes (to straight ones), "
        "Latin ligatures, full-width and half-width forms, CR LF and other line ends (to LF), terminal escapes, "
        "control characters; then normalize. Lines are repaired one by one. From the first line with a < on, "
        "entities stay; unknown entities always stay. Dashes, the ellipsis and the no-break space stay (NFKC changes "
        "the last two), but a full-width comma or parenthesis becomes an ASCII one, also between Chinese characters."
    ),
    "version": 1,
    "peer": "fix_unicode_mapper of Data-Juicer 1.6.1 (results follow the release of ftfy; matched with 6.3.1)",
    "params": {
        "normalization": {
            "type": "str",
            "default": "NFC",
            "nullable": True,
            "doc": "Unicode normalization form, in any case: NFC, NFD, NFKC or NFKD. Empty or null is NFC.",
        }
    },
    "checks": "problems",
    "functions": {
        "fix_unicode_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "fix_unicode",
        }
    },
    "sql": "SELECT fix_unicode_delta({{ text }}, {{ normalization | lit }}) AS delta",
    "examples": [
        {"text": "âœ” No problems, sÃ³lo mojibake", "out": "✔ No problems, sólo mojibake"},
        {"text": "“It’s ﬁne”…\r\n", "out": '"It\'s fine"…\n'},
        {"text": "Ｆｕｌｌ，ｗｉｄｔｈ　ﾊﾟﾝ", "out": "Full,width パン"},
        {"text": "a &amp;lt; b &foo; &#36;\nx <i> &amp;", "out": "a < b &foo; $\nx <i> &amp;"},
        {"text": "\ufeff\x1b[31mred\x1b[0m\x07 e\u0301", "out": "red é"},
        {"text": "½ … café", "params": {"normalization": "nfkc"}, "out": "1⁄2 ... café"},
        {"text": "é", "params": {"normalization": "NFD"}, "out": "e\u0301"},
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters, as sentences."""
    value = params.get("normalization")
    if not value or value.upper() in FORMS:
        return []
    return [f"normalization: {value!r} is no normalization form; use one of {', '.join(FORMS)}"]


def fix_unicode(column: pa.Array, normalization: str | None) -> pa.Array:
    """Each text as `ftfy.fix_text` returns it; NULL where nothing changes. Raises ValueError for an unknown form."""
    for problem in problems({"normalization": normalization}):
        raise ValueError(problem)
    form = cast(Form, (normalization or "NFC").upper())
    known = tables(form)
    if known is None:
        import ftfy

        return each(column, partial(ftfy.fix_text, normalization=form))
    return delta(column, fix_rows, *known, exact=partial(_exact, form))


def _exact(form: Form, text: str) -> str:
    """The result of `ftfy.fix_text`, which is imported for the first text that needs it."""
    return _rounds(form)(text)


@lru_cache(maxsize=len(FORMS))
def _rounds(form: Form) -> Rounds:
    known = tables(form)
    assert known is not None
    return Rounds(form, known)


class Rounds:
    """The rounds of ftfy, with a kernel for the character maps; ftfy itself where mojibake must be decoded."""

    def __init__(self, form: Form, known: FixTables) -> None:
        import ftfy
        from ftfy.badness import is_bad

        self.form, self.known, self.longest = form, known, int(known.longest[0])
        self.is_bad, self.unescape, self.fix = is_bad, ftfy.fixes.unescape_html, ftfy.fix_and_explain
        self.remove_escapes = ftfy.fixes.remove_terminal_escapes
        config = ftfy.TextFixerConfig(explain=False, normalization=form)
        self.configs = (config._replace(unescape_html=False), config)

    def __call__(self, text: str) -> str:
        """The result of `ftfy.fix_text` for a text of any length."""
        if len(text) <= self.longest or max(map(len, text.split("\n"))) < self.longest:
            # every segment is a line, and all lines may go through a round together
            less = text.find("<")
            markup = len(text) if less < 0 else text.rfind("\n", 0, less) + 1
            fixed = self._settle(text[:markup], True, False), self._settle(text[markup:], False, False)
            if fixed[0] is not None and fixed[1] is not None:
                return fixed[0] + fixed[1]
        return by_segments(text, self.known, self._segment)

    def _segment(self, segment: str, entities: bool) -> str:
        fixed = self._settle(segment, entities, True)
        return self.fix(segment, self.configs[entities]).text if fixed is None else fixed

    def _settle(self, text: str, entities: bool, segment: bool) -> str | None:
        """Repeat rounds until nothing changes; None if a round may have to decode mojibake."""
        while True:
            before = text
            if entities:
                text = self.unescape(text)
            mapped = once(text, LOOSE, self.known)
            if mapped is None and segment and not self.is_bad(text):
                # Line ends first, or an escape between CR and LF would join them. Escapes that the character maps may
                # yet complete are left, and refused by the kernel.
                lines = text.replace("\r\n", "\n").replace("\r", "\n")
                mapped = once(self.remove_escapes(lines), TRUSTING, self.known)
            if mapped is None:
                return None
            text = unicodedata.normalize(self.form, mapped)
            if text == before:
                return text

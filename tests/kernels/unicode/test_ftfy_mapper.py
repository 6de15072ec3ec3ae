"""ftfy_mapper against ftfy itself, with every choice of fixes."""

from __future__ import annotations

from typing import Any

import ftfy
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.operators import Library, load_module
from tests.examples import share_of
from tests.kernels.unicode.test_unicode_fixes import TEXT, TRAPS

OPERATOR = Library().operators["ftfy_mapper"]
mapper = load_module(OPERATOR.path)
FIXES = [name for name, param in OPERATOR.params.items() if param.type == "bool"]
DEFAULTS = {name: OPERATOR.params[name].default for name in FIXES}


def same(texts: list[str], fixes: dict[str, bool], unescape: str | bool, form: Any) -> None:
    config = ftfy.TextFixerConfig(**fixes, unescape_html=unescape, normalization=form, explain=False)
    chosen = [name for name, wanted in fixes.items() if wanted]
    new = mapper.fix_texts(pa.array(texts), chosen, str(unescape).lower(), form or "")
    expected = [ftfy.fix_text(text, config) for text in texts]
    assert new.to_pylist() == [None if a == b else b for a, b in zip(texts, expected, strict=True)]


@settings(max_examples=share_of(300), deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=6))
def test_defaults(texts: list[str]) -> None:
    """datatrove's choice."""
    same(texts, DEFAULTS, "auto", None)


# Few of the choices that need tables of their own, which take half a second each to build.
CHOICES = [
    {},
    {"uncurl_quotes": True, "fix_line_breaks": True},
    {"remove_control_chars": False},
    {"fix_encoding": False, "remove_terminal_escapes": False, "fix_character_width": True},
]


@settings(max_examples=share_of(300), deadline=None)
@given(
    st.lists(TEXT, min_size=1, max_size=4),
    st.sampled_from(CHOICES),
    st.sampled_from(["auto", True, False]),
    st.sampled_from([None, "NFC"]),
)
def test_choices(texts: list[str], choice: dict[str, bool], unescape: str | bool, form: Any) -> None:
    same(texts, DEFAULTS | choice, unescape, form)


def test_traps() -> None:
    for choice in CHOICES:
        for unescape in ("auto", True, False):
            same(
                [around.format(text) for text in TRAPS for around in ("{}", "“{}", "日{}\n")],
                DEFAULTS | choice,
                unescape,
                None,
            )

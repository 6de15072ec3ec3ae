"""fix_unicode_mapper against ftfy itself, on texts made of everything that ftfy acts on."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import ftfy
import numpy as np
import pyarrow as pa
import pytest
from ftfy.badness import MOJIBAKE_CATEGORIES, is_bad
from ftfy.chardata import CHARMAP_ENCODINGS, CONTROL_CHARS, HTML_ENTITIES, LIGATURES, WIDTH_MAP
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import UNCHANGED, delta, texts
from refinery.kernels.unicode.unicode_fixes import LOOSE, fix_rows, once
from refinery.kernels.unicode.unicode_fixes_mojibake import clues
from refinery.kernels.unicode.unicode_fixes_tables import ALONE, FORMS, FixTables, build, name_hash, tables
from refinery.operators import Library, load_module
from tests.examples import share_of
from tests.sampling import sampled

OPERATOR = Library().operators["fix_unicode_mapper"]
mapper = load_module(OPERATOR.path)

LISTED = "".join(map(chr, range(0x3000))) + "\uf8ff\ufb01\ufb02\ufffd"
CATEGORIES = ["".join(re.findall(f"[{chars}]", LISTED)) for chars in MOJIBAKE_CATEGORIES.values()]
ENTITIES = (
    "&amp; &lt; &amp;amp; &amp;lt; &amp;amp;gt; &nbsp; &foo; &#36; &#x2019; &#x1b;[0m &#55357; &#128; &#13; &#0; "
    "&#x110000; &NTILDE; &nTILDE; &SZLIG; &ntilde & amp; ＆amp； &ａmp; &＃36; &sup2; &acirc;&euro;&trade; "
    "&NewLine; &NotEqualTilde; &x; &#;"
).split(" ")
PIECES = {
    "mojibake characters": st.sampled_from(CATEGORIES).flatmap(st.sampled_from),
    "mojibake": st.tuples(
        st.text("éàüñç日“”…€½™ßЖКВαΞżąš²\xa0", min_size=1, max_size=3), st.sampled_from(CHARMAP_ENCODINGS)
    ).map(lambda pair: pair[0].encode().decode(pair[1], "replace")),
    "mapped": st.sampled_from("".join(map(chr, [*LIGATURES, *WIDTH_MAP, *CONTROL_CHARS])) + "‘’‚‛“”„‟ʼ'\""),
    "line ends": st.sampled_from(["\r", "\n", "\r\n", "\u2028", "\u2029", "\x85", "\n", "\v", "\f"]),
    "entities": st.sampled_from(ENTITIES) | st.sampled_from(sorted(HTML_ENTITIES)),
    "markup": st.sampled_from(["<", "<p>\n", "＜", "\n<", "a"]),
    "escapes": st.sampled_from(
        ["\x1b", "\x1b[", "\x1b[31m", "\x1b[0;1", "[", "m", "；", "\x1b［", "１", "٣", "\x1b\0[1m"]
    ),
    "katakana": st.sampled_from([chr(c) for c in range(0xFF61, 0xFFA0)] + list("ﾞﾟ\u3099\u309aカハがばぱ")),
    "marks": st.sampled_from(
        [chr(c) for c in range(0x300, 0x346)] + list("aeouAEOnsòọěÅ\u05b0\u05bc\u0651\u064e\u093c\u0928")
    ),
    "jamo": st.sampled_from("\u1100\u1112\u1161\u1175\u11a8\u11c2가각힣\u115f"),
    "decomposing": st.sampled_from("\u212b\uf900\ufb1d\U0001d15e\u2adc\u0958\u0344\u0f73\u09c7\u09be½²㎏"),
    "risky": st.sampled_from(["Ã ", "Â ", "a Ã ", ".Â “", "â€", "Ã la", "œ", "œé", "ā€", "вЂ", "× ²", "√±", "é”x"]),
    "plain": st.sampled_from(["a", " ", "The quick brown fox ", "x" * 61, "-" * 130, "日本語", "Жук ", "👍"]),
    "any": st.characters(exclude_categories=["Cs"]),
}
# Texts of a few sorts of pieces say more than texts of all: most would be mojibake.
TEXT = st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=4, unique=True).flatmap(
    lambda sorts: st.lists(st.one_of([PIECES[sort] for sort in sorts]), max_size=12).map("".join)
)


def fixed(form: str, *rows: str | None) -> list[str | None]:
    return mapper.fix_unicode(pa.array(rows, pa.string()), form).to_pylist()


def by_ftfy(text: str, **config: Any) -> str | None:
    result = ftfy.fix_text(text, **config)
    return None if result == text else result


@settings(max_examples=share_of(300))
@given(st.lists(TEXT, min_size=1, max_size=4), st.sampled_from(FORMS))
def test_equals_ftfy(rows: list[str], form: str) -> None:
    assert fixed(form, *rows) == [by_ftfy(row, normalization=form) for row in rows]


TRAPS = [
    "\x1b［31m！", "\x1b[１m", "\x1b\x1b[0m", "\x1b\0[0m", "\x1b[1;\x002m",  # escapes before wide forms, controls after
    "&amp; <", "&amp;\n&amp; <\n&amp;", "“&amp; <", "＜“&amp;", "<\n＆amp;", "＆amp;",  # entities stay
    "&amp;amp;amp;lt;", "&lt;&amp;gt;", "&#13;\n", "\r&NewLine;", "&acirc;&euro;&trade;", "&\0amp;", "a&ampx;",
    "\r\r\n\n\r", "“\r", "\r\u2028\r\n", "ｶ\0ﾞ", "か\0ﾞ", "\0\u0301", "e\0\u0301", "é\u0323”", "\ufeff<&amp;",
    "Â\0 ", "Ã\0\xa0", "ŉ", "ǆ", "é\x07™É", "œ\x07é", "\x85", "a\x80", "Ã©&amp;", "<Ã©&amp;",
    ".\nÂ b", "1\nÃ la", "\r\x1b[31m\n", "\r\n\x1b[1m\r\x1b[31m\r\n", "é”x\x1b[0m", "é”\x1b[0mx", "é”", "é” x",
]  # fmt: skip


@pytest.mark.parametrize("text", TRAPS, ids=ascii)
def test_traps(text: str) -> None:
    for form in FORMS:
        assert fixed(form, text, f"“{text}", f"日{text}\n") == [
            by_ftfy(row, normalization=form) for row in (text, f"“{text}", f"日{text}\n")
        ]


@pytest.mark.parametrize("around", sampled(["{}", "a “{}”", "<{}", "{}\n<"], every=2))
def test_every_entity(around: str) -> None:
    rows = [around.format(name) for name in HTML_ENTITIES]
    assert fixed("NFC", *rows) == [by_ftfy(row) for row in rows]


def test_letters_with_two_marks() -> None:
    letters = [chr(c) for c in range(0x250) if unicodedata.decomposition(chr(c))] + ["a", "か", "क", "가", "각", "ᄀ"]
    marks = "\u0301\u0307\u0316\u0323\u0327\u0338\u0345\u3099\u093c\u1161\u11a8"
    rows = [letter + mark for letter in letters for mark in marks]
    rows += [row + mark for row in rows[::3] for mark in marks]
    assert fixed("NFC", *rows) == [by_ftfy(row) for row in rows]


@pytest.mark.parametrize(
    "text", ["xxxx\r\nb", "&amp;b<c", "“&amp;b<c", "ab&amp;", "xxxxe\u0301", "a&amp;\n<&amp;", "éééééé\n"]
)
def test_segments_that_end_within_a_line(text: str) -> None:
    for longest in range(1, 10):
        equals_ftfy_with_segments_of(longest, text, "NFC")


@settings(max_examples=share_of(300))
@given(TEXT, st.integers(1, 9), st.sampled_from(FORMS))
def test_short_segments(text: str, longest: int, form: Any) -> None:
    equals_ftfy_with_segments_of(longest, text, form)


def equals_ftfy_with_segments_of(longest: int, text: str, form: Any) -> None:
    known = tables(form)
    assert known is not None
    known = known._replace(longest=np.array([longest]))
    result = delta(pa.array([text]), fix_rows, *known, exact=mapper.Rounds(form, known))
    assert result.to_pylist() == [by_ftfy(text, normalization=form, max_decode_length=longest)]


@pytest.mark.parametrize("form", sampled(FORMS, every=2))
def test_every_code_point_of_the_first_planes(form: str) -> None:
    chars = [chr(c) for c in range(0x2FA20) if not 0xD800 <= c < 0xE000 and not unicodedata.category(chr(c)) == "Cn"]
    block = [f"e{char}e" for char in chars if not 0x3400 <= ord(char) < 0xF900 and ord(char) < 0x12000]
    changes = dict(zip(block, fixed(form, *block), strict=True))
    for text, result in changes.items():
        assert result == by_ftfy(text, normalization=form), hex(ord(text[1]))
    ideographs = [char for char in chars if 0x3400 <= ord(char) < 0xA000 or ord(char) >= 0x20000]
    assert fixed(form, "".join(ideographs)) == [by_ftfy("".join(ideographs), normalization=form)]


@settings(max_examples=share_of(500))
@given(
    st.lists(st.sampled_from(CATEGORIES).flatmap(st.sampled_from) | st.sampled_from(" aZ.\n"), max_size=6).map("".join)
)
def test_mojibake_is_never_overlooked(text: str) -> None:
    known = tables("NFC")
    assert known is not None
    if not text.isascii() and is_bad(text):
        assert once(text, LOOSE, known) is None


ATOMS = st.sampled_from(
    ["é", "[èé]", "[^é]", "[^a]", "x", "[a-z]", r"\w", r"\s", ".", "[èx]", "日", "[一-日]", r"[\Wé]"]
)
PIECE = st.tuples(ATOMS, st.sampled_from(["", "", "", "?", "*", "+", "{2}", "{2,3}", "+?"])).map("".join)
SEQUENCE = st.lists(PIECE, min_size=1, max_size=4).map("".join)
PATTERN = st.lists(
    SEQUENCE
    | st.tuples(SEQUENCE, SEQUENCE, SEQUENCE).map(lambda t: f"{t[0]}(?:{t[1]}|{t[2]})")
    | SEQUENCE.map("^{}$".format),
    min_size=1,
    max_size=4,
).map("|".join)


@settings(max_examples=share_of(300))
@example("xé", ["xé", "日xé"])
@example("éx", ["éx", "日éx"])
@example(r"éè\w", ["éèx", "éè日", "éè-éèa"])
@example(r"日x[^a]|日xa日", ["日x ", "日xa日", "日xb"])
@example("[^a]é", ["xé", " é", "日é"])
@example(r"\wé\s?x", ["aéx", "aé x"])
@given(PATTERN, st.lists(st.text("éèax日一 Z", min_size=1, max_size=6), min_size=1, max_size=20))
def test_necessary_condition_of_any_pattern(pattern: str, found: list[str]) -> None:
    known = tables("NFC")
    assert known is not None
    info, alone, pairs, thirds = clues(re.compile(pattern))
    info[alone] |= ALONE
    known = known._replace(info=info, pairs=pairs, thirds=thirds)
    for text in found:
        if not text.isascii() and re.search(pattern, text):
            assert once(text, LOOSE, known) is None, text


@pytest.mark.parametrize("pattern", ["(?i)é", "é*", "", "(?>é)a", "[a-z]x|é", "(é)\\1"])
def test_patterns_that_are_not_understood_make_all_but_ascii_suspicious(pattern: str) -> None:
    assert np.array_equal(clues(re.compile(pattern)).alone, np.arange(0x80, 0x110000))


def test_few_sound_texts_are_suspicious() -> None:
    sound = [
        "naïve café, Ærø, Œuvre, « là »",
        "Straße – größer… “so” ‘be it’",
        "Ελληνικά και русский язык",
        "½ × 3² ≈ 5 €",
    ]
    known = tables("NFC")
    assert known is not None
    assert all(once(text, LOOSE, known) is not None for text in sound)


def test_an_ftfy_with_further_steps_is_asked_for_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapper, "tables", lambda form: None)
    assert fixed("NFC", "“x”", None, "x") == ['"x"', None, None]


def test_tables_hold_what_ftfy_knows() -> None:
    built = build("NFC")
    kept = tables("NFC")
    assert kept is not None
    assert all(np.array_equal(a, b) for a, b in zip(built, kept, strict=True))
    assert all(built.names[name_hash(name[1:-1].encode())] for name in HTML_ENTITIES)
    assert set(LIGATURES) | set(CONTROL_CHARS) <= set(built.mapped.tolist())


def states(rows: list[str], known: FixTables) -> list[int]:
    view = texts(pa.array(rows))
    state = np.zeros(len(rows), np.uint8)
    fix_rows(
        view.data,
        view.offsets,
        view.valid,
        np.empty(view.size * 3 + 64, np.uint8),
        np.zeros(len(rows) + 1, np.int64),
        state,
        *known,
    )
    return state.tolist()


def test_entities_beside_markup_do_not_leave_the_kernel() -> None:
    known = tables("NFC")
    assert known is not None
    assert (
        states(["a\n<b>&amp;</b>\n&amp;", "f(&x); &nosuchname; AT&T", "日本語、<i>한국어</i>"], known)
        == [UNCHANGED] * 3
    )


def test_growth_beyond_the_first_guess() -> None:
    assert fixed("NFD", "각" * 1000, "한") == [
        unicodedata.normalize("NFD", "각" * 1000),
        unicodedata.normalize("NFD", "한"),
    ]
    assert fixed("NFKC", "ﷺ" * 1000 + "e\u0301") == [unicodedata.normalize("NFKC", "ﷺ") * 1000 + "é"]


def test_columns_of_any_kind() -> None:
    rows = ["“", None, "é", "", "\r\n"]
    expected = ['"', None, None, None, "\n"]
    for column in (pa.array(rows), pa.array(rows, pa.large_string()), pa.array(["é\n", *rows, "x"]).slice(1, 5)):
        assert mapper.fix_unicode(column, "").to_pylist() == expected
    assert mapper.fix_unicode(pa.array([], pa.string()), None).to_pylist() == []


@pytest.mark.parametrize("form", ["NFC", "nfc", "Nfkd", "", None])
def test_forms_in_any_case(form: str | None) -> None:
    assert OPERATOR.check({"normalization": form}) == []
    assert fixed(form or "", "ﬁ") == ["fi"]


def test_unknown_form_is_refused() -> None:
    assert OPERATOR.check({"normalization": "NFX"}) == [
        "normalization: 'NFX' is no normalization form; use one of NFC, NFD, NFKC, NFKD"
    ]
    with pytest.raises(ValueError, match="NFX"):
        fixed("NFX", "a")


@pytest.mark.parametrize("case", OPERATOR.examples, ids=lambda case: ascii(case["out"]))
def test_examples(case: dict[str, Any]) -> None:
    form = case.get("params", {}).get("normalization", "NFC")
    assert fixed(form, case["text"]) == [case["out"]]
    assert by_ftfy(case["text"], normalization=form.upper()) == case["out"]

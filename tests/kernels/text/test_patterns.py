"""Patterns that users give: what is said of wrong ones, and substitution against the `regex` module."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
import regex
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from refinery.kernels.text import patterns
from refinery.kernels.text.patterns import (
    pattern_fault,
    problems,
    re2_equivalent,
    sub,
    template_fault,
    unwrap,
    whole_match_pieces,
)
from tests.characters import by_planes, characters
from tests.examples import share_of

thorough = settings(max_examples=share_of(400), suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("r'a+'", "a+"),
        ('r"a+"', "a+"),
        ("r'a+\"", "r'a+\""),
        ("'a+'", "'a+'"),
        ("r''", ""),
        ("r'", "r'"),
        ("R'a'", "R'a'"),
        ("", ""),
        ("r'it's'", "it's"),
    ],
)
def test_unwrap(written: str, meant: str) -> None:
    assert unwrap(written) == meant


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (r"\d+(?:a|b)", None),
        ("", None),
        ("(a", "missing ) at position 2, after '(a'"),
        ("*a", "nothing to repeat at position 0, at the start"),
        ("ab[c", "unterminated character set at position 4, after 'ab[c'"),
        ("x" * 30 + ")", "unbalanced parenthesis at position 30, after ...'" + "x" * 20 + "'"),
    ],
)
def test_pattern_fault(pattern: str, fault: str | None) -> None:
    assert pattern_fault(pattern) == fault


@pytest.mark.parametrize(
    ("pattern", "repl", "fault"),
    [
        ("(a)", r"<\1\g<0>\n>", None),
        ("(?P<x>a)", r"\g<x>", None),
        ("(?x) (a)  # comment", r"\1", None),
        ("(?i)(a)|(b)", r"\2", None),
        ("(a)", r"\2", "invalid group reference"),
        ("(a)", r"\g<2>", "invalid group reference at position 5"),
        ("(a)", r"\g<x>", "unknown group"),
        ("a", r"\q", r"bad escape \q at position 2"),
        ("a", "\\", "bad escape (end of pattern) at position 1"),
        ("a", r"\U00110000", "chr() arg not in range(0x110000)"),
    ],
)
def test_template_fault(pattern: str, repl: str, fault: str | None) -> None:
    assert template_fault(pattern, repl) == fault


def test_problems_name_the_parameter_and_the_cure() -> None:
    [said] = problems({"pattern": "r'(a'", "repl": ""}, "x")
    assert said.startswith("pattern is not a regular expression: missing ) at position 2, after '(a'. ")
    [said] = problems({"pattern": None, "repl": r"\1"}, "x")
    assert said.startswith("repl is not a replacement for this pattern: invalid group reference. ")
    assert problems({"pattern": None, "repl": r"\1"}, "(x)") == []


@pytest.mark.parametrize(
    ("call", "absent"), [("unwrap('a')", {"numba", "pyarrow", "regex"}), ("pattern_fault('(')", {"numba", "pyarrow"})]
)
def test_checking_a_recipe_loads_nothing_heavy(call: str, absent: set[str]) -> None:
    code = (
        f"import sys; from refinery.kernels.text import patterns; patterns.{call}; print(*{absent} & {{*sys.modules}})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize(
    ("repl", "groups", "pieces"),
    [
        ("", (0,), [""]),
        ("plain", (0,), ["plain"]),
        (r"<\g<0>>", (0,), ["<", ">"]),
        (r"\1-\g<1>", (0, 1), ["", "-", ""]),
        (r"\1", (0,), None),
        (r"\10", (0, 1), None),
        (r"\\g<0>", (0,), None),
        (r"\n", (0,), None),
        (r"\0", (0, 1), None),
    ],
)
def test_whole_match_pieces(repl: str, groups: tuple[int, ...], pieces: list[str] | None) -> None:
    assert whole_match_pieces(repl, groups) == pieces


@pytest.mark.parametrize(
    ("pattern", "ascii_only"),
    [
        (r"https?://\S+", False),
        (r"[a-z]+@example\.com", False),
        (r"(?:ab|[^c-e\n])+?x{2,3}.", False),
        (r"。[一-龥]{1,4}", False),
        (r"\d{3}-\d{4}\b", True),
        (r"\w+@[\w.]+", True),
        (r"\[([^\]]*)\]\([^)]*\)", False),
    ],
)
def test_patterns_that_go_to_re2(pattern: str, ascii_only: bool) -> None:
    found = re2_equivalent(pattern)
    assert found is not None and found.ascii_only == ascii_only


@pytest.mark.parametrize(
    "pattern",
    [
        "", "a*", "a|", "(a|b*)", "(a*)+b", "(?:a?)*b", r"\b+a", "^a", "a$", "(?i)a", "(?=a)b", "(?<!a)b", r"(a)\1",
        "a*+b", "a++", "a?+b", "(?>a)", r"\p{L}+", r"\X", r"\Aa", r"a\Z", "a{17}", "(?:a{5}){4}", "a{,3}b", "a{2",
        "a{0}b", "a{e<=1}", "[[:alpha:]]", "[a--b]", "[a&&b]", "[a||b]", "[~~]", "[]a]", "[a", "(a", "a)", "(?P<n>a)",
        "(?#c)a", "a**", "*a", r"\L<names>", r"\N{BULLET}", r"[\S]", r"[\W]", r"\u12", r"[z-a]", r"[a-\d]", "\ud800",
        "(*FAIL)a",
    ],
)  # fmt: skip
def test_patterns_that_do_not_go_to_re2(pattern: str) -> None:
    assert re2_equivalent(pattern) is None


ATOMS = st.sampled_from(
    r"a b c ab 0 1 - _ é 中 . \. \- \/ \w \W \d \D \s \S \b \n \x41 \u00e9 [ab] [^ab] [\w.] [a-] [-a] [^\s()] [\d\s] "
    r"[a-c0-1] [^\n] [é-ü] [^é] [\]a] [\\a] [^^] # ' ] } [.] [*+?] [a|b] [_-a] [ -~] ^ $ [[a] (?i) \1 a{1".split(" ")
    + [" ", r"\ "]
)
COUNTS = st.sampled_from(
    ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,2}", "{1,2}?", "++"]
)
PATTERNS = st.recursive(
    st.lists(st.tuples(ATOMS, COUNTS).map("".join), min_size=1, max_size=4).map("".join),
    lambda inner: st.lists(
        st.one_of(
            inner,
            st.tuples(st.sampled_from(["(", "(?:"]), inner, st.just(")"), COUNTS).map("".join),
            st.tuples(st.sampled_from(["(", "(?:"]), inner, st.just("|"), inner, st.just(")"), COUNTS).map("".join),
        ),
        min_size=1,
        max_size=3,
    ).map("".join),
    max_leaves=4,
)
TEXTS = st.lists(
    st.one_of(
        st.text("aabbccAB01 -_.", max_size=12),
        st.text("abcAé中01 -_.\n\t/()[]{}'@x\\^*+?|#\x1c\x85\u3000٣", max_size=12),
        st.none(),
    ),
    min_size=1,
    max_size=20,
)


@thorough
@given(PATTERNS, TEXTS, st.sampled_from(["", "<>", r"[\g<0>]", r"\1", r"\g<1>x\2"]))
def test_re2_finds_the_same(pattern: str, texts: list[str | None], repl: str) -> None:
    found = re2_equivalent(pattern)
    assume(found is not None)
    compiled = regex.compile(pattern, regex.DOTALL)  # what is taken is a valid pattern
    assume(template_fault(pattern, repl) is None)
    results = [None if text is None else compiled.sub(repl, text) for text in texts]
    changed = [None if result == text else result for result, text in zip(results, texts, strict=True)]
    assert sub(pa.array(texts, pa.string()), pattern, repl).to_pylist() == changed


@by_planes
def test_white_space_is_the_same_set(planes: range) -> None:
    everything = pa.array(characters(planes))
    assert not re2_equivalent(r"\s").ascii_only
    found = pa.compute.filter(everything, sub(everything, r"\s", "").is_valid())
    assert found.to_pylist() == regex.findall(r"\s", "".join(everything.to_pylist()))


@pytest.mark.parametrize(
    ("pattern", "repl"),
    [
        ("", "-"),
        ("b*", "-"),
        (r"(?i)É", "e"),
        (r"\w+", r"<\g<0>>"),
        (r"(a)|b", r"[\1]"),
        (r"a(?=b)", r"\n"),
        ("a", "a"),
    ],
)
def test_sub_is_exact_for_every_kind_of_column(pattern: str, repl: str) -> None:
    texts = ["abab", None, "", "é É", "aé b", "zzz"]
    results = [None if text is None else regex.sub(pattern, repl, text, flags=regex.DOTALL) for text in texts]
    out = [None if result == text else result for result, text in zip(results, texts, strict=True)]
    whole = pa.array(texts)
    assert sub(whole, pattern, repl).to_pylist() == out
    assert sub(whole.cast(pa.large_string()), pattern, repl).to_pylist() == out
    assert sub(whole.slice(2, 3), pattern, repl).to_pylist() == out[2:5]
    assert sub(pa.chunked_array([whole.slice(0, 3), whole.slice(3)]), pattern, repl).to_pylist() == out
    assert sub(pa.chunked_array([], pa.string()), pattern, repl).to_pylist() == []
    assert sub(pa.array([None], pa.string()), pattern, repl).to_pylist() == [None]


def test_a_pattern_too_large_for_re2_is_still_run() -> None:
    pattern = r"\S" * 30_000
    assert re2_equivalent(pattern) is not None and patterns._re2_route(pattern, "_") is None
    assert sub(pa.array(["a" * 30_001, "c"]), pattern, "_").to_pylist() == ["_a", None]

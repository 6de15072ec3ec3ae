"""Patterns with Rust's meaning, against cases that say how Rust's crate regex differs from Python's modules."""

from __future__ import annotations

import pytest

from refinery.kernels.text.rust_patterns import matcher, problems, python_form


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"a$", "a\n", False),
        (r"(?m)a$", "a\nb", True),
        (r"(?i)A\z", "a", True),
        (r"[$a]b", "$b", True),
        (r"\$b", "$b", True),
        (r"\\$", "x\\", True),
        (r"\s", "\x1c", False),
        (r"[\S]", "\x1c", True),
        (r"\s", "\u3000", True),
        (r"^[[:alpha:]_]+$", "aé", False),
        (r"^[[:alpha:]é]+$", "aé", True),
        (r"\x{e9}[\u{e8}x]", "éè", True),
        (r"\d", "٣", True),
        (r"[a-z&&[^b]]c", "bc", False),
        (r"[a-z&&[^b]]c", "ac", True),
        (r".", "\n", False),
        (r"(?s).", "\n", True),
        (r"[]a]b", "]b", True),
        (r"a{2}\.", "aa.", True),
    ],
)
def test_matches(pattern: str, text: str, matches: bool) -> None:
    assert not problems(pattern)
    assert bool(matcher(pattern).search(text)) is matches


@pytest.mark.parametrize(
    "pattern",
    ["(", "(?=a)", "(?<!a)b", r"(a)\1", "(?U)a", "(?-u)a", "(?m:a$)", "[[:^alpha:]]", "[[:letter:]]", "(?>a)"],
)
def test_refused(pattern: str) -> None:
    assert problems(pattern)


def test_escaped_backslash_is_no_reference() -> None:
    assert not problems(r"\\1") and python_form(r"\\s\s") == r"\\s\p{White_Space}"

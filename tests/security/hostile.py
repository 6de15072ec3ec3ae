"""Texts that mean something to SQL, Jinja, YAML, a shell, a terminal or a path, if anybody lets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.sampling import named

HOSTILE = (
    "'); DROP TABLE batch; -- \" || {{ 1340 - 3 }} {# no #} ; ATTACH 'evil' `touch /tmp/evil` | &",
    "'); DROP TABLE batch; --",
    "' || read_text('/etc/passwd') || '",
    "\" ; ATTACH '/tmp/evil.db'; --",
    "x'; COPY (SELECT 1) TO '/tmp/evil.csv'; --",
    "{{ 7 * 191 }}",
    "{{ ''.__class__.__mro__ }}",
    "{% for x in range(10 ** 9) %}x{% endfor %}",
    "{# comment #}",
    "$$ SELECT 1 $$",
    "$1 ? :name @param",
    "/* */ -- /*",
    "a\nb\r\nc\td",
    "nul\0inside",
    "“quotes” ‘of’ „others“ \u02bc\uff07",
    "\u202e\u200b\ufeff",
    "back\\slash\\' \\\"",
    "`touch /tmp/evil` $(id) | ; &",
    "${HOME}",
    "!!python/object/apply:os.system ['id']",
    "%s %d {0} {name!r:>10}",
    "\x1b[2J\x07",
    "../../../etc/passwd",
    "",
    "a" * 5000,
)
# Quotes, a statement, a template and a shell's command in one.
MANY = HOSTILE[0]
PATTERN, NUL = "/* */ -- /*", "nul\0inside"
SHORT = (MANY, PATTERN, NUL, "../../../etc/passwd")


def hostile(*short: str, fits: Callable[[str], bool] = lambda _: True) -> list[Any]:
    """The texts that fit as cases of a test; all but those named `short` are marked `long`."""
    return named({text: text for text in HOSTILE if fits(text)}, *short)

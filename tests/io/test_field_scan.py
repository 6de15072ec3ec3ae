"""Fields of JSON lines as the scan sees them, against plain Python over the values."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.common.field_profile import MOST_MEMBERS, FieldProfile, InputProfile
from refinery.common.field_types import type_of
from refinery.io.field_scan import FieldScan
from refinery.kernels.core.arrow import of_texts, texts
from tests.examples import share_of

NAMES = st.sampled_from(["a", "b", "B", "a.b", 'q"x', "é", "", "x\ny", "ключ"])
NUMBERS = st.one_of(
    st.integers(-20, 20).map(str),
    st.sampled_from(["9007199254740993", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "-0"]),
    st.sampled_from(["0.5", "-7.0", "1e3", "2.50E-2", "1e400", "123456789012345678901234567890123456789", "0.0"]),
    st.integers(-(2**70), 2**70).map(str),
)
VALUES = st.recursive(
    st.one_of(st.sampled_from(["null", "true", "false", '"t\\n"', '"\\u0061"']), NUMBERS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: f"[{', '.join(values)}]"),
        st.dictionaries(NAMES, inner, max_size=3).map(lambda members: written(members)),
    ),
    max_leaves=6,
)


def written(members: dict[str, str]) -> str:
    """An object of JSON; half of the names are escaped."""
    names = {name: "".join(f"\\u{ord(char):04x}" for char in name) if len(name) % 2 else name for name in members}
    spelled = {
        name: f'"{names[name]}"' if names[name] != name else json.dumps(name, ensure_ascii=False) for name in members
    }
    return "{" + ", ".join(f"{spelled[name]}: {value}" for name, value in members.items()) + "}"


def scanned(lines: list[str], wanted: set[str]) -> InputProfile:
    scan = FieldScan({name.lower() for name in wanted})
    scan.see(texts(of_texts(lines)))
    return scan.profile()


def read(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line, parse_float=Decimal) for line in lines]


def types(found: InputProfile) -> dict[str, str]:
    return {name: type_of(profile) for name, profile in found.fields.items()}


def types_of(samples: list[dict[str, Any]], wanted: set[str]) -> dict[str, str]:
    """Types of fields by plain Python, in the order in which samples have them."""
    found: dict[str, FieldProfile] = {}
    for sample in samples:
        for name in sample:
            if name.lower() in {known.lower() for known in wanted}:
                found.setdefault(name, FieldProfile()).add(sample[name])
    return {name: type_of(profile) for name, profile in found.items()}


@settings(max_examples=share_of(1000, 150), deadline=None)
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4).map(written), max_size=6), st.sets(NAMES), st.integers(0, 6))
def test_the_types_are_those_of_all_values_however_the_lines_are_cut(
    lines: list[str], wanted: set[str], cut: int
) -> None:
    samples = read(lines)
    found = scanned(lines, wanted)
    assert types(found) == types_of(samples, wanted)
    assert [*found.names] == [*dict.fromkeys(name for sample in samples for name in sample)]
    parts = scanned(lines[:cut], wanted)
    parts.merge(InputProfile.of_plain(json.loads(json.dumps(scanned(lines[cut:], wanted).plain()))))
    assert (types(parts), parts.names) == (types(found), found.names)


def test_room_grows_with_names_and_numbers() -> None:
    lines = [json.dumps({f"field {i}": {"n" * i: 2**70 + i}}, separators=(",", ":")) for i in range(1500)]
    found = scanned(lines, {f"field {i}" for i in range(1500)})
    assert len(found.names) == 1500
    assert types(found) == types_of(read(lines), {*found.names})


def test_objects_with_too_many_names_are_json() -> None:
    lines = [json.dumps({"v": {f"key {i}": 1}}) for i in range(MOST_MEMBERS + 1)]
    assert types(scanned(lines[:-1], {"v"}))["v"].startswith("STRUCT")
    assert types(scanned(lines, {"v"})) == {"v": "JSON"}
    halves = scanned(lines[:600], {"v"})
    halves.merge(scanned(lines[600:], {"v"}))
    assert types(halves) == {"v": "JSON"}


def test_types_hold_all_values_exactly() -> None:
    cases: list[tuple[list[Any], str]] = [
        ([None], '"NULL"'),
        ([[], [None]], '"NULL"[]'),
        ([1, 2**63 - 1], "BIGINT"),
        ([1, 2**63], "HUGEINT"),
        ([10**38], "JSON"),
        ([1, 0.5], "DOUBLE"),
        ([2**53 + 1, 0.5], "DECIMAL(17, 1)"),
        ([2**53 + 1, 7.0, 1e3], "HUGEINT"),
        ([2**53 + 1, 1e-30], "JSON"),
        ([2**53 + 1, 0.1234567890123456], "JSON"),
        ([2**60, 0.5], "DOUBLE"),
        ([1, "x"], "JSON"),
        ([True, 1], "JSON"),
        ([{"a": None}, {"b": 1}], 'STRUCT("a" "NULL", "b" BIGINT)'),
        ([{"a": 1}, {"A": 1}], "JSON"),
        ([{}], "JSON"),
        ([[1], ["x"]], "JSON[]"),
    ]
    assert [type_of(FieldProfile.of(values)) for values, _ in cases] == [kind for _, kind in cases]

"""Kernels over lines and JSON text against Python's own decoder, json and csv."""

import json
import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.compiler.templates import json_path, lit
from refinery.io.duplicate_keys import last_of_each
from refinery.io.json_fields import find_member
from refinery.io.readers.read import explain_json
from refinery.io.writers.set_fields import set_members
from refinery.kernels.core import scan
from refinery.kernels.json import jsoncheck, jsontext
from refinery.kernels.text import lines
from tests.examples import share_of

SHORT = st.text(alphabet='ab"\\/{}[],: \n\r\t\b\f\x00\x1f\x7fé\u2028漢😀')
# Kernels look at 64 bytes at once, so where in these something stands must not matter.
LONG = st.integers(0, 130)
TEXT = SHORT | st.builds(lambda before, text, after: before * "x" + text + after * "y", LONG, SHORT, LONG)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT | st.sampled_from(["text", "meta"]), VALUES, max_size=4)


def as_array(raw: bytes) -> np.ndarray:
    return np.frombuffer(raw + b" ", np.uint8)[:-1]


def is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


PIECES = st.lists(
    st.sampled_from(
        [b"a", "é".encode(), "漢".encode(), "😀".encode(), b"\x80", b"\xc0\x80", b"\xc1", b"\xe0\x80\x80", b"\xe0\xa0"]
        + [b"\xed\xa0\x80", b"\xed\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90"]
        + [b"\xf5", b"\xff", b"\xe2\x82", b"\xf0\x9f\x98", b"\x00", b"\xc3"]
    ),
    max_size=6,
).map(b"".join)


@settings(max_examples=share_of(500))
@given(PIECES, st.integers(0, 140), st.sampled_from([0, 1, 2, 3, 60, 61, 62, 63, 64, 65, 66, 130]))
def test_valid_utf8_agrees_with_python(raw: bytes, before: int, after: int) -> None:
    raw = b"x" * before + raw + b"y" * after
    assert lines.valid_utf8(as_array(raw), 0, len(raw)) == is_utf8(raw)


@settings(max_examples=share_of(200))
@given(st.binary(max_size=12))
def test_valid_utf8_on_any_bytes(raw: bytes) -> None:
    assert lines.valid_utf8(as_array(raw), 0, len(raw)) == is_utf8(raw)


def test_every_character_is_valid_and_no_surrogate() -> None:
    everything = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000).encode()
    assert lines.valid_utf8(as_array(everything), 0, len(everything))
    for code in (0xD800, 0xDBFF, 0xDC00, 0xDFFF):
        raw = chr(code).encode("utf-8", "surrogatepass")
        assert not lines.valid_utf8(as_array(raw), 0, 3)


def accepted(text: str) -> bool:
    """Check by Python's json whether a text is a valid sample."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return False
    return isinstance(value, dict)


def kernel_accepts(raw: bytes) -> bool:
    """At the end of the memory, where bytes are looked at one by one, and before other lines alike."""
    good = np.zeros(2, np.uint8)
    jsoncheck.objects(as_array(raw), np.array([0]), np.array([len(raw)]), good[:1])
    jsoncheck.objects(as_array(raw + 40 * b'"\\'), np.array([0]), np.array([len(raw)]), good[1:])
    assert good[0] == good[1]
    return bool(good[0])


@settings(max_examples=share_of(300))
@given(OBJECTS, st.sampled_from([None, 1]), st.booleans())
def test_valid_objects_are_accepted(value: dict, indent: int | None, ascii_only: bool) -> None:
    assert kernel_accepts(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode())


@settings(max_examples=share_of(400))
@given(OBJECTS, st.data())
def test_damaged_objects_are_judged_as_python_does(value: dict, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 2))
    junk = data.draw(
        st.sampled_from(["", '"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "\\u", "\x01", "t"])
    )
    text = text[:at] + junk + text[at + cut :]
    assert kernel_accepts(text.encode()) == accepted(text)


@pytest.mark.parametrize(
    "number",
    ["0", "-0", "1.5", "1e5", "1E+5", "1e-5", "NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "1e", "-", "0x1"],
)
def test_numbers(number: str) -> None:
    text = f'{{"a": {number}}}'
    assert kernel_accepts(text.encode()) == accepted(text)


@pytest.mark.parametrize(
    "escape",
    ["\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\ud83dx", "\\ud83d\\u0041", "\\u00zz", "\\x", "\\", "\\uD83D\\uDE0"],
)
def test_escapes(escape: str) -> None:
    text = f'{{"a": "{escape}"}}'
    assert kernel_accepts(text.encode()) == accepted(text)


def test_nesting_is_limited() -> None:
    def deep(n: int) -> bytes:
        return b'{"a":' + b"[" * n + b"]" * n + b"}"

    assert kernel_accepts(deep(jsontext.MAX_DEPTH - 1))
    assert not kernel_accepts(deep(jsontext.MAX_DEPTH))
    assert not kernel_accepts(deep(100_000))
    assert "levels deep" in explain_json(deep(jsontext.MAX_DEPTH))
    assert "levels deep" in explain_json(deep(100_000))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a": tru}', "expecting value at column 7"),
        (b'{"a": 1} x', "extra data at column 10"),
        (b'{"a": "x\x00"}', "invalid control character at column 9"),
        (b'{"a": "\\\\\\ud800"}', "unpaired surrogate \\ud800 at column 10"),
        (b'{"a": "\\ud83d\\ude00 \\udc00"}', "unpaired surrogate \\udc00 at column 21"),
        (b"[1]", "an array, not an object"),
        (b"null", "null, not an object"),
        (b"1", "a number, not an object"),
        (b"true", "a boolean, not an object"),
        (b"\xff", "invalid UTF-8: byte 0xff at position 1 (invalid start byte)"),
        (b'{"a":1,}', "expecting property name enclosed in double quotes at column 8"),
    ],
)
def test_reasons(raw: bytes, reason: str) -> None:
    assert explain_json(raw) == reason


# Members found


@settings(max_examples=share_of(300))
@given(st.text(alphabet='a"\\\n{}[]é', max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_runs_of_plain_bytes(text: str, start: int, end: int) -> None:
    raw = text.encode()
    data, end = as_array(raw), min(end, len(raw))
    start = min(start, end)
    assert scan.skip_text(data, start, end) == next((i for i in range(start, end) if raw[i] in b'"\\\n'), end)
    assert scan.skip_flat(data, start, end) == next((i for i in range(start, end) if raw[i] in b'"{}[]'), end)


KEYS = st.sampled_from(["text", "tex", "texts", "Text", "", "té", "😀", 'a"b', "a/b~c"])
SPACE = st.sampled_from(["", " ", "\t", "  \r"])
RARE = ["1e999", "-1E-999", "9" * 400, "NaN", "-Infinity", "[" * 300 + "]" * 300, '{"text":"inner"}', "-0"]


@st.composite
def json_string(draw: st.DrawFn, text: str) -> str:
    """A text as JSON, some of its characters as escapes that are not needed."""
    found = json.dumps(text, ensure_ascii=draw(st.booleans()))[1:-1]
    if draw(st.booleans()) and "\\" not in found:
        found = "".join(f"\\u{ord(c):04X}" if ord(c) < 0xFFFF and draw(st.booleans()) else c for c in found)
    return f'"{found}"'


@st.composite
def hostile_line(draw: st.DrawFn) -> str:
    """An object with names that stand twice, names with escapes, and any white space."""
    value = TEXT.flatmap(json_string) | VALUES.map(json.dumps) | st.sampled_from(RARE)
    parts = draw(
        st.lists(st.tuples(SPACE, KEYS.flatmap(json_string), SPACE, st.just(":"), SPACE, value, SPACE), max_size=5)
    )
    return f"{draw(SPACE)}{{{','.join(map(''.join, parts)) or draw(SPACE)}}}{draw(SPACE)}\n"


DUCKDB = duckdb.connect()


def values_of(line: str, name: str) -> list:
    return [value for key, value in json.loads(line, object_pairs_hook=list) if key == name]


def last_text(line: str, name: str) -> str | None:
    values = values_of(line, name)
    return values[-1] if values and isinstance(values[-1], str) else None


@settings(max_examples=share_of(300))
@given(st.lists(hostile_line(), min_size=1, max_size=6), KEYS)
def test_the_last_member_is_found_as_by_python(rows: list[str], name: str) -> None:
    assert all(kernel_accepts(line.encode()) for line in rows)
    member = find_member(pa.array(rows, pa.string()), name)
    expected = [last_text(line, name) for line in rows]
    for line, (start, end), text in zip(rows, member.spans.tolist(), expected, strict=True):
        alone = text is not None and len(values_of(line, name)) == 1
        assert (start >= 0) == alone
        assert not alone or json.loads(line.encode()[start:end]) == text
    assert member.texts.to_pylist() == expected
    path = lit(json_path((name,)))
    sql = f"SELECT CASE WHEN json_type(t, {path}) = 'VARCHAR' THEN t ->> {path} END FROM unnest(?::VARCHAR[]) AS u(t)"
    plain = [last_of_each(line.encode()).decode() for line in rows]
    assert [row[0] for row in DUCKDB.execute(sql, [plain]).fetchall()] == expected


@settings(max_examples=share_of(300))
@given(hostile_line(), st.data())
def test_damaged_lines_do_no_harm(line: str, data: st.DataObject) -> None:
    at, cut = data.draw(st.integers(0, len(line))), data.draw(st.integers(0, 3))
    junk = data.draw(st.sampled_from(["", '"', "\\", "{", "}", "[", ",", ":", "\\u", "\\ud800", "\x01", "1"]))
    line = line[:at] + junk + line[at + cut :]
    column = pa.array([line, '{"text":"next"}'], pa.string())
    member = find_member(column, "text")
    assert member.texts[1].as_py() == "next"
    if kernel_accepts(line.encode()):
        assert member.texts[0].as_py() == last_text(line, "text")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"text":"a","text":"b"}', "b"),
        ('{"text":"b","text":1}', None),
        ('{"text":1,"text":"b"}', "b"),
        ('{"text":"first","te\\u0078t":"second"}', "second"),
        ('{"text":"\\u0000 \\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\"\\\\"}', '\0 😀/\b\f\n\r\t"\\'),
        ('{"meta":{"text":"inner"},"text":""}', ""),
        ('{"meta":["text","inner"]}', None),
        ('{"text":"\\ud83d"}', None),
        ('{"text":"never ends', None),
        ('["text","a"]', None),
        ("{}", None),
        ("", None),
    ],
)
def test_members(line: str, text: str | None) -> None:
    for rows in ([line], [40 * '"\\', line, 40 * '"\\']):
        assert find_member(pa.array(rows, pa.string()), "text").texts[len(rows) // 2].as_py() == text


# Values set into lines


def put(line: str, keys: tuple[str, ...], value: str | None, quote: bool = True) -> str:
    data, offsets = set_members(pa.array([line]), np.array([0]), keys, pa.array([value], pa.string()), quote)
    assert offsets.tolist() == [0, len(data)]
    # The same with other memory behind it, and the member found before.
    column, values = pa.array([40 * '"\\', line, 40 * '"\\']), pa.array(["", value, 40 * '"\\'], pa.string())
    spans = find_member(column, keys[0]).spans if len(keys) == 1 else None
    again, _ = set_members(column, np.array([1]), keys, values.slice(1, 1), quote, spans)
    assert again.tobytes() == data.tobytes()
    return data.tobytes().decode()


@pytest.mark.parametrize(
    ("line", "keys", "expected"),
    [
        ('{"a": 1, "text": "x", "b":2.50}\r\n', ("text",), '{"a": 1, "text": "N", "b":2.50}\n'),
        ('  {"text":"x"} \t\n', ("text",), '  {"text":"N"}\n'),
        ("{}", ("text",), '{"text": "N"}\n'),
        ('{ "a":1 }', ("text",), '{ "a":1, "text": "N" }\n'),
        ('{"\\u0074ext":1}', ("text",), '{"\\u0074ext":"N"}\n'),
        ('{"te\\"xt":1}', ('te"xt',), '{"te\\"xt":"N"}\n'),
        ('{"\\ud83d\\ude00":[1,{"a":"}"}]}', ("😀",), '{"\\ud83d\\ude00":"N"}\n'),
        ('{"text":"a","text":"b"}', ("text",), '{"text":"N","text":"N"}\n'),
        (
            '{"body":1,"meta":{"x":{"body":2},"body":3}}',
            ("meta", "body"),
            '{"body":1,"meta":{"x":{"body":2},"body":"N"}}\n',
        ),
        ('{"meta":{}}', ("meta", "body"), '{"meta":{"body": "N"}}\n'),
        ('{"a":1}', ("meta", "body"), '{"a":1, "meta": { "body": "N" }}\n'),
        ('{"meta.body":1}', ("meta.body",), '{"meta.body":"N"}\n'),
        ('{"":1}', ("",), '{"":"N"}\n'),
        (
            '{"n":123456789012345678901234567890,"text":null}',
            ("text",),
            '{"n":123456789012345678901234567890,"text":"N"}\n',
        ),
    ],
)
def test_a_member_is_set_and_all_else_kept(line: str, keys: tuple[str, ...], expected: str) -> None:
    assert put(line, keys, "N") == expected
    assert put(line, keys, None) == line.rstrip(" \t\r\n") + "\n"


def test_values_are_escaped_as_json_does_without_ascii() -> None:
    text = "".join(map(chr, range(0x100))) + '\u2028漢😀"\\/'
    assert (
        put('{"text":1}', ("text",), text)
        == json.dumps({"text": text}, ensure_ascii=False, separators=(",", ":")) + "\n"
    )


def test_json_is_set_as_it_is() -> None:
    assert put('{"a":1}', ("__dj__stats__",), '{"n": 2.0}', quote=False) == '{"a":1, "__dj__stats__": {"n": 2.0}}\n'
    assert put('{"s":{"n":1}}', ("s",), '{"n": 2}', quote=False) == '{"s":{"n": 2}}\n'


def test_a_path_through_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="meta.body"):
        put('{"meta": null}', ("meta", "body"), "N")


def test_room_is_found_for_values_that_grow() -> None:
    text = "\x01" * 100_000
    assert json.loads(put('{"text":""}', ("text",), text)) == {"text": text}


def same(one: object, two: object) -> bool:
    """Equality for which NaN is NaN."""
    if isinstance(one, float) and isinstance(two, float) and math.isnan(one):
        return math.isnan(two)
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    return one == two


@settings(max_examples=share_of(300))
@given(OBJECTS, TEXT, TEXT, st.sampled_from([None, 2]), st.booleans())
def test_setting_a_member_is_what_python_would_do(
    value: dict, key: str, text: str, indent: int | None, ascii_only: bool
) -> None:
    line = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert same(json.loads(put(line, (key,), text)), {**value, key: text})


@settings(max_examples=share_of(100))
@given(st.lists(OBJECTS, max_size=5), st.sampled_from([None, 0, 2]), st.booleans(), st.booleans())
def test_elements_of_an_array(values: list[dict], indent: int | None, ascii_only: bool, array: bool) -> None:
    if array:
        text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    else:
        text = "\n".join(json.dumps(value, indent=indent, ensure_ascii=ascii_only) for value in values)
    raw = as_array(text.encode())
    starts, ends = np.zeros(8, np.int64), np.zeros(8, np.int64)
    count, _, why = jsontext.elements(raw, int(array), len(raw), array, True, starts, ends)
    assert why == (jsontext.CLOSED if array else jsontext.MORE)
    out, offsets = np.empty(len(raw) + 8, np.uint8), np.zeros(count + 1, np.int64)
    jsontext.one_line(raw, starts[:count], ends[:count], out, offsets)
    found = [out[offsets[i] : offsets[i + 1]].tobytes().decode() for i in range(count)]
    assert all(line.endswith("\n") and "\n" not in line[:-1] for line in found)
    assert len(found) == len(values) and all(map(same, map(json.loads, found), values))


@settings(max_examples=share_of(200))
@given(st.text(alphabet="a\n\r ", max_size=300), st.integers(1, 5))
def test_line_ends(text: str, room: int) -> None:
    raw = as_array(text.encode())
    ends = np.zeros(room, np.int64)
    found = []
    at = 0
    while count := lines.line_ends(raw, at, len(raw), ends):
        found += ends[:count].tolist()
        at = found[-1]
    assert found == [i + 1 for i, char in enumerate(text) if char == "\n"]
    assert lines.count_lines(raw, 0, len(raw)) == len(found)
    assert lines.last_line_end(raw, 0, len(raw)) == (found[-1] if found else 0)
    assert lines.first_line_end(raw, 0, len(raw)) == (found[0] if found else -1)


@settings(max_examples=share_of(50, least=20))
@given(st.lists(OBJECTS, min_size=1, max_size=12), st.integers(0, 2**32))
def test_what_is_accepted_duckdb_reads_too(values: list[dict], seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = []
    for value in values:
        text = json.dumps(value, ensure_ascii=bool(rng.integers(2)))
        at = int(rng.integers(len(text) + 1))
        texts += [text, text[:at] + str(rng.choice(['"', "\\", "{", "}", ",", "1", "-", "\\ud800"])) + text[at:]]
    texts = [text for text in texts if kernel_accepts(text.encode())]
    DUCKDB.register("t", pa.table({"t": pa.array(texts, pa.string())}))
    assert DUCKDB.execute("SELECT t FROM t WHERE NOT json_valid(t) OR json_type(t) <> 'OBJECT'").fetchall() == []
    DUCKDB.unregister("t")

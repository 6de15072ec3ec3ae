"""The profile of an input's fields, and the remarks on what deserves a look."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.inspect.browse import input_profile as module
from refinery.inspect.browse.field_summary import Categories, FieldSummary
from refinery.inspect.browse.input_profile import InputProfile
from refinery.inspect.browse.input_rows import InputRows
from refinery.inspect.browse.look_here import LookHere, look_here
from refinery.results.open_tables import open_tables
from tests.inspect.browse.conftest import BIG, SAMPLES
from tests.runs import refine, settings, texts, write_lines


def profile_of(folder: Path, seconds: float = 60) -> tuple[InputProfile, duckdb.DuckDBPyConnection]:
    con = open_tables(folder / "refinery.duckdb")
    profile = InputProfile(InputRows(folder), con)
    profile.advance(con, seconds)
    return profile, con


def remarks_on(folder: Path) -> list[LookHere]:
    profile, con = profile_of(folder)
    with con:
        return look_here(con, profile.summaries(), 1 - profile.kept / profile.read)


@pytest.fixture(scope="module")
def fields(folder: Path) -> Iterator[dict[str, FieldSummary]]:
    profile, con = profile_of(folder / "run")
    with con:
        assert profile.done and (profile.read, profile.unreadable, profile.total) == (118, 2, 120)
        yield {summary.name: summary for summary in profile.summaries()}


def test_fields_have_types_and_counts(fields: dict[str, FieldSummary]) -> None:
    readable = [sample for sample in SAMPLES if isinstance(sample, dict)]
    assert list(fields) == ["id", "text", "n", '"my field.x"', "meta.url", "maybe"]
    assert [field.type for field in fields.values()] == ["BIGINT", "VARCHAR", "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR"]
    assert (fields["id"].least, fields["id"].greatest) == (BIG, BIG + 119)
    assert fields["maybe"].nulls == sum("maybe" not in sample for sample in readable)
    lengths = [len(sample["text"]) for sample in readable]
    shortest, longest = fields["text"].shortest, fields["text"].longest
    assert shortest == (min(lengths), 0) and longest is not None and longest[0] == max(lengths)
    assert len(SAMPLES[longest[1]]["text"]) == longest[0]  # type: ignore[index]
    assert fields["n"].categories.values.keys() == {str(n) for n in range(11)}
    assert fields["n"].categories.values["7"].lost == fields["n"].categories.values["7"].rows
    assert set(fields["meta.url"].hosts.values) == {"a.example.org", "b.example.org", "other.net"}


def test_it_is_read_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 10)
    profile, con = profile_of(folder / "run", 0)
    with con:
        read = [profile.read]
        assert not profile.done and {summary.rows for summary in profile.summaries()} == {profile.read}
        while not profile.done:
            profile.advance(con, 0)
            read.append(profile.read)
        assert read == sorted(read) and read[-1] == 118 and len(read) > 5
        whole, other = profile_of(folder / "run")
        with other:
            by_name = {summary.name: summary.present for summary in whole.summaries()}
        assert {summary.name: summary.present for summary in profile.summaries()} == by_name


def test_what_deserves_a_look(tmp_path: Path) -> None:
    def sample(at: int) -> dict[str, Any]:
        text = "a text of a usual length " * (3 + at % 3)
        if at % 50 == 7:
            text = "x" * 20_000 if at > 100 else "x"
        return {
            "text": text,
            "licence": "CC0",
            "kind": "rare" if at == 9 else "common",
            "source": "bad" if at % 4 == 0 else "good",
            "link": f"http://{'bad' if at % 4 == 0 else 'good'}.org/{at}",
            "mixed": at if at % 2 else "text",
            **({"gone": 1} if at % 5 else {}),
        }

    refine(tmp_path, [sample(at) for at in range(200)], [{"sql_filter": {"where": "source = 'good'"}}])
    found = {(one.kind, one.subject): one for one in remarks_on(tmp_path / "run")}
    assert set(found) == {
        ("constant", "licence"), ("skewed", "kind"), ("lost", "source: bad"), ("lost", "link: bad.org"), ("mixed", "mixed"),
        ("missing", "gone"), ("short", "text"), ("long", "text"), ("constant", "gone"),
    }  # fmt: skip
    assert found["lost", "source: bad"].rows == {"field": "source", "how": "is", "what": "bad"}
    assert "50 of 50" in found["lost", "link: bad.org"].remark and found["missing", "gone"].remark.startswith(
        "missing in 40 of 200"
    )
    assert "2 of 200" in found["short", "text"].remark and "2 of 200" in found["long", "text"].remark
    assert found["skewed", "kind"].rows["what"] == "common"


def test_a_file_that_lost_most(folder: Path, tmp_path: Path) -> None:
    assert [one for one in remarks_on(folder / "run") if one.kind == "lost" and "file" in one.rows] == []
    write_lines(tmp_path / "in" / "good.jsonl", texts(["a long enough text"] * 40))
    write_lines(tmp_path / "in" / "bad <b>.jsonl", texts(["short"] * 30 + ["a long enough text"] * 10))
    refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 10}}], dataset_path=tmp_path / "in"))
    [one] = [one for one in remarks_on(tmp_path / "run") if one.kind == "lost" and "file" in one.rows]
    assert one.subject == str(tmp_path / "in" / "bad <b>.jsonl") and "30 of 40" in one.remark


def test_an_empty_input_has_nothing_to_look_at(tmp_path: Path) -> None:
    refine(tmp_path, [], [{"text_length_filter": {"min_len": 10}}])
    profile, con = profile_of(tmp_path / "run")
    with con:
        assert profile.done and profile.summaries() == [] and look_here(con, []) == []


def test_many_values_are_no_categories() -> None:
    categories = Categories()
    for value in range(1001):
        categories.add(str(value), False)
    assert categories.many and categories.most() == []


def test_columns_of_tables_have_their_own_types(tmp_path: Path) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9)
    kinds = {
        "text": pa.string(),
        "at": pa.timestamp("us"),
        "day": pa.date32(),
        "price": pa.decimal128(9, 2),
        "raw": pa.binary(),
    }
    kinds |= {
        "size": pa.uint8(),
        "ratio": pa.float32(),
        "inner": pa.struct([("n", pa.int16()), ("tags", pa.list_(pa.string()))]),
    }
    rows = [
        {"text": f"text {at}", "at": moment, "day": moment.date(), "price": Decimal(at) / 4, "raw": b"\xff", "size": at,
         "ratio": float("nan") if at else 0.5, "inner": {"n": at, "tags": ["x"] * at}}
        for at in range(3)
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(kinds)), tmp_path / "in.parquet")
    refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 1}}], dataset_path=tmp_path / "in.parquet"))
    profile, con = profile_of(tmp_path / "run")
    with con:
        fields = {summary.name: summary for summary in profile.summaries()}
        look_here(con, list(fields.values()))
    assert {name: summary.type for name, summary in fields.items()} == {
        "text": "VARCHAR", "at": "TIMESTAMP", "day": "DATE", "price": "DECIMAL(9,2)", "raw": "BLOB", "size": "UTINYINT",
        "ratio": "FLOAT", "inner.n": "SMALLINT", "inner.tags": "VARCHAR[]",
    }  # fmt: skip
    assert (fields["price"].least, fields["price"].greatest) == (Decimal("0.00"), Decimal("0.50"))
    assert fields["at"].least == moment and (fields["ratio"].least, fields["ratio"].greatest) == (0.5, 0.5)

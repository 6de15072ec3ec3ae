"""JSON of the views of samples, clusters, quarantine, fields and another run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

import refinery
from tests.explore.browsed import FILE, MARKUP, ROWS, browsed_run, stricter_run
from tests.explore.pages import client_of


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return browsed_run(tmp_path_factory.mktemp("browsed"))


@pytest.fixture(scope="module")
def client(run_folder: Path) -> Iterator[TestClient]:
    with client_of(run_folder) as client:
        yield client


def asked(client: TestClient, path: str, status: int = 200, **values: Any) -> Any:
    """The answer of an endpoint."""
    answer = client.get(f"/api/{path}", params=values)
    assert answer.status_code == status, answer.text
    return answer.json()


def rows_of(answer: Any) -> list[int]:
    return [row["row"] for row in answer["rows"]]


def test_rows_by_outcome_reason_and_words(client: TestClient, run_folder: Path) -> None:
    everything = asked(client, "samples", limit=200)
    assert rows_of(everything) == list(range(ROWS)) and everything["total"] == ROWS and everything["search"] is None
    removed = [row["row"] for row in everything["rows"] if row["fate"] == "removed"]
    assert removed and rows_of(asked(client, "samples", limit=200, fate="removed")) == removed
    needles = asked(client, "samples", q="needle", limit=200)
    assert needles["search"] == {"searched": ROWS, "candidates": ROWS, "done": True, "matches": len(needles["rows"])}
    assert {row["row"] for row in needles["rows"]} >= {39, 79} and {row % 5 for row in rows_of(needles)} == {0, 4}
    first = str(run_folder.parent / "in" / FILE)
    assert rows_of(asked(client, "samples", q="needle", file=first, limit=200)) == [
        row for row in rows_of(needles) if row < 62
    ]


def test_a_search_of_a_field_with_any_name(client: TestClient) -> None:
    found = asked(client, "samples", field=MARKUP, how="is", what="</script>", limit=200)
    assert rows_of(found) == [row for row in range(ROWS) if row % 3 == 1 and row % 40 != 39]
    hosts = asked(client, "samples", field="nested.url", how="host", what="b.example.org", limit=200)
    assert rows_of(hosts) == [row for row in range(ROWS) if row % 2 and row % 40 != 39]
    assert MARKUP in asked(client, "samples/fields") and "nested.<b>" in asked(client, "samples/fields")


def test_texts_come_with_the_word(client: TestClient) -> None:
    [text] = asked(client, "samples/texts", rows="[100, 39]")
    assert text["row"] == 100 and text["text"] == "short"
    [text] = asked(client, "samples/texts", rows="[95]", q="needle", **{"in": "text"})
    assert "needle" in text["text"]
    for rows in ("x", "{}", '["1", true, -1]'):
        assert asked(client, "samples/texts", rows=rows) == []


def test_choices_are_those_of_the_run(client: TestClient) -> None:
    choices = asked(client, "samples/choices")
    assert [step["step"] for step in choices["steps"]] == [1, 2, 3, 4, 5, 6]
    assert {stat["name"] for stat in choices["stats"]} == {"text_len", "num_words"}
    assert [file["rows"] for file in choices["files"]] == [62, 62] and choices["text_key"] == "text"
    assert {reason["step"] for reason in choices["reasons"]} <= {3, 4, 5}


def test_the_way_of_a_row(client: TestClient) -> None:
    way = asked(client, "samples/way/0")
    assert way["why_not"] == "" and way["last"] == ROWS - 1 and way["sample"][MARKUP] == MARKUP
    assert ["-", "alert"] in [piece for event in way["events"] for piece in event["diff"] or ()]
    broken = asked(client, "samples/way/39")
    assert broken["fate"] == "quarantined" and broken["raw"]["raw"].startswith("<script>alert(39)")
    assert "no row 124: the run read rows 0 to 123" in asked(client, "samples/way/124", 422)["error"]
    assert "no whole number" in asked(client, "samples/way/first", 422)["error"]


def test_clusters_with_members_and_a_pair(client: TestClient) -> None:
    found = asked(client, "clusters")
    first = found["clusters"][0]
    members = asked(client, f"clusters/{first['step']}/{first['cluster']}")["members"]
    assert len(members) == first["size"] and [member["survivor"] for member in members].count(True) == 1
    pair = asked(client, "clusters/pair", step=6, left=members[0]["row"], right=members[1]["row"])
    assert pair["left"] == pair["right"] and pair["left"]["pieces"][0][0] is True
    assert [step["step"] for step in found["deduplicators"]] == [6]
    assert asked(client, "clusters/6/99999")["members"] == []
    assert "no place" in asked(client, "clusters", 422, after="here")["error"]


def test_quarantine_has_raw_lines_and_kinds(client: TestClient) -> None:
    found = asked(client, "quarantine")
    assert [row["row"] for row in found["rows"]] == [39, 79, 119] and found["total"] == 3 and found["next"] is None
    assert found["rows"][0]["raw"] == "<script>alert(39)</script> \u202e broken Needle"
    [kind] = found["kinds"]
    assert kind["rows"] == 3 and asked(client, "quarantine", kind=kind["kind"], step=0)["total"] == 3
    assert asked(client, "quarantine", kind="another")["rows"] == []
    assert [row["row"] for row in asked(client, "quarantine", after=39, after_step=0)["rows"]] == [79, 119]


def test_fields_and_remarks(client: TestClient) -> None:
    found = asked(client, "profile")
    assert found["done"] and (found["read"], found["unreadable"], found["total"]) == (ROWS - 3, 3, ROWS)
    assert [field["name"] for field in found["fields"]] == ["id", "text", MARKUP, "nested.<b>", "nested.url"]


def test_without_another_run_there_is_nothing_to_compare(client: TestClient) -> None:
    assert asked(client, "compare") == [] and "--with OTHER" in asked(client, "compare/0", 422)["error"]


def test_another_run_is_compared(run_folder: Path, tmp_path: Path) -> None:
    changed_input = browsed_run(tmp_path, measure_only=True)
    with client_of(run_folder, [stricter_run(run_folder), changed_input]) as client:
        assert [known["number"] for known in asked(client, "compare")] == [0, 1]
        found = asked(client, "compare/0")
        assert found["apart"] is None and found["a"]["kept"] > found["b"]["kept"] > 0
        assert {fate["rows"] for fate in found["fates"] if fate["a"] != fate["b"]}
        for fate in found["fates"]:
            rows = asked(client, "samples", a=fate["a"], b=fate["b"], limit=200, **{"with": 0})
            assert (rows["total"], rows_of(rows)[:50]) == (fate["rows"], fate["examples"])
        both = {"with": 0, "a": "kept", "b": "removed by words_num_filter"}
        needles = [row for row in rows_of(asked(client, "samples", q="needle", limit=200)) if row % 40 != 39]
        stricter = rows_of(asked(client, "samples", limit=200, **both))
        assert rows_of(asked(client, "samples", q="needle", limit=200, **both)) == [
            row for row in needles if row in stricter
        ]
        assert asked(client, "samples", fate="removed", **both)["total"] == 0
        assert "changed" in asked(client, "compare/1")["apart"]
        assert "cannot be compared" in asked(client, "samples", 422, a="kept", b="kept", **{"with": 1})["error"]
        assert "no other run 2" in asked(client, "samples", 422, a="kept", b="kept", **{"with": 2})["error"]


def test_what_needs_the_input_is_refused_after_a_change(run_folder: Path, tmp_path: Path) -> None:
    folder = browsed_run(tmp_path)
    with client_of(folder) as client:
        asked(client, "samples/texts", rows="[1]")
        way = asked(client, "samples/way/0")
        with (folder.parent / "in" / "z.jsonl").open("a") as file:
            file.write("{}\n")
        for path, values in (("samples/texts", {"rows": "[1]"}), ("samples", {"q": "word"}), ("samples/fields", {})):
            assert "changed since the run" in asked(client, path, 422, **values)["error"]
        assert "changed since the run" in asked(client, "clusters/pair", 422, step=6, left=1, right=2)["error"]
        assert "changed since the run" in asked(client, "profile")["why_not"]
        known = asked(client, "samples/way/0")
        assert "changed since the run" in known["why_not"] and known["events"] == [] and known["fate"] == way["fate"]
        assert asked(client, "samples", fate="removed")["total"] > 0 and len(asked(client, "quarantine")["rows"]) == 3
    shutil.rmtree(folder)


def test_samples_from_python_have_tables_but_no_texts(tmp_path: Path) -> None:
    table = pa.table({"text": ["a long text", "short"] * 20})
    recipe = {"process": [{"text_length_filter": {"min_len": 8}}], "work_dir": str(tmp_path / "run")}
    refinery.run(recipe, dataset=table)
    with client_of(tmp_path / "run") as client:
        assert asked(client, "samples", fate="removed")["total"] == 20
        assert "passed in from Python" in asked(client, "samples/texts", 422, rows="[1]")["error"]
        assert "passed in from Python" in asked(client, "profile")["why_not"]
        assert asked(client, "samples/way/1")["recorded"]["reason"] == "text_len below min_len"


def test_a_long_search_goes_on_with_the_next_request(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.inspect.browse.search._BATCH", 1000)
    monkeypatch.setattr("refinery.explore.browsing.SECONDS", 0)
    with client_of(run_folder) as client:
        states = [asked(client, "samples", q="word")["search"]]
        while not states[-1]["done"]:
            states.append(asked(client, "samples", q="word")["search"])
    searched = [state["searched"] for state in states]
    assert len(searched) > 5 and searched == sorted(searched) and searched[-1] == ROWS
    with client_of(run_folder) as client:
        monkeypatch.setattr("refinery.explore.browsing.SECONDS", 60)
        assert asked(client, "samples", q="word")["search"] == states[-1]


def test_pages_carry_on(client: TestClient) -> None:
    seen: list[int] = []
    after = None
    while True:
        answer = asked(
            client, "samples", limit=50, sort="stat:num_words", order="down", **({"after": after} if after else {})
        )
        seen += rows_of(answer)
        if (after := answer["next"]) is None:
            break
        json.loads(after)
    assert sorted(seen) == list(range(ROWS))

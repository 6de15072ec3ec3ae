"""Values by a column, and numbers and texts in SQL conditions, are moved as a run with them would decide."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.commands import command
from tests.explore.pages import client_of
from tests.runs import refine

KINDS = ["a", "b", "zh-cn", None]
SAMPLES: list[dict[str, Any]] = [
    {"text": " ".join(["word"] * (at % 13)) + "!" * (at % 5), "kind": KINDS[at % 4]} for at in range(130)
]
WHERE = "num_words > 2 AND NOT (text_len >= 50.5) AND kind IS DISTINCT FROM 'z' -- 3 words"


def steps(kinds: dict[str, Any], where: str = WHERE) -> list[Any]:
    return [
        {"text_length_filter": {"min_len": 1}},
        {"words_num_filter": {"min_num": {"kind": kinds}, "max_num": 11}},
        {"sql_filter": {"where": where}},
        {"sql_filter": {"where": "num_words < 10 AND 40 > text_len"}},
    ]


VALUES = {"a": 5, "b": 2, "zh-cn": 2, "default": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return refine(tmp_path_factory.mktemp("handles"), SAMPLES, steps(VALUES)).work_dir


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with client_of(folder) as client:
        yield client


def asked(client: TestClient, path: str, status: int = 200, **values: Any) -> Any:
    texts = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in values.items()}
    answer = client.get(f"/api/bounds/{path}", params=texts)
    assert answer.status_code == status, answer.text
    return answer.json()


def removed_by(folder: Path, step: int, changed: list[Any]) -> int:
    """Samples that a step of another recipe removes."""
    [(rows,)] = (
        refine(folder, SAMPLES, changed).sql(f"SELECT count(*) FROM row_outcomes WHERE _dropped = {step}").fetchall()
    )
    return int(rows)


def test_values_that_the_run_tells_apart_have_handles(client: TestClient) -> None:
    handles = {one["name"]: one for one in asked(client, "filter", step=2)["parameters"]}
    assert {name: one["value"] for name, one in handles.items()} == {
        "max_num": 11,
        "min_num of a": 5,
        "min_num of b, zh-cn": 2,
        "min_num of others": 1,
    }
    assert handles["min_num of a"]["statistics"] == ["num_words"] and handles["min_num of a"]["side"] == "low"


@pytest.mark.parametrize(
    ("moved", "kinds"),
    [
        ({"min_num of a": 8}, {**VALUES, "a": 8}),
        ({"min_num of a": 1, "min_num of b, zh-cn": 6}, {"a": 1, "b": 6, "zh-cn": 6, "default": 1}),
        ({"min_num of others": 7, "min_num of a": 2}, {**VALUES, "a": 2, "default": 7}),
    ],
)
def test_values_by_a_column_decide_as_in_a_run(
    client: TestClient, tmp_path: Path, moved: dict[str, Any], kinds: dict[str, Any]
) -> None:
    figures = asked(client, "trial", step=2, values=moved)
    assert figures["removed"]["rows"] == removed_by(tmp_path, 2, steps(kinds))
    assert figures["alone"]["rows"] + figures["removed"]["rows"] == len([one for one in SAMPLES if one["text"]])


def test_samples_at_a_value_by_a_column_are_those_with_the_value(client: TestClient) -> None:
    near = asked(client, "samples", step=2, parameter="min_num of a", values={"min_num of a": 6})
    assert [len(one["text"].split()) for one in near["inside"]][0] == 6 and len(near["outside"]) == 3
    assert {one["row"] % 4 for side in near.values() for one in side} == {0}  # of kind a


def test_numbers_in_a_condition_have_handles(client: TestClient) -> None:
    handles = {one["name"]: (one["value"], one["side"]) for one in asked(client, "filter", step=4)["parameters"]}
    assert handles == {"num_words to": (10, "high"), "text_len to": (40, "high")}
    assert "more than the stored statistics" in asked(client, "filter", step=3)["why_not"]  # it names a field


def test_a_moved_number_decides_as_in_a_run(client: TestClient, tmp_path: Path) -> None:
    figures = asked(client, "trial", step=4, values={"num_words to": 6, "text_len to": 33})
    changed = [*steps(VALUES)[:-1], {"sql_filter": {"where": "num_words < 6 AND 33 > text_len"}}]
    assert figures["removed"]["rows"] == removed_by(tmp_path, 4, changed)
    assert figures["sets"] == ['process.4.where="num_words < 6 AND 33 > text_len"']
    near = asked(client, "samples", step=4, parameter="num_words to", values={"num_words to": 6})
    assert {len(one["text"].split()) for one in near["outside"]} == {6}


def test_the_command_makes_the_same_run(folder: Path, client: TestClient, tmp_path: Path) -> None:
    moved = {"2": {"min_num of a": 8, "min_num of b, zh-cn": 4}, "4": {"num_words to": 6}}
    texts = asked(client, "recipe", changes=moved)
    sets = [part for text in texts["sets"] for part in ("--set", text)]
    code, printed = command("refilter", str(folder), *sets, "--work-dir", str(tmp_path / "again"), folder=tmp_path)
    assert code == 0, printed
    assert texts["sets"][:3] == [f"process.2.min_num.values.{value}" for value in ("a=8", "b=4", "zh-cn=4")]
    changed = [
        *steps({**VALUES, "a": 8, "b": 4, "zh-cn": 4})[:-1],
        {"sql_filter": {"where": "num_words < 6 AND 40 > text_len"}},
    ]
    kept = refine(tmp_path / "run", SAMPLES, changed).counts.kept
    with client_of(tmp_path / "again") as again:
        assert again.get("/api/waterfall").json()["run"]["rows_kept"] == kept
        assert asked(again, "filter", step=2)["parameters"][1]["value"] == 8


@pytest.mark.parametrize(
    ("step", "values", "message"),
    [
        (2, {"min_num of a": None}, "not one value"),
        (2, {"min_num of a": 1.5}, "whole number"),
        (2, {"min_num of x": 1}, "no bound"),
        (2, {"min_num": 3}, "depends on a column"),
        (4, {"num_words to": "1 OR TRUE"}, "is no number"),
        (4, {"num_words to": True}, "is no number"),
        (4, {"where": "TRUE"}, "no bound"),
    ],
)
def test_what_is_no_number_is_refused(client: TestClient, step: int, values: dict[str, Any], message: str) -> None:
    assert message in asked(client, "trial", 422, step=step, values=values)["error"]


def test_changed_filters_count_together_where_all_statistics_are_stored(folder: Path, tmp_path: Path) -> None:
    run = refine(tmp_path / "measured", SAMPLES, steps(VALUES), measure_only=True, export_type="none")
    others = {"2": {"min_num of a": 8, "max_num": 10}, "1": {"min_len": 1}}
    changed = [*steps({**VALUES, "a": 8})[:-1], {"sql_filter": {"where": "num_words < 9 AND 40 > text_len"}}]
    changed[1]["words_num_filter"]["max_num"] = 10
    changed[2]["sql_filter"]["where"] = "TRUE"  # it asks for a field, which the run has not stored
    kept = refine(tmp_path / "run", SAMPLES, changed).counts.kept
    with client_of(run.work_dir) as client:
        moved = asked(client, "trial", step=4, values={"num_words to": 9}, others=others)
        assert moved["together"]["rows"] == kept < asked(client, "trial", step=4)["together"]["rows"]
        for _ in range(3):  # variants of several filters do not disturb each other
            first = asked(client, "trial", step=2, others={"4": {"num_words to": 3}})
            second = asked(client, "trial", step=2, others={"4": {"num_words to": 5}})
            assert first["together"]["rows"] < second["together"]["rows"]
        assert asked(client, "trial", step=4, values={"num_words to": 9}, others=others) == moved
    with client_of(folder) as client:  # a run that removed samples has not stored what others would do
        plain = asked(client, "trial", step=4, values={"num_words to": 9})
        assert asked(client, "trial", step=4, values={"num_words to": 9}, others=others) == plain


def test_lists_are_changed_as_in_a_run(tmp_path: Path) -> None:
    first: list[Any] = [
        {"max_extractor": {"main_attribute": "json_object(coalesce(kind, 'it''s'), 1)", "output_attribute": "mark"}},
        {"words_num_filter": {"min_num": 0}},
    ]

    def listed(where: str) -> list[Any]:
        return [*first, {"sql_filter": {"where": where}}]

    where = "mark IN ('a', 'gone') OR num_words NOT IN (3, 5) -- IN ('b')"
    folder = refine(tmp_path / "listed", SAMPLES, listed(where)).work_dir
    with client_of(folder) as client:
        handles = {one["name"]: one for one in asked(client, "filter", step=3)["parameters"]}
        offered = {name: (one["type"], one["value"]) for name, one in handles.items()}
        assert offered == {"mark IN": ("set", ["a", "gone"]), "num_words NOT IN": ("set", [3, 5])}
        choices = {one["value"]: one for one in handles["mark IN"]["choices"]}
        assert {*choices} == {"a", "b", "zh-cn", "it's", "gone"} and choices["gone"]["kept"] == 0
        total = asked(client, "trial", step=3)
        for fate, figure in (("kept", "alone"), ("here", "removed")):
            sums = {"rows": sum(one[fate] for one in choices.values())}
            sums["bytes"] = sum(one[f"{fate}_bytes"] for one in choices.values())
            assert sums == total[figure] and sums["rows"]
        changed = "mark IN ('b', 'it''s') OR num_words NOT IN (3, 5, 7) -- IN ('b')"
        figures = asked(client, "trial", step=3, values={"mark IN": ["b", "it's"], "num_words NOT IN": [3, 5, 7]})
        assert figures["sets"] == [f'process.3.where="{changed}"']
        assert figures["removed"]["rows"] == removed_by(tmp_path / "other", 3, listed(changed))
        wrong = [
            ("mark IN", []),
            ("mark IN", [7]),
            ("mark IN", "a"),
            ("num_words NOT IN", [True]),
            ("num_words NOT IN", [0.5]),
        ]
        for name, value in wrong:
            assert name in asked(client, "trial", 422, step=3, values={name: value})["error"]


def test_values_that_must_be_equal_are_changed(tmp_path: Path) -> None:
    marks = "CASE WHEN kind = 'a' THEN '{\"en\": 1}' WHEN kind = 'b' THEN '{\"it''s\": 2}' ELSE '{\"7\": 3}' END"
    first = [
        {"max_extractor": {"main_attribute": marks, "output_attribute": "mark"}},
        {"words_num_filter": {"min_num": 0}},
    ]

    def equal(where: str) -> list[Any]:
        return [*first, {"sql_filter": {"where": where}}]

    folder = refine(tmp_path / "equal", SAMPLES, equal("mark = 'en' OR NOT num_words <> 3")).work_dir
    with client_of(folder) as client:
        handles = {one["name"]: one for one in asked(client, "filter", step=3)["parameters"]}
        offered = {name: (one["value"], one["type"], one["statistics"]) for name, one in handles.items()}
        assert offered == {"mark =": ("en", "str", []), "num_words <>": (3, "int", [])}
        changed = "mark = 'it''s' OR NOT num_words <> 5"
        moved = {"mark =": "it's", "num_words <>": 5}
        figures = asked(client, "trial", step=3, values=moved)
        assert figures["removed"]["rows"] == removed_by(tmp_path / "other", 3, equal(changed))
        assert figures["sets"] == [f'process.3.where="{changed}"']
        figures = asked(client, "trial", step=3, values={"mark =": "7"})
        assert figures["removed"]["rows"] == removed_by(tmp_path / "seven", 3, equal("mark = '7' OR num_words = 3"))
        for values, message in (({"mark =": 7}, "7 is no text"), ({"num_words <>": "7"}, "'7' is no number")):
            assert message in asked(client, "trial", 422, step=3, values=values)["error"]

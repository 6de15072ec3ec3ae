"""extract_html_mapper in runs: hostile pages cost themselves, results depend on no order, metadata become fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.errors import RecipeError
from tests.runs import exported, refine, rows, texts

SENTENCE = (
    "The old weir {} was repaired in April, when the water was low enough for the masons to reach the foundations."
)
HOSTILE = {
    "nested": "<div>" * 20_000 + "x",
    "tables": "<table><tr><td>" * 3_000 + "x",
    "unclosed": "<p><b><i><a href='" + "x" * 10_000,
    "binary": bytes(range(256)).decode("latin-1") * 200,
    "NUL": "a\0b" * 1000,
    "entities": "&#0;&#xD800;&#x110000;&bogus;" * 500,
    "spans": "<p>" + "<span>a " * 5_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(3_000)) + ">x</p>",
    "comment": "<!-- " + "- " * 50_000,
    "cdata": "<![CDATA[" * 1_000,
    "plain": "no markup at all. " * 500,
    "xml": "<?xml version='1.0' encoding='utf-16'?><html><body><p>text of a page</p></body></html>",
}


def page(text: str, head: str = "") -> str:
    return f"<html lang=en><head>{head}</head><body><article><p>{text}</p></article></body></html>"


@pytest.mark.parametrize("by", ["trafilatura", "resiliparse", "justext"])
def test_hostile_pages_cost_no_more_than_themselves(tmp_path: Path, by: str) -> None:
    good = [page(SENTENCE.format(word)) for word in ("first", "last")]
    run = refine(
        tmp_path,
        texts([good[0], *HOSTILE.values(), good[1]]),
        [{"extract_html_mapper": {"by": by, "as": "library", "timeout": 20}}],
    )
    kept = {sample["id"]: sample["text"] for sample in exported(run)}
    wanted = {0, len(HOSTILE) + 1} if by != "justext" else set()
    assert {*kept} >= wanted and all(kept[n] == SENTENCE.format(("first", "last")[n > 0]) for n in wanted)
    assert len(kept) + len(rows(run, "ledger")) + len(rows(run, "quarantine")) == len(HOSTILE) + 2
    assert {reason for (reason,) in rows(run, "ledger", "reason")} <= {"empty"}


@pytest.mark.parametrize("by", ["trafilatura", "resiliparse", "justext"])
def test_a_page_that_takes_longer_than_the_limit_goes_to_quarantine(tmp_path: Path, by: str) -> None:
    slow = page(" ".join(f"<p>{SENTENCE.format(n)}</p>" for n in range(20_000)))
    step = {"extract_html_mapper": {"by": by, "timeout": 0.002, "drop_empty": False}}  # too short for any other page
    run = refine(tmp_path, texts([slow]), [step])
    [(line, step, error)] = rows(run, "quarantine", "line, step, error")
    assert (line, step, error) == (1, 1, "took longer than 0.002 seconds (time limit of the step)")


def test_order_and_number_of_workers_change_no_text(tmp_path: Path) -> None:
    """trafilatura's memory of segments is that of one page."""
    samples = texts([page(SENTENCE.format("again")) for _ in range(40)])
    step = {"extract_html_mapper": {"as": "datatrove", "timeout": 20}}
    one, many = (
        refine(tmp_path / name, samples, [step], np=np, shard_size=size)
        for name, np, size in (("one", 1, "1MB"), ("many", 2, "2kB"))
    )
    assert exported(one) == exported(many) and {one["text"] for one in exported(one)} == {SENTENCE.format("again")}


def test_metadata_become_fields_of_lines_and_of_tables(tmp_path: Path) -> None:
    head = "<title>Weir</title><meta name=author content='Ilse Marrow'><meta property='article:published_time' content='2026-02-17'>"
    keys = {"title_key": "title", "author_key": "author", "date_key": "day", "language_key": "language"}
    steps: list[Any] = [
        {"extract_html_mapper": {"by": "resiliparse", "timeout": 60, **keys}},
        {"sql_filter": {"where": "coalesce(title, '') <> 'Menu' and language = 'en'"}},
    ]
    pages = [page(SENTENCE.format(1), head), page(SENTENCE.format(2)), page(SENTENCE.format(3), "<title>Menu</title>")]
    found = {"title": "Weir", "author": "Ilse Marrow", "day": "2026-02-17", "language": "en"}
    lines = exported(refine(tmp_path, texts(pages), steps))
    assert [{name: one.get(name) for name in found} for one in lines] == [
        found,
        dict.fromkeys(found) | {"language": "en"},
    ]
    table = pa.table({"id": range(3), "text": pages, "title": pa.array(["old", "old", None])})
    done = refinery.run({"process": steps, "work_dir": str(tmp_path / "table")}, dataset=table).to_arrow()
    assert done.column_names == ["id", "text", "title", "author", "day", "language"]
    assert done["title"].to_pylist() == ["Weir", "old"] and done["author"].to_pylist() == ["Ilse Marrow", None]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"by": "resiliparse", "favor_precison": True}, "Did you mean 'favor_precision'"),
        ({"by": "resiliparse", "favor_precision": True}, "resiliparse has no parameter favor_precision"),
        ({"as": "dolma", "by": "justext"}, "as: dolma does not use justext: give by: resiliparse"),
        ({"by": "justext", "stoplist": "Klingon"}, "jusText has no stop words of 'Klingon'"),
        ({"required_stopword_density": 0.3}, "required_stopword_density needs a language"),
        ({"max_date": "yesterday"}, "write it as 2026-02-17"),
        ({"title_key": "text"}, "which is a text that the recipe works on"),
        ({"stoplist_key": "lang"}, "names the field 'lang'"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, params: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refine(tmp_path, texts(["x"]), [{"extract_html_mapper": params}])


def test_settings_of_the_page_are_those_of_the_code() -> None:
    from refinery.extractors.settings import OWN_PEER, PEERS
    from tests.conftest import ROOT

    lines = (ROOT / "docs" / "web.md").read_text("utf-8").split("\n")
    for (by, peer), settings in PEERS.items():
        if peer == "library" or (by, peer) == ("justext", "dclm"):
            continue
        [line] = [text for text in lines if text.startswith(f"| `{by}` | `{peer}`")]
        told = [
            f"`{name}: {json.dumps(value).strip(chr(34))}`" for name, value in settings.items() if value is not False
        ]
        assert all(text in line for text in told) and ("(default)" in line) is (OWN_PEER[by] == peer)

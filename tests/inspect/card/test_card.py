"""`refinery card`: every printed query gives the figure beside it; what was not measured is named; Croissant; ownership."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.api import Run
from refinery.inspect.card.options import CardOptions
from refinery.inspect.card.write import FORMATS, write_cards
from tests.commands import Call, caller
from tests.runs import refine, settings, texts, write_lines

HOSTILE = "CC-BY | `4.0` <img src=x> *a*\n__b__ $x$ [y](http://evil.example)"
STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"text_length_filter": {"min_len": 12}},
    {"sql_filter": {"where": "id < 38"}, "name": "benchmark | overlap"},
    {"document_deduplicator": None},
]
BLOCK = re.compile(r"(?P<fence>```+)sql\n(?P<sql>.*?)\n(?P=fence)\n", re.DOTALL)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def samples() -> list[Any]:
    hosts = ("a.example", "b.example:8080", "user@c.example", "D.Example")
    rows: list[Any] = [
        {
            "id": at,
            "text": f"write to a{at % 30}@b.org about number {at % 30}" if at % 3 else f"short {at}"[:7],
            "license": [HOSTILE, "CC0", None][at % 3],
            "te.xt |": at,
            "meta": {"url": f"https://{hosts[at % 4]}/page/{at}", "date": f"2024-0{1 + at % 9}-01T00:00:00Z"},
            "tags": ["x"],
        }
        for at in range(40)
    ]
    return [*rows, "broken {"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("card") / "in | a `folder"
    return refine(folder, samples(), STEPS, digests=True, export_shard_size=900, project_name="a *card* <b>")


@pytest.fixture(scope="module")
def moved(made: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder at another place, with its cards; the first one is gone."""
    write_cards(made.work_dir, tuple(FORMATS), None, CardOptions({}, "CC0-1.0"))
    copy = tmp_path_factory.mktemp("moved") / "run"
    shutil.copytree(made.work_dir, copy)
    return copy


def cells(line: str) -> list[str]:
    """The cells of a row of a table, as a reader of Markdown shows them."""
    parts = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [html.unescape(re.sub(r"\\(.)", r"\1", part[1:-1])) for part in parts]


def figures(page: str) -> list[tuple[str, list[list[str]], str]]:
    """Title, rows with the header, and query of each figure of a page."""
    found, at = [], 0
    for block in BLOCK.finditer(page):
        title, _, body = page[at : block.start()].rpartition("\n**")[2].partition("**\n\n")
        lines = [line for line in body.split("\n") if line.startswith("|") and not line.startswith("|---")]
        found.append((title, [cells(line) for line in lines], block["sql"]))
        at = block.end()
    return found


def shown(value: object) -> str:
    return "NULL" if value is None else str(value)


def visible(text: str) -> str:
    """A text as a card shows it on a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@pytest.mark.parametrize(("name", "least"), [("card.md", 20), ("eu-summary.md", 20)])
def test_every_printed_query_gives_its_figure(
    moved: Path, name: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(moved)
    page = (moved / "card" / name).read_text("utf-8")
    known = figures(page)
    assert len(known) >= least and len(known) == page.count("```sql\n")
    with duckdb.connect("refinery.duckdb", read_only=True) as con:
        for title, rows, sql in known:
            cursor = con.execute(sql)
            result = [[visible(shown(value)) for value in row] for row in cursor.fetchall()]
            if rows or result:
                assert rows == [[column[0] for column in cursor.description or ()], *result], title


def test_figures_are_those_of_the_samples(moved: Path) -> None:
    page = (moved / "card" / "card.md").read_text("utf-8")
    known = {
        title: [dict(zip(rows[0], row, strict=True)) for row in rows[1:]] for title, rows, _ in figures(page) if rows
    }
    kept = [json.loads(line) for path in sorted(moved.glob("out-*.jsonl")) for line in path.open(encoding="utf-8")]
    assert known["Rows"] == [
        {"rows_read": "41", "rows_kept": str(len(kept)), "rows_removed": str(40 - len(kept)), "rows_quarantined": "1"}
    ]
    size = sum(len(sample["text"].encode()) for sample in kept)
    assert known["Size of the kept samples"] == [{"samples": str(len(kept)), "text_bytes": str(size)}]
    licences = {row["license"]: int(row["samples"]) for row in known["Kept samples by licence"]}
    assert licences == {
        "CC0": sum(sample["license"] == "CC0" for sample in kept),
        "NULL": sum(sample["license"] is None for sample in kept),
    }
    assert known["Hosts of the kept samples"] == [{"hosts": "4", "samples_without": "0"}]
    assert [row["host"] for row in known["Tenth of the hosts that has most text"]] != []
    assert known["Dates of the kept samples"][0]["first"] == min(sample["meta"]["date"] for sample in kept)[:10]
    assert [row["operator"] for row in known["Personal data"]] == ["clean_email_mapper"]
    assert [row["name"] for row in known["Contamination"]] == ["benchmark | overlap"]
    assert known["Duplicates"][0]["removed"] == next(
        row["samples"] for row in known["Removed by reason"] if row["reason"] == "duplicate"
    )
    digests = json.loads((moved / ".refinery" / "digests.json").read_text("utf-8"))
    assert known["Root of the digests"][0]["root"] == digests["root"]
    assert (
        known["Run"][0]["recipe_sha256"]
        == hashlib.sha256((moved / ".refinery" / "recipe.yaml").read_bytes()).hexdigest()
    )


def test_what_was_not_measured_is_named(moved: Path) -> None:
    page = (moved / "card" / "card.md").read_text("utf-8")
    for title in ("Tokens of the kept samples", "Languages, as measured", "Kept samples by source", "Harmful content"):
        assert re.search(rf"\*\*{re.escape(title)}\*\*\n\nNot measured: ", page), title
    eu = (moved / "card" / "eu-summary.md").read_text("utf-8")
    assert eu.count("*To be filled by the provider: ") >= 12 and "no tokens were counted" in eu
    assert "<b>" not in page + eu and "<img" not in page + eu
    assert page.startswith(r"# Data card: a \*card\* &lt;b&gt;" + "\n")


def test_croissant_describes_the_files(moved: Path) -> None:
    card = json.loads((moved / "card" / "croissant.json").read_text("utf-8"))
    assert card["conformsTo"] == ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
    assert card["@context"]["conformsTo"] == "dct:conformsTo" and card["license"] == "CC0-1.0"
    *files, together = card["distribution"]
    assert together["@type"] == "cr:FileSet" and together["includes"] == [file["name"] for file in files]
    assert len(files) == len(list(moved.glob("out-*.jsonl"))) > 1
    for file in files:
        path = moved / "card" / file["contentUrl"]
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert file["contentSize"] == f"{path.stat().st_size} B" and file["encodingFormat"] == "application/jsonlines"
    [records] = card["recordSet"]
    kinds = {field["name"]: (field["dataType"], field.get("repeated", False)) for field in records["field"]}
    assert kinds == {
        "id": ("sc:Integer", False),
        "text": ("sc:Text", False),
        "license": ("sc:Text", False),
        "te.xt |": ("sc:Integer", False),
        "tags": ("sc:Text", True),
    }
    assert "meta (STRUCT" in records["description"]
    assert all(field["source"]["fileSet"] == {"@id": "files"} for field in records["field"])
    assert "clean_email_mapper" in card["rai:personalSensitiveInformation"][0]
    assert any("Tokens" in text for text in card["rai:dataLimitations"])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return refine(
        tmp_path_factory.mktemp("small"), texts(["some text", "too"]), [{"text_length_filter": {"min_len": 4}}]
    )


@pytest.fixture
def folder(small: Run, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small.work_dir, tmp_path / "run", copy_function=shutil.copy2))


def test_other_files_stay(call: Call, folder: Path, small: Run, tmp_path: Path) -> None:
    code, out, _ = call("card", small.work_dir, "--format", "markdown", "--format", "eu", "--out", tmp_path / "cards")
    assert code == 0 and out.split() == [str(tmp_path / "cards" / name) for name in ("card.md", "eu-summary.md")]
    assert call("card", small.work_dir, "--format", "markdown", "--out", tmp_path / "cards")[0] == 0
    (tmp_path / "cards" / "card.md").write_text("mine")
    code, _, err = call("card", small.work_dir, "--out", tmp_path / "cards")
    assert code == 6 and "card.md" in err and (tmp_path / "cards" / "card.md").read_text() == "mine"
    assert not (tmp_path / "cards" / "croissant.json").exists()
    assert call("card", small.work_dir, "--out", tmp_path / "cards", "--overwrite")[0] == 0
    assert (tmp_path / "cards" / "card.md").read_text("utf-8").startswith("# Data card")
    code, out, _ = call(
        "card", small.work_dir, "--format", "croissant", "--out", "-", "--base-url", "https://a.example/d/"
    )
    assert code == 0 and json.loads(out)["distribution"][0]["contentUrl"] == "https://a.example/d/out.jsonl"
    assert call("card", small.work_dir, "--out", "-")[0] == 2


def test_a_field_that_is_not_there(call: Call, small: Run) -> None:
    code, _, err = call("card", small.work_dir, "--license-field", "txt", "--out", "-", "--format", "markdown")
    assert code == 3 and "--license-field txt" in err and "Did you mean 'text'?" in err
    code, out, _ = call("card", small.work_dir, "--license-field", "id", "--out", "-", "--format", "markdown")
    assert code == 0 and "| 0 | 1 |" in out.partition("**Kept samples by licence**")[2]


def test_an_export_that_has_changed_or_is_gone(call: Call, folder: Path, small: Run, tmp_path: Path) -> None:
    run = refine(tmp_path, texts(["some text", "too"]), [{"text_length_filter": {"min_len": 4}}])
    exported = run.work_dir / "out.jsonl"
    exported.write_text(exported.read_text() + '{"text": "more"}\n')
    code, _, err = call("card", run.work_dir, "--format", "croissant")
    assert code == 3 and "has changed since the run" in err
    code, out, _ = call("card", run.work_dir, "--format", "markdown", "--out", "-")
    assert code == 0 and "so figures would be those of another file" in out and "| text_bytes |" not in out
    exported.unlink()
    code, out, _ = call("card", run.work_dir, "--format", "markdown", "--out", "-")
    assert code == 0 and "Not measured: the export cannot be read" in out and "| 2 | 1 | 1 | 0 |" in out
    code, _, err = call("card", tmp_path)
    assert code == 3 and "no finished run" in err


@pytest.mark.parametrize("keys", [{"export_type": "none"}, {"export_path": "out.parquet"}, {"export_type": "json"}, {}])
def test_other_exports(call: Call, tmp_path: Path, keys: dict[str, Any]) -> None:
    values = ["some text", "other text"] if keys else ["no"]  # without keys: nothing is kept
    if "export_path" in keys:
        keys = {"export_path": tmp_path / "run" / "out.parquet"}
    run = refine(tmp_path, texts(values), [{"text_length_filter": {"min_len": 4}}], **keys)
    assert call("card", run.work_dir)[0] == 0
    page = (run.work_dir / "card" / "card.md").read_text("utf-8")
    card = json.loads((run.work_dir / "card" / "croissant.json").read_text("utf-8"))
    if keys == {"export_type": "none"} or not keys:
        assert "**Size of the kept samples**\n\nNot measured: the run exported no samples" in page
    else:
        assert "| 2 | 19 |" in page
        assert [field["dataType"] for field in card["recordSet"][0]["field"]] == ["sc:Integer", "sc:Text"]
    with duckdb.connect(str(run.work_dir / "refinery.duckdb"), read_only=True) as con:
        assert all(con.execute(sql) for _, _, sql in figures(page) if "'out" not in sql)


def test_rows_by_file(call: Call, tmp_path: Path) -> None:
    write_lines(tmp_path / "in" / "a.jsonl", texts(["some text", "too"]))
    write_lines(tmp_path / "in" / "b.jsonl", [])
    write_lines(tmp_path / "in" / "c.jsonl", ["{", "["])
    write_lines(tmp_path / "in" / "d.jsonl", texts(["other text", "more text", "x", "y"]))
    run = refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 4}}], dataset_path=tmp_path / "in"))
    page = call("card", run.work_dir, "--format", "markdown", "--out", "-")[1]
    [rows] = [rows for title, rows, _ in figures(page) if title == "Rows by input file"]
    counts = {Path(file).name: (read, kept) for file, read, kept in rows[1:]}
    assert {name: counts[name] for name in ("a.jsonl", "c.jsonl", "d.jsonl")} == {
        "a.jsonl": ("2", "1"),
        "c.jsonl": ("2", "0"),
        "d.jsonl": ("4", "2"),
    }
    assert counts.get("b.jsonl", ("0", "0")) == ("0", "0")


def test_a_part_of_the_input_is_named(call: Call, tmp_path: Path) -> None:
    run = refine(tmp_path, texts(["some text", "other text"]), [{"text_length_filter": {"min_len": 4}}], limit=1)
    page = call("card", run.work_dir, "--format", "markdown", "--out", "-")[1]
    assert "only a part of its input, or only measured it** (limit 1)" in page and "| 1 | 1 | 0 | 0 |" in page

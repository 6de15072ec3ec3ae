"""The compiled scripts of a few recipes: as reviewed, and giving what `refinery run` gives.

`UPDATE_GOLDEN=1` writes the scripts anew; the difference is then to be read like any other change.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery

FOLDER = Path(__file__).parent.parent / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))

DOCS: list[dict[str, Any]] = [
    {"id": 1, "lang": "en", "text": "Contact us at jane@example.com, it's about the programme.", "score": 0.9},
    {"id": 2, "lang": "en", "text": "too short", "score": 0.5, "größe, m": 1.5},
    {
        "id": 3,
        "lang": "ja",
        "text": "日本語のテキストです。これは短い文章です。",
        "score": 0.1,
        "meta": {"tags": ["x"]},
    },
    {"id": 4, "lang": "en", "text": "A line\nanother  line with more\twords in it\nand a third", "score": None},
    {"id": 5, "lang": "de", "text": "", "score": 1.0},
    {"id": 6, "lang": "en", "text": "the same words the same words the same words", "score": 0.25, "n": 2**53},
    {
        "id": 7,
        "lang": "en",
        "text": 'quotes "here", \\ and \u2028 there, € 5',
        "score": 0.3,
        "meta": {"tags": ["y", "x"]},
    },
    {"id": 8, "lang": None, "text": "exactly nine and a half words, and then some more to be long", "score": 2},
    {"id": 9, "lang": "en", "text": "exactly 20 letters..", "score": 0.7},
]

# Near and exact duplicates, and lines that several share.
NEAR = [
    "Home | About\nthe quick brown fox jumps over the lazy dog",
    "the quick brown fox jumps over the lazy dog today",
    "too  short",
    "the quick brown fox jumps over  the lazy dog",
    "something else that nobody has written before",
    "too short",
    "Home | About\nsomething else that nobody has written before, or after",
    "something else that nobody has written before",
    "short",
    "a sentence of its own, with some more words so that it is longer than all the others are",
    "Home | About\nthe last one\nthe last one\nsomething else that nobody has written before",
    "Home | About",
]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all input files, which no test writes to."""
    folder = tmp_path_factory.mktemp("given")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_inputs()
    return folder


@pytest.fixture
def inputs(given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, which is the current one."""
    shutil.copytree(given, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_inputs() -> None:
    """Write all input files to the current folder."""
    Path("out").mkdir()
    lines = [json.dumps(doc, ensure_ascii=False) for doc in DOCS]
    bad = ['{"id": 10, "text": "cut', '{"id": 11}', '{"id": 12, "text": null}', "[1]"]
    Path("docs.jsonl").write_bytes("\n".join([*lines[:4], *bad, "", *lines[4:]]).encode() + b"\n")
    nested = [
        {"id": d["id"], "title": f"Title {d['id']} of {d['lang']}", "doc": {"body": f" {d['text']} ", "n": 1}}
        for d in DOCS
    ]
    nested[3]["title"] *= 3
    nested[4]["title"] = None
    Path("nested.jsonl").write_text("".join(json.dumps(line) + "\n" for line in nested), encoding="utf-8")
    near = [json.dumps({"id": number, "text": text}) for number, text in enumerate(NEAR)]
    Path("near.jsonl").write_text("\n".join([*near[:3], "broken", *near[3:], ""]), encoding="utf-8")
    Path("crlf.jsonl").write_bytes(
        b"\xef\xbb\xbf" + "\r\n\r\n".join(lines[:3]).encode() + b"\r\n \n" + lines[3].encode()
    )
    Path("array.json").write_text(json.dumps(DOCS[4:7], indent=2), encoding="utf-8")
    Path("a [1] it's.jsonl").write_text(lines[7] + "\n", encoding="utf-8")
    Path("a 1 it's.jsonl").write_text('{"text": "another file, which the pattern would find"}\n', encoding="utf-8")
    Path("table.csv").write_bytes(
        'id,text,stars\r\n1,"two\r\nlines, ""quoted""",3\r\n2,,1\r\n3,é,NA\r\n4,long enough,2'.encode()
    )
    Path("words").mkdir()
    Path("words/flagged_words.json").write_text('{"en": ["same"]}', encoding="utf-8")
    Path("texts").mkdir()
    for name, text in {"a.md": "# Title\r\n\r\ntext\r", "b.txt": "no", "c.py": "print()\n", "d.txt": "long"}.items():
        Path("texts", name).write_bytes(text.encode())
    table = {"id": [d["id"] for d in DOCS], "stars": [1, 2, 3, None, 5, 1, 1, 2, 9]}
    bodies = [{"body": None if d["id"] == 6 else d["text"], "lang": d["lang"]} for d in DOCS]
    pq.write_table(
        pa.table({**table, "meta": bodies, "when": pa.array([10**15] * 9, pa.timestamp("us"))}), "docs.parquet"
    )
    for name in NAMES:
        Path(f"{name}.yaml").write_text((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_script_is_as_reviewed(name: str, given: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(given)
    script = refinery.compile(f"{name}.yaml").replace(f"by refinery {refinery.__version__}", "by refinery")
    path = FOLDER / f"{name}.sql"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(script, encoding="utf-8")
    assert str(given) not in script
    assert script == path.read_text(encoding="utf-8"), "see the difference; UPDATE_GOLDEN=1 accepts it"


def samples(path: Path) -> Any:
    """The samples of an exported file, in order; the order of keys counts."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return table.column_names, [str(field.type) for field in table.schema], table.to_pylist()
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    values = (
        json.loads(content)
        if path.suffix == ".json"
        else [json.loads(line) for line in content.decode().split("\n")[:-1]]
    )
    return [list(value.items()) for value in values]


TABLES = {
    "ledger": "SELECT * FROM ledger ORDER BY _row",
    "stats": "SELECT * FROM stats ORDER BY _row",
    "stat_summary": "SELECT * EXCLUDE (mean, m2, total), round(mean, 9), round(m2, 6), round(total, 9) FROM stat_summary ORDER BY ALL",
    "duplicates": "FROM duplicates",
    "clusters": "FROM clusters",
    "quarantine": "SELECT _row, parse_filename(file) AS name, if(file LIKE '%.jsonl', raw, raw ->> '$.text') AS raw FROM quarantine ORDER BY _row",
}


def tables(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[list[tuple[str, str]], list[Any]]]:
    """Columns with types, and rows, of the tables that script and run both leave."""
    found = {}
    there = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    for name, query in TABLES.items():
        if name not in there and name in ("duplicates", "clusters"):
            continue  # a script without a deduplicator makes none
        rows = con.execute(query).fetchall()
        found[name] = [(column, kind) for column, kind, *_ in con.execute(f"DESCRIBE {query}").fetchall()], rows
    return found


def read_all(folder: Path) -> dict[str, Any]:
    return {
        path.name: samples(path)
        for path in sorted(folder.iterdir())
        if path.is_file() and ".json" in path.name or ".parquet" in path.name
    }


# One of each input format, deduplicator and kind of step; parts of the others are in these.
RUN = (
    "csv_table",
    "keep_stats",
    "line",
    "minhash_between_filters",
    "mixed_files",
    "nested_text",
    "own_sql",
    "text_files",
    "typed_parquet",
)


@pytest.mark.parametrize("name", [*RUN, *(pytest.param(n, marks=pytest.mark.long) for n in NAMES if n not in RUN)])
def test_script_gives_what_the_run_gives(name: str, inputs: Path) -> None:
    run = refinery.run(f"{name}.yaml", work_dir="work")
    with duckdb.connect(str(run.database), read_only=True) as con:
        expected = tables(con)
    exported = read_all(inputs / "out")
    for path in (inputs / "out").iterdir():
        path.unlink()
    script = refinery.compile(f"{name}.yaml", work_dir="work")
    with duckdb.connect() as con:
        if "refinery.register(con)" in script:
            refinery.register(con)
        con.execute(script).fetchall()
        found = tables(con)
        assert found == {name: expected[name] for name in found}
        assert ("duplicates" in found) == ("deduplicator" in script)
    assert read_all(inputs / "out") == exported
    assert exported and run.counts.kept and run.counts.removed


@pytest.mark.parametrize("name", [pytest.param("two_versions", marks=pytest.mark.long), "exact"])
def test_script_needs_nothing_but_duckdb(name: str, inputs: Path) -> None:
    """A script that says so runs in a process that cannot import refinery, twice over one database."""
    Path("script.sql").write_text(refinery.compile(f"{name}.yaml"), encoding="utf-8")
    code = (
        "import sys, duckdb\n"
        "sys.modules['refinery'] = None\n"
        "con = duckdb.connect('tables.duckdb')\n"
        "for _ in range(2): con.execute(open('script.sql').read()).fetchall()\n"
        "print(con.execute('SELECT count(*) FROM ledger').fetchall()[0][0])\n"
        "con.close()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == refinery.run(f"{name}.yaml", overwrite=True).counts.removed


def test_script_over_a_table_in_memory() -> None:
    """`compile(dataset=...)` reads a relation of the name `dataset`."""
    dataset = pa.table({"text": ["long enough", "short", None]})
    with duckdb.connect() as con:
        con.register("dataset", dataset)
        script = refinery.compile(
            {"export_path": "kept.jsonl", "process": [{"text_length_filter": {"min_len": 6}}]}, dataset
        )
        con.execute(script[: script.index("-- Write")]).fetchall()
        assert con.execute("SELECT _row FROM ledger UNION ALL SELECT _row FROM quarantine").fetchall() == [(1,), (2,)]

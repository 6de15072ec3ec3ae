"""Folders that hold more than data: one format, names that are never data, partitions, entries that are no files."""

import json
import os
import socket
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
from tests.io.test_sources import put
from tests.sampling import sampled

LINE = b'{"text":"a"}\n'


def names(*inputs: object, **options: Any) -> tuple[list[str], list[str]]:
    sources, notes = find([str(item) for item in inputs], **options)
    return [Path(source.path).name for source in sources], notes


def rows(*inputs: object, size: int = 1 << 20) -> list[dict[str, Any]]:
    shards = cut(find([str(item) for item in inputs])[0], size)
    return [batch.sample(i) for shard in shards for batch in read(shard) for i in range(len(batch))]


def test_a_folder_of_hugging_face_is_read_without_its_page(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys(["README.md", "LICENSE.txt", "readme.txt", ".gitattributes", "_notes.md"], b"# page"))
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "data" / "train-00000-of-00001.parquet")
    found, [note] = names(tmp_path)
    assert found == ["train-00000-of-00001.parquet"]
    assert "5 hidden, a marker or a README" in note
    assert names(tmp_path / "**" / "*")[0] == found
    put(tmp_path / "texts", {"README.md": b"a", "b.md": b"b"})
    assert names(tmp_path / "texts" / "*.md")[0] == ["b.md"]
    assert names(tmp_path / "texts" / "README*")[0] == ["README.md"]
    assert names(tmp_path / "texts" / "README.md")[0] == ["README.md"]


def test_a_folder_is_read_as_the_format_of_most_files(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys(["a.jsonl", "b.json", "c.csv", "d.txt"], LINE))
    found, [note] = names(tmp_path)
    assert found == ["a.jsonl", "b.json"]
    assert "1 csv (most are jsonl" in note and "1 text (most are jsonl" in note
    assert names(tmp_path / "*")[0] == found
    assert names(tmp_path, suffixes=["jsonl", "csv"])[0] == ["a.jsonl", "c.csv"]
    put(tmp_path / "even", {"a.csv": b"text\n" + b"long " * 9, "b.txt": b"short"})
    assert names(tmp_path / "even")[0] == ["a.csv"]


def test_names_with_a_line_below_are_no_data(tmp_path: Path) -> None:
    put(tmp_path, dict.fromkeys(["a.json", "_SUCCESS", "_metadata", "_temporary/0/b.json", "_raw/c.json"], LINE))
    assert names(tmp_path)[0] == ["a.json"]
    assert names(tmp_path / "*")[0] == ["a.json"]
    assert names(tmp_path / "_raw")[0] == ["c.json"]
    assert names(tmp_path / "_raw" / "*")[0] == ["c.json"]


@pytest.mark.parametrize("place", ["", "*", "*.jsonl", "**/*.jsonl"])
def test_entries_that_are_no_files_are_named(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"a.jsonl": LINE})
    os.mkfifo(tmp_path / "p.jsonl")
    (tmp_path / "gone.jsonl").symlink_to("nowhere.jsonl")
    (tmp_path / "self.jsonl").symlink_to("self.jsonl")
    os.mkfifo(tmp_path / "harmless.log")
    (tmp_path / ".hidden.jsonl").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the path of a socket may have 107 bytes
        server.bind("s.jsonl")
        with pytest.raises(DataError) as error:
            find([str(tmp_path / place)])
    for said in ("p.jsonl is a named pipe", "gone.jsonl is a link to nowhere.jsonl, which is not there",
                 "self.jsonl is not accessible", "s.jsonl is a socket"):  # fmt: skip
        assert said in str(error.value)
    assert "harmless" not in str(error.value) and "hidden" not in str(error.value)
    with pytest.raises(DataError, match="neither a file nor a folder, but a named pipe"):
        find([str(tmp_path / "p.jsonl")])
    with pytest.raises(DataError, match="gone.jsonl: a link to nowhere.jsonl, which is not there"):
        find([str(tmp_path / "gone.jsonl")])


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl")
    put(tmp_path, {"a.jsonl": LINE, os.path.basename(odd): LINE})
    for place in (odd, str(tmp_path), str(tmp_path / "*.jsonl"), odd + "x"):
        with pytest.raises(DataError, match=r"caf\\xe9\.jsonlx?(:| is).* not UTF-8"):
            find([place])
    assert names(tmp_path / "a*")[0] == ["a.jsonl"]


def test_an_empty_folder_says_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no file to read. Readable are jsonl"):
        find([str(tmp_path / "empty")])
    put(tmp_path / "other", {"README.md": b"x", "a.png": b"x", "b.png": b"x"})
    with pytest.raises(DataError, match="2 .png, of no known format, 1 hidden, a marker or a README"):
        find([str(tmp_path / "other")])


DELTA = "_delta_log/00000000000000000000.json"
ICEBERG = "metadata/v1.metadata.json"


@pytest.mark.parametrize(
    ("log", "data", "kind"),
    [
        (DELTA, "part-0.parquet", "Delta"),
        (DELTA, "lang=en/part-0.parquet", "Delta"),
        (ICEBERG, "data/0.parquet", "Iceberg"),
        (ICEBERG, "data/lang=en/0.parquet", "Iceberg"),
        (".hoodie/hoodie.properties", "p/0.parquet", "Hudi"),
    ],
)
def test_tables_with_a_log_are_refused(tmp_path: Path, log: str, data: str, kind: str) -> None:
    put(tmp_path, {f"table/{log}": b"{}"})
    file = tmp_path / "table" / data
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"text": ["x"]}), file)
    for place in ("", "table", "table/**/*.parquet", str(Path("table") / Path(data).parent / "*.parquet")):
        if kind == "Hudi" and "p/" in place:
            continue
        with pytest.raises(DataError, match=f"table: is a {kind} table"):
            find([str(tmp_path / place)])
    assert names(file)[0] == [file.name]


# Partitions


def partitioned(folder: Path, kind: str) -> Path:
    for year, lang, texts in ((2023, "en", ["a"]), (2024, "de", ["b", "c"]), (2024, "z%C3%BC%20x", ["d"])):
        place = folder / f"year={year}" / f"lang={lang}"
        place.mkdir(parents=True)
        table = pa.table({"text": texts})
        if kind == "parquet":
            pq.write_table(table, place / "0.parquet")
        elif kind == "csv":
            (place / "0.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
        elif kind == "txt":
            for text in texts:
                (place / f"{text}.txt").write_text(text)
        elif kind == "json":
            (place / "0.json").write_text(json.dumps([{"text": text} for text in texts]))
        else:
            (place / "0.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return folder


PARTITIONS = [(kind, size) for kind in ("parquet", "csv", "txt", "json", "jsonl") for size in (1, 1 << 20)]


@pytest.mark.parametrize(("kind", "size"), sampled(PARTITIONS, every=3))
def test_folders_named_by_key_and_value_are_fields(tmp_path: Path, kind: str, size: int) -> None:
    folder = partitioned(tmp_path / "data", kind)
    expected = [
        {"text": "a", "year": 2023, "lang": "en"},
        {"text": "b", "year": 2024, "lang": "de"},
        {"text": "c", "year": 2024, "lang": "de"},
        {"text": "d", "year": 2024, "lang": "zü x"},
    ]
    assert rows(folder, size=size) == expected
    assert rows(folder / "*" / "lang=*", size=size) == expected
    assert rows(folder / "year=2023") == [{"text": "a", "lang": "en"}]


def test_the_value_of_the_file_goes_before_that_of_the_folder(tmp_path: Path) -> None:
    put(tmp_path, {"n=1/a.jsonl": b'{"text":"a","n":5}\n{"te\\u0078t":"b"}\n{}\n', "n=x/b.jsonl": LINE})
    (tmp_path / "n=__HIVE_DEFAULT_PARTITION__").mkdir()
    (tmp_path / "n=__HIVE_DEFAULT_PARTITION__" / "c.jsonl").write_bytes(LINE)
    assert rows(tmp_path) == [
        {"text": "a", "n": 5},
        {"text": "b", "n": "1"},
        {"n": "1"},
        {"text": "a", "n": None},
        {"text": "a", "n": "x"},
    ]
    for value, n in (("1", 7), ("2", 8)):
        (tmp_path / "p" / f"N={value}").mkdir(parents=True)
        pq.write_table(pa.table({"text": ["a"], "n": [n]}), tmp_path / "p" / f"N={value}" / "a.parquet")
    assert [row["n"] for row in rows(tmp_path / "p")] == [7, 8]


@pytest.mark.parametrize("kind", ["parquet", pytest.param("jsonl", marks=pytest.mark.long)])
def test_a_run_reads_and_writes_partitions(tmp_path: Path, kind: str) -> None:
    from refinery import api

    partitioned(tmp_path / "data", kind)
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        f"dataset_path: {tmp_path}/data\nexport_path: {tmp_path}/out.jsonl\nwork_dir: {tmp_path}/work\n"
        "process:\n  - sql_filter: {where: \"year > 2023 AND lang <> 'de'\"}\n"
    )
    api.run(recipe)
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {"text": "d", "year": 2024, "lang": "zü x"}
    os.rename(tmp_path / "data" / "year=2024", tmp_path / "data" / "year=2025")
    api.run(recipe)
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {"text": "d", "year": 2025, "lang": "zü x"}


@pytest.mark.parametrize(
    "kind", ["parquet", "jsonl", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("csv", "json", "txt"))]
)
def test_the_script_reads_partitions_and_the_last_of_keys_too(tmp_path: Path, kind: str) -> None:
    from refinery import api

    folder = partitioned(tmp_path / "data", kind)
    if kind == "jsonl":
        place = folder / "year=2024" / "lang=de" / "1.jsonl"
        place.write_text('{"text": "x", "te\\u0078t": "é", "lang": "own"}\n{ "text":"}" }\nbroken\n')
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        f"dataset_path: {folder}\nexport_path: {tmp_path}/out.jsonl\nwork_dir: {tmp_path}/work\n"
        "process:\n  - sql_filter: {where: \"year > 2023 AND lang <> 'zü x' AND text <> 'x'\"}\n"
    )
    api.run(recipe)
    expected = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(expected) == (4 if kind == "jsonl" else 2)
    (tmp_path / "out.jsonl").unlink()
    con = duckdb.connect()
    con.execute(api.compile(recipe)).fetchall()
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == expected


# Links that lead nowhere, and folders that cannot be read


def lost(folder: Path) -> None:
    put(folder, {"a/a.jsonl": LINE, "c/c.jsonl": LINE})
    for name in ("b", "lang=de", "v1.0", "lang=d.e"):
        (folder / name).symlink_to("/nowhere/at/all")
    for name in (".x", "_x", "README", "photo.png"):
        (folder / name).symlink_to("/nowhere/at/all")


@pytest.mark.parametrize("place", ["", "*", "**/*", "**/*.jsonl", "*/*.jsonl", "*/**/*.jsonl", "*/.././*/*.jsonl"])
@pytest.mark.parametrize("suffixes", [None, ["jsonl"]])
def test_links_that_may_lead_to_folders_are_named(tmp_path: Path, place: str, suffixes: list[str] | None) -> None:
    lost(tmp_path)
    with pytest.raises(DataError) as error:
        find([str(tmp_path / place)], suffixes)
    for name in ("/b", "/lang=de", "/v1.0", "/lang=d.e"):
        assert f"{name} is a link to /nowhere/at/all, which is not there" in str(error.value)
    for name in (".x", "_x", "README"):
        assert f"/{name} is" not in str(error.value)


def test_a_pattern_counts_for_the_links_that_it_matches(tmp_path: Path) -> None:
    lost(tmp_path)
    for place in ("[ac]/*.jsonl", "a", "?/a*.jsonl"):
        if place[0] != "?":
            assert names(tmp_path / place)[0]
            continue
        with pytest.raises(DataError, match=r"/b is a link to /nowhere"):
            find([str(tmp_path / place)])
    (tmp_path / "a" / "data").mkdir()
    put(tmp_path / "a" / "data", {"x.jsonl": LINE})
    (tmp_path / "c" / "data").symlink_to("gone")
    with pytest.raises(DataError, match="/c/data is a link to gone, which is not there"):
        find([str(tmp_path / "[ac]" / "data" / "*.jsonl")])


def test_odd_entries_without_a_data_suffix_are_named_in_the_notes(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": LINE})
    os.mkfifo(tmp_path / "queue")
    (tmp_path / "photo.png").symlink_to("gone.png")
    for place in ("", "*"):
        said = " ".join(names(tmp_path / place)[1])
        assert "queue is a named pipe" in said and "photo.png is a link to gone.png" in said


@pytest.mark.parametrize("place", ["", "*", "*/*.jsonl", "**/*.jsonl", "locked/*.jsonl", "*/*/*.jsonl"])
def test_folders_that_cannot_be_read_are_named(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"a/a.jsonl": LINE, "a/a/a.jsonl": LINE, "locked/b.jsonl": LINE})
    (tmp_path / "locked").chmod(0)
    user, ids = os.geteuid(), os.getegid()
    allowed = [
        (folder, folder.stat().st_mode) for folder in (tmp_path, *tmp_path.parents) if folder.stat().st_uid == user
    ]
    try:
        if user == 0:  # to whom no folder is locked
            for folder, mode in allowed:
                folder.chmod(mode | 0o055)
            os.setegid(65534)
            os.seteuid(65534)
            monkeypatch.setattr(os, "access", partial(os.access, effective_ids=True))
        with pytest.raises(DataError, match="locked"):
            find([str(tmp_path / place)])
    finally:
        os.seteuid(user)
        os.setegid(ids)
        for folder, mode in allowed:
            folder.chmod(mode)
        (tmp_path / "locked").chmod(0o755)

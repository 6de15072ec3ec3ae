"""Input formats of users: the example of docs/extending.md, loaded from a folder of operators and run end to end."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.api import Run
from refinery.errors import OperatorError, RecipeError
from refinery.io.line_errors import DAMAGED
from refinery.operators import Library
from refinery.recipe.schema import recipe_schema
from tests.runs import exported, rows
from tests.sampling import first_of_each
from tests.user_formats import GENES, SAMPLES, example, folder_with, genes


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    """A recipe that reads the files with the reader of the documentation."""
    return {
        "dataset_path": str(genes(tmp_path / "genes")),
        "operators": [str(folder_with(tmp_path / "own", example()))],
        "export_path": str(tmp_path / "run" / "out.jsonl"),
        "np": 2,
        "process": [{"text_length_filter": {"min_len": 5}}],
    }


def reused(run: Run) -> list[int]:
    return [count for (count,) in run.sql("SELECT reused FROM shards ORDER BY shard").fetchall()]


@pytest.mark.parametrize("workers", ["processes", pytest.param("threads", marks=pytest.mark.long)])
def test_the_example_of_the_documentation(tmp_path: Path, recipe: dict[str, Any], workers: str) -> None:
    run = refinery.run(recipe | {"workers": workers})
    assert exported(run) == [*SAMPLES, *({"id": name, "about": "", "text": 5 * base} for name, base in ("cG", "dC"))]
    found = rows(run, "quarantine", "_row, file, line, error, raw")
    error = "a record is a line with > and a name, and lines of a sequence"
    places = [(1, "1.fa", 2, ">broken"), (4, "3.fa", 1, "no record")]
    assert found == [(row, str(tmp_path / "genes" / name), line, error, raw) for row, name, line, raw in places]
    assert rows(run, "files", "file, rows") == [
        (str(tmp_path / "genes" / name), count) for name, count in (("1.fa", 3), ("2.fasta.gz", 1), ("3.fa", 2))
    ]


def test_results_are_used_again_until_the_reader_changes(tmp_path: Path, recipe: dict[str, Any]) -> None:
    first = refinery.run(recipe)
    assert not any(reused(first))
    other = example().replace("fasta", "other").replace(', ".fa"', ",")
    folder_with(tmp_path / "own", other, "other")  # another reader of the folder changes nothing
    assert all(reused(refinery.run(recipe)))
    folder_with(tmp_path / "own", "", "_helper")  # a helper beside the reader counts as the reader
    assert not any(reused(refinery.run(recipe)))
    folder_with(tmp_path / "own", example().replace('"id": name', '"id": name.upper()'))
    changed = refinery.run(recipe)
    assert not any(reused(changed))
    assert [sample["id"] for sample in exported(changed)] == ["A", "B", "C", "D"]


def test_a_named_format_reads_any_suffix(tmp_path: Path, recipe: dict[str, Any]) -> None:
    (tmp_path / "genes.data").write_bytes(GENES)
    source = {"type": "local", "path": str(tmp_path / "genes.data"), "format": "fasta"}
    run = refinery.run({**recipe, "dataset_path": None, "dataset": {"configs": [source]}})
    assert exported(run) == SAMPLES


WRONG = {  # what the reader does after its first sample, and what is said
    "raise KeyError('x')": "what follows in the file is not read: read of odd.py raised KeyError: 'x'",
    "yield 'second'": "read yields a sample as a dict, not str",
    "yield {'text': '\\udc80'}": "invalid UTF-8",
    "yield {'text': 'x', 'n': {1, 2}, (1,): 2}": "cannot be written as JSON",
    "yield {'text': 'x', 1: 'a', '1': 'b'}": "two fields have the name '1' as text",
    "deep = {}\n    for _ in range(1200): deep = {'a': deep}\n    yield {'text': 'x', 'deep': deep}": "recursion depth",
}


def test_what_a_reader_does_wrong_is_in_quarantine(tmp_path: Path, recipe: dict[str, Any]) -> None:
    """A reader and a file for each mistake."""
    for k, body in enumerate(WRONG):
        code = f"FORMAT = 'odd{k}'\nSUFFIXES = ('.odd{k}',)\n\n\ndef read(stream):\n"
        code += f"    yield {{'text': 'first'}}\n    {body}\n"
        folder_with(tmp_path / "odd", code, f"odd{k}")
        (tmp_path / f"x.odd{k}").write_bytes(b"anything")
    files = [str(tmp_path / f"x.odd{k}") for k in range(len(WRONG))]
    run = refinery.run(recipe | {"dataset_path": files, "operators": [str(tmp_path / "odd")]})
    assert [sample["text"] for sample in exported(run)] == ["first"] * len(WRONG)
    found = rows(run, "quarantine", "file, line, error")
    assert [(file, line) for file, line, _ in found] == [(file, 2) for file in files]
    assert any("could not be read to its end" in note for note in run.warnings)
    for (_, _, error), said in zip(found, WRONG.values(), strict=True):
        assert said in re.sub(r"odd\d", "odd", error)


ENDINGS = [
    ("os._exit(0)", "the worker process ended with exit status 0"),
    ("raise SystemExit(0)", "ended with SystemExit"),
]


@pytest.mark.parametrize(
    ("ending", "message", "samples"),
    first_of_each(
        [(*ENDINGS[0], 1), (*ENDINGS[1], 20_000), (*ENDINGS[0], 20_000), (*ENDINGS[1], 1)], lambda ending, *_: ending
    ),
)
def test_a_reader_that_ends_the_process_is_an_error(
    tmp_path: Path, recipe: dict[str, Any], ending: str, message: str, samples: int
) -> None:
    code = (
        "import os\nFORMAT = 'odd'\nSUFFIXES = ('.odd',)\n\n\ndef read(stream):\n"
        f"    for n in range({samples}):\n        yield {{'text': f'text {{n}}'}}\n    {ending}\n"
    )
    (tmp_path / "x.odd").write_bytes(b"anything")
    own = folder_with(tmp_path / "odd", code, "odd")
    with pytest.raises(OperatorError, match=message):
        refinery.run(recipe | {"dataset_path": str(tmp_path / "x.odd"), "operators": [str(own)], "workers": "threads"})
    assert not (tmp_path / "run" / "out.jsonl").exists()


def test_no_sample_ends_where_compressed_data_is_damaged(tmp_path: Path, recipe: dict[str, Any]) -> None:
    whole = gzip.compress(b"".join(b">s%d\nACGTACGT%d\n" % (k, k * k) for k in range(8_000)))
    (tmp_path / "cut.fa.gz").write_bytes(whole[: len(whole) // 2])
    run = refinery.run(recipe | {"dataset_path": str(tmp_path / "cut.fa.gz")})
    found = [sample["text"] for sample in exported(run)]
    assert found == [f"ACGTACGT{k * k}" for k in range(len(found))] and len(found) > 1000
    [(line, error)] = rows(run, "quarantine", "line, error")
    assert line == len(found) + 1 and error.startswith(DAMAGED)
    [alarm, *_] = run.warnings
    assert "could not be read to its end" in alarm and not any("not declared" in note for note in run.warnings)


def test_rows_of_arrow_are_samples(tmp_path: Path, recipe: dict[str, Any]) -> None:
    code = """
        import pyarrow as pa

        FORMAT = "pairs"
        SUFFIXES = (".pairs",)


        def read(stream):
            yield pa.table({"text": [line.decode().strip() for line in stream], "n": [1, 2]})
    """
    (tmp_path / "x.pairs").write_bytes(b"first\nsecond\n")
    own = folder_with(tmp_path / "pairs", re.sub(r"(?m)^ {8}", "", code), "pairs")
    run = refinery.run(recipe | {"dataset_path": str(tmp_path / "x.pairs"), "operators": [str(own)]})
    assert exported(run) == [{"text": "first", "n": 1}, {"text": "second", "n": 2}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('FORMAT = "fasta"', 'FORMAT = "jsonl"'), "the format 'jsonl' is there already"),
        (('".fa")', '".csv")'), "files with suffix '.csv' are read as csv"),
        (('".fa")', '".gz")'), "compressed files are unpacked before"),
        (('FORMAT = "fasta"', 'FORMAT = "fas" + "ta"'), "FORMAT must be a plain value"),
        (("def read(", "def load("), "there is no function read"),
    ],
)
def test_a_wrong_declaration_is_refused(
    tmp_path: Path, recipe: dict[str, Any], change: tuple[str, str], message: str
) -> None:
    own = folder_with(tmp_path / "wrong", example().replace(*change))
    with pytest.raises((OperatorError, RecipeError), match=message):
        refinery.run(recipe | {"operators": [str(own)]})


def test_declarations_are_read_without_running_the_file(tmp_path: Path) -> None:
    own = folder_with(tmp_path, example() + "\nraise SystemExit\n")
    assert Library((own,)).readers["fasta"].suffixes == (".fasta", ".fa")


def test_recipes_and_their_schema_know_the_format(tmp_path: Path) -> None:
    library = Library((folder_with(tmp_path, example()),))
    assert '"fasta"' in json.dumps(recipe_schema(library)) and '"fasta"' not in json.dumps(recipe_schema(Library()))
    source = {"type": "local", "path": str(tmp_path), "format": "fast"}
    with pytest.raises(RecipeError, match="formats are jsonl, .*, warc, fasta. Did you mean 'fasta'"):
        refinery.run({"dataset": {"configs": [source]}, "operators": [str(tmp_path)], "process": []})


def test_a_script_of_sql_is_refused(recipe: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="no SQL script"):
        refinery.compile(recipe)

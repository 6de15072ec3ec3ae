"""`refinery init`: a recipe for the user's data that is correct as it is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.cli.conftest import Call

SAMPLES = [
    {
        "url": f"https://example.com/{n}",
        "meta": {"te.xt": f"a note on {n}"},
        "body": f"a long text number {n} " * 9,
        "n": n,
    }
    for n in range(30)
]


def written(kind: str) -> str:
    """The samples in a file."""
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(SAMPLES), "my docs.parquet")
    elif kind == "csv":
        lines = ["url,body,n", *(f"{row['url']},{row['body']},{row['n']}" for row in SAMPLES)]
        Path("my docs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        Path("my docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SAMPLES), encoding="utf-8")
    return f"my docs.{kind}"


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
def test_the_recipe_runs_as_it_is_written(folder: Path, call: Call, kind: str) -> None:
    done = call("init", written(kind))
    assert done.code == 0 and "my_docs.yaml is written" in done.out
    content = yaml.safe_load(Path("my_docs.yaml").read_text(encoding="utf-8"))
    assert content["text_keys"] == "body" and content["keep_fields"] == ["url"]
    again = call("run", "my_docs.yaml", "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["rows"]["kept"] == 30


def test_fields_are_described(folder: Path, call: Call) -> None:
    call("init", written("jsonl"), "-o", "first.yaml")
    text = Path("first.yaml").read_text(encoding="utf-8")
    assert "refinery run first.yaml --show" in text and "Fields of 30 samples" in text
    assert '#   "body": text, 19' in text and '#   "n": a number' in text
    assert '#   "meta.\\"te.xt\\"": text, 1' in text


def test_fields_that_are_null_in_some_samples_have_their_kind(folder: Path, call: Call) -> None:
    Path("a.jsonl").write_text(
        '{"text": "a b c", "n": null, "x": null}\n{"text": "d e f", "n": 0.5, "x": null}\n', "utf-8"
    )
    call("init", "a.jsonl")
    text = Path("a.yaml").read_text(encoding="utf-8")
    assert '#   "n": a number\n' in text and '#   "x": null\n' in text


def test_a_nested_field_may_be_the_text(folder: Path, call: Call) -> None:
    Path("a.jsonl").write_text(json.dumps({"id": "x", "meta": {"te.xt": "a long text"}}) + "\n", encoding="utf-8")
    assert call("init", "a.jsonl").code == 0
    assert call("run", "a.yaml", "--quiet").code == 0


def test_no_file_is_overwritten(folder: Path, call: Call) -> None:
    Path("my_docs.yaml").write_text("mine", encoding="utf-8")
    done = call("init", written("jsonl"))
    assert done.code == 6 and "my_docs.yaml: is there already" in done.err
    assert Path("my_docs.yaml").read_text(encoding="utf-8") == "mine"


def recipe_for(call: Call, samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The recipe that the command writes for samples, which has run with every sample kept or in quarantine."""
    Path("a.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")
    assert call("init", "a.jsonl").code == 0
    assert call("check", "a.yaml").code == 0
    done = call("run", "a.yaml", "--json")
    assert done.code == 0 and json.loads(done.out)["rows"]["removed"] == 0, done.err
    recipe = yaml.safe_load(Path("a.yaml").read_text(encoding="utf-8"))
    assert isinstance(recipe, dict)
    return recipe


@pytest.mark.parametrize("odd", [7, None, ["a"], {"a": "b c d"}])
def test_one_value_of_another_type_is_no_reason_for_another_field(folder: Path, call: Call, odd: Any) -> None:
    samples: list[dict[str, Any]] = [
        {"id": f"document number {n}", "text": f"a text with number {n} and more words"} for n in range(100)
    ]
    samples[3]["text"] = odd
    assert recipe_for(call, samples)["text_keys"] == "text"
    assert '#   "text": text in 99 of 100 samples, ' in Path("a.yaml").read_text(encoding="utf-8")


def test_long_texts_of_few_samples_are_not_the_field_of_text(folder: Path, call: Call) -> None:
    samples = [{"text": f"a text with number {n} and more words"} for n in range(100)]
    for sample in samples[::10]:
        sample["abstract"] = "a long abstract of a few " * 20
    assert recipe_for(call, samples)["text_keys"] == "text"


def test_names_are_not_the_field_of_text_where_some_samples_have_none(folder: Path, call: Call) -> None:
    samples = [
        {"id": f"warc-record-{n:060}", "text": f"a text of number {n} and words" if n % 4 else None} for n in range(99)
    ]
    assert recipe_for(call, samples)["text_keys"] == "text"
    assert "this one is in 75%" in Path("a.yaml").read_text(encoding="utf-8")


UNSPACED = {
    "Chinese": "这是一个没有空格的中文句子，用来测试初始化命令。",
    "Japanese": "これは空白のない日本語の文章です。単語の数は数えられません。",
    "Thai": "นี่คือประโยคภาษาไทยที่ไม่มีช่องว่างระหว่างคำ",
}


@pytest.mark.parametrize("language", UNSPACED)
def test_texts_without_spaces_are_not_measured_in_words(folder: Path, call: Call, language: str) -> None:
    steps = recipe_for(call, [{"text": f"{UNSPACED[language]}{n}"} for n in range(60)])["process"]
    names = [next(iter(step)) for step in steps]
    assert "words_num_filter" not in names and "text_length_filter" in names


def test_a_tenth_of_texts_without_spaces_is_enough(folder: Path, call: Call) -> None:
    samples = [
        {"text": f"a text with number {n} and more words" if n % 10 else UNSPACED["Chinese"] + str(n)}
        for n in range(60)
    ]
    assert "words_num_filter" not in [next(iter(step)) for step in recipe_for(call, samples)["process"]]


def test_scripts_with_marks_keep_their_texts(folder: Path, call: Call) -> None:
    """Vowel signs of Devanagari are no letters for the filter, as for Data-Juicer."""
    samples = [{"text": f"यह एक वाक्य है जो हिंदी में लिखा गया है और परीक्षण के लिए है {n}"} for n in range(60)]
    assert "words_num_filter" in [next(iter(step)) for step in recipe_for(call, samples)["process"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"n": 1}\n', "no field holds text. Its fields are n"), ("no json\n", "no sample can be read")],
)
def test_data_without_text(folder: Path, call: Call, content: str, message: str) -> None:
    Path("a.jsonl").write_text(content, encoding="utf-8")
    done = call("init", "a.jsonl")
    assert done.code == 3 and message in done.err and not Path("a.yaml").exists()


def test_data_that_are_missing(folder: Path, call: Call) -> None:
    done = call("init", "nowhere.jsonl")
    assert done.code == 3 and "nowhere.jsonl" in done.err

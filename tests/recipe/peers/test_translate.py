"""Configurations of other tools are translated to recipes: every step, or the reason why not."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
import yaml

import refinery
from refinery.errors import RecipeError
from refinery.operators import Library
from refinery.recipe.peers.detect import translate
from refinery.recipe.peers.write import recipe_text

DCLM = """
- source: cc
  steps:
    - func: move_url_modifier
    - func: word_length_filter  # of characters
      min_length: 3
      max_length: 10
    - func: symbol_ratio_filter
      max_symbol_to_word_ratio: 0.1
      _aggregate: {a: {type: histogram}}
    - func: no_such_filter
    - func: detect_lang_whole_page_enricher
      model: langdetect
      key_prefix: language
    - func: language_filter
      key: language_langdetect
      keep_languages: [en]
      threshold: 0.9
"""

DATAMAP = """
name: code
text_field: text
pipeline:
  - name: text_len_filter
    kwargs:
      lower_bound: 4
      upper_bound: 262,144
      max_length: 3
  - name: symbol_ratio_filter
    kwargs: {max_symbol_to_word_ratio: 0.5}
  - name: add_id
    kwargs: {id_key: id}
  - name: fasttext_annotator
    kwargs: {fast_text_file: model.bin, output_field: metadata.lang}
  - name: float_filter
    kwargs: {float_field: metadata.lang.__label__en, lower_bound: 0.65}
"""

FINEWEB2 = """
dup_line_frac: 0.264
dup_n_grams: [[5, 0.15]]
language_score: 0.824
line_punct_thr: 0.1
max_avg_word_length: 11
max_non_alpha_words_ratio: 0.812
min_avg_word_length: 2
new_line_ratio: 0.185
stopwords: [de, la]
top_n_grams: [[2, 0.161]]
"""

NEMO = """
input_path: ???
text_field: body
stages:
  - _target_: nemo_curator.stages.text.io.reader.JsonlReader
    file_paths: ${input_path}
  - _target_: nemo_curator.stages.text.filters.score_filter.ScoreFilter
    filter_obj:
      _target_: nemo_curator.stages.text.filters.heuristic.string.WordCountFilter
      min_words: 2
      max_words: 5
    text_field: ${text_field}
  - _target_: nemo_curator.stages.text.filters.score_filter.ScoreFilter
    filter_obj:
      _target_: nemo_curator.stages.text.filters.heuristic.code.TokenizerFertilityFilter
      path_to_tokenizer: x
"""

DOLMA = """
streams:
- name: one
  documents: [a/*.gz]
  output: {path: out, min_text_length: 2}
  filter:
    exclude:
    - "$.attributes[?(@.exp__tagger__count && @.exp__tagger__count[0] && @.exp__tagger__count[0][2] < 50)]"
    - "$.attributes[?(@.exp__tagger__count[0][2] > 5 || @.exp__tagger__other)]"
    - "$.attributes[?(@.bff_duplicate_docs && @.bff_duplicate_docs[0] && @.bff_duplicate_docs[0][2] >= 1.0)]"
"""


def test_a_recipe_is_no_configuration() -> None:
    assert translate("dataset_path: a\nprocess:\n- text_length_filter:\n", "recipe.yaml") is None
    assert translate("func: [", "broken.yaml") is None


def test_dclm() -> None:
    found = translate(DCLM, "dclm.yaml", {"word_length_filter": 1, "symbol_ratio_filter": 1, "language_filter": 1})
    assert found is not None and found.peer == "DCLM"
    assert [step for item in found.items for step in item.steps] == [
        {"word_length_filter": {"min_length": 3, "max_length": 10}},
        {"symbol_ratio_filter": {"as": "dclm", "max_symbol_to_word_ratio": 0.1}},
    ]
    assert [(item.line, item.name) for item in found.missing] == [
        (11, "no_such_filter"),
        (12, "detect_lang_whole_page_enricher"),
        (15, "language_filter"),
    ]


def test_datamap_takes_defaults_where_the_program_does() -> None:
    found = translate(DATAMAP, "code.yaml")
    assert found is not None and not found.missing
    assert [step for item in found.items for step in item.steps] == [
        {"text_len_filter": {"lower_bound": 4}},
        {"symbol_ratio_filter": {"as": "datamap", "max_symbol_to_word_ratio": 0.5}},
        {"fasttext_annotator": {"fast_text_file": "model.bin", "output_field": "lang"}},
        {"float_filter": {"float_field": "lang ->> '__label__en'", "lower_bound": 0.65}},
    ]
    notes = " ".join(note for item in found.items for note in item.notes)
    assert "'262,144', which datamap-rs takes for its default" in notes and "does not read max_length" in notes


def test_fineweb2_is_named_by_its_file() -> None:
    found = translate(FINEWEB2, "configs/fra_Latn.yml")
    assert found is not None and not found.missing
    steps = {name: params for item in found.items for step in item.steps for name, params in step.items()}
    assert steps["language_filter"]["languages"] == ["fra_Latn"]
    assert steps["gopher_quality_filter"]["stop_words"] == ["de", "la"]
    assert steps["fineweb_quality_filter"] == {
        "language": "fra_Latn",
        "short_line_thr": 999,
        "char_duplicates_ratio": 0.1,
        "line_punct_thr": 0.1,
        "new_line_ratio": 0.185,
    }
    other = translate(FINEWEB2, "configs/french.yml")
    assert other is not None and [item.name for item in other.missing] == ["language"]


def test_nemo_reads_its_own_variables() -> None:
    found = translate(NEMO, "nemo.yaml")
    assert found is not None and found.keys == {"text_keys": "body"}
    assert [step for item in found.items for step in item.steps] == [
        {"word_count_filter": {"min_words": 2, "max_words": 5}}
    ]
    assert [item.name for item in found.missing] == ["TokenizerFertilityFilter"]


def test_dolma_conditions_become_sql() -> None:
    found = translate(DOLMA, "mixer.yaml")
    assert found is not None and found.keys == {"dataset_path": ["a/*.gz"], "export_path": "out/documents.jsonl.gz"}
    steps = [step for item in found.items for step in item.steps]
    assert steps[:3] == [
        {"tagger": None},
        {"sql_filter": {"where": "NOT coalesce(count < 50, false)"}},
        {"document_deduplicator": None},
    ]
    assert len(steps) == 4 and [item.name for item in found.missing] == ["filter.exclude"]


@pytest.mark.parametrize(
    ("name", "text"), [("dclm.yaml", DCLM), ("code.yaml", DATAMAP), ("nemo.yaml", NEMO), ("m.yaml", DOLMA)]
)
def test_the_written_recipe_has_every_step_or_its_reason(name: str, text: str) -> None:
    found = translate(text, name, Library().operators)
    assert found is not None
    written = recipe_text(found, name, {"dataset_path": "in.jsonl"})
    recipe = yaml.safe_load(written)
    assert recipe["process"] == [step for item in found.items for step in item.steps]
    assert recipe["dataset_path"] == "in.jsonl"
    assert written.count("MISSING: ") == len(found.missing)
    assert all(f"  # {name}:{item.line} {item.name}\n" in written for item in found.items)


def test_a_configuration_runs_as_it_is(tmp_path: Path) -> None:
    """The ledger names the line of the configuration."""
    (tmp_path / "code.yaml").write_text(DATAMAP.partition("  - name: fasttext_annotator")[0], encoding="utf-8")
    texts = ["abc", "words enough", "# # # one"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    keys = {"dataset_path": str(tmp_path / "in.jsonl"), "export_path": str(tmp_path / "kept.jsonl")}
    outcome = refinery.run(str(tmp_path / "code.yaml"), **keys, work_dir=str(tmp_path / "work"))
    assert [json.loads(line)["text"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()] == ["words enough"]
    assert any("262,144" in note for note in outcome.warnings)
    with duckdb.connect(str(tmp_path / "work" / "refinery.duckdb"), read_only=True) as db:
        places = db.sql("SELECT _row, recipe_line FROM ledger ORDER BY _row").fetchall()
    assert [(row, Path(place).name) for row, place in places] == [(0, "code.yaml:5"), (2, "code.yaml:10")]


def test_what_is_missing_is_an_error_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "dclm.yaml").write_text(DCLM, encoding="utf-8")
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    with pytest.raises(
        RecipeError, match=r"dclm.yaml:12: detect_lang_whole_page_enricher of DCLM has no translation"
    ) as error:
        refinery.run(
            str(tmp_path / "dclm.yaml"),
            dataset_path=str(tmp_path / "in.jsonl"),
            export_path=str(tmp_path / "kept.jsonl"),
        )
    assert "dclm.yaml:11" in str(error.value) and "no_such_filter" in str(error.value)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (
            NEMO.replace("    text_field: ${text_field}\n", "    text_field: ${text_field}\n    invert: true\n", 1),
            "ScoreFilter",
        ),
        (NEMO.replace("score_filter.ScoreFilter\n    filter_obj", "score_filter.Score\n    score_obj", 1), "Score"),
        (DCLM + DCLM.lstrip("\n"), "sources"),
        (DOLMA.replace("exclude:", "include:"), "filter.include"),
        (DOLMA.replace("@.exp__tagger__count && ", "@.exp__tagger__else && ", 1), "filter.exclude"),
        (DOLMA.replace("tagger__count", "tagger__EMAIL_ADDRESS"), "filter.exclude"),
    ],
)
def test_what_would_give_other_rows_is_not_translated(text: str, missing: str) -> None:
    found = translate(text, "config.yaml")
    assert found is not None and missing in [item.name for item in found.missing]

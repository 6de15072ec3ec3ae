"""The public recipes, files and dicts, what is noted, and the effective recipe that can be read again."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml

from refinery.errors import OperatorError, RecipeError
from refinery.recipe import Recipe, dump, hub_datasets, load, loads
from refinery.recipe.data_juicer import DATA_JUICER_OPERATORS
from refinery.recipe.inputs import from_path
from refinery.recipe.keys import KEYS, SUMMARY_KEYS
from refinery.recipe.override import parse_overrides, parse_set
from refinery.recipe.tree import Problems, Scalar, SourcePlace, from_python
from refinery.recipe.values import take
from tests.conftest import RECORDED
from tests.recipe.fake_library import COMPLETE, FOUNDATION, Library, operator

# The 35 public Data-Juicer recipes with text operators, where they are at hand.
FILES = RECORDED / "hub_recipes"
HUB: dict[str, Any] = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FILES.glob("*.yaml"))
}
REMOTE = {"demo__process-huggingface.yaml", "demo__process-s3.yaml"}


def text_of(name: str) -> str:
    """The recipe as it is published."""
    return (FILES / name).read_text(encoding="utf-8")


@pytest.mark.skipif(not HUB, reason="the public recipes are not at hand")
def test_there_are_35_public_recipes() -> None:
    assert len(HUB) == 35 and set(HUB) > REMOTE


@pytest.mark.parametrize("name", sorted(set(HUB) - REMOTE))
def test_public_recipe(name: str) -> None:
    recipe = loads(text_of(name), name, library=COMPLETE)
    assert recipe == load(HUB[name], library=COMPLETE)
    assert recipe == loads(json.dumps(HUB[name], indent="\t"), library=COMPLETE)
    assert [step.name for step in recipe.steps] == [next(iter(step)) for step in HUB[name]["process"]]
    for step, given in zip(recipe.steps, HUB[name]["process"], strict=True):
        for parameter, value in (given[step.name] or {}).items():
            if parameter in step.params:
                read = step.params[parameter]
                assert (list(read) if isinstance(read, tuple) else read) == (
                    float(value) if type(read) is int else value
                )


ONE = {"text_length_filter": {"min_len": 3}}


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (None, []),
        ([], []),
        ("words_num_filter", [{"words_num_filter": None}]),
        ({"words_num_filter": None}, [{"words_num_filter": None}]),
        (ONE, [ONE]),
        (["words_num_filter", ONE], [{"words_num_filter": None}, ONE]),
    ],
)
def test_process_without_a_list(written: Any, same: list[Any]) -> None:
    """As Data-Juicer's executors take it: nothing, one operator, a list."""
    given = load({"dataset_path": "a.jsonl", "process": written}, library=COMPLETE)
    assert given == load({"dataset_path": "a.jsonl", "process": same}, library=COMPLETE)
    as_text = loads(json.dumps({"dataset_path": "a.jsonl", "process": written}), library=COMPLETE)
    assert as_text == given and loads(dump(given), library=COMPLETE) == given
    assert any("process is empty" in note.text for note in given.ignored) == (not same)


def test_one_operator_can_be_changed_from_the_command_line() -> None:
    recipe = {"dataset_path": "a.jsonl", "process": "text_length_filter"}
    changes = [*parse_overrides(["--text_length_filter.min_len", "5"]), parse_set("process.1.max_len=9")]
    [step] = load(recipe, changes, library=COMPLETE).steps
    assert (step.params["min_len"], step.params["max_len"]) == (5, 9)
    [step] = load(recipe, parse_overrides(["--process", "words_num_filter"]), library=COMPLETE).steps
    assert step.name == "words_num_filter"
    assert load(recipe, parse_overrides(["--process", "null"]), library=COMPLETE).steps == ()


@pytest.mark.parametrize("key", ["load_data_np", "enable_optimizer", "optimizer_strategies"])
def test_keys_of_data_juicer_that_need_nothing_here(key: str) -> None:
    [note] = load({"dataset_path": "a.jsonl", "process": "words_num_filter", key: 2}, library=COMPLETE).ignored
    assert note.text.startswith(f"{key} has no effect: ")


def test_tracing_that_is_configured_but_off() -> None:
    keys = {"trace_num": 50, "trace_keys": ["id"], "op_list_to_trace": ["words_num_filter"]}
    recipe = {"dataset_path": "a.jsonl", "process": "words_num_filter", **keys}
    said = [note.text for note in load(recipe, library=COMPLETE).ignored]
    assert sorted(said) == sorted(f"{key} has no effect: open_tracer is false" for key in keys)
    assert not load(recipe | {"open_tracer": True}, library=COMPLETE).ignored


@pytest.mark.parametrize("name", sorted(HUB))
def test_public_recipe_with_operators_that_are_not_there(name: str) -> None:
    missing = [op for op in (next(iter(step)) for step in HUB[name]["process"]) if op not in FOUNDATION.operators]
    try:
        loads(text_of(name), name, library=FOUNDATION)
        said: list[str] = []
    except RecipeError as error:
        said = [problem.what for problem in error.problems if " source" not in problem.what]
    assert said == [f"{op} is an operator of Data-Juicer that refinery does not have" for op in missing]


@pytest.mark.skipif("demo__process-s3.yaml" not in HUB, reason="the public recipes are not at hand")
def test_public_recipe_with_credentials() -> None:
    name = "demo__process-s3.yaml"
    with pytest.raises(RecipeError, match="Set AWS_SECRET_ACCESS_KEY in the environment") as error:
        loads(text_of(name), name, library=COMPLETE)
    assert "your_secret" not in str(error.value)


@pytest.mark.skipif("demo__process-huggingface.yaml" not in HUB, reason="the public recipes are not at hand")
def test_public_recipe_with_a_dataset_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "demo__process-huggingface.yaml"
    monkeypatch.setattr(hub_datasets, "find_spec", lambda package: None)
    with pytest.raises(RecipeError, match="the dataset 'hugfaceguy0001/retarded_bar' is not on this machine"):
        loads(text_of(name), name, library=COMPLETE)
    monkeypatch.setattr(hub_datasets, "find_spec", lambda package: object())
    (source,) = loads(text_of(name), name, library=COMPLETE).inputs
    assert source.path == "hf://datasets/hugfaceguy0001/retarded_bar@~parquet/question/train/*.parquet"


@pytest.mark.parametrize("name", sorted(set(HUB) - REMOTE))
def test_dumped_recipe_is_the_same(name: str) -> None:
    recipe = loads(text_of(name), name, library=COMPLETE)
    again = loads(dump(recipe), library=COMPLETE)
    assert again == recipe
    assert dump(again) == dump(recipe)


FULL = {
    "project_name": "no",
    "dataset": {
        "max_sample_num": 7,
        "configs": [{"path": "a b.jsonl", "weight": 0.5, "format": "json"}, {"path": "*.parquet"}],
    },
    "export_path": "out/x.jsonl.zst",
    "export_shard_size": "1GB",
    "export_aws_credentials": {"aws_secret_access_key": "hidden"},
    "work_dir": "out/run",
    "text_keys": ["meta.body", "text"],
    "suffixes": ".md",
    "np": 2,
    "use_tracer": True,
    "trace_num": "all",
    "trace_keys": ["id"],
    "cache_compress": "zstd",
    "op_fusion": False,
    "memory_limit": "4GB",
    "threads": 1,
    "operators": "mine",
    "process": [
        {
            "replace_content_mapper": {
                "pattern": "a{{ '{{' }} b }}$${HOME} 'x' \"y\" \\ \x00 \u2028",
                "extra": {"k": [None, "no", 1e-5]},
            }
        },
        {"words_num_filter": {"lang": "2e5", "reversed_range": True, "text_key": "title", "batch_size": 5}},
        {"sql_filter": {"where": "score > 1\n  -- comment: {{cite}}\n"}},
    ],
    "vars": {"b": 1},
}


def test_a_full_recipe_survives_being_dumped() -> None:
    recipe = load(FULL, library=COMPLETE, environ={})
    text = dump(recipe)
    assert loads(text, library=COMPLETE, environ={}) == recipe
    assert loads(text.replace("\n", "\r\n"), library=COMPLETE, environ={}) == recipe
    assert recipe.steps[0].params["pattern"] == "a{{ b }}${HOME} 'x' \"y\" \\ \x00 \u2028"
    assert "hidden" not in text + repr(recipe)
    assert recipe.export_format == "jsonl.zst"
    assert recipe.traces.limit is None
    assert recipe.export_aws_credentials == {"aws_secret_access_key": "hidden"}


def test_defaults_are_those_of_data_juicer() -> None:
    recipe = load({"process": ["clean_email_mapper"]}, library=COMPLETE, need_inputs=False)
    assert recipe.export_path == os.path.abspath("outputs/hello_world/hello_world.jsonl")
    assert recipe.work_dir == os.path.abspath("outputs/hello_world")
    assert (recipe.np, recipe.trace_num, recipe.text_key, recipe.executor_type) == (4, 10, "text", "default")
    assert (recipe.use_cache, recipe.open_tracer) == (True, False)
    assert recipe.fusion_strategy is None  # where Data-Juicer says "probe", and fuses nothing unless op_fusion is set
    assert recipe.inputs == ()
    assert recipe.given == {"process"}


def test_every_default_is_a_value_that_its_key_accepts() -> None:
    plain = [key for key in (*KEYS.values(), *SUMMARY_KEYS.values()) if key.type not in ("mapping", "list", "paths")]
    assert len(plain) > 40
    for key in (key for key in plain if key.type != "expressions"):
        problems = Problems()
        given = from_python(key.default, key.name, problems)
        assert take(given, key, key.name, problems) == key.default and not problems.found


def test_keys_that_are_not_given_have_the_values_of_the_declaration() -> None:
    found = loads("dataset_path: a.jsonl\nprocess: []\n", library=COMPLETE)
    elsewhere = {"work_dir", "export_path", "stat_summary"}  # made absolute, or another type
    for name in Recipe.__dataclass_fields__.keys() & KEYS.keys() - elsewhere:
        assert getattr(found, name) == KEYS[name].default


def test_keys_without_a_meaning_are_noted_by_line() -> None:
    text = (
        "turbo: true\ndataset_path: a.jsonl\nexecutor_type: ray\nray_address: auto\ncheckpoint.enabled: true\n"
        "text_keys: [a, b]\nprocess:\n  - words_num_filter: {batch_size: 5, num_proc: 2}\n"
        "  - clean_email_mapper: {batch_size: 5, reversed_range: true}\nop_list_to_trace: [clean_links_mapper]\n"
    )
    notes = [str(note) for note in loads(text, library=COMPLETE).ignored]
    assert notes == [
        "recipe.yaml:1: turbo has no effect: it is for Data-Juicer's way of running operators",
        "recipe.yaml:5: checkpoint.enabled has no effect: it is for Data-Juicer's Ray engine",
        "recipe.yaml:6: only 'a' of text_keys is used; a step's text_key names another field",
        "recipe.yaml:8: words_num_filter.batch_size has no effect: its SQL and kernels run on DuckDB's vectors",
        "recipe.yaml:9: clean_email_mapper.reversed_range has no effect: only filters have a range",
        "recipe.yaml:10: clean_links_mapper cannot be traced: the recipe does not use it",
        "recipe.yaml:10: op_list_to_trace has no effect: open_tracer is false",
    ]


def test_steps_know_their_place_and_all_parameters() -> None:
    text = "dataset_path: a.jsonl\nprocess:\n  - clean_email_mapper\n  - text_length_filter:\n      min_len: 1e1\n"
    first, second = loads(text, "r.yaml", library=COMPLETE).steps
    assert (first.index, first.line, first.params, first.where) == (1, 3, {}, "r.yaml:3")
    assert second.given == {"min_len"}
    assert second.params == {
        "min_len": 10,
        "max_len": 2**63 - 1,
        "min_closed_interval": True,
        "max_closed_interval": True,
        "reversed_range": False,
    }
    assert (
        load({"process": ["clean_email_mapper"]}, library=COMPLETE, need_inputs=False).steps[0].where
        == "recipe, step 1"
    )


def test_yaml_anchors_and_merges_work() -> None:
    text = (
        "dataset_path: a.jsonl\nvars: {x: &small {min_len: 1, max_len: 5}}\nprocess:\n"
        "  - text_length_filter: {<<: *small, max_len: 9}\n  - text_length_filter: *small\n"
    )
    first, second = loads(text, library=COMPLETE).steps
    assert (first.params["min_len"], first.params["max_len"], second.params["max_len"]) == (1, 9, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.jsonl", [("a.jsonl", 1.0)]),
        ("data/*.jsonl", [("data/*.jsonl", 1.0)]),
        ("0.5 a.jsonl 2 'b c.jsonl'", [("a.jsonl", 0.5), ("b c.jsonl", 2.0)]),
        ("a.jsonl b.jsonl", [("a.jsonl", 1.0), ("b.jsonl", 1.0)]),
        ("a.jsonl 3 b.jsonl", [("a.jsonl", 1.0), ("b.jsonl", 3.0)]),
        ("inf nan", [("inf", 1.0), ("nan", 1.0)]),
    ],
)
def test_dataset_path_texts(text: str, expected: list[tuple[str, float]]) -> None:
    problems = Problems()
    assert [(s.path, s.weight) for s in from_path(Scalar(text, text, SourcePlace("x")), problems)] == expected
    assert not problems.found


def test_a_file_with_blanks_in_its_name_is_one_path(tmp_path: Path) -> None:
    path = tmp_path / "my data 2.jsonl"
    path.touch()
    (source,) = loads(f"dataset_path: {path}\nprocess: [clean_email_mapper]\n", library=COMPLETE).inputs
    assert (source.path, source.weight, source.line) == (str(path), 1.0, 1)


def test_folders() -> None:
    def folders(**keys: str) -> tuple[str, str]:
        recipe = load({"dataset_path": "a", "process": ["clean_email_mapper"], **keys}, library=COMPLETE)
        return os.path.relpath(recipe.work_dir), os.path.relpath(recipe.export_path)

    assert folders(export_path="out/x.jsonl") == ("out", "out/x.jsonl")
    assert folders(export_path="x.jsonl") == (".", "x.jsonl")
    assert folders(export_path="/x/y", export_type="jsonl") == (os.path.relpath("/x"), os.path.relpath("/x/y"))
    assert folders(work_dir="runs/{job_id}", export_path="{work_dir}/x.parquet") == ("runs", "runs/x.parquet")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def failure(path: str | Path) -> str:
        with pytest.raises(RecipeError) as error:
            load(path, library=COMPLETE)
        return str(error.value).replace(str(tmp_path), "DIR")

    (tmp_path / "web.yaml").write_text("x")
    (tmp_path / "latin.yaml").write_bytes("a: b\nproject_name: caf\xe9\n".encode("latin-1"))
    (tmp_path / "utf16.yaml").write_text("a: b", encoding="utf-16")
    (tmp_path / "control.yaml").write_bytes(b"a: b\nc: \x01\n")
    (tmp_path / "corpus.jsonl").write_bytes(b"\n" * ((16 << 20) + 1))
    assert failure(tmp_path / "wed.yaml") == "DIR/wed.yaml: no such recipe. Did you mean 'web.yaml'?"
    assert failure(tmp_path / "x.toml").startswith("DIR/x.toml: no such recipe. Recipes there: control.yaml, ")
    assert failure(tmp_path / "a" / "b.yaml") == "DIR/a/b.yaml: no such recipe. There is no folder DIR/a either."
    assert failure(tmp_path).startswith("DIR: is a directory, not a recipe. ")
    latin = failure(tmp_path / "latin.yaml")
    assert latin == "DIR/latin.yaml:2: is not UTF-8: byte 0xE9 cannot stand here. Save the file as UTF-8."
    assert failure(tmp_path / "utf16.yaml").startswith("DIR/utf16.yaml:1: is not UTF-8")
    control = failure(tmp_path / "control.yaml")
    assert control == "DIR/control.yaml:2: the character U+0001 is not allowed in YAML. Remove or escape it."
    assert "too large for a recipe" in failure(tmp_path / "corpus.jsonl")
    assert "cannot be read" in failure("a\0b.yaml")


def test_a_file_keeps_its_path_and_source(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    text = "dataset_path: a.jsonl\nprocess: [clean_email_mapper]\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    recipe = load(path, library=COMPLETE)
    assert (recipe.path, recipe.source, recipe.steps[0].where) == (str(path), text, f"{path}:2")


def test_a_library_can_be_made_from_the_recipes_folders() -> None:
    asked: list[tuple[str, ...]] = []

    def library(folders: tuple[str, ...]) -> Library:
        asked.append(folders)
        if any(os.path.basename(folder) == "broken" for folder in folders):
            raise OperatorError("broken: no such folder of operators")
        return COMPLETE

    text = "dataset_path: a.jsonl\nprocess: [clean_email_mapper]\noperators: "
    folders = tuple(map(os.path.abspath, ("mine", "ours")))
    assert loads(text + "[mine, ours]", library=library).operators == folders
    assert asked == [folders]
    with pytest.raises(RecipeError, match=r"^recipe.yaml:3: broken: no such folder of operators$"):
        loads(text + "broken", library=library)


def test_an_operators_own_checks_and_needs_are_reported() -> None:
    library = Library(
        {
            "checked_filter": operator("checked_filter", says=("no word list in {reversed_range}; name a folder",)),
            "needing_mapper": operator("needing_mapper", needs={"wibble.models": "wibble"}),
        }
    )
    with pytest.raises(RecipeError) as error:
        loads("dataset_path: a\nprocess:\n  - checked_filter\n  - needing_mapper\n", library=library)
    assert str(error.value).splitlines() == [
        "recipe.yaml:3: checked_filter: no word list in False; name a folder",
        "recipe.yaml:4: needing_mapper needs the Python package wibble.models. Install it: pip install 'wibble'",
    ]


def test_checks_of_an_operator_wait_for_its_types() -> None:
    library = Library({"checked_filter": operator("checked_filter", says=("said",))})
    with pytest.raises(RecipeError) as error:
        loads("dataset_path: a\nprocess: [checked_filter: {reversed_range: 7}]", library=library)
    assert "said" not in str(error.value)


def test_errors_can_be_sent_to_another_process() -> None:
    with pytest.raises(RecipeError) as error:
        loads("np: x", library=COMPLETE)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert error.value.exit_code == 2


def test_names_of_data_juicers_operators_are_known() -> None:
    assert {"clean_email_mapper", "image_blur_mapper", "ray_repartition_pipeline"} <= DATA_JUICER_OPERATORS
    assert set(COMPLETE.operators) - {"sql_filter"} <= DATA_JUICER_OPERATORS

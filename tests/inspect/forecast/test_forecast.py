"""Forecasts of runs over synthetic inputs, held against the runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
import refinery.inspect.forecast.forecast as forecasts
from refinery.errors import DataError, RecipeError
from refinery.execution.open import open_recipe
from refinery.inspect.forecast.forecast import Forecast, ForecastRequest, forecast
from tests.commands import caller
from tests.runs import write_lines
from tests.sampling import named

COUNT, ROWS = 4000, 500


def samples(count: int = COUNT) -> Iterator[dict[str, Any]]:
    """Samples in the order of their source: long ones first, then short ones, a tenth of these without a letter."""
    for number in range(count):
        long = number < count // 4
        words = f"word{number} " * (60 if long else 3)
        yield {"id": number, "text": words if long or number % 10 else f"{number} 12 34 56", "source": "ab"[long]}


def write(folder: Path, suffix: str) -> Path:
    """The samples in a file or folder of one format."""
    path, lines = folder / f"data.{suffix}", "".join(json.dumps(sample) + "\n" for sample in samples())
    path.parent.mkdir(parents=True, exist_ok=True)
    if suffix == "jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif suffix == "json":
        path.write_text(f"[{','.join(lines.splitlines())}]")
    elif suffix == "hive":
        for name in "ab":
            write_lines(path / f"source={name}" / "x.jsonl", [s for s in samples() if s["source"] == name])
    else:
        plain = write_lines(folder / "data.jsonl", samples())
        if suffix != "jsonl":
            options = "FORMAT csv" if suffix == "csv" else "FORMAT parquet, ROW_GROUP_SIZE 1000"
            duckdb.execute(f"COPY (FROM read_json('{plain}')) TO '{path}' ({options})")
    return path


def content_of(data: Path, steps: list[Any], **more: Any) -> dict[str, Any]:
    export = data.parent / "out" / "kept.jsonl"
    return {"dataset_path": str(data), "export_path": str(export), "process": steps, "np": 1} | more


def forecast_of(content: Mapping[str, Any], rows: int = ROWS, **more: Any) -> Forecast:
    return forecast(ForecastRequest(*open_recipe(content), rows, **more))


def test_a_sample_grows_where_its_bounds_are_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LEAST": 200, "_TIMED": 200, "SHARE": 0.2}.items():
        monkeypatch.setattr(forecasts, name, value)
    path = write(tmp_path, "jsonl")

    def sampled(step: Any) -> int:
        content = content_of(path, [step])
        return forecast(ForecastRequest(*open_recipe(content))).sampled

    assert 150 < sampled("clean_ip_mapper") < 250
    assert 700 < sampled({"text_length_filter": {"min_len": 300}}) < 900  # a fourth of the samples


def rows_left(content: Mapping[str, Any]) -> list[int]:
    return [rows for (rows,) in refinery.run(content).sql("SELECT rows_out FROM steps ORDER BY step").fetchall()]


FILTERS: list[Any] = [
    {"whitespace_normalization_mapper": None},
    {"alphanumeric_filter": {"min_ratio": 0.5}},
    {"text_length_filter": {"min_len": 25}},
]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("lines"), "jsonl")


@pytest.fixture(scope="module")
def of_filters(lines: Path) -> Forecast:
    return forecast_of(content_of(lines, FILTERS))


def test_a_file_sorted_by_source_is_forecast(of_filters: Forecast, lines: Path) -> None:
    left = rows_left(content_of(lines, FILTERS))
    assert left[0] == COUNT > left[-1] > 0
    for step, rows in zip(of_filters.steps, left, strict=True):
        assert step.rows.low <= rows <= step.rows.high
        assert abs(step.rows.value / rows - 1) < 0.1
    assert of_filters.rows.value == COUNT and of_filters.rows.low == of_filters.rows.high


def test_bytes_and_disk_are_those_of_the_run(of_filters: Forecast, lines: Path) -> None:
    run = refinery.run(content_of(lines, FILTERS, export_path=str(lines.parent / "again" / "kept.jsonl")))
    written = run.sql("SELECT bytes_out FROM steps ORDER BY step DESC LIMIT 1").fetchall()[0][0]
    assert abs(of_filters.steps[-1].bytes.value / written - 1) < 0.1
    exported = sum(path.stat().st_size for path in (lines.parent / "again").glob("*.jsonl"))
    assert abs(of_filters.disk_parts.export / exported - 1) < 0.1
    assert of_filters.disk.low < of_filters.disk.value < of_filters.disk.high


def test_a_forecast_is_the_same_again(of_filters: Forecast, lines: Path) -> None:
    again = forecast_of(content_of(lines, FILTERS))
    assert [step.rows for step in again.steps] == [step.rows for step in of_filters.steps]


def test_every_figure_has_bounds(of_filters: Forecast) -> None:
    figures = [of_filters.rows, of_filters.seconds, of_filters.memory, of_filters.disk]
    figures += [figure for step in of_filters.steps for figure in (step.rows, step.bytes, step.tokens)]
    assert all(0 <= figure.low <= figure.value <= figure.high for figure in figures)
    assert of_filters.seconds.value > 0 and of_filters.processor > 0


# Lines that are unpacked, rows of groups, several files; the others are unpacked or cut as these.
@pytest.mark.parametrize(
    "suffix",
    named({name: name for name in ("jsonl.gz", "json", "csv", "parquet", "hive")}, "jsonl.gz", "parquet", "hive"),
)
def test_formats_of_which_no_single_line_can_be_read(suffix: str, tmp_path: Path) -> None:
    found = forecast_of(content_of(write(tmp_path, suffix), FILTERS))
    assert abs(found.rows.value / COUNT - 1) < 0.1
    for step, rows in zip(found.steps, (COUNT, COUNT, 3700), strict=True):
        assert step.rows.low <= rows * 1.001 and rows * 0.999 <= step.rows.high


DEDUPLICATED: list[Any] = [{"document_deduplicator": None}, {"text_length_filter": {"min_len": 10}}]


@pytest.mark.parametrize("kind", named({kind: kind for kind in ("pairs", "adjacent", "huge", "none")}, "pairs", "huge"))
def test_copies_are_extrapolated(kind: str, tmp_path: Path) -> None:
    """Every fourth sample is a copy: of a sample far away, of the one before, or of one and the same."""
    whose: dict[str, Callable[[int], int]] = {
        "pairs": lambda number: (number * 7 + 1) % COUNT if number % 4 == 0 else number,
        "adjacent": lambda number: number - 1 if number % 4 == 2 else number,
        "huge": lambda number: 1 if number % 4 == 0 else number,
        "none": lambda number: number,
    }
    texts = [f"text number {whose[kind](number)} of all" for number in range(COUNT)]
    data = write_lines(tmp_path / "data.jsonl", [{"text": text} for text in texts])
    found = forecast_of(content_of(data, DEDUPLICATED), 800)
    distinct = len(set(texts))
    assert found.steps[0].rows.low <= distinct <= found.steps[0].rows.high
    assert abs(found.steps[0].rows.value / distinct - 1) < 0.12 and found.steps[0].law
    assert found.steps[1].rows.value == pytest.approx(found.steps[0].rows.value)


PARAGRAPHS = [
    {"paragraph_deduplicator": None},
    {"bloom_deduplicator": {"level": "paragraph", "n_grams": 2, "false_positive_rate": 1e-6}},
]


@pytest.mark.parametrize("step", PARAGRAPHS, ids=lambda step: next(iter(step)))
def test_copies_of_paragraphs_are_extrapolated(step: dict[str, Any], tmp_path: Path) -> None:
    texts = [f"head {number % 20}\nbody {number}\nfoot of page\nbody {number}" for number in range(COUNT)]
    data = write_lines(tmp_path / "data.jsonl", [{"text": text} for text in texts])
    content = content_of(data, [step])
    left = refinery.run(content).sql("SELECT bytes_out FROM steps").fetchall()[0][0]
    found = forecast_of(content).steps[0]
    assert found.rows.value == COUNT
    assert abs(found.bytes.value / left - 1) < 0.1 and found.bytes.low <= left <= found.bytes.high


def test_workers_may_be_processes(lines: Path, of_filters: Forecast) -> None:
    found = forecast_of(content_of(lines, FILTERS, workers="processes", np=2))
    assert [step.rows for step in found.steps] == [step.rows for step in of_filters.steps]
    assert found.processor > 0 and found.workers <= 2


def test_unreadable_lines_are_rows(tmp_path: Path) -> None:
    lines = [sample if sample["id"] % 5 else '{"text": broken' for sample in samples()]
    content = content_of(write_lines(tmp_path / "data.jsonl", lines), FILTERS)
    found = forecast_of(content)
    assert found.rows.value == COUNT
    assert found.steps[0].rows.low <= COUNT * 0.8 <= found.steps[0].rows.high


def test_tokens_are_those_of_a_statistic_or_of_bytes(of_filters: Forecast, lines: Path) -> None:
    last = of_filters.steps[-1]
    assert last.tokens.value == pytest.approx(last.bytes.value / 4)
    other = forecast_of(content_of(lines, FILTERS), bytes_per_token=2.5).steps[-1]
    assert other.tokens.value == pytest.approx(other.bytes.value / 2.5)


def test_nothing_is_written_to_the_outputs(tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", samples())
    more = {"removed_path": str(tmp_path / "removed"), "stat_summary": {"export": str(tmp_path / "statistics")}}
    forecast_of(content_of(data, FILTERS, **more))
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]


@pytest.mark.parametrize(
    ("steps", "more", "message"),
    [
        ([{"sql_filter": {"where": "_row % 2 = 0"}}], {}, "_row"),
        ([{"document_deduplicator": {"index": "INDEX"}}], {}, "index of earlier runs"),
        (FILTERS, {"dataset": {"max_sample_num": 50}}, "max_sample_num"),
        (FILTERS, {"limit": 1000}, "limit chooses a part"),
        (FILTERS, {"sample": 0.5}, "sample chooses a part"),
    ],
)
def test_what_a_sample_does_not_show_is_refused(
    steps: list[Any], more: dict[str, Any], message: str, lines: Path, tmp_path: Path
) -> None:
    steps = json.loads(json.dumps(steps).replace("INDEX", str(tmp_path / "index")))
    content = content_of(lines, steps, **more)
    if "dataset" in more:
        content["dataset"] = more["dataset"] | {"configs": [{"type": "local", "path": content.pop("dataset_path")}]}
    with pytest.raises(RecipeError, match=message):
        forecast_of(content)


def test_a_small_input_is_to_be_run(lines: Path) -> None:
    with pytest.raises(DataError, match="Just run it"):
        forecast(ForecastRequest(*open_recipe(content_of(lines, FILTERS))))


def test_limits_of_deduplicators_are_named_and_do_not_end_the_forecast(tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", [{"text": f"text {number % 40}"} for number in range(COUNT)])
    limited = {"document_deduplicator": {"max_removed_share": 0.2, "max_cluster_size": 3}}
    found = forecast_of(content_of(data, [limited]))
    assert any("would remove 99 %, more than max_removed_share" in note for note in found.notes)


def test_the_command_prints_a_table_or_json(
    lines: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = caller(monkeypatch, capsys)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(json.dumps(content_of(lines, FILTERS)))
    code, out, _ = call("forecast", recipe, "--rows", "500", "--cluster", "640")
    assert code == 0 and "text_length_filter" in out and "640 cores of a cluster" in out and "memory" in out
    code, out, _ = call("forecast", recipe, "--rows", "500", "--json")
    found = json.loads(out)
    assert code == 0 and len(found["steps"]) == 3 and found["steps"][0]["rows"]["value"] == COUNT
    code, _, err = call("forecast", recipe)
    assert code == 3 and "Just run it" in err

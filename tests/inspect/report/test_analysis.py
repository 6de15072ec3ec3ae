"""The report of an analysis shows what it suggests; that of a run has no such section."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from refinery.cli.main import cli
from refinery.inspect.report.page import page
from refinery.inspect.report.statistics import read_analysis
from refinery.inspect.report.tables import RunTables
from tests.runs import refine, texts, write_lines


def test_suggestions_and_ranks_are_on_the_page_of_an_analysis(tmp_path: Path) -> None:
    samples = texts([" ".join(["word"] * n) for n in range(1, 40)])
    source = write_lines(tmp_path / "in.jsonl", samples)
    command = ["analyze", str(source), "--stats", "words_num_filter,text_length_filter", "-o", str(tmp_path / "a")]
    assert CliRunner().invoke(cli, command).exit_code == 0
    with RunTables(tmp_path / "a") as tables:
        found = read_analysis(tables)
    assert found is not None and {row["stat"] for row in found.suggestions} == {"num_words", "text_len"}
    assert [(row["stat_a"], row["stat_b"]) for row in found.pairs] in (
        [("num_words", "text_len")],
        [("text_len", "num_words")],
    )
    text = page(tmp_path / "a")
    assert text.count('id="analysis"') == 1 and "3-sigma" in text and "Spearman" in text
    refine(tmp_path, samples, ["text_length_filter"])
    assert 'id="analysis"' not in page(tmp_path / "run")

"""Output for a terminal of 80 columns: every table fits, numbers are whole, lines break at words."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from refinery.cli import exits
from refinery.cli.commands import check
from refinery.cli.render import analyze, console, reference
from refinery.cli.render.layout import hanging
from refinery.common.fitted import broken_label, broken_name
from refinery.execution.open import open_recipe
from refinery.operators import Library
from tests.runs import settings, texts, write_lines

LONGEST = max(Library().operators, key=len)
ROWS = [
    (1, LONGEST, "mapper", 123_456_789, 0, 123_456_789, 0, 123_456_789, 12345.67, None),
    (12, "text_length_filter", "filter", 123_456_789, 23_456_789, 7_654_321, 0, 100_000_000, 0.01, None),
]


def printed(part: Any, width: int = 80) -> list[str]:
    out = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print_lines(out, part)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().splitlines()


@pytest.mark.parametrize("aside", [0, 12])
def test_waterfall_fits(aside: int) -> None:
    rows = [(*row[:6], aside, *row[7:]) for row in ROWS]
    lines = printed(console.waterfall(rows))
    assert max(map(len, lines)) <= 80
    assert ("quarantined" in lines[1]) == bool(aside)
    text = " ".join(lines)
    for number in ("123,456,789", "23,456,789", "7,654,321"):
        assert number in text
    assert all(f"{word}_" in text for word in LONGEST.split("_")[:-1])  # broken after underscores
    wide = " ".join(printed(console.waterfall(rows), 160))
    assert (
        "100,000,000" in wide
        and "12345.67" in wide
        and any(LONGEST in line for line in printed(console.waterfall(rows), 160))
    )


@pytest.mark.parametrize(
    "name", ["short ones out", "x" * 200, "同じテキスト" * 20, "[red]a[/red] " * 9, "\u202ea\u200d"]
)
def test_waterfall_with_names_fits(name: str) -> None:
    rows = [ROWS[0], (*ROWS[1][:9], name)]
    lines = printed(console.waterfall(rows))
    assert max(map(cell_len, lines)) <= 80
    column = lines[1].index("operator")
    cells = "".join(line[column:].split("  ")[0].strip() for line in lines[3:])
    assert console.shown(name).replace(" ", "").strip() in cells.replace(" ", "")
    wide = printed(console.waterfall([(*ROWS[1][:9], name)]), 600)
    assert any(f"text_length_filter: {console.shown(name).strip()}" in line for line in wide)


def test_labels_break_anywhere() -> None:
    assert broken_label("a_b: it is here", 8) == "a_b: it\nis here"
    assert broken_label("a_b: unbreakable", 5) == "a_b:\nunbre\nakabl\ne"
    assert broken_label("同じ同じ", 5) == "同じ\n同じ"


def test_names_break_after_underscores() -> None:
    assert broken_name("a_long_name_of_it", 8) == "a_long_\nname_of_\nit"
    assert broken_name("short", 8) == "short" and broken_name("unbreakableword_x", 5) == "unbreakableword_\nx"


def test_lines_break_at_words_and_hang() -> None:
    lines = printed("tables         " + "word " * 30)
    assert len(lines) == 3 and all(line.startswith(" " * 15 + "word") for line in lines[1:])
    assert hanging("  a bb cc", 6, 4) == ["  a bb", "    cc"]


def test_text_of_progress_leaves_the_bar_its_room() -> None:
    parts = ["14.9 MB of 127.0 MB", "18.8 MB/s", "6 s left", "2.0 cores, 300 MB"]
    assert console.fitting(parts, 80) == ", ".join(parts)
    assert console.fitting(parts, 42) == "14.9 MB of 127.0 MB, 18.8 MB/s, 6 s left"
    assert console.fitting(["", "1.0 cores"], 20) == "1.0 cores"


def test_analysis_fits() -> None:
    """Quantiles get a table of their own; statistics keep their names, and numbers their digits."""
    from refinery.inspect.analyze.analyze import StatisticDescription
    from refinery.inspect.analyze.sketch import PERCENTS

    numbers = {percent / 100: 12345.678 for percent in PERCENTS}
    made = StatisticDescription.__dataclass_fields__
    values = {"stat": "special_char_ratio", "group": "summary", "key": "summary", "n": 1_000_000, "missing": 12}
    values |= {"quantiles": numbers} | dict.fromkeys(("mean", "std", "min", "max"), 0.123456)
    description = StatisticDescription(**{name: values.get(name, 0) for name in made})
    lines = printed(analyze._table("statistic", [("special_char_ratio", description)]))
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)
    text = "\n".join(lines)
    assert text.count("special_") > 1 and text.count("12,346") == len(PERCENTS) and text.count("0.1235") == 4


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


def test_operators_fit(terminal: None) -> None:
    library = Library()
    listing = reference.page(None, False)
    assert max(map(len, listing.splitlines())) <= 80
    words = listing.split()
    for operator in library.operators.values():
        assert operator.name in words
        page = reference.page(operator.name, False)
        assert all(len(line) <= 80 or " " not in line.strip() for line in _prose(page)), operator.name
        assert not operator.alias_of or operator.alias_of in page
    assert re.search(r"  text_length_filter +Keep samples whose length in characters", listing)


def _prose(page: str) -> list[str]:
    """A page without its examples and its part of a recipe, whose words may be long."""
    return re.split(r"\n(?:In a recipe|Examples)\n", page)[0].splitlines()


def test_each_operator_is_one_line_without_a_terminal() -> None:
    lines = reference.page(None, False).splitlines()
    for operator in Library().operators.values():
        [line] = [line for line in lines if line.split()[:1] == [operator.name]]
        assert line.rstrip().endswith(
            f"The same operator as {operator.alias_of}." if operator.alias_of else reference.brief(operator.doc)
        )


def test_messages_break_at_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    message = "refinery: " + "there is no operator 'minhash' here, " * 5 + "/a/path/" + "x" * 100
    exits._say(message)
    assert capsys.readouterr().err == message + "\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    exits._say(message)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 3 and max(map(len, lines[:-1])) <= 80
    assert lines[-1] == "  /a/path/" + "x" * 100
    assert " ".join(line.strip() for line in lines) == message


def test_lines_of_a_check_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Long paths of recipe and input; without a terminal each of them is one line."""
    write_lines(tmp_path / f"{'a long name ' * 4}.jsonl", texts(["a text"]))
    recipe = tmp_path / f"{'a long name ' * 4}.yaml"
    content = settings(tmp_path, ["text_length_filter"], dataset_path=recipe.with_suffix(".jsonl"), image_key="images")
    recipe.write_text(json.dumps(content), "utf-8")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    check(lambda: open_recipe(str(recipe)), False)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 80
    assert "no problems" in " ".join(lines) and "image_key has no effect" in " ".join(map(str.strip, lines))

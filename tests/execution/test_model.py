"""Random recipes over random texts, held against a straightforward model of what a recipe means."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.examples import share_of
from tests.runs import exported, refine, rows, texts


class Fails(Exception):
    """The operator raises on this text."""


@dataclass
class Sample:
    """One sample on its way: `fate` is (what, step); `stats` by operator's name and step."""

    id: int
    text: str
    fate: tuple[str, int] = ("kept", 0)
    stats: dict[tuple[str, int], float] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Meaning:
    """A step as a recipe writes it, and what it does: a new text, or (statistic or None, value, keep)."""

    recipe: dict[str, Any]
    mapper: Callable[[str], str] | None = None
    filter: Callable[[Sample], tuple[str | None, float, bool]] | None = None


def ratio(text: str) -> float:
    return sum(map(str.isalnum, text)) / len(text) if text else 0.0


def words(text: str) -> list[str]:
    """Cut at plain blanks; what is left at the ends of letters does not count."""
    return [word for part in text.replace("\n", " ").split(" ") if (word := part.strip("\u3000"))]


MEASURES: dict[str, tuple[str, str, str, Callable[[str], float]]] = {
    "text_length_filter": ("text_len", "min_len", "max_len", len),
    "words_num_filter": ("num_words", "min_num", "max_num", lambda text: len(words(text))),
    "alphanumeric_filter": ("alnum_ratio", "min_ratio", "max_ratio", ratio),
}
MAPPERS: dict[str, Callable[[str], str]] = {
    "upper(text)": str.upper,
    "replace(text, 'a', 'bb')": lambda text: text.replace("a", "bb"),
    "text[2:]": lambda text: text[1:],
    "CASE WHEN length(text) > 3 THEN '' END": lambda text: "" if len(text) > 3 else text,
}


@st.composite
def bounded(draw: st.DrawFn) -> Meaning:
    name = draw(st.sampled_from(sorted(MEASURES)))
    stat, low_name, high_name, measure = MEASURES[name]
    ends = st.integers(0, 8) if name != "alphanumeric_filter" else st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    low, high = sorted((draw(ends), draw(ends)))
    closed_low, closed_high, reverse = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    keys = {"min_closed_interval": closed_low, "max_closed_interval": closed_high, "reversed_range": reverse}

    def decide(sample: Sample) -> tuple[str, float, bool]:
        value = measure(sample.text)
        inside_low = value >= low if closed_low != reverse else value > low
        inside_high = value <= high if closed_high != reverse else value < high
        return stat, value, (inside_low and inside_high) != reverse

    return Meaning({name: {low_name: low, high_name: high, **keys}}, filter=decide)


@st.composite
def predicate(draw: st.DrawFn) -> Meaning:
    divisor, letter = draw(st.integers(1, 4)), draw(st.sampled_from("abx"))
    kind = draw(st.sampled_from(["id", "letter", "raises", "null"]))
    if kind == "id":
        return Meaning(
            {"sql_filter": {"where": f"id % {divisor} = 0"}}, filter=lambda s: (None, 0, s.id % divisor == 0)
        )
    if kind == "letter":
        return Meaning(
            {"sql_filter": {"where": f"contains(text, '{letter}')"}}, filter=lambda s: (None, 0, letter in s.text)
        )
    if kind == "null":
        where = f"CASE WHEN text <> '{letter}' THEN TRUE END"
        return Meaning({"sql_filter": {"where": where}}, filter=lambda s: (None, 0, s.text != letter))

    def decide(sample: Sample) -> tuple[None, float, bool]:
        if sample.text.startswith(letter):
            raise Fails
        return None, 0, len(sample.text) != divisor

    where = f"CASE WHEN text LIKE '{letter}%' THEN error('no') ELSE length(text) <> {divisor} END"
    return Meaning({"sql_filter": {"where": where}}, filter=decide)


def blanks(text: str) -> str:
    return text.strip().replace("\u3000", " ").replace("\u00a0", " ")


mappers = st.sampled_from(
    [Meaning({"sql_mapper": {"text": sql}}, mapper=function) for sql, function in MAPPERS.items()]
    + [Meaning({"whitespace_normalization_mapper": None}, mapper=blanks)]
)
recipes = st.lists(st.one_of(bounded(), predicate(), mappers), min_size=1, max_size=6)
documents = st.lists(st.text("aabxé \u3000\n", max_size=9), max_size=30)


def refined(samples: list[Sample], steps: list[Meaning]) -> None:
    """Take every sample through the steps."""
    for sample in samples:
        for number, step in enumerate(steps, 1):
            sample.reached.add(number)
            try:
                if step.mapper:
                    before, sample.text = sample.text, step.mapper(sample.text)
                    sample.changed |= {number} if sample.text != before else set()
                    continue
                assert step.filter is not None
                stat, value, keep = step.filter(sample)
            except Fails:
                sample.fate = ("quarantined", number)
                break
            if stat:
                sample.stats[stat, number] = value
            if not keep:
                sample.fate = ("removed", number)
                break


@examples(max_examples=share_of(15, least=3))
@given(recipes, documents, st.sampled_from([1, 2]), st.sampled_from([40, 150, 10_000]), st.booleans())
def test_every_row_meets_the_fate_that_the_recipe_means(
    steps: list[Meaning], documents: list[str], np: int, shard_size: int, fusion: bool
) -> None:
    samples = [Sample(i, text) for i, text in enumerate(documents)]
    refined(samples, steps)
    with tempfile.TemporaryDirectory() as folder:
        run = refine(
            Path(folder),
            texts(documents),
            [step.recipe for step in steps],
            np=np,
            shard_size=shard_size,
            op_fusion=fusion,
        )
        assert exported(run) == [{"id": s.id, "text": s.text} for s in samples if s.fate[0] == "kept"]
        fates = {row: ("kept", 0) for (row,) in rows(run, "stats", "_row", "kept")}
        fates |= {row: ("removed", step) for row, step in rows(run, "ledger", "_row, step")}
        fates |= {row: ("quarantined", step) for row, step in rows(run, "quarantine", "_row, step")}
        assert fates == {s.id: s.fate for s in samples}

        columns = stat_columns(steps)
        found = run.sql(f"SELECT {', '.join(['_row', *columns.values()])} FROM stats ORDER BY _row").fetchall()
        said = {row: dict(zip(columns, values, strict=True)) for row, *values in found}
        assert said == {s.id: {key: s.stats.get(key) for key in columns} for s in samples if s.fate[0] != "quarantined"}

        ends = Counter(s.fate for s in samples)
        healthy = [s for s in samples if s.fate[0] != "quarantined"]
        for number, rows_in, rows_out, removed, changed, quarantined in rows(
            run, "steps", "step, rows_in, rows_out, removed, changed, quarantined"
        ):
            assert (removed, quarantined) == (ends["removed", number], ends["quarantined", number])
            assert rows_in == sum(number in s.reached for s in samples) == rows_out + removed + quarantined
            assert changed == sum(number in s.changed for s in healthy)


def stat_columns(steps: list[Meaning]) -> dict[tuple[str, int], str]:
    """(statistic, step) -> its column."""
    found: dict[tuple[str, int], str] = {}
    for number, step in enumerate(steps, 1):
        [name] = step.recipe
        if name in MEASURES:
            stat = MEASURES[name][0]
            found[stat, number] = stat if stat not in found.values() else f"{stat}_{number}"
    return found

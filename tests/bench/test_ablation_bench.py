"""The ablation: variants give the same samples, and match keys by column fetch less."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import ablation
from refinery.storage import open
from refinery.storage.local import LocalStore
from tests.execution.ray.runs import samples
from tests.runs import texts, write_lines


def test_tasks_fetch_their_column_or_whole_rows(tmp_path: Path) -> None:
    by_column, whole = ablation.match_keys(3000, tmp_path)
    assert by_column[0] == "match keys, by column" and whole[0] == "match keys, whole rows"
    assert float(by_column[3]) < 220 < 700 < float(whole[3].replace(",", ""))
    assert isinstance(open.open_store(str(tmp_path)), LocalStore) and open.open_store(str(tmp_path)).on_this_machine


def test_an_array_and_lines_of_the_same_samples_have_one_digest(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "out.jsonl", texts(["a", "b, [", "c"]))
    array = tmp_path / "out.json"
    array.write_text("[\n" + lines.read_text().rstrip().replace("\n", ",\n") + "\n]\n")
    assert ablation._digest(lines) == ablation._digest(array)


@pytest.mark.long
@pytest.mark.parametrize("recipe", ablation.RECIPES)
def test_all_variants_keep_the_same_samples(tmp_path: Path, recipe: str) -> None:
    data = write_lines(tmp_path / "in.jsonl", samples(2000))
    found = {variant: ablation.once(recipe, variant, data, tmp_path)[1:] for variant in ablation.VARIANTS}
    assert len({(str(rows), digest) for _, rows, digest in found.values()}) == 1
    assert [found[variant][0] for variant in ("uncut", "whole")] == [1, 1] and found["as it is"][1]["kept"] > 0

"""Rows are drawn with one probability, all over the input."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from refinery.inspect.forecast.drawing import GROUPS, LineFiles, choose, chosen_share
from refinery.io.model import Source


def source(path: Path) -> Source:
    return Source(str(path), "jsonl", None, ".jsonl", path.stat().st_size)


def test_every_stratum_gives_as_many_places() -> None:
    chosen = list(choose(100_000, 0.02))
    places = np.array([one.place for one in chosen])
    assert (np.diff(places) > 0).all()
    assert np.bincount(places // 800, minlength=125).tolist() == [GROUPS] * 125
    assert np.bincount([one.group for one in chosen]).tolist() == [125] * GROUPS
    assert abs(len(chosen) / 100_000 - chosen_share(0.02)) < 1e-9


def test_groups_are_in_no_order_within_a_stratum() -> None:
    firsts = [one.group for one in choose(80_000, 0.02)][::GROUPS]
    assert len(set(firsts)) > GROUPS / 2


def test_lines_of_all_lengths_are_drawn_alike(tmp_path: Path) -> None:
    lines = [b'{"n": %d, "x": "%s"}\n' % (number, b"." * (5 if number % 2 else 900)) for number in range(20_000)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(lines))
    with LineFiles([source(path)]) as files:
        mean = path.stat().st_size / 20_000
        drawn = [chosen.line for chosen in files.lines(0.1, mean)]
        assert files.count() == 20_000 and abs(files.mean_line() / mean - 1) < 0.2
    assert set(drawn) <= set(lines) and len(set(drawn)) == len(drawn)
    short = sum(len(line) < 100 for line in drawn)
    assert 850 < short < 1150 and 850 < len(drawn) - short < 1150


def test_lines_are_whole_at_the_ends_of_files(tmp_path: Path) -> None:
    contents = [b'\xef\xbb\xbf{"a": 1}\n\n{"a": 2}', b'{"a": 3}\r\n \n{"a": 4}\n', b'{"a": 5}']
    paths = [tmp_path / f"{number}.jsonl" for number in range(3)]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    with LineFiles(list(map(source, paths))) as files:
        drawn = [(chosen.source, chosen.line.strip()) for chosen in files.lines(1.0, 8)]
        assert files.blank == 2 and files.count() == 7
    assert drawn == [(0, b'{"a": 1}'), (0, b'{"a": 2}'), (1, b'{"a": 3}'), (1, b'{"a": 4}'), (2, b'{"a": 5}')]

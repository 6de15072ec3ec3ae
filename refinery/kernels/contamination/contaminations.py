"""Items of evaluation sets in texts, as columns: what the operator `contamination_filter` shows of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refinery.common.cached import cached
from refinery.common.paths import paths_in
from refinery.kernels.contamination.item_index import ItemIndex, item_index
from refinery.kernels.contamination.item_search import search
from refinery.kernels.contamination.items import evaluation_sets, files_of_set, items_of
from refinery.kernels.contamination.set_files import SetError, files_of, rows_of
from refinery.kernels.core.arrow import Texts, ints, of_texts, structs, texts
from refinery.kernels.core.file_state import state_of

SHOWN = 200  # items of a text that are listed
PASSAGE = 300  # characters of a passage that are shown
_TEXT_FIELDS = ("text", "content", "raw_content")


class Hit(NamedTuple):
    """An item in a text. score: share that was found / share that must be. start, end: bytes of the text."""

    score: float
    share: float
    set: str
    item: str
    part: str
    start: int
    end: int
    alike: int  # further items with the same text
    items: int  # of the set
    too_short: int  # of the set, to be looked for


def problems(sets: Any, common: Any) -> list[str]:
    """Reasons why the sets cannot be used, as sentences. All files are read."""
    try:
        for one in evaluation_sets(sets):
            for _ in items_of(one):
                pass
        for _ in common_texts(common):
            pass
    except SetError as error:
        return [str(error)]
    return []


def common_texts(common: Any) -> Iterator[str]:
    """Texts of reference files: the field `text` of rows, or the whole of a `.txt` file. Raises SetError."""
    for path in paths_in(common):
        if path.lower().endswith(".txt"):
            try:
                yield Path(path).read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise SetError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
            continue
        for file in files_of(path):
            for place, row in rows_of(file):
                name = next((name for name in _TEXT_FIELDS if isinstance(row.get(name), str)), None)
                if name is None:
                    raise SetError(f"{file} ({place}): no field {', '.join(_TEXT_FIELDS)} with a text")
                yield row[name]


def index_of(sets: Any, common: Any, min_words: int) -> ItemIndex:
    """The index of the sets, made once for each state of their files."""
    files = [file for one in evaluation_sets(sets) for file in files_of_set(one)] + [
        file for path in paths_in(common) for file in ([path] if path.lower().endswith(".txt") else files_of(path))
    ]
    return _index(json.dumps([sets, common]), min_words, tuple((file, state_of(file)) for file in files))


@cached(2)
def _index(given: str, min_words: int, files: Any) -> ItemIndex:
    sets, common = json.loads(given)
    return item_index(evaluation_sets(sets), [*common_texts(common)], min_words)


def contaminations(column: pa.Array, index: ItemIndex, max_score: float, cut: bool) -> pa.Array:
    """A struct for each text, NULL for NULL: score, set, item, part, passage, start and end (characters) of the item with the
    highest score, all items as JSON, and delta: with `cut` the text without the passages of max_score or more, NULL if there are none.
    """
    view = texts(column)
    found = search(view, index)
    hits: list[list[Hit]] = [[] for _ in range(len(view))]
    facts = {one.name: (one.items, one.too_short) for one in index.sets}
    unit_pieces = np.repeat(np.arange(len(index.owners)), np.diff(index.pieces.first_units))
    for (row, unit, start, end), score in zip(found.places.tolist(), found.scores.tolist(), strict=True):
        name, item, alike = index.owners[unit_pieces[unit]]
        share = round(min(score * float(index.pieces.shares[unit]), 1.0), 4)
        hits[row].append(Hit(round(score, 4), share, name, item, index.names[unit], start, end, alike, *facts[name]))
    for of_text in hits:
        of_text.sort(key=lambda hit: (-hit.score, hit.set, hit.item, hit.start))
    return _columns(view, hits, max_score, cut)


def _columns(view: Texts, hits: Sequence[Sequence[Hit]], max_score: float, cut: bool) -> pa.Array:
    rows = len(view)
    scores, places = np.zeros(rows), np.zeros((2, rows), np.int64)
    shown: dict[str, list[str]] = {name: [""] * rows for name in ("set", "item", "part", "passage")}
    listed, new = ["[]"] * rows, list[str | None]([None] * rows)
    known = np.zeros(rows, np.bool_)
    for row, of_text in enumerate(hits):
        if not of_text:
            continue
        known[row] = True
        raw = view.data[view.offsets[row] : view.offsets[row + 1]].tobytes()
        best = of_text[0]
        scores[row] = best.score
        places[0, row], places[1, row] = _chars(raw, best.start), _chars(raw, best.end)
        passage = raw[best.start : best.end].decode()
        values = (best.set, best.item, best.part, passage if len(passage) <= PASSAGE else passage[: PASSAGE - 1] + "…")
        for name, value in zip(shown, values, strict=True):
            shown[name][row] = value
        listed[row] = _listed(raw, of_text)
        if cut:
            new[row] = _without(raw, [(hit.start, hit.end) for hit in of_text if hit.score >= max_score])
    columns = {name: of_texts(values) for name, values in shown.items()}
    return structs(
        view.valid, score=scores, **columns, start=ints(places[0], known), end=ints(places[1], known), items=of_texts(listed),
        delta=of_texts(new),
    )  # fmt: skip


def _chars(raw: bytes, place: int) -> int:
    """Number of characters before a byte."""
    return len(raw[:place].decode())


def _listed(raw: bytes, hits: Sequence[Hit]) -> str:
    items = [
        {**hit._asdict(), "start": _chars(raw, hit.start), "end": _chars(raw, hit.end)} for hit in hits[:SHOWN]
    ]  # fmt: skip
    return json.dumps(items, ensure_ascii=False, separators=(",", ":"))


def _without(raw: bytes, spans: Sequence[tuple[int, int]]) -> str | None:
    """The text without some spans, which may overlap; None if there are none."""
    if not spans:
        return None
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(raw[at : max(start, at)])
        at = max(at, end)
    return b"".join([*kept, raw[at:]]).decode()

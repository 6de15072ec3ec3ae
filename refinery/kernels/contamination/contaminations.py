"""Items of evaluation sets in texts, as columns: what the operator `contamination_filter` shows of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refinery.common.cached import cached
from refinery.common.paths import paths_in, printable
from refinery.kernels.contamination.item_index import ARRAYS, ItemIndex, item_index
from refinery.kernels.contamination.item_search import Matches, search
from refinery.kernels.contamination.item_texts import UNITS
from refinery.kernels.contamination.items import EvaluationSet, evaluation_sets, files_of_set
from refinery.kernels.contamination.set_files import SetError, below, files_of, rows_of, suffix_of, written
from refinery.kernels.contamination.shared_index import contents, shared_index
from refinery.kernels.contamination.word_weights import LISTS
from refinery.kernels.core.arrow import Texts, ints, of_texts, structs, texts
from refinery.kernels.core.file_state import state_of

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


def problems(sets: Any, common: Any, min_words: int) -> list[str]:
    """Reasons why the sets cannot be used, as sentences. The index is made of them, which the run then finds."""
    try:
        index = index_of(sets, common, min_words)
    except SetError as error:
        return [str(error)]
    return [
        f"set {one.name}: all of its items ({one.items:,}) are too short to be looked for, with fewer than {min_words} words or "
        "hardly a rare one; leave the set out, or name other fields"
        for one in index.sets
        if one.items == one.too_short
    ]


def common_texts(common: Any) -> Iterator[str]:
    """Texts of reference files: the field `text` of rows, or the whole of a `.txt` file. Raises SetError."""
    for path in paths_in(common):
        if path.lower().endswith(".txt"):
            try:
                yield Path(path).read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise SetError(f"{printable(path)}: {getattr(error, 'strerror', None) or error}") from None
            continue
        for file in files_of(path):
            for place, row in rows_of(file):
                name = next((name for name in _TEXT_FIELDS if isinstance(row.get(name), str)), None)
                if name is None:
                    raise SetError(f"{printable(file)} ({place}): no field {', '.join(_TEXT_FIELDS)} with a text")
                yield written(row[name])


def index_of(sets: Any, common: Any, min_words: int) -> ItemIndex:
    """The index of the sets: made once for their contents on this machine, and mapped by all processes. Raises SetError."""
    files = [file for one in evaluation_sets(sets) for file in files_of_set(one)] + _common_files(common)
    try:
        return _index(json.dumps([sets, common]), min_words, tuple((file, state_of(file)) for file in files))
    except OSError as error:
        raise SetError(f"{printable(str(error.filename))}: {error.strerror or error}") from None


@cached(16)
def _index(given: str, min_words: int, files: Any) -> ItemIndex:
    named, common = json.loads(given)
    sets = evaluation_sets(named)

    def make() -> list[np.ndarray]:
        return item_index(sets, [*common_texts(common)], min_words).arrays()

    arrays = shared_index("contamination", ARRAYS, lambda: _facts(sets, common, min_words), make)
    return ItemIndex.of_arrays(arrays)


def _facts(sets: Sequence[EvaluationSet], common: Any, min_words: int) -> list[Any]:
    """All that an index depends on: contents and names of files, parameters, word lists."""
    own = [
        (
            one.name,
            {**one.settings, "path": ""},
            [(below(file, one.path), contents(file)) for file in files_of_set(one)],
        )
        for one in sets
    ]
    shared = [(_is_plain(file), suffix_of(Path(file)), contents(file)) for file in _common_files(common)]
    return [own, shared, min_words, [contents(file) for file in LISTS]]


def _common_files(common: Any) -> list[str]:
    return [file for path in paths_in(common) for file in ([path] if _is_plain(path) else files_of(path))]


def _is_plain(path: str) -> bool:
    """True for a file that is one text."""
    return path.lower().endswith(".txt")


def contaminations(column: pa.Array, index: ItemIndex, max_score: float, cut: bool) -> pa.Array:
    """A struct for each text, NULL for NULL: score, set, item, part, passage, start and end (characters) of the item with the
    highest score, all items as JSON, and delta: with `cut` the text without the passages of max_score or more, NULL if there are none.
    """
    view = texts(column)
    matches = search(view, index)
    hits: list[list[Hit]] = [[] for _ in range(len(view))]
    for at in _best(matches, index).tolist():
        row, unit, start, end = matches.places[at].tolist()
        hits[row] += _hits(index, unit, float(matches.scores[at]), start, end)
    for of_text in hits:
        of_text.sort(key=lambda hit: (-hit.score, hit.set, hit.item, hit.start))
    return _columns(view, hits, without_passages(view, matches, index, max_score) if cut else [None] * len(view))


def _best(matches: Matches, index: ItemIndex) -> np.ndarray:
    """Numbers of the best unit of each piece in each text, the first one of several."""
    pieces = np.searchsorted(index.pieces.first_units, matches.places[:, 1], side="right")
    order = np.lexsort((np.arange(len(pieces)), -matches.scores, pieces, matches.places[:, 0]))
    rows, pieces = matches.places[order, 0], pieces[order]
    first = np.append(True, (rows[1:] != rows[:-1]) | (pieces[1:] != pieces[:-1]))[: len(order)]
    return order[first]


def _hits(index: ItemIndex, unit: int, score: float, start: int, end: int) -> Iterator[Hit]:
    """A unit that was found, for each set with the text."""
    piece = int(np.searchsorted(index.pieces.first_units, unit, side="right")) - 1
    share = round(min(score * float(index.pieces.shares[unit]), 1.0), 4)
    for number, item, alike in index.owners.of(piece):
        name, items, too_short = index.sets[number]
        yield Hit(round(score, 4), share, name, item, UNITS[index.names[unit]], start, end, alike, items, too_short)


def without_passages(view: Texts, matches: Matches, index: ItemIndex, max_score: float) -> list[str | None]:
    """Each text without passages of max_score or more; None where there are none. matches: of these texts.

    What is left is searched again, because words on both sides of a passage may be a copy once it is gone.
    """
    new: list[str | None] = [None] * len(view)
    rows = np.arange(len(view))
    while True:
        spans: dict[int, list[tuple[int, int]]] = {}
        for (row, _, start, end), score in zip(matches.places.tolist(), matches.scores.tolist(), strict=True):
            if round(score, 4) >= max_score:
                spans.setdefault(row, []).append((start, end))
        if not spans:
            return new
        left = [_without(view.data[view.offsets[row] : view.offsets[row + 1]].tobytes(), spans[row]) for row in spans]
        rows = rows[[*spans]]
        for row, text in zip(rows.tolist(), left, strict=True):
            new[row] = text
        view = texts(of_texts(left))
        matches = search(view, index)


def _columns(view: Texts, hits: Sequence[Sequence[Hit]], new: Sequence[str | None]) -> pa.Array:
    rows = len(view)
    scores, places = np.zeros(rows), np.zeros((2, rows), np.int64)
    shown: dict[str, list[str]] = {name: [""] * rows for name in ("set", "item", "part", "passage")}
    listed, known = ["[]"] * rows, np.zeros(rows, np.bool_)
    for row, of_text in enumerate(hits):
        if not of_text:
            continue
        known[row] = True
        raw = view.data[view.offsets[row] : view.offsets[row + 1]]
        best = of_text[0]
        scores[row] = best.score
        passage = raw[best.start : best.end].tobytes().decode()
        values = (best.set, best.item, best.part, passage if len(passage) <= PASSAGE else passage[: PASSAGE - 1] + "…")
        for name, value in zip(shown, values, strict=True):
            shown[name][row] = value
        in_chars = _in_characters(raw, of_text)
        places[:, row] = in_chars[0].start, in_chars[0].end
        listed[row] = json.dumps([hit._asdict() for hit in in_chars], ensure_ascii=False, separators=(",", ":"))
    columns = {name: of_texts(values) for name, values in shown.items()}
    return structs(
        view.valid, score=scores, **columns, start=ints(places[0], known), end=ints(places[1], known), items=of_texts(listed),
        delta=of_texts(new),
    )  # fmt: skip


def _in_characters(raw: np.ndarray, hits: Sequence[Hit]) -> list[Hit]:
    """Hits with places in characters. raw: the bytes of the text."""
    before = np.concatenate([[0], np.cumsum((raw & 0xC0) != 0x80)])  # a character has one byte that does not go on
    return [hit._replace(start=int(before[hit.start]), end=int(before[hit.end])) for hit in hits]


def _without(raw: bytes, spans: Sequence[tuple[int, int]]) -> str:
    """The text without some spans, which may overlap."""
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(raw[at : max(start, at)])
        at = max(at, end)
    return b"".join([*kept, raw[at:]]).decode()

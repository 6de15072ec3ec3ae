"""Rules of MADLAD-400 for the sentences of a text, as datamap-rs applies them, and its list of cursed strings."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import Texts, of_texts, strings
from refinery.kernels.core.file_state import state_of
from refinery.kernels.text import rust_patterns, short_patterns
from refinery.kernels.text.madlad_sentences import CURSED, Limits, find_sentences
from refinery.kernels.unicode.word_break import properties

LANGUAGE = 1 << 1  # bit of the rule that needs a model
EXPRESSIONS = 4  # lines at the end of a list that are regular expressions

TOO_SHORT, SUSPICIOUS, SURVIVED = "killed:too_short", "killed:too_many_sus_sentences", "survived"


class Cursed(NamedTuple):
    """A list of cursed strings: what the kernel searches, and what it cannot: long literals, and other expressions."""

    patterns: short_patterns.Patterns
    literals: tuple[str, ...]
    expressions: tuple[Any, ...]


def problems(path: str) -> list[str]:
    """Reasons why a list cannot be used."""
    try:
        lines = _lines(path)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        return [f"cursed_regex_file {path} cannot be read: {error}"]
    if len(lines) < EXPRESSIONS or "" in lines:
        return [
            f"cursed_regex_file {path} needs a string in each line, and regular expressions in the last {EXPRESSIONS}"
        ]
    return [problem for line in lines[-EXPRESSIONS:] for problem in rust_patterns.problems(line)]


def _lines(path: str) -> list[str]:
    content = Path(path).read_bytes()
    return (gzip.decompress(content) if path.endswith(".gz") else content).decode().removesuffix("\n").split("\n")


def cursed_list(path: str | None) -> Cursed:
    """The list of a file, none without one."""
    return _cursed(path, state_of(path)) if path else Cursed(short_patterns.pattern_table([]), (), ())


@lru_cache(maxsize=4)
def _cursed(path: str, state: Any) -> Cursed:
    lines = _lines(path)
    literals = {line: short_patterns.literal_places(line) for line in lines[:-EXPRESSIONS]}
    expressions = {line: short_patterns.simple_places(line) for line in lines[-EXPRESSIONS:]}
    known = [atoms for atoms in (*literals.values(), *expressions.values()) if atoms]
    return Cursed(
        short_patterns.pattern_table(known),
        tuple(line for line, atoms in literals.items() if not atoms),
        tuple(rust_patterns.matcher(line) for line, atoms in expressions.items() if not atoms),
    )


class Sentences(NamedTuple):
    """Sentences of all texts: begin and end of each in the texts' bytes, the bits of broken rules, and their number by text."""

    bounds: np.ndarray
    rules: np.ndarray
    counts: np.ndarray


def sentences(view: Texts, rules: Sequence[int], limits: Sequence[float], strings_of: Cursed) -> Sentences:
    """Sentences of the texts, with the bits of those of `rules` that need no model. limits: those of `Limits`."""
    wanted = sum(1 << rule for rule in set(rules))
    bounds = Limits(*(np.array([limit], np.float64) for limit in limits))
    counts, state = np.zeros(len(view), np.int64), np.zeros(len(strings_of.patterns.firsts), np.uint64)
    room = max(view.size // 32, 64)
    while True:
        rules_broken, places = np.zeros(room, np.uint8), np.zeros((2, room), np.int64)
        used = find_sentences(
            view.data, view.offsets, view.valid, wanted, bounds, strings_of.patterns, properties(), state, counts, rules_broken,
            places,
        )  # fmt: skip
        if used <= room:
            break
        room = used
    result = Sentences(np.ascontiguousarray(places[:, :used]), rules_broken[:used], counts)
    if wanted & CURSED and (strings_of.literals or strings_of.expressions):
        _search_others(view, result, strings_of)
    return result


def _search_others(view: Texts, sentences: Sentences, strings_of: Cursed) -> None:
    """Set the bit CURSED for what the kernel does not search."""
    for number, (start, end) in enumerate(sentences.bounds.T.tolist()):
        text = view.data[start:end].tobytes().decode()
        if any(one in text for one in strings_of.literals) or any(one.search(text) for one in strings_of.expressions):
            sentences.rules[number] |= CURSED


def texts_of(view: Texts, sentences: Sentences, rows: np.ndarray) -> pa.Array:
    """The sentences of the texts chosen by `rows` (bool), with blanks in place of line feeds."""
    chosen = sentences.bounds[:, np.repeat(rows, sentences.counts)]
    parts = [view.data[start:end] for start, end in chosen.T.tolist()]
    offsets = np.append(0, np.cumsum([len(part) for part in parts])).astype(np.int64)
    data = np.concatenate([*parts, np.zeros(1, np.uint8)])
    data[data == 0x0A] = 0x20
    return strings(data, offsets, np.ones(len(parts), np.bool_))


def status_and_annotation(
    sentences: Sentences, rules: Sequence[int], fewest: int, most_share: float
) -> tuple[pa.Array, pa.Array]:
    """Status and annotation of each text: JSON of the number of sentences and, for each rule, the sentences that break it."""
    statuses, annotated = list[str | None](), list[str | None]()
    starts = np.append(0, np.cumsum(sentences.counts))
    for row, count in enumerate(sentences.counts.tolist()):
        if count < fewest:
            statuses.append(TOO_SHORT)
            annotated.append(None)
            continue
        broken = sentences.rules[starts[row] : starts[row + 1]]
        suspicious = int(np.count_nonzero(broken))
        statuses.append(SUSPICIOUS if suspicious / count > most_share else SURVIVED)
        lists = {f"rule.{rule}": np.flatnonzero(broken & (1 << rule)).tolist() for rule in rules} if suspicious else {}
        annotated.append(json.dumps({"num_sentences": [count], **{name: one for name, one in lists.items() if one}}))
    return of_texts(statuses), of_texts(annotated)

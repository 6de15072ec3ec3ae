"""Rows of the table `audit`: removed samples, or parts of them, beside what stays, with their similarity."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from refinery.dedup.audit.measure import ComparedText, Measure, cosine, jaccard
from refinery.dedup.audit.parts import TextParts
from refinery.dedup.audit.readings import NearestParts, PartTexts
from refinery.results.audit.draw import AuditedPair
from refinery.results.audit.texts import Texts

Row = dict[str, Any]


def by_texts(pairs: Sequence[AuditedPair], measure: Measure, known: Mapping[int, ComparedText]) -> Iterator[Row]:
    """Rows of removed samples by the texts of both."""
    there = [(pair, pair.kept) for pair in pairs if pair.row in known and pair.kept in known]
    stands_for = _weights(pair for pair, _ in there)
    for pair, kept in there:
        assert kept is not None
        one, other = known[pair.row], known[kept]
        angle = cosine(one, other) if measure.vector_key else None
        yield _row(pair, "texts", stands_for, measure) | {"jaccard": jaccard(one, other), "cosine": angle}


def by_signatures(pairs: Sequence[AuditedPair], measure: Measure) -> Iterator[Row]:
    """Rows of samples whose kept one is in an index: it has signatures, which estimate the similarity, and no texts."""
    stands_for = _weights(pairs)
    for pair in pairs:
        yield _row(pair, "signatures", stands_for, measure)


def by_parts(
    step: Any, pairs: Sequence[AuditedPair], parts: TextParts, measure: Measure, texts: Texts
) -> Iterator[Row]:
    """Rows of removed parts: a passage beside its copy, another part beside the one of the kept sample that is most like it."""
    removed = _parts_at(step, PartTexts(measure, parts), [(pair.row, _place(pair)) for pair in pairs], texts)
    there = [(pair, part) for pair, part in zip(pairs, removed, strict=True) if part is not None]
    if parts.are_passages:
        copies = _parts_at(
            step, PartTexts(measure, parts), [(pair.kept, [pair.copy_at, pair.length]) for pair, _ in there], texts
        )
        beside = zip(there, copies, strict=True)
        likeness = [None if copy is None else jaccard(part, copy) for (_, part), copy in beside]
    else:
        likeness = _nearest(step, there, NearestParts(measure, parts), texts)
    found = [(pair, value) for (pair, _), value in zip(there, likeness, strict=True) if value is not None]
    stands_for = _weights(pair for pair, _ in found)
    for pair, value in found:
        yield _row(pair, parts.basis, stands_for, measure) | {"jaccard": value}


def _place(pair: AuditedPair) -> Any:
    return pair.unit if pair.length is None else [pair.unit, pair.length]


def _parts_at(
    step: Any, reading: PartTexts, places: Sequence[tuple[Any, Any]], texts: Texts
) -> list[ComparedText | None]:
    """Parts by rows and their places in these, in order; None for those that cannot be found."""
    asked: dict[int, list[Any]] = defaultdict(list)
    for row, place in places:
        asked[row].append(place)
    taken = {row: iter(values) for row, values in texts.each(step, reading, asked).items()}
    found = [next(taken[row]) if row in taken else None for row, _ in places]
    return [None if plain is None else ComparedText(**plain) for plain in found]


def _nearest(
    step: Any, removed: Sequence[tuple[AuditedPair, ComparedText]], reading: NearestParts, texts: Texts
) -> list[float | None]:
    """The similarity of each removed part to the most similar one of the kept sample; in the same sample, of those before it."""
    asked: dict[int, list[Any]] = defaultdict(list)
    for pair, part in removed:
        if pair.kept is not None:
            asked[pair.kept].append([vars(part), pair.unit if pair.kept == pair.row else None])
    taken = {row: iter(values) for row, values in texts.each(step, reading, asked).items()}
    return [next(taken[pair.kept]) if pair.kept in taken else None for pair, _ in removed]


def _weights(pairs: Iterable[AuditedPair]) -> dict[str, float]:
    """Removed samples or parts that a pair stands for, by source."""
    drawn = list(pairs)
    counts, of_source = Counter(pair.source for pair in drawn), {pair.source: pair.removed for pair in drawn}
    return {source: of_source[source] / count for source, count in counts.items()}


def _row(pair: AuditedPair, basis: str, stands_for: Mapping[str, float], measure: Measure) -> Row:
    return {
        "step": pair.step,
        "operator": pair.operator,
        "_row": pair.row,
        "unit": pair.unit,
        "kept": pair.kept,
        "via": pair.via,
        "source": pair.source,
        "basis": basis,
        "cluster_size": pair.cluster_size,
        "matched": pair.matched,
        "estimated_jaccard": pair.estimated_jaccard,
        "jaccard": None,
        "cosine": None,
        "threshold": measure.threshold,
        "weight": stands_for[pair.source],
    }

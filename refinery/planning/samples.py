"""Third phase: the samples that a run takes; their fields are held against those that the recipe names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from refinery.errors import by_place
from refinery.io.input_part import part_of_input
from refinery.io.left_out import without_rows
from refinery.io.mixture import sample
from refinery.io.model import Keys, Shard, Source
from refinery.io.readers.read import read
from refinery.io.sources import cut
from refinery.planning.field_check import FieldNames, missing_fields
from refinery.planning.phase import Findings, Phase, attempt
from refinery.planning.shard_cut import CutInput


@dataclass(frozen=True)
class Samples:
    """Samples of the input.

    bound: shards that statements are bound to; None if there are none like those that the recipe needs. lines: samples are
    carried as JSON lines. assumed: columns that the shards lack, with their types. known: False if no sample could be read,
    so that any field may be there.
    """

    shards: list[Shard]
    bound: list[Shard] | None
    lines: bool = True
    assumed: Mapping[str, str] = field(default_factory=dict)
    known: bool = True


UNKNOWN = Samples([], [], known=False)


@dataclass(frozen=True)
class SampleSettings:
    """Settings of a recipe that decide which samples of its input a run takes.

    left_out: file of samples to leave out, of each input; "" for none. weights: of each input; none where samples are not drawn.
    most: number of drawn samples. share, limit: of the part that is taken. For these three, None means all samples. place:
    of the inputs in the recipe.
    """

    left_out: tuple[str, ...]
    weights: tuple[float, ...]
    most: int | None
    share: float | None
    limit: int | None
    workers: int
    place: str


def check_samples(names: FieldNames, cut_input: CutInput, place: str) -> Phase[Samples]:
    """The samples of the cut input, with problems of the named fields that they lack."""
    shards, lines = cut_input.shards, cut_input.lines
    fields = attempt(partial(missing_fields, names, shards), None, place)
    if fields.value is None:
        return Phase(UNKNOWN, fields.problems)
    problems, notes = fields.value
    if not problems or lines:
        return Phase(Samples(shards, shards, lines), tuple(by_place(problems)), tuple(notes))
    texts = {keys[0]: "VARCHAR" for keys in names.texts}
    stand_in = attempt(partial(_stand_in, names.texts, shards), None, place)
    samples = Samples(shards, stand_in.value, lines, texts)
    return Phase(samples, (*by_place(problems), *stand_in.problems), tuple(notes))


def choose_samples(settings: SampleSettings, samples: Samples) -> Phase[Samples]:
    """The samples that a run takes: without those that inputs leave out, drawn by weights, of these a part."""
    findings, place = Findings(), settings.place
    samples = findings.value_of(leave_out(samples, settings.left_out, settings.workers, place))
    if not findings.problems:
        if settings.weights:
            samples = findings.value_of(draw(samples, settings.weights, settings.most, settings.workers, place))
        samples = findings.value_of(take_part(samples, settings.share, settings.limit, place))
    return Phase(samples, tuple(findings.problems), tuple(findings.notes))


def draw(samples: Samples, weights: Sequence[float], most: int | None, workers: int, place: str) -> Phase[Samples]:
    """The samples that weights of the inputs select, see `mixture.sample`. most: their number; None for all samples."""
    drawn = attempt(partial(sample, samples.shards, weights, most, workers), None, place)
    if drawn.value is None:
        return Phase(samples, drawn.problems)
    shards, notes = drawn.value
    return Phase(replace(samples, shards=shards, bound=shards), (), tuple(notes))


def leave_out(samples: Samples, files: Sequence[str], workers: int, place: str) -> Phase[Samples]:
    """The samples without those that the inputs leave out, see `io.left_out`. files: of each input; "" for none."""
    if not any(files):
        return Phase(samples)
    left = attempt(partial(without_rows, samples.shards, files, workers), samples.shards, place)
    return Phase(replace(samples, shards=left.value, bound=samples.bound and left.value), left.problems)


def take_part(samples: Samples, share: float | None, limit: int | None, place: str) -> Phase[Samples]:
    """A share of the samples, and of these the first ones; None for all of them. See `io.input_part`."""
    if share is None and limit is None:
        return Phase(samples)
    part = attempt(partial(part_of_input, samples.shards, share, limit), samples.shards, place)
    return Phase(replace(samples, shards=part.value, bound=samples.bound and part.value), part.problems)


def _stand_in(texts: Sequence[Keys], shards: Sequence[Shard]) -> list[Shard] | None:
    """One sample of nulls like those of a table, whose text fields are text, as they should be; None for nested ones."""
    batch = next((batch for shard in shards for batch in read(shard, 1 << 16)), None)
    if batch is None or any(len(keys) > 1 for keys in texts):
        return None
    columns = {name: batch.table.schema.field(name).type for name in batch.table.column_names}
    columns |= {name: pa.string() for (name,) in texts}
    return cut([Source.of_table(pa.table({name: pa.nulls(1, kind) for name, kind in columns.items()}))])

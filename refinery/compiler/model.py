"""A compiled chain of mappers and filters as plain data: columns, layers, versions of the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refinery.compiler.column_names import Keys
from refinery.compiler.layers import Layers
from refinery.compiler.templates import ColumnValue, ident
from refinery.compiler.terms import Predicate
from refinery.operators.bounds import KeptRange, kept_range
from refinery.recipe.lost import MissingStatistics
from refinery.recipe.stat_summary import StatSummary

# Column of a batch of JSON lines: the lines with an empty main text, from which other fields are read much faster.
REST = "_rest"


@dataclass(frozen=True)
class Schema:
    """Columns of a batch of samples.

    lines: samples are JSON texts in `_line`; otherwise they have `columns`. columns: name -> DuckDB type of every known
    input column (for lines: as inferred, and only needed when an operator names one). lost: statistics of steps that
    are wrong and left out; they are NULL. written: columns that mappers of earlier stages write, with their types.
    structures: of the JSON fields with lists and objects, as DuckDB's `from_json` takes them. declared: types
    that the recipe declares, by the keys of fields; values may not fit them.
    """

    lines: bool
    columns: Mapping[str, str] = field(default_factory=dict)
    unknown: bool = False  # there is no sample to tell the columns by, so any name may be one, and is NULL
    lost: MissingStatistics = field(default_factory=MissingStatistics)
    written: Mapping[str, str] = field(default_factory=dict)
    structures: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[Keys, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stat:
    """One statistic column: its name in the tables, the operator's own name for it, its step and SQL type."""

    column: str
    name: str
    step: int
    type: str
    low: str | None = None  # parameters that bound it
    high: str | None = None

    def range_by(self, params: Mapping[str, Any]) -> KeptRange:
        """The range that its filter keeps with these parameters."""
        return kept_range(params, self.low, self.high)


@dataclass(frozen=True)
class KeptField:
    """A field of the input that is stored. column: its hidden column. name: as in the recipe. type: of its values in DuckDB."""

    column: str
    name: str
    type: str


@dataclass(frozen=True)
class TextChange:
    """Result of a mapper step: the columns of the text before and after, and of the flag.

    A field that is no text (`Chain.written`) is JSON in these columns.
    """

    step: int
    field: Keys
    before: str
    after: str
    changed: str


@dataclass(frozen=True)
class BatchColumn:
    """A column of the relation `batch`, besides `_i` and the columns of lines.

    kind: "row", "suffix", "rest", "input", "carried" or "removed". name: of the input's column, or of the statistic or
    the units from an earlier stage.
    """

    column: str
    kind: str
    name: str = ""


@dataclass(frozen=True)
class OrderTerm:
    """One SQL term of the order in which the samples of a cluster are preferred."""

    column: str
    direction: str  # such as "DESC NULLS LAST"


@dataclass(frozen=True)
class CompileContext:
    """Context of a chain in a recipe of several stages.

    before: the deduplicator whose findings are applied first. after: the deduplicator that match keys are computed for.
    stats: statistics of earlier stages; the batch carries those that a step uses, or all with `carry_all`. compare: the
    match keys are the values for the exact comparison of candidates, instead of those that find candidates. measure: filters
    only measure, whatever their bounds. probe: filters remove nothing; each has a column of the rows that it would keep.
    summary: the groups that statistics are summed up by, if these need columns of their own. first: the chain reads the
    input, not what an earlier stage has left. shown: statistics of earlier stages that traces show beside its own. partition:
    names and SQL of the values by which the export is partitioned. repeat: SQL for the number of times that a sample is
    exported. keeps_removed: the texts of removed samples are results, too. keep_fields: fields of the input that are stored
    for every sample.
    """

    before: Any | None = None
    after: Any | None = None
    stats: tuple[Stat, ...] = ()
    carry_all: bool = False
    compare: bool = False
    measure: bool = False
    probe: bool = False
    summary: StatSummary | None = None
    first: bool = True
    shown: tuple[Stat, ...] = ()
    partition: tuple[tuple[str, str], ...] = ()
    repeat: str | None = None
    keeps_removed: bool = False
    keep_fields: tuple[str, ...] = ()


ALONE = CompileContext()


@dataclass
class Chain:
    """The compiled chain."""

    steps: list[Any]
    layers: Layers
    source: str
    stats: list[Stat]
    changes: list[TextChange]
    texts: dict[Keys, str]  # field -> column of its last version
    read: dict[Keys, str]  # field -> column of the version that was read
    alive: dict[int, str]  # filter step -> its flag
    features: dict[str, list[int]]  # feature column -> steps that use it
    functions: set[str]
    batch_columns: dict[str, BatchColumn] = field(
        default_factory=dict
    )  # columns that the batch must have, by their names
    outs: dict[Keys, str] = field(default_factory=dict)  # field that a step changes -> result column with the new text
    used_features: set[str] = field(default_factory=set)  # names of the features
    versions: dict[int, str] = field(default_factory=dict)  # step (0: as read) -> column of the main text after it
    match_keys: list[str] = field(default_factory=list)  # columns that the deduplicator after the chain compares
    order: list[OrderTerm] = field(default_factory=list)
    removed: str | None = None  # column of the batch with the units that the deduplicator before the chain removes
    plain_source: str = ""  # `source` for a batch without `_text`
    keys: list[str] = field(default_factory=list)  # hidden columns that statistics are summed up by
    partition: list[str] = field(default_factory=list)  # hidden columns with the values that name folders of the export
    repeats: list[str] = field(
        default_factory=list
    )  # the hidden column with the number of times that a sample is exported
    kept_fields: list[KeptField] = field(default_factory=list)  # hidden columns with fields of the input
    keeps_removed: bool = False  # removed samples are written, too
    chars: dict[int, str] = field(default_factory=dict)  # step -> hidden column with the length of the text it measured
    passes: dict[int, str] = field(default_factory=dict)  # filter step -> column of the rows it would keep (probe)
    files: set[str] = field(default_factory=set)  # names of files, folders and globs that its SQL reads
    conditions: set[int] = field(default_factory=set)  # filter steps with a condition besides their bounds
    written: dict[Keys, str] = field(default_factory=dict)  # fields that mappers write, in place of texts -> SQL types
    faults: dict[int, str] = field(
        default_factory=dict
    )  # step -> column with the reason why it cannot process a sample
    values: dict[str, Keys] = field(default_factory=dict)  # column of a value that a mapper writes -> its field
    shown: tuple[Stat, ...] = ()  # statistics of earlier stages that traces show
    predicates: dict[int, Predicate] = field(default_factory=dict)  # filter step -> the terms of its predicate
    terms: dict[int, str] = field(default_factory=dict)  # filter step -> column with the code of the term that failed
    asked: dict[int, set[str]] = field(default_factory=dict)  # step -> names that its statement has looked up
    # step -> column of a statistic that holds each sample's value of a parameter that depends on a column
    bounds: dict[int, dict[str, str]] = field(default_factory=dict)

    def params_of(self, step: Any) -> dict[str, Any]:
        """Parameters of a step, with columns in place of numbers that depend on a column."""
        own = self.bounds.get(step.index, {})
        return {**step.params, **{name: ColumnValue(ident(column), name) for name, column in own.items()}}

    def select(self, columns: list[str], plain: bool = False) -> str:
        """A statement over `batch` that computes `columns` (texts `expression AS name`).

        A batch of JSON lines has its texts in `_text`, unless the text field is nested. plain: the batch never has them.
        """
        relations, last = self.relations(plain)
        return f"{relations} SELECT {', '.join(columns)} FROM {last}"

    def relations(self, plain: bool = False) -> tuple[str, str]:
        """The relations of a statement, from the first SELECT to the last layer, and the last layer's name."""
        ctes, last = self.layers.ctes("_read")
        ctes.insert(0, f"_read AS NOT MATERIALIZED ({self.plain_source if plain else self.source})")
        return f"WITH {', '.join(ctes)}", last

    def _bad(self) -> list[str]:
        """Columns with the reason for quarantine, and with the step that gives it if a step can."""
        if not self.faults:
            return ["_bad"]
        steps = " ".join(f"WHEN {fault} IS NOT NULL THEN {step}" for step, fault in self.faults.items())
        return [f"coalesce(_bad, {', '.join(self.faults.values())}) AS _bad", f"CASE {steps} ELSE 0 END AS _bad_step"]

    def dropped(self) -> str:
        """SQL for the step that removed the row; NULL for a row that stays."""
        cases = [f"WHEN NOT {alive} THEN {step}" for step, alive in self.alive.items()]
        return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS INTEGER)"

    def pass_columns(self) -> list[str]:
        """Result columns: row number in the batch, fate, statistics, change flags, changed texts of rows that stay.

        With `keeps_removed` also the changed texts of removed rows, as the step that removed them has read them.
        """
        columns = ["_i", *self._bad(), f"{self.dropped()} AS _dropped"]
        columns += [ident(stat.column) for stat in self.stats]
        columns += [f"coalesce({change.changed}, FALSE) AS {change.changed}" for change in self.changes]
        columns += self.terms.values()
        columns += [f"strlen({column}) AS {bytes_name(step)}" for step, column in self.versions.items()]
        columns += [ident(key) for key in self.match_keys]
        columns += [field.column for field in self.kept_fields]
        columns += [*self.keys, *self.partition, *self.repeats, *dict.fromkeys(self.chars.values())]
        last = list(self.alive.values())[-1] if self.alive and not self.keeps_removed else "_bad IS NULL"
        for keys, out in self.outs.items():
            flags = [change.changed for change in self.changes if change.field == keys]
            changed = "" if keys in self.written else f" AND ({' OR '.join(flags)})"
            columns.append(f"CASE WHEN {last}{changed} THEN {self._last_text(keys)} END AS {out}")
        return columns

    def _last_text(self, keys: Keys) -> str:
        """SQL for the last version of a field; of a row that is removed and written, the one that the step has read."""
        removing = [change for change in self.changes if change.field == keys and change.step in self.alive]
        if not (self.keeps_removed and removing):
            return self.texts[keys]
        whens = " ".join(f"WHEN NOT {self.alive[change.step]} THEN {change.before}" for change in removing)
        return f"CASE {whens} ELSE {self.texts[keys]} END"

    def facts(self) -> list[str]:
        """Result columns stored for every sample, besides its number: neither its texts nor its match keys."""
        names = ["_dropped", *(stat.column for stat in self.stats), *(change.changed for change in self.changes)]
        return [
            *names,
            *self.terms.values(),
            *map(bytes_name, self.versions),
            *self.keys,
            *(field.column for field in self.kept_fields),
            *self.partition,
            *self.repeats,
            *dict.fromkeys(self.chars.values()),
        ]

    def columns_of(self, *kinds: str) -> frozenset[str]:
        """Columns of some kinds."""
        return frozenset(definition.name for definition in self.layers.definitions() if definition.kind in kinds)

    def replay_columns(self) -> list[str]:
        """Columns for tracing and explaining single rows: every version of every text, and every statistic."""
        versions = [*self.read.values(), *(change.after for change in self.changes)]
        return [*self.pass_columns(), *dict.fromkeys(versions), *(ident(stat.column) for stat in self.shown)]


def bytes_name(step: int) -> str:
    """Name of the result column with the bytes of the main text after a step (0: as read)."""
    return f"_bytes_{step}"

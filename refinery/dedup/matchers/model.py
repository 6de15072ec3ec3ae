"""The interface of matchers: ways of comparing that deduplicators choose from, by the field `match` of their headers.

Matchers stand below operators, because a header is read by its matcher. They open nothing themselves: the match keys of
all samples, the texts and the functions are given to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class Pairs(NamedTuple):
    """Matched samples: row and via (numbers of samples), how (band or Hamming distance), true Jaccard or NaN."""

    row: np.ndarray
    via: np.ndarray
    how: np.ndarray
    jaccard: np.ndarray


@dataclass(frozen=True)
class MatchColumn:
    """A column of match keys that the body of an operator selects. A sample without the first one takes no part.

    form: "value"; "columns", a list whose items become columns `<each>_0` and on, so that each is read without the
    others; "rows", a list whose items become rows (`unit`, the place in the list, and `<each>`) unless they are 0; "tuples", a
    list of which as many items become a row as `each` has names.
    compared: False for a column that only describes pairs. number: a value takes 8 bytes, so many fit into memory.
    """

    name: str
    form: str = "value"
    each: str = ""
    compared: bool = True
    number: bool = False

    def holds(self, name: str) -> bool:
        """Return whether a column of stored match keys belongs to this column."""
        if self.form == "columns":
            return name.startswith(f"{self.each}_")
        if self.form == "tuples":
            return name in self.each.split()
        return name in (("unit", self.each) if self.form == "rows" else (self.name,))


@dataclass(frozen=True)
class SetQuery:
    """SQL over the match keys of all samples: a template of `sql/deduplicators` with its values, or a text.

    when: how often a run executes it. Among the values, queries are put into the template as their texts.
    """

    name: str
    when: str = "once"
    values: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class MatchSql:
    """SQL of a match in the table `duplicates`, over `found` (`how`) and, if joined, the match keys `one` and `other`.

    matched: the match as text. distance, estimate: numbers, or NULL.
    """

    matched: str
    distance: str = "NULL"
    estimate: str = "NULL"
    joined: bool = True


@dataclass(frozen=True)
class MatchScript:
    """Statements of the script of `refinery sql` that find pairs.

    pairs: makes the table `pairs`; `verified` stands in its place where candidates are compared exactly. before: runs
    first. nearest: name of the number `how`, the least of which explains a match; "" where there is only one match.
    """

    pairs: SetQuery
    before: tuple[SetQuery, ...] = ()
    verified: SetQuery | None = None
    nearest: str = ""


class KeyRelations(Protocol):
    """Match keys of all samples as relations of a DuckDB connection: `marks`, and `compared` without descriptions."""

    con: Any
    columns: list[str]
    small: bool
    threads: int

    def sql(self, query: SetQuery) -> str:
        """The text of a query."""

    def run(self, sql: str) -> None:
        """Run one statement to its end."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The result of a query, batch by batch."""

    def table(self, names: Sequence[str]) -> pa.Table:
        """Columns of `compared`."""

    def keep(self) -> None:
        """Copy `compared` into memory if it is small."""

    def relation(self, name: str, table: pa.Table) -> Any:
        """Register a table under a name for SQL, as a context."""


class ShingleComparison(Protocol):
    """Compares shingles of this run's samples, whose numbers are not below 0."""

    def of(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """True Jaccard similarity of each pair of samples; NaN if one is not of this run."""


@dataclass(frozen=True)
class SharedShingles:
    """Distinct shingles that two texts share: their number, the number in each text, the first ten. jaccard: exact."""

    count: int
    here: int
    there: int
    jaccard: float
    first: tuple[str, ...]


class Matcher(Protocol):
    """One way of comparing.

    columns: that the body of an operator selects. takes_units: parts of texts are removed, not samples. params: of every
    operator with this matcher, besides its own. only_compares: parameters that decide pairs, but no match key; an index
    can be used with other values of these. measured: a parameter that bounds a match, and the statistic that the ledger
    shows for it. by_value: a pair, or a unit to remove, depends on no sample without one of its values, so a corpus decides
    anew about the samples with touched values alone (`refinery.corpus.incremental`).
    """

    @property
    def columns(self) -> tuple[MatchColumn, ...]: ...
    @property
    def takes_units(self) -> bool: ...
    @property
    def params(self) -> Mapping[str, dict[str, Any]]: ...
    @property
    def only_compares(self) -> frozenset[str]: ...
    @property
    def measured(self) -> tuple[str, str] | None: ...
    @property
    def by_value(self) -> bool: ...

    def problem(self, header: Mapping[str, Any]) -> str:
        """The reason why a header does not fit; "" if it does."""

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan: the compared values, and the meaning of a match."""

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The queries with which a run finds pairs, or units to remove (`_row`, `unit`, `kept`, `matched`)."""


class SampleMatcher(Matcher, Protocol):
    """A way of comparing samples, of whose clusters one sample each stays."""

    @property
    def match(self) -> MatchSql: ...

    def pairs(
        self, keys: KeyRelations, params: Mapping[str, Any], compare: ShingleComparison, notes: list[str]
    ) -> Iterator[Pairs]:
        """Pairs of samples that match. compare: for exact comparison. notes: gets lines on pairs left out."""

    @property
    def any_type(self) -> bool:
        """True if match keys have the types of fields: an index keeps a form of them that depends on values alone.

        A matcher without this property is one that says False.
        """

    @property
    def direct(self) -> str:
        """Way in which `cluster: star` compares two samples directly (`dedup.tasks.stars`); "" if it cannot.

        A matcher without this property is one that says "".
        """

    def key_of_short(self, params: Mapping[str, Any]) -> tuple[str, int] | None:
        """The match key, column and value, of every text of fewer tokens than a shingle; None if such texts are compared.

        A matcher without this method is one that says None.
        """

    def mark_of_short(self, params: Mapping[str, Any]) -> tuple[str, Any] | None:
        """The match key, column and value, by which texts of fewer tokens than a shingle are counted; None if they are not.

        A matcher without this method is one that says None.
        """

    def equal_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """Columns of stored match keys in each of which equal samples match, with the number `how`.

        Machines of a cluster join these columns separately; None if equal values alone are no match.
        """

    def candidate_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """Columns of stored match keys, with their numbers: samples that match are equal in one of them, at least.

        Machines of a cluster look for matches among samples of equal values; None if one process has to see all samples. A matcher
        without this method is one that says None.
        """

    def pairs_among(self, keys: KeyRelations, column: str, params: Mapping[str, Any]) -> Iterator[Pairs]:
        """Pairs among samples that are equal in one of the `candidate_columns`.

        keys: of all samples with some values of the column, or with any. Pairs must not depend on samples with other values, and those
        of all columns together, without regard to repetitions, are those of `pairs`.
        """

    def kinds(self, keys: KeyRelations) -> list[Any]:
        """Kinds of match keys, as JSON values, for `require`."""

    def require(self, kinds: Collection[Any]) -> None:
        """Raise OperatorError if match keys of these kinds cannot be compared with each other."""

    def script(self, params: Mapping[str, Any]) -> MatchScript:
        """Statements of the script that find pairs."""

    def shown(self, values: Mapping[str, Any]) -> str | None:
        """Text of a sample's match key, as evidence shows it; values: of the columns. None to show none."""

    def shared(self, here: str, there: str, key: str | None, params: Mapping[str, Any]) -> SharedShingles | None:
        """Shingles that two texts share, if these were compared. key: the text that `shown` has for the second one."""

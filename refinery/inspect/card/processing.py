"""Figures about what a run did, from its tables."""

from __future__ import annotations

from collections.abc import Sequence

from refinery.common.lazy import duckdb
from refinery.compiler.templates import ident, lit
from refinery.inspect.card.figures import MOST, Entry, Figure, NotMeasured, figure, measured

# Words in the name of an operator, of a step or of a statistic that put it among the steps on a subject.
PERSONAL = "pii email ip phone address personal ssn iban names anonymize".split()
CONTAMINATION = "contamination decontamination contaminated decontaminate benchmark benchmarks".split()
HARMFUL = "badwords flagged porn pornographic nsfw toxic toxicity hate csam blocklist blacklist url urls safety".split()
_NUMBERS = (
    "BIGINT",
    "INTEGER",
    "DOUBLE",
    "FLOAT",
    "UBIGINT",
    "UINTEGER",
    "USMALLINT",
    "SMALLINT",
    "HUGEINT",
    "BOOLEAN",
)


class Processing:
    """Figures about the steps of a run. columns: of each table, with their types."""

    def __init__(self, con: duckdb.DuckDBPyConnection, columns: dict[str, dict[str, str]]) -> None:
        self._con, self._columns = con, columns
        self._names = "operator, name" if "name" in columns["steps"] else "operator"

    def rows(self) -> list[Entry]:
        """Rows read, kept, removed, quarantined."""
        sql = "SELECT rows_read, rows_kept, rows_removed, rows_quarantined FROM runs"
        return [figure(self._con, "Rows", sql, "Rows read are rows kept, removed and quarantined together.")]

    def files(self) -> list[Entry]:
        """Rows by input file."""
        sql = (
            "WITH counted AS (\n  SELECT first_row, count(*) AS rows_kept\n"
            "  FROM stats ASOF JOIN (SELECT first_row FROM files WHERE rows > 0) AS f ON _row >= f.first_row\n"
            "  WHERE kept GROUP BY ALL)\n"
            "SELECT file, rows AS rows_read, coalesce(rows_kept, 0) AS rows_kept\n"
            "FROM files LEFT JOIN counted ON counted.first_row = files.first_row AND rows > 0\n"
            f"ORDER BY files.first_row, file LIMIT {MOST}"
        )
        total = "SELECT count(DISTINCT file) AS input_files, sum(rows) AS rows_read FROM files"
        return [
            figure(self._con, "Input files", total),
            figure(self._con, "Rows by input file", sql, f"The first {MOST}."),
        ]

    def removed(self) -> list[Entry]:
        """Samples removed by each step, and by reason; rows in quarantine by error."""
        steps = (
            f"SELECT step, {self._names}, kind, rows_in, removed, changed, quarantined, rows_out, bytes_out AS text_bytes_out\n"
            "FROM steps ORDER BY step"
        )
        reasons = (
            "SELECT step, operator, if(kind = 'deduplicator', 'duplicate', reason) AS reason, count(*) AS samples\n"
            f"FROM ledger JOIN steps USING (step, operator)\nGROUP BY ALL ORDER BY samples DESC, step, reason LIMIT {MOST}"
        )
        errors = (
            "SELECT step, operator, error, count(*) AS rows FROM quarantine\n"
            f"GROUP BY ALL ORDER BY rows DESC, step, error LIMIT {MOST}"
        )
        return [
            figure(self._con, "Steps", steps),
            figure(self._con, "Removed by reason", reasons, none="No sample was removed"),
            figure(self._con, "Quarantined by error", errors, none="No row is in quarantine"),
        ]

    def duplicates(self) -> list[Entry]:
        """Duplicates and clusters of each deduplicator."""
        none = "the recipe has no deduplicator"
        steps = (
            "SELECT step, operator, rows_in, removed, changed AS shortened FROM steps\n"
            "WHERE kind = 'deduplicator' ORDER BY step"
        )
        clusters = (
            "SELECT step, operator, count(DISTINCT cluster) AS clusters, count(*) AS samples, max(size) AS largest\n"
            "FROM clusters GROUP BY ALL ORDER BY step"
        )
        parts = (
            "SELECT step, operator, count(*) AS parts, count(DISTINCT _row) AS samples FROM duplicates\n"
            "WHERE unit IS NOT NULL GROUP BY ALL ORDER BY step"
        )
        duplicates = measured(self._con, "Duplicates", steps, none)
        if isinstance(duplicates, NotMeasured):
            return [duplicates]
        return [
            duplicates,
            figure(
                self._con, "Clusters of duplicates", clusters, none="No deduplicator of whole samples met a duplicate"
            ),
            figure(
                self._con,
                "Parts of texts that were removed as duplicates",
                parts,
                none="No deduplicator removed parts of texts",
            ),
            *self._audit(),
        ]

    def _audit(self) -> list[Entry]:
        """Shares of removed samples that are like those that stay."""
        sql = (
            "SELECT step, operator, source, basis, measure, threshold, n, removed, round(low, 4) AS low, round(high, 4) AS high\n"
            f"FROM audit_summary ORDER BY step, source NULLS FIRST, measure DESC, threshold LIMIT {MOST}"
        )
        title = "Removed samples that are like those that stay"
        note = "low and high: Wilson's interval at 95 % of the share that is at least so similar; no source: all of them; basis: what was compared."
        return [measured(self._con, title, sql, "no deduplicator of samples was audited: set audit: 1000", note)]

    def subject(self, title: str, words: Sequence[str], example: str) -> list[Entry]:
        """Steps on a subject with what they changed and removed, and statistics on it."""
        names = f"regexp_split_to_array(lower(concat_ws(' ', {self._names})), '[^a-z]+')"
        sql = (
            f"SELECT step, {self._names}, kind, rows_in, changed, removed FROM steps\n"
            f"WHERE list_has_any({names}, {lit(list(words))}) ORDER BY step"
        )
        empty = f"the recipe has no step for it (none whose operator or name has a word of {', '.join(words)}), such as {example}"
        note = "Steps with a word of the list in the name of the operator or of the step; other steps may do the same."
        return [measured(self._con, title, sql, empty, note), *self._statistics(title, words)]

    def contamination(self) -> list[Entry]:
        """Items of evaluation sets in the samples, for each set; other steps on the subject."""
        others = self.subject("Contamination", CONTAMINATION, "contamination_filter")
        if "contamination_sets" not in self._columns:
            return others
        sql = f"SELECT * FROM contamination_sets LIMIT {MOST}"
        note = "An item is in a sample if enough of its words are there together: docs/contamination.md. samples_kept: still in the export."
        of_sets = measured(self._con, "Items of evaluation sets", sql, "the recipe has no contamination_filter", note)
        return [of_sets, *others] if isinstance(of_sets, Figure) else others

    def _statistics(self, title: str, words: Sequence[str]) -> list[Entry]:
        columns = [
            name
            for name, kind in self._columns["stats"].items()
            if kind in _NUMBERS and set(name.lower().split("_")) & set(words)
        ]
        return [
            figure(
                self._con,
                f"{title}: {name}",
                f"SELECT sum({ident(name)}) AS total, count(*) FILTER ({ident(name)} > 0) AS samples_with, "
                f"count({ident(name)}) AS samples_measured\nFROM stats WHERE kept",
                "Over kept samples, as they were at the step that measured them.",
            )
            for name in columns
        ]

    def versions(self) -> list[Entry]:
        """Software, operators with their parameters, models, recipe."""
        run = "SELECT run_id, project_name, began, seconds, fingerprint, sha256(recipe) AS recipe_sha256 FROM runs"
        software = "SELECT key AS software, value ->> '$' AS version FROM runs, json_each(versions) ORDER BY software"
        models = (
            "SELECT model ->> 'name' AS model, model ->> 'path' AS path, file ->> 'file' AS file, file ->> 'bytes' AS bytes,\n"
            "  file ->> 'sha256' AS sha256\nFROM (SELECT model, unnest((model -> 'files')::JSON[]) AS file\n"
            f"  FROM (SELECT unnest(assets::JSON[]) AS model FROM runs)) ORDER BY model, path, file LIMIT {MOST}"
        )
        parameters = f"SELECT step, {self._names}, parameters FROM steps ORDER BY step"
        note = "The fingerprint is a digest of the operators, their files and their parameters."
        return [
            figure(self._con, "Run", run, note),
            figure(self._con, "Software", software),
            figure(self._con, "Operators and their parameters", parameters),
            figure(self._con, "Models and word lists", models, none="No step reads a model or word list from a file"),
        ]

    def digests(self, path: str | None, command: str) -> list[Entry]:
        """Recorded digests of the files; `path`: of digests.json, None if there is none."""
        title = "Digests of inputs, models, recipe and outputs"
        if path is None:
            reason = f"none were recorded: the recipe has no `digests: true`; {command} records those of the files as they are now"
            return [NotMeasured(title, reason)]
        file = f"read_json({lit(path)}, maximum_object_size = 1000000000)"
        root = f"SELECT root, recorded, time FROM {file}"
        each = (
            "SELECT part, name, size, sha256\n"
            f"FROM (SELECT unnest(files, recursive := true) FROM {file})\nORDER BY part, name LIMIT {MOST}"
        )
        return [
            figure(self._con, "Root of the digests", root, "Compare it with: refinery verify --root"),
            figure(self._con, title, each, f"The first {MOST}."),
        ]

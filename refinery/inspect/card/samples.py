"""Figures about the kept samples, from their fields in the export and from statistics of the run."""

from __future__ import annotations

from collections.abc import Sequence

from refinery.compiler.templates import ident
from refinery.inspect.card.exported import Exported
from refinery.inspect.card.figures import MOST, Entry, NotMeasured, figure
from refinery.inspect.card.options import CardOptions

# Statistics with a number of tokens, and with a language.
_TOKENS = ("num_token", "token_count")
_LANGUAGES = ("lang", "language")
_TOP_NOTE = f"The first {MOST}; without its LIMIT the query lists all. Hosts are names as they stand in addresses."


class KeptSamples:
    """Figures about the kept samples. columns: of the table `stats`, with their types."""

    def __init__(
        self, exported: Exported, columns: dict[str, str], options: CardOptions, text_key: Sequence[str]
    ) -> None:
        self._exported, self._columns, self._options, self._text_key = exported, columns, options, text_key
        self._con = exported.con

    def size(self) -> list[Entry]:
        """Number of samples, bytes of text, and tokens where a step has counted them."""
        title, export = "Size of the kept samples", self._exported
        if export.why_not or not self._has_text:
            why = export.why_not or f"the exported samples have no field {self._text_key[0]}"
            size: Entry = NotMeasured(title, why)
        else:
            text = export.text(self._text_key)
            size = figure(
                self._con,
                title,
                f"SELECT count(*) AS samples, sum(strlen({text})) AS text_bytes\nFROM {export.relation}",
            )
        return [size, self._tokens()]

    def _tokens(self) -> Entry:
        title = "Tokens of the kept samples"
        column = next((name for name in self._columns if name.startswith(_TOKENS)), None)
        if column is None:
            return NotMeasured(title, "the recipe has no step that counts tokens, such as token_num_filter")
        sql = f"SELECT sum({ident(column)}) AS tokens, count({ident(column)}) AS counted_samples\nFROM stats WHERE kept"
        note = "As the tokenizer of the step counts them, in the text as it was at that step."
        return figure(self._con, title, sql, note)

    def by_field(self, what: str, title: str) -> Entry:
        """Kept samples by a field such as the licence."""
        value, why = self._field(what)
        if value is None:
            return NotMeasured(title, why)
        sql = (
            f"SELECT {value} AS {what}, count(*) AS samples\nFROM {self._exported.relation}\n"
            f"GROUP BY ALL ORDER BY samples DESC, {what} LIMIT {MOST}"
        )
        return figure(self._con, title, sql)

    def different(self, what: str, title: str) -> Entry:
        """The number of values of a field, and of samples without one."""
        value, why = self._field(what)
        if value is None:
            return NotMeasured(title, why)
        sql = (
            f"SELECT count(DISTINCT {value}) AS different, count(*) - count({value}) AS samples_without\n"
            f"FROM {self._exported.relation}"
        )
        return figure(self._con, title, sql)

    def languages(self) -> list[Entry]:
        """Languages, as steps have measured them and as a field of the samples names them."""
        entries: list[Entry] = []
        for name, kind in self._columns.items():
            if kind == "VARCHAR" and name.rstrip("_0123456789") in _LANGUAGES:
                sql = (
                    f"SELECT {ident(name)} AS language, count(*) FILTER (kept) AS kept, count(*) FILTER (NOT kept) AS removed\n"
                    f"FROM stats GROUP BY ALL ORDER BY kept DESC, removed DESC, language LIMIT {MOST}"
                )
                note = "A sample without a language was removed before it was measured."
                entries.append(figure(self._con, f"Languages, as measured in {name}", sql, note))
        if not entries:
            reason = "the recipe has no step that measures languages, such as language_id_score_filter"
            entries.append(NotMeasured("Languages, as measured", reason))
        return [*entries, self.by_field("language", "Languages, as the samples name them")]

    def hosts(self) -> list[Entry]:
        """Hosts of the samples' addresses: their number, and the tenth of them with most text."""
        value, why = self._field("url")
        titles = "Hosts of the kept samples", "Tenth of the hosts that has most text"
        if value is None or not self._has_text:
            why = why or f"the exported samples have no field {self._text_key[0]}"
            return [NotMeasured(title, why) for title in titles]
        export = self._exported
        host = f"nullif(regexp_extract(lower({value}), '^(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#@]*@)?([^/?#:]+)', 1), '')"
        hosts = (
            f"WITH hosts AS (\n  SELECT {host} AS host, count(*) AS samples, sum(strlen({export.text(self._text_key)})) AS "
            f"text_bytes\n  FROM {export.relation} GROUP BY ALL)\n"
        )
        count = f"{hosts}SELECT count(host) AS hosts, coalesce(sum(samples) FILTER (host IS NULL), 0) AS samples_without\nFROM hosts"
        top = (
            f"{hosts}SELECT host, samples, text_bytes FROM hosts WHERE host IS NOT NULL\n"
            f"QUALIFY row_number() OVER (ORDER BY text_bytes DESC, host) <= ceil(0.1 * count(*) OVER ())\n"
            f"ORDER BY text_bytes DESC, host LIMIT {MOST}"
        )
        return [
            figure(self._con, titles[0], count),
            figure(self._con, titles[1], top, _TOP_NOTE, "No sample has an address with a host"),
        ]

    def dates(self) -> Entry:
        """First and last date of the samples."""
        title = "Dates of the kept samples"
        value, why = self._field("date")
        if value is None:
            return NotMeasured(title, why)
        sql = (
            f"SELECT min(date) AS first, max(date) AS last, count(*) - count(date) AS samples_without\n"
            f"FROM (SELECT TRY_CAST({value} AS TIMESTAMP)::DATE AS date FROM {self._exported.relation})"
        )
        return figure(self._con, title, sql)

    @property
    def _has_text(self) -> bool:
        return self._text_key[0] in self._exported.fields

    def _field(self, what: str) -> tuple[str | None, str]:
        """SQL for the text of a field, or None with the reason."""
        if self._exported.why_not:
            return None, self._exported.why_not
        value = self._exported.field(self._options.names(what), self._options.option(what))
        usual = ", ".join(self._options.names(what))
        return value, f"the exported samples have no field {usual}; name another one with --{what}-field"

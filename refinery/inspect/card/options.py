"""Choices of a user for a card: fields of the samples, and the licence of the whole."""

from __future__ import annotations

from dataclasses import dataclass

# Usual names of the fields, tried in this order where the user names none.
USUAL = {
    "license": ("license", "licence", "meta.license", "metadata.license"),
    "language": ("lang", "language", "meta.lang", "meta.language", "metadata.language"),
    "source": ("source", "meta.source", "metadata.source"),
    "url": ("url", "source_url", "meta.url", "metadata.url"),
    "date": ("date", "crawled", "timestamp", "meta.date", "metadata.date"),
}


@dataclass(frozen=True)
class CardOptions:
    """fields: names of fields by what they hold, where the user names them. license: of the dataset as a whole.

    base_url: the address below which the exported files are published.
    """

    fields: dict[str, str]
    license: str = ""
    base_url: str = ""

    def names(self, what: str) -> tuple[str, ...]:
        """Names to look for: the user's, or the usual ones."""
        return (self.fields[what],) if what in self.fields else USUAL[what]

    def option(self, what: str) -> str:
        """The option by which the user has named a field; empty if they have not."""
        return f"--{what}-field" if what in self.fields else ""

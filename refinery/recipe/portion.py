"""The part of a recipe that is run: the first samples, a share of them, some steps left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Portion:
    """limit: number of samples, the first ones. sample: share of the samples. skipped: labels of the steps left out."""

    limit: int | None = None
    sample: float | None = None
    skipped: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Name of the folder for the results, below that of the whole recipe."""
        parts = [f"sample-{self.sample!r}"] if self.sample is not None else []
        parts += [f"first-{self.limit}"] if self.limit is not None else []
        parts += ["without-" + "-".join(label.partition(" ")[0] for label in self.skipped)] if self.skipped else []
        return "-".join(parts)

    @property
    def description(self) -> str:
        """The part in words, such as `the first 100 samples of a sample of 1%, without step 3 fix_unicode_mapper`."""
        parts = [f"the first {self.limit:,} samples"] if self.limit is not None else []
        parts += [f"a sample of {_percent(self.sample)}"] if self.sample is not None else []
        text = " of ".join(parts) or "all samples"
        return text + "".join(f", without step {label}" for label in self.skipped)

    def plain(self) -> dict[str, Any]:
        """The part as plain data."""
        return {
            "limit": self.limit,
            "sample": self.sample,
            "skipped": list(self.skipped),
            "description": self.description,
        }


def _percent(share: float) -> str:
    return f"{share * 100:.10g}%"

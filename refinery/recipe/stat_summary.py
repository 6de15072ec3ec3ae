"""The key `stat_summary` of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, field

from refinery.recipe.key import key


@dataclass(frozen=True)
class StatSummary:
    """Groups by which the statistics of a run are summed up.

    group_by: pairs of name and SQL expression. stats: names of statistics, empty for all. where: the key's place. by:
    the place of `group_by`, which may be an option.
    """

    groups: tuple[str, ...] = key(
        "strings",
        ("summary",),
        "Any of `summary` (all samples), `histogram` (by the rounded value), `fqdn` (by host name), `suffix` (by public "
        "suffix).",
    )
    group_by: tuple[tuple[str, str], ...] = key(
        "expressions",
        (),
        "A column or SQL expression over a sample as it was read, a list of them, or a mapping of names to them.",
    )
    histogram_round_digits: int = key(
        "int", 3, "Decimals of the keys of `histogram`; -2 rounds to hundreds.", min=-15, max=15
    )
    top_k: int = key(
        "int", 100_000, "Number of keys to keep in each group of `top_k_groups`, those with the most samples.", min=1
    )
    top_k_groups: tuple[str, ...] = key(
        "strings",
        ("fqdn", "suffix"),
        "Groups that keep only `top_k` keys: names of groups, or names in `group_by`.",
    )
    url_key: str = key(
        "str",
        "url",
        "Field with the URL of a sample. If a sample has fields `fqdn` or `suffix`, these are used instead.",
    )
    tokens_key: str = key("str", "token_count", "Field with the number of tokens, for `__tokens` of a histogram.")
    export: str | None = key(
        "str", None, "Folder or URL for the files `{group}/{statistic}/{rank}.json`.", nullable=True
    )
    rank: int = key("int", 0, "Number of this run among the runs whose files are merged.", min=0, max=99_999)
    stats: tuple[str, ...] = key("strings", (), "Names of the statistics to sum up; all by default.")
    where: str = field(default="stat_summary", compare=False)
    by: str = field(default="stat_summary", compare=False)

    @property
    def grouped(self) -> bool:
        """True if statistics are grouped by anything."""
        return bool(self.group_by) or any(group != "summary" for group in self.groups)

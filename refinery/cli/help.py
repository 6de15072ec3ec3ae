"""Help pages: commands by task, whole descriptions, examples of each command."""

from __future__ import annotations

from typing import Any

import click

# Commands by the task that they are for.
TASKS = {
    "Start": ("demo", "init", "import", "check", "forecast", "run"),
    "See what a run did": ("status", "explore", "why", "audit", "report", "diff", "tables"),
    "Choose bounds": ("analyze", "tune", "overlap", "refilter", "buckets"),
    "Keep a corpus": ("add", "withdraw", "corpus"),
    "Hand data on": ("card", "verify", "signatures"),
    "Operators of your own": ("new", "test"),
    "Look things up": ("ops", "assets", "sql", "schema"),
    "Housekeeping": ("gc", "stats", "completion", "version"),
}
# Examples of each command; those of `refinery` itself are the first steps.
EXAMPLES = {
    "": ("refinery demo", "refinery run recipe.yaml", "refinery why 42 --run outputs/web_sample"),
    "add": (
        "refinery add recipe.yaml --corpus outputs/corpus",
        "refinery add recipe.yaml --corpus outputs/corpus --dataset_path may.jsonl --dry-run",
    ),
    "analyze": ("refinery analyze docs.jsonl", "refinery analyze recipe.yaml --stats words_num_filter --group-by lang"),
    "assets": (
        "refinery assets recipe.yaml",
        "refinery assets recipe.yaml --fetch",
        "refinery assets recipe.yaml --lock",
    ),
    "audit": ("refinery audit outputs/web_dedup", "refinery audit outputs/web_dedup --pairs 200 --json"),
    "buckets": ("refinery buckets outputs/web_sample", "refinery buckets outputs/web_sample quality --buckets 10"),
    "card": (
        "refinery card outputs/web_sample",
        "refinery card outputs/web_sample --license-field license --license CC-BY-4.0 --out cards",
    ),
    "check": ("refinery check recipe.yaml", "refinery check recipe.yaml --json"),
    "completion": ('eval "$(refinery completion bash)"',),
    "corpus": (
        "refinery corpus outputs/corpus",
        "refinery corpus outputs/corpus --row 2:17",
        "refinery corpus outputs/corpus --keep 5",
        "refinery corpus outputs/corpus --verify",
    ),
    "demo": ("refinery demo",),
    "diff": ("refinery diff outputs/a outputs/b", "refinery diff outputs/a outputs/b --html diff.html"),
    "explore": ("refinery explore outputs/a", "refinery explore outputs/a --with outputs/b --port 8765"),
    "forecast": ("refinery forecast recipe.yaml", "refinery forecast recipe.yaml --cluster 640"),
    "gc": ("refinery gc outputs --dry-run", "refinery gc outputs --budget 10GB --age 7d"),
    "new": ("refinery new filter short_titles", "refinery new mapper my_mapper --python"),
    "ops": ("refinery ops", "refinery ops dedup", "refinery ops text_length_filter"),
    "read": ("refinery signatures read recipe.yaml signatures",),
    "refilter": ("refinery refilter outputs/web_sample --set process.words_num_filter.min_num=30",),
    "report": ("refinery report outputs/web_sample", "refinery report outputs/web_sample -o page.html"),
    "run": (
        "refinery run recipe.yaml",
        "refinery run recipe.yaml --np 8 --set process.words_num_filter.min_num=30",
        "refinery run recipe.yaml --sample 1% --skip words_num_filter",
    ),
    "schema": ("refinery schema > schema.json",),
    "signatures": (
        "refinery signatures write outputs/as_datatrove signatures",
        "refinery signatures read recipe.yaml signatures",
    ),
    "sql": ("refinery sql recipe.yaml > recipe.sql", "refinery sql recipe.yaml --explain"),
    "stats": ("refinery stats merge statistics merged",),
    "import": (
        "refinery import dclm_baseline_refinedweb.yaml --to recipe.yaml",
        "refinery import fra_Latn.yml --dataset_path docs.jsonl --export_path kept.jsonl",
    ),
    "init": ("refinery init docs.jsonl", "refinery init 'data/*.parquet' -o recipe.yaml"),
    "merge": ("refinery stats merge statistics merged", "refinery stats merge s3://bucket/statistics merged"),
    "status": ("refinery status outputs/web_sample", "refinery status outputs/web_sample --watch"),
    "overlap": ("refinery overlap outputs/web_sample",),
    "tables": ("refinery tables outputs/web_sample", "refinery tables outputs/web_sample --materialise -o run.duckdb"),
    "test": ("refinery test my_operators", "refinery test my_operators --safe"),
    "tune": ("refinery tune outputs/web_sample words_num_filter --param min_num=10..200",),
    "verify": (
        "refinery verify outputs/web_sample",
        "refinery verify outputs/web_sample --inputs /mnt/copy/data --outputs /mnt/copy/clean",
    ),
    "version": ("refinery version",),
    "withdraw": (
        "refinery withdraw --corpus outputs/corpus --where \"host = 'x.org'\"",
        "refinery withdraw --corpus outputs/corpus --source may.jsonl --dry-run",
    ),
    "write": (
        "refinery signatures write outputs/as_datatrove signatures",
        "refinery signatures write outputs/as_datatrove signatures --step 2",
    ),
    "why": ("refinery why 42 --run outputs/web_sample", "refinery why --run outputs/web_sample --where 'id = 42'"),
}


class HelpedCommand(click.Command):
    """A command whose help ends with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and the epilog."""
        _write_examples(self.name or "", formatter)
        super().format_epilog(ctx, formatter)


class HelpedGroup(click.Group):
    """Commands, each with its whole description; those of `refinery` by task."""

    command_class = HelpedCommand

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands."""
        for title, names in self._sections():
            with formatter.section(title):
                formatter.write_dl([(name, _summary(self.commands[name])) for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and the epilog."""
        _write_examples("" if ctx.parent is None else self.name or "", formatter)
        super().format_epilog(ctx, formatter)

    def _sections(self) -> list[tuple[str, tuple[str, ...]]]:
        if self.commands.keys() >= {name for names in TASKS.values() for name in names}:
            return list(TASKS.items())
        return [("Commands", tuple(self.commands))]


def _summary(command: click.Command) -> str:
    """The first paragraph of a command's description, whole."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _write_examples(name: str, formatter: Any) -> None:
    if name in EXAMPLES:
        with formatter.section("Examples"):
            for line in EXAMPLES[name]:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")

"""The group of all commands."""

from __future__ import annotations

import click

from refinery.cli.help import HelpedGroup
from refinery.common.version import __version__

EPILOG = (
    "Exit codes: 0 done, 2 the recipe or the command line is wrong, 3 the data cannot be read, 4 an operator or the run "
    "failed, 5 rows do not add up, 6 results cannot be written, 7 too many rows in quarantine, "
    "8 files differ from their digests, 130 interrupted."
)


@click.group(
    cls=HelpedGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, message="refinery %(version)s")
def cli() -> None:
    """Prepare text for language-model training: a recipe compiles to DuckDB SQL, and every row is accounted for."""

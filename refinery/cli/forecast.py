"""The command `refinery forecast`, called after parsing of the command line."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from refinery.cli.commands import Opened
from refinery.cli.render import console
from refinery.cli.render import forecast as rendered
from refinery.cli.runs import bound_memory
from refinery.inspect.forecast.forecast import BYTES_PER_TOKEN, ForecastRequest
from refinery.inspect.forecast.forecast import forecast as forecast_of


def show(opened: Opened, rows: int | None, cores: int | None, bytes_per_token: float | None, as_json: bool) -> None:
    """`refinery forecast`."""
    for note in opened[0].ignored:
        print(f"note: {note}", file=sys.stderr)
    bound_memory(opened[0])  # as the run will
    forecast = forecast_of(ForecastRequest(*opened, rows, cores, bytes_per_token or BYTES_PER_TOKEN))
    if as_json:
        click.echo(json.dumps(asdict(forecast), ensure_ascii=False))
        return
    out = console.console()
    for part in rendered.parts(forecast):
        console.print_lines(out, part)

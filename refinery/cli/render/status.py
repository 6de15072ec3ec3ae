"""`refinery status` as text."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from refinery.common.numbers import number, rate, size
from refinery.common.paths import shorter

# Shards that are listed.
_SHOWN = 8
_ENDED = {
    "failed": "ended with an error",
    "interrupted": "was interrupted",
    "none": "no run has been here",
}


def lines(found: dict[str, Any], folder: str) -> list[str]:
    """The status as lines, the most important first."""
    if found["state"] == "running":
        return _running(found, folder)
    if found["state"] == "finished":
        return _finished(found, folder)
    if found["state"] == "none":
        return [f"none: {_ENDED['none']}: {folder}"]
    return _stopped(found, folder)


def _running(found: dict[str, Any], folder: str) -> list[str]:
    if "pid" not in found:
        return [f"running: {folder}: it has just begun"]
    left = found.get("seconds_left")
    lines = [
        f"running: {folder}: process {found['pid']} on {found['host']}, since {_span(found['seconds'])}",
        f"stage    {found['stage']} of {found['stages']}, {found['phase']}"
        + (f": {number(found['shards'])} of {number(found['of'])} shards" if found["of"] else ""),
        f"input    {size(found['bytes'])} of {size(found['total'])}, {rate(found['bytes'], found['seconds'])}, "
        f"{number(found['rows'])} rows" + (f", {_span(left)} left" if left is not None else ""),
        f"uses     {found['cpu']:.1f} cores, {size(found['memory'])}, at most {size(found['peak_memory'])}",
    ]
    for worker in found["workers"]:
        memory = "" if worker["memory"] is None else f", {size(worker['memory'])}"
        lines.append(f"         {worker['worker']}: {worker['cpu']:.1f} cores{memory}")
    lines += _cluster(found)
    silent = (datetime.now(UTC) - datetime.fromisoformat(found["updated"])).total_seconds()
    if silent > 15:
        lines.append(f"silent   nothing was heard of it for {_span(silent)}")
    return lines + _quarantined(found)


def _cluster(found: dict[str, Any]) -> list[str]:
    """Machines of a cluster, the shards that run, those that take long, and the number of shards that ran again."""
    lines = []
    for number_, node in enumerate(found.get("nodes", ())):
        gpu = "" if node["gpu"] is None else f", {node['gpu']:.1f} GPUs"
        uses = f"{node['cpu']:.1f} cores, {size(node['memory'] or 0)}{gpu}, {number(node['workers'])} workers"
        lines.append(f"{'' if number_ else 'nodes':<9}{node['node']}: {uses}")
    if running := found.get("running"):
        shown = ", ".join(f"{shard['shard']} ({_span(shard['seconds'])})" for shard in running[:_SHOWN])
        lines.append(f"runs     shards {shown}{' and more' if len(running) > _SHOWN else ''}")
    for shard in found.get("stragglers", ())[:_SHOWN]:
        usual = f"others take {_span(shard['usual'])}"
        lines.append(f"slow     shard {shard['shard']} on {shard['node']}: {_span(shard['seconds'])}, {usual}")
    if found.get("retries"):
        lines.append(f"again    {number(found['retries'])} shards ran again")
    return lines


def _finished(found: dict[str, Any], folder: str) -> list[str]:
    lines = [
        f"finished: {folder}: {number(found['rows'])} rows read = {number(found['kept'])} kept + "
        f"{number(found['removed'])} removed + {number(found['quarantined'])} quarantined",
        f"input    {size(found['bytes'])} in {_span(found['seconds'])}, {rate(found['bytes'], found['seconds'])}",
    ]
    if found.get("cpu") is not None:
        lines.append(f"used     {found['cpu']:.1f} cores, {size(found['peak_memory'])} of memory at most")
    return lines + _quarantined(found)


def _stopped(found: dict[str, Any], folder: str) -> list[str]:
    when = f" after {_span(found['seconds'])}" if "seconds" in found else ""
    lines = [f"{found['state']}: {folder}: the run {_ENDED[found['state']]}{when}"]
    if found.get("error"):
        lines.append(f"error    {shorter(found['error'])}")
    if found.get("of"):
        lines.append(
            f"stage    {found['stage']} of {found['stages']}, {found['phase']}: {found['shards']} of {found['of']} shards"
        )
    if found["shards_kept"]:
        lines.append(f"kept     {number(found['shards_kept'])} results of shards; the same command continues")
    else:
        lines.append("kept     no result of a shard; the same command starts from the beginning")
    if found["before"]:
        lines.append("tables   those of an earlier run")
    return lines + _quarantined(found)


def _quarantined(found: dict[str, Any]) -> list[str]:
    last = found.get("last_quarantined")
    if not found.get("quarantined") or not last:
        return []
    step = f" in {last['operator']}" if last["operator"] else ""
    text = (
        f"{number(found['quarantined'])} rows; the last: {shorter(last['file'])}:{last['line']}{step}: {last['error']}"
    )
    return [f"aside    {''.join(c if c.isprintable() else ' ' for c in text)[:500]}"]


def _span(seconds: float) -> str:
    """A length of time: `12 s`, `3 min`, `2.5 h`."""
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )


def watch(
    look: Callable[[], dict[str, Any]], show: Callable[[dict[str, Any]], None], every: float = 1.0
) -> dict[str, Any]:
    """Wait for a run, and report its status repeatedly until it has ended.

    A folder without a run is waited for and reported, too. Returns the last status, without a report of it.
    """
    found = look()
    while found["state"] in ("running", "none"):
        show(found)
        time.sleep(every)
        found = look()
    return found


def waiting(folder: str) -> list[str]:
    """The line for a folder in which no run has begun."""
    return [f"waiting: for a run in {folder}; Ctrl-C ends"]


def watch_in_place(look: Callable[[], dict[str, Any]], folder: str, out: Any) -> dict[str, Any]:
    """Show the status until the run has ended: in place on a terminal, else line by line. Returns the last status."""
    from rich.live import Live
    from rich.text import Text

    def shown(found: dict[str, Any]) -> list[str]:
        return waiting(folder) if found["state"] == "none" else lines(found, folder)

    if not out.is_terminal:
        return watch(look, _once_each(lambda found: click.echo("; ".join(shown(found)))))
    with Live(console=out, transient=True, auto_refresh=False) as live:
        return watch(look, lambda found: live.update(Text("\n".join(shown(found))), refresh=True))


def _once_each(show: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """`show`, but a wait is reported once only."""
    last: dict[str, str] = {}

    def report(found: dict[str, Any]) -> None:
        if found["state"] != "none" or last.get("state") != "none":
            show(found)
        last.update(state=found["state"])

    return report

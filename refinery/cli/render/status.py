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


def lines(status: dict[str, Any], folder: str) -> list[str]:
    """The status as lines, the most important first."""
    if status["state"] == "running":
        return _running(status, folder)
    if status["state"] == "finished":
        return _finished(status, folder)
    if status["state"] == "none":
        return [f"none: {_ENDED['none']}: {folder}"]
    return _stopped(status, folder)


def _running(status: dict[str, Any], folder: str) -> list[str]:
    if "pid" not in status:
        return [f"running: {folder}: it has just begun"]
    left = status.get("seconds_left")
    lines = [
        f"running: {folder}: process {status['pid']} on {status['host']}, since {_span(status['seconds'])}",
        f"stage    {status['stage']} of {status['stages']}, {status['phase']}"
        + (f": {number(status['shards'])} of {number(status['of'])} shards" if status["of"] else ""),
        f"input    {size(status['bytes'])} of {size(status['total'])}, {rate(status['bytes'], status['seconds'])}, "
        f"{number(status['rows'])} rows" + (f", {_span(left)} left" if left is not None else ""),
        f"uses     {status['cpu']:.1f} cores, {size(status['memory'])}, at most {size(status['peak_memory'])}",
    ]
    for worker in status["workers"]:
        memory = "" if worker["memory"] is None else f", {size(worker['memory'])}"
        lines.append(f"         {worker['worker']}: {worker['cpu']:.1f} cores{memory}")
    lines += _cluster(status)
    silent = (datetime.now(UTC) - datetime.fromisoformat(status["updated"])).total_seconds()
    if silent > 15:
        lines.append(f"silent   nothing was heard of it for {_span(silent)}")
    return lines + _quarantined(status)


def _cluster(status: dict[str, Any]) -> list[str]:
    """Machines of a cluster, the shards that run, those that take long, and the number of shards that ran again."""
    lines = []
    for number_, node in enumerate(status.get("nodes", ())):
        gpu = "" if node["gpu"] is None else f", {node['gpu']:.1f} GPUs"
        uses = f"{node['cpu']:.1f} cores, {size(node['memory'] or 0)}{gpu}, {number(node['workers'])} workers"
        lines.append(f"{'' if number_ else 'nodes':<9}{node['node']}: {uses}")
    if running := status.get("running"):
        shown = ", ".join(f"{shard['shard']} ({_span(shard['seconds'])})" for shard in running[:_SHOWN])
        lines.append(f"runs     shards {shown}{' and more' if len(running) > _SHOWN else ''}")
    for shard in status.get("stragglers", ())[:_SHOWN]:
        usual = f"others take {_span(shard['usual'])}"
        lines.append(f"slow     shard {shard['shard']} on {shard['node']}: {_span(shard['seconds'])}, {usual}")
    if status.get("retries"):
        lines.append(f"again    {number(status['retries'])} shards ran again")
    return lines


def _finished(status: dict[str, Any], folder: str) -> list[str]:
    lines = [
        f"finished: {folder}: {number(status['rows'])} rows read = {number(status['kept'])} kept + "
        f"{number(status['removed'])} removed + {number(status['quarantined'])} quarantined",
        f"input    {size(status['bytes'])} in {_span(status['seconds'])}, {rate(status['bytes'], status['seconds'])}",
    ]
    if status.get("cpu") is not None:
        lines.append(f"used     {status['cpu']:.1f} cores, {size(status['peak_memory'])} of memory at most")
    return lines + _quarantined(status)


def _stopped(status: dict[str, Any], folder: str) -> list[str]:
    when = f" after {_span(status['seconds'])}" if "seconds" in status else ""
    lines = [f"{status['state']}: {folder}: the run {_ENDED[status['state']]}{when}"]
    if status.get("error"):
        lines.append(f"error    {shorter(status['error'])}")
    if status.get("of"):
        lines.append(
            f"stage    {status['stage']} of {status['stages']}, {status['phase']}: {status['shards']} of {status['of']} shards"
        )
    if status["shards_kept"]:
        lines.append(f"kept     {number(status['shards_kept'])} results of shards; the same command continues")
    else:
        lines.append("kept     no result of a shard; the same command starts from the beginning")
    if status["before"]:
        lines.append("tables   those of an earlier run")
    return lines + _quarantined(status)


def _quarantined(status: dict[str, Any]) -> list[str]:
    last = status.get("last_quarantined")
    if not status.get("quarantined") or not last:
        return []
    step = f" in {last['operator']}" if last["operator"] else ""
    text = (
        f"{number(status['quarantined'])} rows; the last: {shorter(last['file'])}:{last['line']}{step}: {last['error']}"
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
    status = look()
    while status["state"] in ("running", "none"):
        show(status)
        time.sleep(every)
        status = look()
    return status


def waiting(folder: str) -> list[str]:
    """The line for a folder in which no run has begun."""
    return [f"waiting: for a run in {folder}; Ctrl-C ends"]


def watch_in_place(look: Callable[[], dict[str, Any]], folder: str, out: Any) -> dict[str, Any]:
    """Show the status until the run has ended: in place on a terminal, else line by line. Returns the last status."""
    from rich.live import Live
    from rich.text import Text

    def shown(status: dict[str, Any]) -> list[str]:
        return waiting(folder) if status["state"] == "none" else lines(status, folder)

    if not out.is_terminal:
        return watch(look, _once_each(lambda status: click.echo("; ".join(shown(status)))))
    with Live(console=out, transient=True, auto_refresh=False) as live:
        return watch(look, lambda status: live.update(Text("\n".join(shown(status))), refresh=True))


def _once_each(show: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """`show`, but a wait is reported once only."""
    last: dict[str, str] = {}

    def report(status: dict[str, Any]) -> None:
        if status["state"] != "none" or last.get("state") != "none":
            show(status)
        last.update(state=status["state"])

    return report

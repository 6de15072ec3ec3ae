"""Output of `refinery assets`, as lines and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from refinery.assets import lock
from refinery.common.numbers import size
from refinery.execution.assets import NeededAsset


def lines(needed: Sequence[NeededAsset], recipe: str, place: Path, locked: lock.Locked, fetched: bool) -> Iterator[str]:
    """A paragraph for each asset, and what to do about missing ones."""
    if not needed:
        yield f"{recipe} needs no models and no word lists"
    for asset in needed:
        yield f"{asset.name}: {_state(asset)}"
        yield f"    for {', '.join(asset.steps)}"
        yield from (f"    {line}" for line in _contents(asset, place, locked))
    missing = [asset for asset in needed if asset.path is None]
    if missing:
        yield from _advice(missing, recipe, fetched)


def _state(asset: NeededAsset) -> str:
    return "missing" if asset.path is None else f"{asset.path} ({asset.found_by})"


def _contents(asset: NeededAsset, place: Path, locked: lock.Locked) -> Iterator[str]:
    if asset.path is None:
        yield _offer(asset)
    how = difference(asset, place, locked)
    for file in asset.files:
        yield f"{file.name + '  ' if file.name else ''}{size(file.bytes)}  sha256 {file.sha256}"
    if how is not None:
        yield f"NOT what {place.name} locks: {how}" if how else f"as {place.name} locks it"


def difference(asset: NeededAsset, place: Path, locked: lock.Locked) -> str | None:
    """Difference of an asset from the lock at `place`: empty if there is none, None without an entry."""
    name = asset.locked_name(place)
    return lock.difference(asset.files, locked[name]) if name in locked else None


def _offer(asset: NeededAsset) -> str:
    source = asset.source
    return (
        f"from {source.address(asset.asset.need.name)} ({source_of(asset)})" if source else "no public source is known"
    )


def source_of(asset: NeededAsset) -> str:
    """Kind, size and licence of an asset in its source."""
    source = asset.source
    if source is None:
        return "no known source"
    about = f", about {size(source.bytes)}" if source.bytes else ""
    return f"{source.what}{about}, licence: {source.licence}"


def _advice(missing: Sequence[NeededAsset], recipe: str, fetched: bool) -> Iterator[str]:
    yield f"{len(missing)} missing; looked for in"
    places = dict.fromkeys(place for asset in missing for place in asset.looked)
    yield from (f"  {place.folder} ({place.named_by})" for place in places)
    known = [asset for asset in missing if asset.source is not None]
    if known and not fetched:
        yield f"refinery assets {recipe} --fetch downloads {len(known)} of them"
    elif fetched and known:
        yield "the files were loaded into a folder that is not searched: name it by `assets:` in the recipe"
    if len(known) < len(missing):
        yield "put the others into one of these folders, or name their paths in the recipe"


def amount(done: int, whole: int | None) -> str:
    """The part of a download that is there."""
    return size(done) if whole is None else f"{size(done)} of {size(whole)} ({100 * done // max(whole, 1)} %)"


def as_data(needed: Sequence[NeededAsset], place: Path, locked: lock.Locked) -> dict[str, Any]:
    """The list as plain data."""
    return {"assets": [_asset(asset, place, locked) for asset in needed]}


def _asset(asset: NeededAsset, place: Path, locked: lock.Locked) -> dict[str, Any]:
    name, source = asset.locked_name(place), asset.source
    return {
        "name": asset.asset.need.name,
        "steps": list(asset.steps),
        "path": asset.path,
        "found_by": asset.found_by if asset.path is not None else None,
        "looked_for_in": [asdict(looked) for looked in asset.looked],
        "files": [lock.plain(file) for file in asset.files],
        "locked": not lock.difference(asset.files, locked[name]) if name in locked else None,
        "source": source.address(name) if source is not None else None,
        "licence": source.licence if source is not None else None,
    }

"""The manifest of a snapshot: parts, files, columns, counts; plain data that is written as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from refinery.common.digest import digest_of_json
from refinery.corpus.folder import CorpusFolder
from refinery.errors import DataError

# Names of the manifest, the recipe and the view in the folder of a snapshot.
NAME, RECIPE, VIEW = "manifest.json", "recipe.yaml", "kept.sql"
_DIGEST = "digest"
RESTORE = "Bring the file back from a copy, or make the corpus anew in another folder"


@dataclass(frozen=True)
class InputFile:
    """A file of a part. path: absolute, a URL, or relative to the corpus if it was copied. stamp: see `stamps`. origin: where it was copied from."""

    path: str
    size: int
    sha256: str
    stamp: str = ""
    origin: str = ""

    @property
    def name(self) -> str:
        """The path or URL by which a user knows the file."""
        return self.origin or self.path


@dataclass(frozen=True)
class PartSource:
    """An input of an add. path, format, options: as in the recipe. files: in the order of samples."""

    path: str
    format: str | None
    options: tuple[tuple[str, Any], ...]
    files: tuple[InputFile, ...]


@dataclass(frozen=True)
class Part:
    """The data of one add. rows: samples, readable or not. withdrawn: number of withdrawn samples. left_out: the file with their numbers;
    "" if there are none, or all of them. copied: the corpus has its own copy of the files."""

    number: int
    rows: int
    withdrawn: int
    left_out: str
    copied: bool
    sources: tuple[PartSource, ...]

    @property
    def left(self) -> int:
        """Number of samples that are not withdrawn."""
        return self.rows - self.withdrawn

    @property
    def files(self) -> tuple[InputFile, ...]:
        """All files."""
        return tuple(file for source in self.sources for file in source.files)


@dataclass(frozen=True)
class DataFile:
    """A Parquet file of a snapshot. path: relative to the corpus. snapshot: the last one of whose rows it has. first: the first one; 0 where
    it is the same."""

    path: str
    rows: int
    bytes: int
    snapshot: int
    first: int = 0


@dataclass(frozen=True)
class Contents:
    """Contents of a file of a snapshot. size: in bytes. digest: see `common.digest`. stamp: when it was last compared with the digest, see `stamps`."""

    size: int
    digest: str
    stamp: str


@dataclass(frozen=True)
class CorpusCounts:
    """Samples of all parts: rows = kept + removed + quarantined + withdrawn."""

    rows: int
    kept: int
    removed: int
    quarantined: int
    withdrawn: int


@dataclass(frozen=True)
class Identity:
    """All that decides results besides the data. recipe: its text without inputs, outputs, and keys that decide nothing. steps: digest of the
    operators. beside: digests of models, word lists and code. versions: of libraries."""

    recipe: str
    steps: str
    beside: Mapping[str, str]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Manifest:
    """A snapshot.

    change: what was done, as plain data, such as `{"add": 3}`. additions, retractions, outcomes: all files that a reader needs,
    those of earlier snapshots included. columns: names and DuckDB types of the fields; "" for a field that is always NULL.
    lines: samples were carried as JSON lines. profile: of the fields of such samples that were ever kept. added,
    retracted: samples of this snapshot. contents: of all files that a reader needs, by name.
    """

    snapshot: int
    parent: int
    made: str
    change: dict[str, Any]
    engine: str
    identity: Identity
    recipe: str
    parts: tuple[Part, ...]
    counts: CorpusCounts
    added: int
    retracted: int
    additions: tuple[DataFile, ...]
    retractions: tuple[DataFile, ...]
    outcomes: tuple[DataFile, ...]
    columns: dict[str, str]
    lines: bool
    profile: dict[str, Any] | None = None
    notes: tuple[str, ...] = field(default=())
    contents: dict[str, Contents] = field(default_factory=dict)

    def text(self) -> str:
        """The manifest as JSON, with a digest of itself."""
        data = json.loads(json.dumps(asdict(self)))
        return json.dumps({**data, _DIGEST: digest_of_json(data)}, ensure_ascii=False, indent=1) + "\n"

    @property
    def names(self) -> list[str]:
        """Names of the files that the snapshot needs, besides those of its recipe."""
        tables = [file.path for file in (*self.additions, *self.retractions, *self.outcomes)]
        return [*tables, *(part.left_out for part in self.parts if part.left_out)]

    def part(self, number: int) -> Part:
        """A part by its number."""
        return self.parts[number - 1]


def read(folder: CorpusFolder, number: int | None = None) -> Manifest | None:
    """The manifest of a snapshot, by default of the current one; None if there is none yet. Raises DataError."""
    current = folder.current_number()
    if number is None and not current:
        return None
    path = folder.snapshot(current if number is None else number) / NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        digest = data.pop(_DIGEST, None)
        made = _manifest(data)
    except FileNotFoundError:
        numbers = ", ".join(map(str, folder.numbers()))
        what = f"has no snapshot {current if number is None else number}; there are {numbers or 'none yet'}"
        raise DataError(f"{folder.root}: {what}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}). {RESTORE}") from error
    except (LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: is no manifest of a snapshot ({type(error).__name__}: {error}). {RESTORE}") from error
    if digest is not None and digest != digest_of_json(data):
        raise DataError(f"{path}: has other contents than it was published with. {RESTORE}")
    _require_files(folder, made)
    return made


def _require_files(folder: CorpusFolder, made: Manifest) -> None:
    """Check that the Parquet files of a snapshot are there, with their sizes. Raises DataError."""
    sizes = {file.path: file.bytes for file in (*made.additions, *made.retractions, *made.outcomes)}
    sizes |= {part.left_out: 0 for part in made.parts if part.left_out}
    for name, size in sizes.items():
        path = folder.path(name)
        there = path.stat().st_size if path.is_file() else -1
        if there != size and (size or there < 0):
            what = "is gone" if there < 0 else f"has {there:,} bytes, not {size:,}"
            raise DataError(f"{path}: {what}, and snapshot {made.snapshot} needs it. {RESTORE}")


def _manifest(data: dict[str, Any]) -> Manifest:
    files = {name: tuple(DataFile(**item) for item in data[name]) for name in ("additions", "retractions", "outcomes")}
    parts = tuple(Part(**{**item, "sources": tuple(map(_source, item["sources"]))}) for item in data["parts"])
    counts, identity = CorpusCounts(**data["counts"]), Identity(**data["identity"])
    contents = {name: Contents(**item) for name, item in data.get("contents", {}).items()}
    plain = {"parts": parts, "counts": counts, "identity": identity, "notes": tuple(data["notes"])}
    return Manifest(**{**data, **files, **plain, "contents": contents})


def _source(item: dict[str, Any]) -> PartSource:
    options = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in item["options"])
    return PartSource(item["path"], item["format"], options, tuple(InputFile(**file) for file in item["files"]))


def path_of(folder: CorpusFolder, number: int) -> Path:
    """The manifest's path."""
    return folder.snapshot(number) / NAME

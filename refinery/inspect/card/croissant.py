"""A run's export as Croissant 1.0 with terms of Croissant RAI 1.0: JSON-LD that dataset searches and loaders read."""

from __future__ import annotations

import glob
import json
import mimetypes
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from refinery.errors import DataError
from refinery.inspect.card.card import Card
from refinery.inspect.card.figures import Figure
from refinery.results.delivery import is_as_left
from refinery.results.digests.hashing import size_and_sha256
from refinery.results.digests.places import common, folder_above, name_below
from refinery.storage.urls import is_url

_CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
_PLAIN = """citeAs column extract field fileObject fileProperty fileSet format includes isLiveDataset equivalentProperty jsonPath key md5 parentField
path recordSet references regex repeated replace samplingRate separator source subField transform""".split()
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _PLAIN},
}
# Types of Croissant for those of DuckDB, by their beginnings.
_TYPES = (
    (
        (
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "HUGEINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
            "UHUGEINT",
        ),
        "sc:Integer",
    ),
    (("DOUBLE", "FLOAT", "DECIMAL"), "sc:Float"),
    (("BOOLEAN",), "sc:Boolean"),
    (("TIMESTAMP",), "sc:DateTime"),
    (("DATE",), "sc:Date"),
    (("VARCHAR", "UUID", "ENUM", "TIME"), "sc:Text"),
)
_FORMATS = {"jsonl": "application/jsonlines", "json": "application/json", "parquet": "application/vnd.apache.parquet"}


def croissant(card: Card, folder: str = "") -> str:
    """The JSON-LD of the export. folder: of the card, which addresses of files are relative to; by default the files' own.

    Raises DataError for an exported file that has changed since the run.
    """
    manifest = card.run.manifest
    files = list(_files(card, folder))
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        "name": card.name,
        "description": _description(card),
        **({"license": card.options.license} if card.options.license else {}),
        "identifier": manifest["run_id"],
        "dateCreated": manifest["began"][:10],
        "distribution": [*files, *_file_set(files)],
        "recordSet": [_record_set(card, files)] if card.exported.fields and files else [],
        **_responsible(card),
    }
    return json.dumps(described, ensure_ascii=False, indent=2) + "\n"


def _description(card: Card) -> str:
    rows = card.run.manifest["rows"]
    return (
        f"{rows['kept']:,} of {rows['read']:,} samples, kept by the {len(card.run.recipe.steps)} steps of a refinery recipe; "
        f"{rows['removed']:,} were removed, {rows['quarantined']:,} could not be processed."
    )


def _files(card: Card, place: str) -> Iterator[dict[str, Any]]:
    """A FileObject for each exported file."""
    known = _digests(card)
    folder = common([folder_above(item["path"]) for item in _outputs(card)])
    for item in _outputs(card):
        path = item["path"]
        name = name_below(folder, path)
        yield {
            "@type": "cr:FileObject",
            "@id": quote(name),
            "name": name,
            "contentUrl": _address(card, path, name, place),
            "contentSize": f"{item['bytes']} B",
            "encodingFormat": _encoding(card.exported.kind, path),
            "sha256": known.get(path) or _sha256(item),
        }


def _address(card: Card, path: str, name: str, place: str) -> str:
    """The address of a file: below the address that the user names, else relative to the card."""
    if card.options.base_url:
        return f"{card.options.base_url.rstrip('/')}/{quote(name)}"
    if is_url(path):
        return path
    return os.path.relpath(path, place).replace(os.sep, "/") if place else name


def _file_set(files: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The set of all files, which fields refer to if there are several."""
    if len(files) > 1:
        yield {
            "@type": "cr:FileSet",
            "@id": "files",
            "name": "files",
            "description": "All exported files.",
            "encodingFormat": files[0]["encodingFormat"],
            "includes": [glob.escape(file["name"]) for file in files],
        }


def _outputs(card: Card) -> list[dict[str, Any]]:
    return [item for item in card.run.manifest["outputs"] if os.path.isabs(item["path"]) or is_url(item["path"])]


def _digests(card: Card) -> dict[str, str]:
    """Recorded SHA-256 of the outputs, by path."""
    root = str(card.run.run_dir.root.absolute())
    files = card.digests.files if card.digests is not None else ()
    outputs = [file for file in files if file.part == "outputs"]
    return {
        file.path if is_url(file.path) else os.path.normpath(os.path.join(root, file.path)): file.sha256
        for file in outputs
    }


def _sha256(item: dict[str, Any]) -> str:
    try:
        digest = size_and_sha256(item["path"])[1] if is_as_left(item) else ""
    except OSError:
        digest = ""
    if not digest:
        raise DataError(
            f"{item['path']}: is missing or has changed since the run, so the Croissant card would describe another file. "
            "Bring it back, or run the recipe again"
        )
    return digest


def _encoding(kind: str, path: str) -> str:
    """The media type of a file; of a compressed one that of the compression."""
    packed = {".gz": "application/gzip", ".zst": "application/zstd"}.get(os.path.splitext(path)[1].lower())
    return packed or _FORMATS.get(kind.partition(".")[0]) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def _record_set(card: Card, files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The samples; their fields come from the only file, or from a set of all files."""
    fields = card.exported.fields
    nested = {name: kind for name, kind in fields.items() if _type(kind) is None}
    return {
        "@type": "cr:RecordSet",
        "@id": "samples",
        "name": "samples",
        "description": f"The kept samples.{_left_out(nested)}",
        "field": [_field(name, kind, files) for name, kind in fields.items() if name not in nested],
    }


def _left_out(nested: dict[str, str]) -> str:
    """A sentence on fields that loaders of Croissant cannot read."""
    listed = ", ".join(f"{name} ({kind})" for name, kind in nested.items())
    return f" Nested fields, which Croissant's loaders do not read, are left out: {listed}." if nested else ""


def _field(name: str, kind: str, files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    origin = {"fileObject": {"@id": files[0]["@id"]}} if len(files) == 1 else {"fileSet": {"@id": "files"}}
    return {
        "@type": "cr:Field",
        "@id": f"samples/{quote(name, safe='')}",
        "name": name,
        "dataType": _type(kind),
        **({"repeated": True} if kind.endswith("[]") else {}),
        "source": {**origin, "extract": {"column": name}},
    }


def _type(kind: str) -> str | None:
    """The type of Croissant for a type of DuckDB, or for the elements of a list; None for nested ones."""
    return next(
        (own for starts, own in _TYPES if kind.removesuffix("[]").startswith(starts) and kind.count("[") < 2), None
    )


def _responsible(card: Card) -> dict[str, Any]:
    """Terms of Croissant RAI, only where the run has data for them."""
    steps = [f"{step.index} {step.label}" for step in card.run.recipe.steps]
    personal = [_sentence(figure) for figure in card.sections["personal"].figures if figure.rows]
    terms = {
        "rai:dataPreprocessingProtocol": [f"Steps in this order: {', '.join(steps)}."],
        "rai:dataLimitations": [
            f"Not measured: {entry.title}. {entry.reason[:1].upper()}{entry.reason[1:]}."
            for section in card.sections.values()
            for entry in section.missing
        ],
        "rai:personalSensitiveInformation": personal,
    }
    return {name: values for name, values in terms.items() if values}


def _sentence(figure: Figure) -> str:
    """A figure in words, with its query."""
    values = [[f"{name} {value}" for name, value in record.items() if value is not None] for record in figure.records]
    query = " ".join(figure.sql.split())
    return f"{figure.title}: {'; '.join(map(', '.join, values))}. Query: {query}"

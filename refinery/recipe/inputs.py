"""`dataset_path` and `dataset:`, in all forms that Data-Juicer allows."""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from refinery.common.redaction import has_credentials, hide, remember
from refinery.errors import suggestion
from refinery.io.read_options import ENCODINGS, Options, problem_of
from refinery.io.readers.registry import READABLE, READERS
from refinery.recipe.hub_datasets import HubDataset, NotHere, paths_of
from refinery.recipe.input_config import InputConfig
from refinery.recipe.keys import DATASET_KEYS, SOURCE_KEYS
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, Sequence, SourcePlace, describe, plain_value
from refinery.recipe.values import CREDENTIALS, take
from refinery.storage.urls import is_url

_WEIGHT, _PATH, _MOST = SOURCE_KEYS["weight"], SOURCE_KEYS["path"], DATASET_KEYS["max_sample_num"]
_PLACES = ("s3", "huggingface")
# Keys of a database.
_OF_DATABASES = ("database", "query")
# Keys of a dataset of the Hub.
_OF_HUB = ("name", "split", "data_dir", "data_files")
# Data-Juicer's keys beside the URL of a source, and the place from which refinery reads each.
_ENVIRONMENT = {
    "aws_access_key_id": "AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN",
    "aws_region": "AWS_DEFAULT_REGION",
    "endpoint_url": "AWS_ENDPOINT_URL",
}
_OPTIONS = ("prefix", "text_from", "template", "delimiter", "quote", "header", "columns", "encoding")
# Keys that take a part of a source.
_PARTS = ("files", "left_out")
_FORMAT_NAMES = {reader.name: reader.recipe_names[0] for reader in READERS if reader.recipe_names}
_FORMAT_NAMES |= {name: name for name in READABLE}


def from_path(node: Node, problems: Problems) -> tuple[InputConfig, ...]:
    """Sources of `dataset_path`: one path, a list of paths, or the text `0.5 a.jsonl 0.5 b.jsonl`.

    A text with blanks is one path if such a file exists, and otherwise several paths, as Data-Juicer splits it (quotes
    around a path keep its blanks). Items of a list are not split.
    """
    if isinstance(node, Mapping):
        problems.add(node.place, "dataset_path must be a path or a list of paths, not a mapping")
        return ()
    listed = node.collection if isinstance(node, Scalar) else node
    if isinstance(listed, Sequence):
        return tuple(source for item in listed.items for source in _local(item, "dataset_path", 1.0, None, problems))
    text = take(node, _PATH, "dataset_path", problems, "").strip()
    if not text:
        return ()
    if not any(blank in text for blank in " \t\n") or _exists(text):
        return _checked(text, 1.0, None, node.place, problems)
    return _mixture(text, node.place, problems)


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path) or bool(glob.glob(path))
    except ValueError:  # a NUL in the path
        return False


def _mixture(text: str, place: SourcePlace, problems: Problems) -> tuple[InputConfig, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        problems.add(place, f"dataset_path {text!r} cannot be split into paths: {str(error).lower()}")
        return ()
    inputs: list[InputConfig] = []
    weight: float | None = None
    for word in words:
        number = _weight(word)
        if number is None:
            inputs += _checked(word, 1.0 if weight is None else weight, None, place, problems)
            weight = None
        elif weight is not None:
            problems.add(place, f"dataset_path has two weights in a row, {weight:g} and {number:g}")
        else:
            weight = number
            if number < 0:
                problems.add(place, f"dataset_path has the weight {number:g}, which is below 0")
    if weight is not None:
        problems.add(place, f"dataset_path has no path after the weight {weight:g}")
    return tuple(inputs)


def _weight(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None  # nan and inf are names of files


def from_dataset(
    node: Node, problems: Problems, readers: Iterable[str] = ()
) -> tuple[tuple[InputConfig, ...], int | None]:
    """Sources and `max_sample_num` of a `dataset:` mapping. readers: names of users' formats."""
    if isinstance(node, Scalar) and node.collection is not None:
        node = node.collection
    if not isinstance(node, Mapping):
        cure = "Write dataset: {configs: [{type: local, path: ...}]}, or dataset_path: ..."
        problems.add(node.place, f"dataset must be a mapping with 'configs', not {describe(node)}", cure)
        return (), None
    single = "configs" not in node.entries and any(key in SOURCE_KEYS for key in node.entries)
    for key, entry in node.entries.items():
        if key not in DATASET_KEYS and not single:
            hint = suggestion(key, DATASET_KEYS)
            problems.add(entry.place, f"dataset has no key {key!r}", hint)
    configs = node.entries.get("configs")
    if single:
        alone = Mapping({key: entry for key, entry in node.entries.items() if key not in DATASET_KEYS}, node.place)
        return _config(alone, problems, tuple(readers)), _most(node.entries.get("max_sample_num"), problems)
    if configs is None or not isinstance(configs.node, Sequence) or not configs.node.items:
        place = configs.place if configs else node.place
        problems.add(place, "dataset needs 'configs', a list of sources", "Write - {type: local, path: ...}")
        return (), None
    sources = [source for item in configs.node.items for source in _config(item, problems, tuple(readers))]
    return tuple(sources), _most(node.entries.get("max_sample_num"), problems)


def _most(entry: Entry | None, problems: Problems) -> int | None:
    return None if entry is None else take(entry.node, _MOST, "dataset.max_sample_num", problems)


def _config(node: Node, problems: Problems, readers: tuple[str, ...]) -> tuple[InputConfig, ...]:
    if not isinstance(node, Mapping):
        problems.add(node.place, f"a source must be a mapping with a path, not {describe(node)}")
        return ()
    if _is_of_hub(node):
        return _from_hub(node, problems)
    if _text(node, "type") == "sql":
        return _from_database(node, problems)
    kind = _kind(node, problems)
    if kind is None:
        return ()
    for name, field in node.entries.items():
        if name in _ENVIRONMENT and kind == "remote":
            remember(plain_value(field.node))
            hint = f"Set {_ENVIRONMENT[name]} in the environment of every machine instead."
            problems.add(field.place, f"{name} of a source is not read from recipes", hint)
        elif name not in SOURCE_KEYS or name in (*_OF_HUB, *_OF_DATABASES):
            problems.add(field.place, f"a {kind} source has no key {name!r}", suggestion(name, SOURCE_KEYS))
    if "path" not in node.entries:
        problems.add(node.place, "a source has no path", "Write path: ... with a file, directory or glob.")
        return ()
    weight = take(node.entries["weight"].node, _WEIGHT, "weight", problems, 1.0) if "weight" in node.entries else 1.0
    options = _read_options(node, problems)
    part = {name: taken for name in _PARTS if (taken := _part(node, name, problems))}
    sources = _local(node.entries["path"].node, "path", weight, _read_format(node, problems, readers), problems)
    return tuple(replace(source, options=options, **part) for source in sources)


def _part(node: Mapping, name: str, problems: Problems) -> Any:
    """The value of a key that takes a part of a source; its default without the key."""
    key = SOURCE_KEYS[name]
    return take(node.entries[name].node, key, name, problems) if name in node.entries else key.default


def _read_options(node: Mapping, problems: Problems) -> Options:
    """The options of reading that a source sets to other values than the defaults, in the order of their declaration."""
    options: list[tuple[str, Any]] = []
    for name in _OPTIONS:
        if name not in node.entries:
            continue
        entry = node.entries[name]
        value = take(entry.node, SOURCE_KEYS[name], name, problems)
        if value is None or value == SOURCE_KEYS[name].default:
            continue
        if problem := problem_of(name, value):
            problems.add(entry.node.place, problem, suggestion(str(value), ENCODINGS) if name == "encoding" else None)
        else:
            options.append((name, value))
    return tuple(options)


def _from_database(node: Mapping, problems: Problems) -> tuple[InputConfig, ...]:
    """The rows of a query over a database."""
    known = ("type", "weight", *_OF_DATABASES)
    values: dict[str, Any] = {"weight": 1.0}
    for name, field in node.entries.items():
        if name not in known:
            problems.add(field.place, f"a source of type sql has no key {name!r}", suggestion(name, known))
        elif name != "type":
            values[name] = take(field.node, SOURCE_KEYS[name], name, problems)
    if missing := [name for name in _OF_DATABASES if not values.get(name)]:
        cure = "Write database: with a DuckDB or SQLite file or postgres://host/name, and query: with a SELECT."
        problems.add(node.place, f"a source of type sql has no {' and no '.join(missing)}", cure)
        return ()
    sources = _checked(values["database"], values["weight"], "sql", node.entries["database"].node.place, problems)
    return tuple(replace(source, options=(("query", values["query"]),)) for source in sources)


def _is_of_hub(node: Mapping) -> bool:
    """Return whether a source names a dataset of the Hub: by its type, or by its source beside a path that is no URL."""
    kind, source, path = (_text(node, name) for name in ("type", "source", "path"))
    named = kind == "remote" and (source or "").lower() == "huggingface" and not is_url(path or "")
    return kind == "huggingface" or named


def _text(node: Mapping, name: str) -> str | None:
    entry = node.entries.get(name)
    return entry.node.text if entry is not None and isinstance(entry.node, Scalar) else None


def _from_hub(node: Mapping, problems: Problems) -> tuple[InputConfig, ...]:
    """The files or URLs of a dataset of the Hub; several files share the weight of the source."""
    values: dict[str, Any] = {}
    for name, field in node.entries.items():
        if name == "limit":
            problems.add(field.place, "limit of a dataset cannot be followed", "Write dataset.max_sample_num.")
        elif name not in SOURCE_KEYS:
            problems.add(field.place, f"a huggingface source has no key {name!r}", suggestion(name, SOURCE_KEYS))
        elif name not in ("type", "source"):
            values[name] = take(field.node, SOURCE_KEYS[name], name, problems)
    if not values.get("path"):
        problems.add(node.place, "a source has no path", "Write path: owner/name, or a local folder.")
        return ()
    own = {name: values.get(name) for name in _OF_HUB if name != "data_files"}
    place, form = node.entries["path"].node.place, _read_format(node, problems, ())
    try:
        paths = paths_of(HubDataset(values["path"], **own, data_files=values.get("data_files") or ()))
    except NotHere as error:
        problems.add(place, str(error.args[0]), error.args[1])
        return ()
    weight = values.get("weight")
    shared = (1.0 if weight is None else weight) / len(paths)
    return tuple(source for path in paths for source in _checked(path, shared, form, place, problems))


def _kind(node: Mapping, problems: Problems) -> str | None:
    """`local` or `remote`, which are read in the same way; None for other types."""
    entry, path = node.entries.get("type"), node.entries.get("path")
    written = entry.node.text if entry is not None and isinstance(entry.node, Scalar) else None
    if entry is None or written in (None, "", "local"):
        return "local"
    named = path.node.text or "" if path is not None and isinstance(path.node, Scalar) else ""
    if written == "remote" and is_url(named):
        return "remote"
    what = f"a source of type {written!r} " + ("needs a URL as path" if written == "remote" else "cannot be read")
    problems.add(entry.node.place, what, "Write path: s3://bucket/data, hf://datasets/owner/name, or a local path.")
    return None


def _read_format(node: Mapping, problems: Problems, readers: tuple[str, ...]) -> str | None:
    entry = node.entries.get("format") or node.entries.get("source")
    if entry is None or not isinstance(entry.node, Scalar) or not entry.node.text:
        return None
    written = entry.node.text
    name = written.lower().lstrip(".")
    if "format" not in node.entries and name in _PLACES:  # the source of a Data-Juicer remote input
        return None
    if name in readers:
        return name
    if name not in _FORMAT_NAMES:
        known = (*READABLE, *readers)
        what = f"the format {written!r} cannot be read; formats are {', '.join(known)}"
        problems.add(entry.node.place, what, suggestion(name, known))
        return None
    return _FORMAT_NAMES[name]


def _local(node: Node, label: str, weight: float, form: str | None, problems: Problems) -> tuple[InputConfig, ...]:
    path = take(node, _PATH, label, problems)
    if path == "":
        problems.add(node.place, f"{label} is empty", "Name a file, directory or glob.")
    if not path:
        return ()
    return _checked(path, weight, form, node.place, problems)


def _checked(
    path: str, weight: float, form: str | None, place: SourcePlace, problems: Problems
) -> tuple[InputConfig, ...]:
    if has_credentials(path):
        problems.add(place, f"the path {hide(path)} holds credentials", CREDENTIALS)
        return ()
    if "\0" in path:
        problems.add(place, f"{path!r} is not a path", "Name a file, directory or glob.")
        return ()
    if is_url(path) and "::" in path:
        problems.add(place, f"{path} is a chain of URLs, which is not followed", "Name the URL of the data itself.")
        return ()
    return (InputConfig(path, weight, form, line=place.line or 0),)

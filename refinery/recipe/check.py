"""Check of a recipe's tree, which makes a `Recipe`: keys, types and steps; all problems are found at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass
from typing import Any, cast

from refinery.common.paths import absolute, local
from refinery.common.redaction import has_credentials, remember
from refinery.errors import RefineryError, suggestion
from refinery.io.writers.registry import FORMATS, format_of
from refinery.recipe.absolute_paths import located
from refinery.recipe.assets import Assets
from refinery.recipe.declared_fields import read_fields
from refinery.recipe.executors import on_cluster
from refinery.recipe.inputs import from_dataset, from_path
from refinery.recipe.key import RecipeKey
from refinery.recipe.keys import ALIASES, KEYS, NOT_YET
from refinery.recipe.lost import MissingStatistics
from refinery.recipe.model import Note, Recipe
from refinery.recipe.operator_folders import operator_folders
from refinery.recipe.outputs import check_kept, check_removed, read_export_fields, read_partition
from refinery.recipe.override import step_names
from refinery.recipe.protocols import LibraryLike
from refinery.recipe.steps import Notes, check_names, read_steps
from refinery.recipe.summary import read_summary
from refinery.recipe.tree import Entry, Mapping, Problems, Scalar, Sequence, SourcePlace, order, plain_value
from refinery.recipe.values import CREDENTIALS, take
from refinery.storage.urls import is_stdout, is_url

# The run folder of an export that has none.
STDOUT_FOLDER = "./outputs/stdout"

# The step that `drop_empty` appends.
EMPTY_TEXTS = "empty_text_filter"

# The library, or a function that makes one with the operators of the folders that the recipe names.
LibrarySource = LibraryLike | Callable[[tuple[str, ...]], LibraryLike]

# Types of keys whose values have a structure, which other functions read.
_STRUCTURED = {"paths", "mapping", "list", "fields", "expressions"}


@dataclass(frozen=True)
class CheckedRecipe:
    """A checked recipe, the library of the check, the steps left out because of problems, the assets of all steps."""

    recipe: Recipe
    library: LibraryLike
    lost: MissingStatistics
    assets: Assets


def check(root: Mapping, library: LibrarySource, problems: Problems, need_inputs: bool = True) -> CheckedRecipe:
    """Make the recipe of a tree. On errors, `problems` has them, and the recipe lacks the faulty parts."""
    return _Checker(root, library, problems, need_inputs).run()


# Note on an export without a folder.
_HERE = (
    "export_path names no folder, so the current folder is the run folder: refinery.duckdb and .refinery are written here. "
    "Set work_dir, or name a folder: outputs/kept.jsonl"
)


class _Checker:
    def __init__(self, root: Mapping, library: LibrarySource, problems: Problems, need_inputs: bool) -> None:
        self.root, self.source, self.problems, self.need_inputs = root, library, problems, need_inputs
        self.notes: Notes = []
        self.lost = MissingStatistics()
        self.unknown: list[tuple[str, Entry]] = []

    def run(self) -> CheckedRecipe:
        credentials = self._credentials()  # first: no message shows them after this
        values = self._keys()
        operators = self.root.entries.get("operators")
        folders = operator_folders(operators, values.get("operators") or (), self.problems, self.notes)
        values["operators"] = folders
        library = self._library(folders)
        self._report_unknown(library)
        inputs, most = self._inputs(library)
        self.assets = self._assets(values)
        self._drop_empty(values)
        steps = self._steps(library)
        self.assets.report(self.root.place.source, self.problems)
        self._trace_list(values.get("op_list_to_trace") or (), library)
        summary = read_summary(self.root.entries.get("stat_summary"), self.problems)
        self._folders(values)
        self._report_values(values, inputs, most)
        notes = sorted(self.notes, key=lambda note: order(note[0]))
        recipe = Recipe(
            steps=steps,
            inputs=inputs,
            max_sample_num=most,
            export_aws_credentials=credentials,
            stat_summary=summary,
            fields=read_fields(self.root.entries.get("fields"), self.problems),
            export_fields=read_export_fields(self.root.entries.get("export_fields"), self.problems),
            partition_by=read_partition(self.root.entries.get("partition_by"), self.problems),
            assets_of_steps=tuple(self.assets.all),
            found_assets=tuple(self.assets.found.items()),
            places={name: str(entry.node.place) for name, entry in self.root.entries.items()},
            given=frozenset(ALIASES.get(name, name) for name in self.root.entries),
            ignored=tuple(Note(str(place), text) for place, text in notes),
            **values,
        )
        return CheckedRecipe(located(recipe), library, self.lost, self.assets)

    # Keys

    def _keys(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, entry in self.root.entries.items():
            key = KEYS.get(name) or self._nested(name)
            if key is None:
                self.unknown.append((name, entry))
            elif key.note:
                self.notes.append((entry.place, f"{name} has no effect: {key.note}"))
            elif key.type not in _STRUCTURED:
                self._value(key, entry, values)
            elif key.type == "mapping" and _is_set(entry) and not _is_mapping(entry) and name != "dataset":
                self.problems.add(entry.place, f"{name} must be a mapping")  # its value may be a secret: not shown
        values = {name: values.get(name, key.default) for name, key in KEYS.items() if self._is_field(key)} | values
        for alias, name in ALIASES.items():
            self._merge(alias, name, values)
        return values

    @staticmethod
    def _is_field(key: RecipeKey) -> bool:
        return not key.note and not key.refuses and not key.alias and key.type not in _STRUCTURED

    def _nested(self, name: str) -> RecipeKey | None:
        """The key of a dotted name: Data-Juicer also writes `checkpoint.enabled: true`."""
        root = KEYS.get(name.partition(".")[0])
        return root if "." in name and root is not None and root.note else None

    def _report_unknown(self, library: LibraryLike) -> None:
        for name, entry in self.unknown:
            misplaced = name in library.operators
            hint = f"Operators belong below process: '- {name}:'" if misplaced else suggestion(name, KEYS)
            self.problems.add(entry.place, f"there is no key {name!r}", hint)

    def _value(self, key: RecipeKey, entry: Entry, values: dict[str, Any]) -> None:
        value = take(entry.node, key, key.name, self.problems, key.default)
        if key.refuses:
            if value != key.default:
                self.problems.add(entry.place, f"{key.name} cannot be followed: {key.refuses}")
            return
        if key.name == "text_keys" and not (value and all(value)):
            self.problems.add(entry.node.place, "text_keys is empty", "Name the field that holds the text.")
            return
        values[key.name] = key.default if value is None else value

    def _merge(self, alias: str, name: str, values: dict[str, Any]) -> None:
        if alias not in values:
            return
        value = values.pop(alias)
        if name in self.root.entries and values[name] != value:
            place = self.root.entries[alias].place
            self.problems.add(place, f"{alias} and {name} are one key, but differ", "Keep one of them.")
        values[name] = value

    def _library(self, folders: tuple[str, ...]) -> LibraryLike:
        if not callable(self.source):
            return self.source
        try:
            return self.source(folders)
        except RefineryError as error:
            if not folders:
                raise
            self.problems.add(self.root.entries["operators"].place, str(error))
            return self.source(())

    # Keys with structured values

    def _inputs(self, library: LibraryLike) -> tuple[Any, int | None]:
        path, dataset = self.root.entries.get("dataset_path"), self.root.entries.get("dataset")
        before = len(self.problems.found)
        inputs = from_path(path.node, self.problems) if path and _is_set(path) else ()
        if dataset is not None and _is_set(dataset):
            if path is None or not _is_set(path):
                return from_dataset(dataset.node, self.problems, getattr(library, "readers", ()))
            self.notes.append((dataset.place, "dataset has no effect: dataset_path takes precedence"))
        if self.need_inputs and not inputs and len(self.problems.found) == before:
            if path is None or not _is_broken(path):
                place = path.place if path is not None else self.root.place
                self.problems.add(place, "there is no input", "Write dataset_path: with a file, directory or glob.")
        return inputs, None

    def _steps(self, library: LibraryLike) -> Any:
        entry = self.root.entries.get("process")
        if entry is None:
            self.lost.add_unknown(0)
            hint = "Write process: with a list of operators below it."
            self.problems.add(self.root.place, "has no process, so there is nothing to do", hint)
            return ()
        return read_steps(entry, library, self.problems, self.notes, self.lost, self.assets)

    def _drop_empty(self, values: dict[str, Any]) -> None:
        """Append the step that `drop_empty` stands for."""
        entry, process = self.root.entries.get("drop_empty"), self.root.entries.get("process")
        if values["drop_empty"] and entry is not None and process is not None and isinstance(process.node, Sequence):
            step = Scalar(EMPTY_TEXTS, EMPTY_TEXTS, entry.place)
            self.root.entries["process"] = Entry(
                process.place, Sequence([*process.node.items, step], process.node.place)
            )
        values["drop_empty"] = False  # the recipe has the step instead

    def _assets(self, values: dict[str, Any]) -> Assets:
        """Places of the assets of steps: the folders of the recipe, and the files that an earlier run has found."""
        folders = values["assets"] = tuple(values.get("assets") or ())
        for folder in folders:
            if is_url(folder) or not folder or "\0" in folder:
                place = self.root.entries["assets"].node.place
                self.problems.add(place, f"assets names {folder!r}, which is no folder", "Name a local folder.")
        entry = self.root.entries.get("found_assets")
        before = plain_value(entry.node) if entry is not None else None
        known = before if isinstance(before, dict) else {}
        return Assets(tuple(map(absolute, folders)), {str(path): str(name or "") for path, name in known.items()})

    def _trace_list(self, names: tuple[str, ...], library: LibraryLike) -> None:
        entry = self.root.entries.get("op_list_to_trace")
        if entry is None:
            return
        used = [name for name in step_names(self.root) if name]
        unused = check_names("op_list_to_trace", names, entry.node.place, used, library, self.problems)
        if unused:
            self.notes.append((entry.node.place, f"{', '.join(unused)} cannot be traced: the recipe does not use it"))

    def _credentials(self) -> dict[str, Any] | None:
        entry = self.root.entries.get("export_aws_credentials")
        credentials = cast(dict[str, Any], plain_value(entry.node)) if entry is not None and _is_set(entry) else None
        remember(credentials)
        return credentials

    # The output, and notes

    def _folders(self, values: dict[str, Any]) -> None:
        """Fill in work_dir as Data-Juicer does, and check that the export has a format."""
        path, folder = local(str(values["export_path"])), values["work_dir"]
        place = self.root.entries["export_path"].node.place if "export_path" in self.root.entries else self.root.place
        if folder is None:
            folder = "./outputs" if is_url(path) else os.path.dirname(path) or "."
            folder = STDOUT_FOLDER if is_stdout(path) else folder
            if folder == ".":
                self.notes.append((place, _HERE))
        elif "{job_id}" in folder:
            folder = self._without_job_id(folder)
        values["work_dir"] = folder = local(folder)
        self._paths(values)
        values["export_path"] = path = path.replace("{work_dir}", folder)
        suffix_format, folder_of_parts = format_of(path), on_cluster(values["executor_type"]) or self._is_partitioned()
        if not path or "\0" in path:
            self.problems.add(place, "export_path is empty" if not path else "export_path is not a path")
        elif is_stdout(path):
            self._stream(place, values)
        elif is_url(path) and "::" in path:
            self.problems.add(place, f"{path} is a chain of URLs, which is not followed", "Name the URL itself.")
        elif is_url(path) and not folder_of_parts and "/" not in path.partition("://")[2].strip("/"):
            self.problems.add(place, f"{path} names no object", "Write s3://bucket/name.jsonl.")
        elif is_url(path) and not folder_of_parts and path.endswith("/"):
            self.problems.add(place, f"{path} names a folder", f"Write {path}kept.jsonl.")
        elif values["export_type"] is None and suffix_format and suffix_format not in FORMATS:
            what = f"export_path ends in {suffix_format!r}, which is no format; formats are {', '.join(FORMATS)}"
            self.problems.add(place, what, "Change the suffix, or add export_type: jsonl")
        elif values["export_type"] is None and suffix_format is None:
            self.notes.append((place, "export_path has no suffix: written as jsonl unless export_type is given"))
        self._removed(values)
        values["keep_fields"] = values["keep_fields"] or ()
        check_kept(values["keep_fields"], self.root.entries, self.problems)

    def _is_partitioned(self) -> bool:
        """Return whether the recipe has the export written as a folder of partitions."""
        entry = self.root.entries.get("partition_by")
        return entry is not None and _is_set(entry)

    def _removed(self, values: dict[str, Any]) -> None:
        """Check the place of the removed samples."""
        check_removed(values, self.root.entries, self.problems)
        if values["removed_path"] is None:
            return
        values["removed_path"] = path = local(str(values["removed_path"])).replace("{work_dir}", values["work_dir"])
        place = self.root.entries["removed_path"].node.place
        suffix = format_of(path)
        if not path or "\0" in path or is_stdout(path):
            self.problems.add(place, "removed_path is empty" if not path else "removed_path is not a path")
        elif os.path.abspath(path) == os.path.abspath(values["export_path"]):
            self.problems.add(place, "removed_path and export_path are one place", "Name two.")
        elif suffix and suffix not in FORMATS and values["removed_partition_by"] in ((), None):
            what = f"removed_path ends in {suffix!r}, which is no format; formats are {', '.join(FORMATS)}"
            self.problems.add(place, what, "Change the suffix, or name a folder without one.")

    def _stream(self, place: SourcePlace, values: dict[str, Any]) -> None:
        """Check that the export can go to standard output."""
        if on_cluster(values["executor_type"]):
            self.problems.add(place, "a cluster exports a folder of parts, not to standard output", "Name a folder.")
        elif self._is_partitioned():
            self.problems.add(place, "standard output has no folders", "Leave out partition_by, or name a folder.")
        elif values["export_shard_size"]:
            self.problems.add(place, "standard output cannot be cut into files", "Leave out export_shard_size.")

    def _paths(self, values: dict[str, Any]) -> None:
        """Check that keys for paths hold valid paths."""
        for name in ("export_path", "work_dir", "temp_dir", "removed_path", "ray_address"):
            entry = self.root.entries.get(name)
            if entry is None or values[name] is None:
                continue
            if "\0" in values[name] and name not in ("export_path", "removed_path"):
                self.problems.add(entry.node.place, f"{name} is not a path")
            if has_credentials(values[name]):
                self.problems.add(entry.node.place, f"{name} holds credentials", CREDENTIALS)

    def _without_job_id(self, folder: str) -> str:
        place = self.root.entries["work_dir"].node.place
        head, _, tail = folder.partition("{job_id}")
        if tail.strip("/"):
            self.problems.add(place, "{job_id} can only be the last part of work_dir")
        self.notes.append((place, "{job_id} is left out of work_dir: a run is known by its folder"))
        return head.rstrip("/") or "."

    def _report_values(self, values: dict[str, Any], inputs: AnySequence[Any], most: int | None) -> None:
        entries = self.root.entries
        if not on_cluster(values["executor_type"]) and "ray_address" in entries:
            self.notes.append((entries["ray_address"].place, "ray_address has no effect: executor_type is default"))
        for name in ("op_list_to_trace", "trace_num", "trace_keys"):
            if name in entries and values[name] != KEYS[name].default and not values["open_tracer"]:
                self.notes.append((entries[name].place, f"{name} has no effect: open_tracer is false"))
        for name, reason in NOT_YET.items():
            if name in entries and (name == "export_aws_credentials" or values[name] != KEYS[name].default):
                self.notes.append((entries[name].place, f"{name} has no effect: {reason}"))
        if len(values["text_keys"]) > 1:
            text = f"only {values['text_keys'][0]!r} of text_keys is used; a step's text_key names another field"
            self.notes.append((entries["text_keys"].node.place, text))
        if most is None and len({source.weight for source in inputs}) > 1:
            place = (entries.get("dataset_path") or entries["dataset"]).place
            self.notes.append((place, "weights have no effect without dataset.max_sample_num"))


def _is_set(entry: Entry) -> bool:
    node = entry.node
    return not isinstance(node, Scalar) or node.broken or bool(node.value is not None and node.text)


def _is_broken(entry: Entry) -> bool:
    return isinstance(entry.node, Scalar) and entry.node.broken


def _is_mapping(entry: Entry) -> bool:
    node = entry.node
    return isinstance(node, Mapping) or (isinstance(node, Scalar) and isinstance(node.collection, Mapping))

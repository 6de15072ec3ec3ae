"""`--safe`: an untrusted recipe may hold no code and no SQL, and name nothing outside of given folders."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from refinery.common.paths import CONTENTS, TYPES
from refinery.compiler.kept_order import NAMED
from refinery.operators import Library
from refinery.recipe.by_column import COLUMN, DEFAULT, FILE, FOLDER, KEY, LONG, is_by_column
from refinery.recipe.executors import on_cluster
from refinery.recipe.inputs import from_dataset, from_path
from refinery.recipe.step_items import operator_of
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, SourcePlace, plain_value
from refinery.recipe.tree import Sequence as ListNode
from refinery.storage.urls import is_url

_NAME = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_TRUSTED = "Read it, and run it without --safe if you trust it."
_OUTSIDE = "Name a path below {roots}, or allow its folder with --root."
_PATHS = ("export_path", "work_dir", "temp_dir", "assets")
_CLUSTER = (
    "Name it yourself: --ray_address host:port, or RAY_ADDRESS in the environment and no ray_address in the recipe."
)


class SafeRecipe:
    """Check of a recipe before any part of it is used. roots: folders, and URLs, which match up to a slash."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = tuple(roots)
        self._folders = [os.path.realpath(os.path.expanduser(root)) for root in roots if not is_url(root)]
        self._urls = [root.rstrip("/") + "/" for root in roots if is_url(root)]

    def __call__(self, root: Mapping, problems: Problems) -> None:
        """Add every problem, each at its own line."""
        self._problems = problems
        entries = root.entries
        if _is_set(entries.get("operators")):
            self._refuse(entries["operators"].place, "operators names folders of code")
        for name in _PATHS:
            self._path(entries.get(name), name)
        self._links(entries.get("assets"), "assets")
        self._inputs(entries)
        self._summary(entries.get("stat_summary"))
        self._cluster(entries.get("executor_type"), entries.get("ray_address"))
        process = _inside(entries.get("process"))
        if isinstance(process, ListNode):
            library = Library()
            for item in process.items:
                self._step(item, library)

    def _refuse(self, place: SourcePlace, what: str, hint: str = _TRUSTED) -> None:
        self._problems.add(place, f"--safe: {what}", hint)

    def _inputs(self, entries: dict[str, Entry]) -> None:
        """Check input files, and the targets of links among them."""
        unread = Problems()  # reported by the check of the recipe
        if _is_set(entries.get("dataset_path")):
            sources = from_path(entries["dataset_path"].node, unread)
            place = entries["dataset_path"].node.place
        elif _is_set(entries.get("dataset")):
            sources, _ = from_dataset(entries["dataset"].node, unread)
            place = entries["dataset"].place
        else:
            return
        for source in sources:
            where = SourcePlace(place.source, source.line) if source.line else place
            if source.format == "sql":
                self._refuse(where, "a source of type sql has SQL")
                continue
            for path in [source.path, *_named_by(source.path)]:
                if not self._allows(path):
                    self._refuse(where, f"{path!r} is read, which is outside", self._cure())
                    break

    def _path(self, entry: Entry | None, name: str) -> None:
        for value in _texts(entry):
            # Placeholders of the recipe's own keys stand for folders that are checked themselves.
            if not self._allows(value.replace("{work_dir}", ".").replace("{job_id}", "")):
                self._refuse(_value_place(entry), f"{name} is {value!r}, which is outside", self._cure())

    def _links(self, entry: Entry | None, name: str) -> None:
        """Refuse links to the outside in folders that are read."""
        below = (path for value in _texts(entry) if self._allows(value) for path in _named_by(value))
        outside = next((path for path in below if not self._allows(path)), None)
        if outside is not None:
            self._refuse(_value_place(entry), f"{name} has {outside!r}, which leads outside", self._cure())

    def _summary(self, entry: Entry | None) -> None:
        summary = _inside(entry)
        if isinstance(summary, Mapping):
            self._path(summary.entries.get("export"), "stat_summary.export")
            self._sql(summary.entries.get("group_by"), "stat_summary.group_by")

    def _cluster(self, executor: Entry | None, address: Entry | None) -> None:
        """Check that data goes to a cluster only if the caller names it; `local` is this machine."""
        on_ray = any(map(on_cluster, _texts(executor)))
        for value in _texts(address):
            if value != "local" and not _is_option(address) and (on_ray or value != "auto"):
                where = "any cluster that this machine finds" if value == "auto" else "another machine"
                what = f"ray_address {value!r} is {where}, which would receive the data"
                self._refuse(_value_place(address), what, _CLUSTER)
        if on_ray and not _texts(address) and not os.environ.get("RAY_ADDRESS"):
            what = "executor_type without a ray_address is any cluster that this machine finds, which would receive the data"
            self._refuse(_value_place(executor), what, _CLUSTER)

    def _step(self, item: Node, library: Any) -> None:
        named = operator_of(item)
        if named is None or named[0] not in library.operators:
            return
        name, entry = named
        operator = library.operators[name]
        if (package := library.package_of(operator.path)) is not None:
            self._refuse(entry.place, f"{name} is code of the {package}")
        inside = _inside(entry)
        for param, value in inside.entries.items() if isinstance(inside, Mapping) else ():
            kind = operator.params[param].type if param in operator.params else ""
            if kind == "sql" or (param == "keep" and not {*NAMED} & {*_texts(value)}):
                self._sql(value, f"{name}.{param}")
            elif kind in TYPES:
                self._path(value, f"{name}.{param}")
                self._links(value if kind in CONTENTS else None, f"{name}.{param}")
            elif kind and is_by_column(value.node, operator.params[param]):
                self._by_column(value.node, f"{name}.{param}")

    def _by_column(self, node: Any, label: str) -> None:
        """Refuse SQL in place of a column's name, and files of values outside of the allowed folders."""
        for key, entry in node.entries.items():
            if key == COLUMN:
                self._sql(entry, label)
            elif key in (FILE, FOLDER) or (key not in (KEY, DEFAULT) and isinstance(entry.node, Scalar)):
                self._path(entry, label)
                self._links(entry, label)
            if key not in LONG and not _NAME.fullmatch(key):
                self._refuse(entry.place, f"{label} is SQL")

    def _sql(self, entry: Entry | None, label: str) -> None:
        for value in _texts(entry):
            if not _NAME.fullmatch(value.strip()):
                self._refuse(_value_place(entry), f"{label} is SQL")
                return

    def _allows(self, path: str) -> bool:
        if is_url(path):
            plain = ".." not in unquote(path).split("/") and "::" not in path
            return plain and any(f"{path}/".startswith(root) for root in self._urls)
        if "\0" in path:
            return True  # no path at all: reported by the check of the recipe
        real = os.path.realpath(os.path.expanduser(path))
        return any(os.path.commonpath((real, folder)) == folder for folder in self._folders)

    def _cure(self) -> str:
        return _OUTSIDE.format(roots=" or ".join(dict.fromkeys(self._folders + self._urls)))


def default_roots(recipe: str) -> tuple[str, str]:
    """The folder of the recipe's file, and the current folder."""
    return os.path.dirname(os.path.abspath(recipe)), os.getcwd()


def _is_set(entry: Entry | None) -> bool:
    return entry is not None and plain_value(entry.node) not in (None, "", [], {})


def _inside(entry: Entry | None) -> Node | None:
    """The value of a key; for the text of an option, the list or mapping that it stands for."""
    node = entry.node if entry is not None else None
    return node.collection or node if isinstance(node, Scalar) else node


def _value_place(entry: Entry | None) -> SourcePlace:
    assert entry is not None
    return entry.node.place


def _is_option(entry: Entry | None) -> bool:
    """Return whether the command line has given the value."""
    place = _value_place(entry)
    return place.line is None and place.source.startswith("--")


def _texts(entry: Entry | None) -> list[str]:
    """The texts that a node holds, at any depth."""
    texts: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            for item in value.values():
                look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)

    if entry is not None:
        look(entry.node.text if isinstance(entry.node, Scalar) and entry.node.text else plain_value(entry.node))
    return [text for text in texts if text]


def _named_by(path: str) -> Iterator[str]:
    """The files that a folder or glob stands for."""
    if is_url(path) or "\0" in path:
        return
    path = os.path.expanduser(path)
    for named in [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True)):
        yield named
        for folder, folders, files in os.walk(named):
            yield from (os.path.join(folder, name) for name in (*folders, *files))

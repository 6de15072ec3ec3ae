"""Index of earlier runs' match keys: new data is deduplicated against old data, which is not read or hashed again.

A folder with `index.json` (its files, and the operator and parameters that made them) and one Parquet file of match keys for
each run. Only files that `index.json` lists count, and it is replaced in one step: an extension is complete or absent.
An index at a URL differs only in its lists (see index_url).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from refinery.common.digest import ALGORITHM, size_and_digest
from refinery.compiler.deduplicators import statement
from refinery.dedup.index_place import LIST, IndexFolder, IndexPlace, is_match_keys
from refinery.dedup.index_runs import IndexRun
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers.params import SURVIVOR_PARAMS
from refinery.errors import OperatorError, OutputError
from refinery.io.side_files import digest, digests
from refinery.operators import Operator, imported_modules, is_shipped, read_operator
from refinery.operators.assets import by_contents
from refinery.recipe.sql_files import files_of
from refinery.storage.urls import is_url

# Numbers of an index' samples are below 0; numbers of a later generation are higher than those of an earlier one.
_GENERATION_BITS = 40


@dataclass(frozen=True)
class Index:
    """An index with all generations that it lists.

    run: the run that uses the index, whose own generations do not count. number: of the list.
    """

    place: IndexPlace
    made_by: dict[str, Any]
    listed: tuple[dict[str, Any], ...]
    run: IndexRun | None = None
    number: int = 0

    @property
    def generations(self) -> tuple[dict[str, Any], ...]:
        """Generations that samples are compared with."""
        own = self._own()
        return tuple(item for at, item in enumerate(self.listed) if at not in own)

    @property
    def own(self) -> tuple[dict[str, Any], ...]:
        """Generations that the run replaces together with its export."""
        return tuple(self.listed[at] for at in self._own())

    def _own(self) -> list[int]:
        return self.run.own(self.listed) if self.run is not None else []

    def listing(self, added: dict[str, Any] | None) -> str:
        """The text of the list with a new generation in the place of the run's own ones. added: None if there is none."""
        own, generations = self._own(), list(self.generations)
        if added is not None:
            at = own[0] if own else len(self.listed)
            generations.insert(at, added | (self.run.entry() if self.run is not None else {}))
        return json.dumps({"made_by": self.made_by, "generations": generations}, ensure_ascii=False, indent=2)

    def files(self) -> list[str]:
        """Files of match keys of the index, on this machine."""
        return [self.place.local(item["file"]) for item in self.generations]

    def names(self) -> list[str]:
        """Names of the generations in tables: project and run."""
        return [f"{item['project']} {item['run_id']}" for item in self.generations]


def open_index(named: str, step: Any, operator: Operator, run: IndexRun | None = None) -> Index:
    """The index in a folder or at a URL; empty if there is none. run: that uses it.

    Raises OperatorError if something else is there, if the index was made with another operator or parameters, or if it
    has lost files. Raises OutputError if another run is about to extend it.
    """
    said = f"{step.where}: {step.name}: index {named}"
    if "\0" in named:
        raise OperatorError(f"{step.where}: {step.name}: index {named!r} is not a path")
    made_by = _made_by(step, operator)
    with _read(said):
        place = place_of(named)
        listed = place.listed()
        if listed is None and place.has_lost_list():
            raise OperatorError(f"{said} has lost its {LIST}. Bring it back, or remove marks-* to begin a new index")
        if listed is None and not place.is_free():
            raise OperatorError(f"{said} is neither an index nor an empty folder")
        number, text = listed or (0, "")
        if busy := place.busy(_name_of(run), number):
            raise OutputError(busy)
        if listed is None:
            return Index(place, made_by, (), run)
        known, generations = _listed(text, said)
        _require_same(known, made_by, said)
        lost = [item["file"] for item in generations if not place.has(item["file"])]
    if lost:
        raise OperatorError(f"{said} has lost {', '.join(lost)}. Bring it back, or name another folder")
    return Index(place, made_by, generations, run, number)


def _name_of(run: IndexRun | None) -> str:
    """Identity of a run, which may take over its own claim; "" for a run that cannot be repeated."""
    return run.name if run is not None else ""


def require_contents(index: Index) -> None:
    """Check that the files of match keys are as they were written; those at a URL by size. Raises OperatorError."""
    for item in digested(index):
        if not index.place.sound(item["file"], int(item["size"]), str(item["digest"])):
            refuse(index, item)


def digested(index: Index) -> list[dict[str, Any]]:
    """Generations whose contents are known: entries of earlier versions have no digests."""
    return [item for item in index.generations if "digest" in item]


def refuse(index: Index, item: dict[str, Any]) -> NoReturn:
    """Raise OperatorError for a generation with other contents than were written."""
    changed = f"{item['file']} has other contents than run {item['run_id']} has written"
    raise OperatorError(f"index {index.place.name}: {changed}. Bring it back, or name another folder")


def place_of(named: str) -> IndexPlace:
    """The place of an index. Raises OSError if the place cannot hold one."""
    if not is_url(named):
        return IndexFolder(named)
    from refinery.dedup.index_url import opened

    return opened(named)


def require(index: Index, step: Any) -> None:
    """Check that the place can be written to, and can keep two runs apart. Raises OperatorError."""
    with _read(f"{step.where}: {step.name}: index {index.place.name}"):
        index.place.require()


@contextmanager
def _read(said: str) -> Iterator[None]:
    """Convert an OSError of the system or a driver to an OperatorError that names the step."""
    try:
        yield
    except OSError as error:
        raise OperatorError(f"{said} cannot be used: {error.strerror or error}") from error


def _require_same(known: dict[str, Any], made_by: dict[str, Any], said: str) -> None:
    if "digests" not in known and any(name == "code" or name.startswith("content of ") for name in known):
        raise OperatorError(
            f"{said} was made by an earlier version of refinery, which had other digests of the files that its match keys "
            "depend on. Name another folder, and run again the recipes that have extended the index"
        )
    names = {*known, *made_by} - {"digests"}
    differing = sorted(name for name in names if known.get(name) != made_by.get(name))
    if differing:
        raise OperatorError(
            f"{said} was made with other {', '.join(differing)}. Use the same parameters, or another folder"
        )


def _listed(text: str, said: str) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """The operator and parameters that made the index, and its generations. Raises OperatorError for another file."""
    try:
        content = json.loads(text)
        made_by, generations = dict(content["made_by"]), tuple(content["generations"])
        [(item["run_id"], item["project"]) for item in generations]
        if not all(is_match_keys(item["file"]) for item in generations):
            raise ValueError("the list names files that are no match keys")
    except (ValueError, TypeError, KeyError) as error:
        raise OperatorError(f"{said}: its {LIST} is not the list of an index. Name another folder") from error
    return made_by, generations


def _made_by(step: Any, operator: Operator) -> dict[str, Any]:
    """Identity of an index' match keys: the operator under its own name, its version, and its parameters for them."""
    matchers = {} if operator.matcher_path is None else {operator.match: operator.matcher_path}
    own = read_operator(operator.path, matchers=matchers)  # an alias has further parameters, which have no effect
    elsewhere = {*SURVIVOR_PARAMS, *own.matcher.only_compares, "text_key"}  # decide survivors, reports or pairs
    values = by_contents(step.params, own.params)
    params = {name: values[name] for name in sorted(own.params) if name not in elsewhere and name in values}
    made_by = {"operator": own.name, "version": own.version, **params, **_contents(own, params)}
    return json.loads(json.dumps(made_by, default=list))


def _contents(operator: Operator, params: Mapping[str, Any]) -> dict[str, Any]:
    """Digests of files that the match keys depend on: files that SQL in parameters reads, and a user's operator code."""
    digest_of: dict[str, Any] = {}
    for name, value in params.items():
        names = files_of(value) if value and operator.params[name].type == "sql" else []
        digest_of |= {f"content of {name}": list(digests(names).values())} if names else {}
    own_matcher = [] if operator.matcher_path is None else [operator.matcher_path]
    if not is_shipped(operator.path):
        code = [
            operator.path,
            *own_matcher,
            *imported_modules(operator.path).values(),
            *operator.resources.get("files", ()),
        ]
        digest_of["code"] = [digest(str(operator.path.parent / path)) for path in code]
    return {"digests": ALGORITHM, **digest_of} if digest_of else {}


def stored_files(index: Index) -> list[tuple[str, str, int]]:
    """The index' files of match keys in order: the URL of their store, their name in it, what is added to their numbers."""
    names = [item["file"] for item in index.generations]
    return [(index.place.key, name, shift) for name, shift in zip(names, _shifts(len(names)), strict=True)]


def _shifts(generations: int) -> list[int]:
    return [(number - generations) << _GENERATION_BITS for number in range(generations)]


def extend(keys: MatchKeys, first_rows: Sequence[int], gone: pa.Table, target: Path) -> int:
    """Write the match keys of the samples that stay to `target`, for `extending`; return their number.

    first_rows: number of each shard's first sample. gone: numbers of the samples that the step removes, as `_row`.
    """
    columns = [name for name in keys.columns if name != "_row" and not name.startswith("order_")]
    with keys.relation("gone", gone):
        return keys.write(statement("index", first_rows=list(first_rows), columns=columns), str(target))


@contextmanager
def extending(added: Sequence[tuple[Index, Path | None]]) -> Iterator[Callable[[str, str], None]]:
    """Lock indexes against other runs until this run is published, with the added files copied to them.

    added: indexes and files of match keys, written by `extend`; None if there is nothing to add, so that what the run has
    added before is removed. The yielded function lists the files, under the id of the
    run and the name of its project. Raises OutputError, before anything else is published, if an index cannot be
    written or another run has extended it since it was opened.
    """
    with ExitStack() as held:
        one_way = sorted(added, key=lambda item: item[0].place.key)  # one order for all runs prevents a deadlock
        ready = [
            (index, _contents_of(written), held.enter_context(_ready(index, written))) for index, written in one_way
        ]

        def publish(run_id: str, project: str) -> None:
            for index, contents, aside in ready:
                with _index_errors(index):
                    _list(index, aside, {"run_id": run_id, "project": project, **contents})

        yield publish


def _contents_of(written: Path | None) -> dict[str, Any]:
    """Size and digest of match keys that are to be added, if there are any."""
    return {} if written is None else dict(zip(("size", "digest"), size_and_digest(written), strict=True))


@contextmanager
def _ready(index: Index, written: Path | None) -> Iterator[str]:
    """Lock an index and copy the match keys beside its others; yield the copy's name, or "". An unlisted copy is removed."""
    with ExitStack() as held:
        with _index_errors(index):
            held.enter_context(index.place.alone(_name_of(index.run), index.number))
            if _listed_now(index) != (index.number, index.listed):
                raise OutputError(
                    f"{index.place.name}: another run has extended the index meanwhile; run this one again"
                )
            beside = index.place.beside(written, len(index.listed) + 1) if written is not None else nullcontext("")
            aside = held.enter_context(beside)
        yield aside


def _listed_now(index: Index) -> tuple[int, tuple[dict[str, Any], ...]]:
    """The number of the index' current list, and the generations in it."""
    listed = index.place.listed()
    return (0, ()) if listed is None else (listed[0], _listed(listed[1], f"index {index.place.name}")[1])


def _list(index: Index, aside: str, facts: dict[str, Any]) -> None:
    """Add a generation, if there are match keys in `aside`; it replaces the run's own earlier ones. facts: of the generation."""
    before = [item["file"] for item in index.own]
    name = (
        f"marks-{len(index.listed) + 1:05d}-{facts['run_id']}.parquet"  # a new one: the list has the old one's digest
    )

    def listing(name: str) -> str:
        return index.listing({"file": name, **facts} if name else None)

    index.place.extend(aside, name if aside else "", index.number, listing, before)


@contextmanager
def _index_errors(index: Index) -> Iterator[None]:
    """Convert an OSError to an OutputError that names the index."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{index.place.name}: the index cannot be extended: {error.strerror or error}") from error

"""Keys of results: digests of everything that decides them, and of nothing else.

All fields of programs, tasks and steps count, unless their declaration marks them (`key_fields.left_out`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from refinery.checkpoints.dependencies import assets
from refinery.checkpoints.sql_tokens import sql_tokens, text_of
from refinery.common.digest import digest_of_file
from refinery.common.key_fields import canonical
from refinery.compiler.program import Program
from refinery.io.content_digest import how_cut
from refinery.io.model import Part, Shard
from refinery.io.writers.shared_file import SharedFile
from refinery.operators import Library, is_shipped
from refinery.operators.assets import by_contents
from refinery.operators.local_code import digest_of
from refinery.operators.user_code import imported_modules
from refinery.operators.versions import libraries, libraries_of_shipped, versions
from refinery.planning.plan import CompiledStage
from refinery.storage.open import open_store
from refinery.workers.done_marks import key_of
from refinery.workers.match_keys import digest_of_numbers
from refinery.workers.tasks import ShardResult, Task


def program_key(planned: CompiledStage, library: Library, limits: dict[str, Any]) -> str:
    """Key of a stage's computation on a sample: SQL, functions, side files, versions. limits: of a row."""
    program, named = planned.program, assets(planned, library)
    held = sorted(program.beside[name] for name in {*named.values()})
    read = sorted(
        [program.code.get(name, name), program.beside[name]] for name in program.beside.keys() - {*named.values()}
    )
    sql = _without_paths(program, {path: program.beside[name] for path, name in named.items()})
    return key_of([versions(), canonical(replace(program, pass_sql=sql), _plain), held, read, limits])


def shard_key(program: str, task: Task, shard: Shard, before: ShardResult | None) -> str:
    """Key of a stage's results for a shard, without the bytes of its samples in the input.

    program: key of the stage's computation. before: the shard's results of the previous stage.
    """
    asked = canonical(task, _plain)
    if shard.part is None or before is None:
        return key_of([program, asked, how_cut(shard)])
    return key_of([program, asked, shard.index, before.key, _removed(shard.part), _units(shard, task)])


def barrier_key(planned: CompiledStage, library: Library, results: Sequence[ShardResult], more: Any) -> str:
    """Key of a deduplicator's findings. more: further plain data that counts."""
    step = planned.stage.after
    assert step is not None
    operator = library.operators[step.name]
    step = replace(step, params=by_contents(step.params, operator.params))
    own = canonical([step, operator.path, operator.matcher_path, operator.functions], _plain)
    return key_of([versions(), own, [result.key for result in results], more])


def _plain(value: Any) -> Any:
    """Values of other types: a file of operators by its contents, an export that shards write by its existence."""
    if isinstance(value, Path):
        return _source(value)
    if isinstance(value, SharedFile):
        return True
    raise TypeError(f"{type(value).__name__} cannot be in a key")


def _source(path: Path) -> list[Any]:
    """A digest of a file with operators, and the versions of the libraries that it imports."""
    own_digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if is_shipped(path):  # all others of its libraries are among `versions`
        return [own_digest, libraries_of_shipped(path.stem)]
    if path.suffix != ".py":
        return [own_digest, {}]
    return [own_digest, _libraries(path, (own_digest, *map(digest_of, imported_modules(path).values())))]


@lru_cache(maxsize=1024)
def _libraries(path: Path, digests: tuple[str, ...]) -> dict[str, str]:
    return libraries(path)


def _without_paths(program: Program, assets: dict[str, str]) -> str:
    """The statement's tokens, without comments, which hold places of steps, and with digests for paths of files."""
    tokens = [(token, text_of(token)) for token in sql_tokens(program.pass_sql)]
    return json.dumps([token if text is None else ["text", assets.get(text, text)] for token, text in tokens])


def _removed(part: Part) -> str:
    """Digest of the numbers of the samples that a deduplicator has removed from what the stage before has left."""
    if part.removed_in is not None:
        return part.removed_in.digest
    if part.removed is None:
        raise ValueError("a part without a list of removed samples has no key")
    return digest_of_numbers(part.removed)


def _units(shard: Shard, task: Task) -> str:
    """A digest of the parts that the previous deduplicator removes from the shard's texts."""
    names = [name for name in (shard.part.tables if shard.part else ()) if name.endswith(".units.parquet")]
    store = open_store(task.store)
    return key_of([digest_of_file(store.fetch(name)).hexdigest() for name in names[-1:]])

"""The compiled program of a stage: plain data that can be sent to any process or machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from refinery.common.fields import keys_of
from refinery.common.key_fields import left_out
from refinery.common.lazy import exp
from refinery.compiler.chain import compile_chain
from refinery.compiler.column_names import LIGHT, Keys
from refinery.compiler.layers import Definition
from refinery.compiler.model import (
    ALONE,
    BatchColumn,
    Chain,
    CompileContext,
    KeptField,
    OrderTerm,
    Schema,
    Stat,
    TextChange,
)
from refinery.compiler.templates import ident, lit
from refinery.dedup.matchers import SHINGLES, MatchColumn
from refinery.errors import Problem, RecipeError
from refinery.operators import Function, Library
from refinery.operators.resources import resources_of
from refinery.recipe.sql import parse


@dataclass(frozen=True)
class StepInfo:
    """One step of the recipe, without its parameters."""

    index: int
    name: str
    kind: str
    where: str = field(metadata=left_out("file:line of the recipe, for messages"))
    field: Keys  # the text that it works on


@dataclass(frozen=True)
class Program:
    """The compiled stage.

    pass_sql: the SELECT over relation `batch` that does the work. replay_sql: the same with every version of every
    text. probes: (column, step) in the order in which steps run, each a column of the relation `last` of `layers`, to
    find the step that a row fails in. trials: the relation below each probe, and its expression. kinds: of the columns,
    see Definition. batch_columns: columns of `batch` besides `_i` and those of lines. facts: result columns stored for every
    sample. names: operator by step, of all steps that something is computed for. match_keys, order: result columns for the
    next deduplicator. carried: statistics of earlier stages that the batch carries. removed: column of the batch with
    the units that the deduplicator before removes. keys: result columns that statistics are summed up by. chars: by
    step, the result column with the length of the text that the step measured. folders: folders whose files the SQL may
    read. kept_fields: fields of the input that are stored for every sample. files: names of the files that it reads. beside: digests of everything besides the samples that results depend
    on, by name (see io.side_files). code: names in keys for those of these files that belong to a user's operators.
    beside and code are known when a run begins. shown: statistics of earlier stages that traces show. calls: most rows of a call, by function. written: fields that
    mappers write in place of texts, with their types: `outs` has JSON for them. seconds: time limit of one statement in DuckDB.
    """

    steps: tuple[StepInfo, ...]
    lines: bool
    text_key: Keys
    pass_sql: str
    replay_sql: str = field(metadata=left_out("the definitions of pass_sql, for traces, which are not stored"))
    layers: str = field(metadata=left_out("the relations of pass_sql"))
    last: str = field(metadata=left_out("the last relation of pass_sql"))
    probes: tuple[tuple[str, int], ...]
    trials: tuple[tuple[str, str], ...] = field(metadata=left_out("definitions of pass_sql"))
    functions: tuple[Function, ...]
    stats: tuple[Stat, ...]
    changes: tuple[TextChange, ...]
    read: dict[Keys, str]
    outs: dict[Keys, str]
    batch_columns: tuple[BatchColumn, ...]
    facts: tuple[str, ...]
    kinds: Mapping[str, str]
    stats_json: bool
    names: dict[int, str]
    match_keys: tuple[str, ...] = ()
    key_columns: tuple[MatchColumn, ...] = ()
    order: tuple[OrderTerm, ...] = ()
    carried: tuple[str, ...] = ()
    removed: str | None = None
    keys: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()  # result columns with the values that name folders of the export
    kept_fields: tuple[KeptField, ...] = ()
    repeats: tuple[
        str, ...
    ] = ()  # the result column with the number of times that a sample is exported, if it may be another than 1
    chars: Mapping[int, str] = field(default_factory=dict)
    folders: tuple[str, ...] = field(default=(), metadata=left_out("places; contents are in beside"))
    files: tuple[str, ...] = field(default=(), metadata=left_out("names; contents are in beside"))
    beside: Mapping[str, str] = field(default_factory=dict, metadata=left_out("in the key by contents, without places"))
    code: Mapping[str, str] = field(default_factory=dict, metadata=left_out("names in keys of what is in beside"))
    shown: tuple[Stat, ...] = field(default=(), metadata=left_out("for traces, which are not stored"))
    written: Mapping[Keys, str] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict, metadata=left_out("results are the same for any number"))
    seconds: float = 120.0
    first: bool = False  # the first stage: it reads the input's samples, and finds those without a text

    @property
    def copies(self) -> bool:
        """True if nothing is computed, so the samples pass unchanged."""
        computed = self.steps or self.match_keys or self.removed or self.stats_json or self.partition or self.repeats
        return not (self.first or computed)

    @property
    def limits_rows(self) -> bool:
        """True if a function has a time limit of its own for a row."""
        return any(function.runs == "process" for function in self.functions)

    @property
    def hidden(self) -> list[str]:
        """Result columns that no table has: keys of the summary of statistics, fields of the input, lengths of texts, folders and repeats of the export."""
        kept = [field.column for field in self.kept_fields]
        return [*self.keys, *kept, *self.partition, *self.repeats, *dict.fromkeys(self.chars.values())]

    @property
    def label(self) -> str:
        """Names of the steps, for messages about all of them."""
        named = [f"{step.where}: {step.name}" if step.where else step.name for step in self.steps]
        return ", ".join(named) or ", ".join(self.names.values()) or "the statement"

    @property
    def uses_row(self) -> bool:
        """True if a step's SQL names the number of the sample."""
        return any(column.kind == "row" for column in self.batch_columns)

    @property
    def light(self) -> frozenset[str]:
        """Columns whose cost is negligible beside the other columns of their steps."""
        return frozenset(name for name, kind in self.kinds.items() if kind in LIGHT)

    def probe(self, number: int) -> str:
        """SQL that computes the column of a probe."""
        return f"{self.layers} SELECT {ident(self.probes[number][0])} FROM {self.last}"

    def trial(self, number: int) -> str:
        """SQL for the rows on which the expression of a probe raises."""
        below, expression = self.trials[number]
        return f"{self.layers} SELECT _i FROM {below} WHERE TRY({{'v': {expression}}}) IS NULL"


def build(
    steps: Sequence[Any],
    library: Library,
    schema: Schema,
    text_key: Keys,
    share: bool = True,
    stats_json: bool = False,
    around: CompileContext = ALONE,
) -> tuple[Program, Chain]:
    """Compile steps to a program; `stats_json` adds each kept row's statistics as a JSON object (`_stats`)."""
    measured = any(library.operators[step.name].stats for step in steps) or bool(around.stats)
    stats_json = stats_json and measured
    chain = compile_chain(steps, library, schema, text_key, share, replace(around, carry_all=stats_json))
    columns = chain.pass_columns()
    if stats_json:
        columns.append(f"{stats_object([*around.stats, *chain.stats])} AS _stats")
    ends = [step for step in (around.before, around.after) if step is not None]
    applied = [around.before] if chain.removed and around.before is not None else []
    probes = _by_step(chain, [around.before, *steps, around.after])
    layers, last = chain.relations()
    program = Program(
        steps=tuple(_info(step, library, text_key) for step in (*applied, *steps)),
        lines=schema.lines,
        text_key=text_key,
        pass_sql=pretty(chain.select(columns)),
        replay_sql=chain.select(chain.replay_columns()),
        layers=layers,
        last=last,
        probes=tuple((definition.name, definition.step) for _, definition in probes),
        trials=tuple((below, definition.sql) for below, definition in probes),
        functions=_functions(chain, library, chain.used_features | _hidden(chain), around),
        kinds={definition.name: definition.kind for _, definition in probes},
        stats_json=stats_json,
        names={step.index: step.name for step in (*steps, *ends)},
        key_columns=_key_columns(around, library),
        calls=_calls([*steps, *ends], library),
        first=around.first,
        **_of_chain(chain),
    )
    return program, chain


def _of_chain(chain: Chain) -> dict[str, Any]:
    """The fields of a program that only its chain decides."""
    return {
        "stats": tuple(chain.stats),
        "changes": tuple(chain.changes),
        "shown": chain.shown,
        "written": dict(chain.written),
        "read": dict(chain.read),
        "outs": dict(chain.outs),
        "batch_columns": tuple(sorted(chain.batch_columns.values(), key=lambda column: column.column)),
        "facts": tuple(chain.facts()),
        "match_keys": tuple(chain.match_keys),
        "order": tuple(chain.order),
        "carried": tuple(sorted(column.name for column in chain.batch_columns.values() if column.kind == "carried")),
        "removed": chain.removed,
        "keys": tuple(chain.keys),
        "kept_fields": tuple(chain.kept_fields),
        "partition": tuple(chain.partition),
        "repeats": tuple(chain.repeats),
        "chars": dict(chain.chars),
        "files": tuple(sorted(chain.files)),
    }


def _key_columns(around: CompileContext, library: Library) -> tuple[MatchColumn, ...]:
    """Form of the match keys that the chain computes."""
    if around.after is None:
        return ()
    return SHINGLES if around.compare else library.operators[around.after.name].matcher.columns


def _calls(steps: Sequence[Any], library: Library) -> dict[str, int]:
    """Most rows of a call of each Python function that steps give a `batch_size` for; the least of several steps."""
    rows_of: dict[str, int] = {}
    for step in steps:
        operator = library.operators[step.name]
        if (rows := resources_of(step, operator).batch_size) is not None:
            names = [function.name for function in operator.functions if function.runs == "python"]
            rows_of |= {name: min(rows, rows_of.get(name, rows)) for name in names}
    return rows_of


def _definitions(chain: Chain) -> list[tuple[str, Definition]]:
    """Every definition with the name of the relation below it."""
    numbered = enumerate(chain.layers.layers())
    return [(f"_s{number}" if number else "_read", definition) for number, layer in numbered for definition in layer]


def _by_step(chain: Chain, steps: Sequence[Any]) -> list[tuple[str, Definition]]:
    """Every definition with the name of the relation below it, in the order of the steps; None is no step."""
    running = [step.index for step in steps if step is not None]
    rank = {step: number for number, step in enumerate([0, *running])}
    return sorted(_definitions(chain), key=lambda definition: rank[definition[1].step])


def _info(step: Any, library: Library, text_key: Keys) -> StepInfo:
    own = step.params.get("text_key")
    kind = library.operators[step.name].kind
    return StepInfo(step.index, step.name, kind, step.where, keys_of(own) if own else text_key)


def _hidden(chain: Chain) -> set[str]:
    """Features whose functions the compiler calls itself."""
    of_json = {"json_by_value", "json_order", "json_fits", "json_key"} & chain.functions
    return ({"url_parts"} & chain.functions) | ({"json_values"} if of_json else set())


def _functions(chain: Chain, library: Library, features: set[str], around: CompileContext) -> tuple[Function, ...]:
    functions: dict[str, Function] = {}
    ends = [step for step in (around.before, around.after) if step is not None]
    for name in sorted(features):
        functions.update({function.name: function for function in library.features[name].functions})
    for step in (*chain.steps, *ends):
        functions.update({function.name: function for function in library.operators[step.name].functions})
    if around.compare and not library.operators[ends[-1].name].matcher.takes_units:
        if "jaccard" not in functions:
            where, name = ends[-1].where, ends[-1].name
            raise RecipeError(
                [Problem(where, f"{name}: compare needs a function 'jaccard' among the header's functions")]
            )
        chain.functions.add("jaccard")
    return tuple(functions[name] for name in sorted(chain.functions))


def stats_object(stats: Sequence[Stat]) -> str:
    """SQL for the statistics as a JSON object, in the order of `stats`."""
    pairs = ", ".join(f"{lit(stat.column)}, {ident(stat.column)}" for stat in stats)
    return f"json_object({pairs})"


@lru_cache(maxsize=64)
def pretty(sql: str) -> str:
    """Parse and print the statement: the SQL that is shown is the SQL that runs. Raises ValueError if parsing fails."""
    tree = parse(sql).transform(_without_parentheses, copy=False)  # copying would double the time
    return tree.sql("duckdb", copy=False, pretty=True, normalize_functions="lower")


def _without_parentheses(node: exp.Expr) -> exp.Expr:
    """Remove redundant parentheses, except around an arrow, which could be read as a lambda."""
    while isinstance(node, exp.Paren) and isinstance(node.parent, (exp.Coalesce, exp.Nullif, exp.Paren, exp.Alias)):
        if isinstance(node.this, (exp.JSONExtract, exp.JSONExtractScalar, exp.Lambda)):
            break
        inner = node.this
        inner.parent, inner.arg_key = node.parent, node.arg_key
        node = inner
    return node

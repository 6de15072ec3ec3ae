"""The SQL functions of one operator, or of one step of a recipe, made by the compiler of recipes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

from refinery.assets.find import find
from refinery.assets.names import needs
from refinery.compiler.chain import compile_chain
from refinery.compiler.model import Chain, Schema
from refinery.compiler.templates import DependsOnColumn
from refinery.errors import RefineryError
from refinery.operators import Library, Operator, Param, is_shipped
from refinery.recipe.model import Step
from refinery.recipe.sql import parse
from refinery.sql_functions.inlined import InlinedChain, NotOneText, struct_of, struct_type, with_own_variables
from refinery.sql_functions.model import TEXT, SqlFunction
from refinery.sql_functions.parameters import argument, candidates, declared, with_arguments

_SCHEMA = Schema(False, {TEXT: "VARCHAR"})


def functions_of_operator(operator: Operator, library: Library) -> list[SqlFunction]:
    """The functions of an operator with its defaults. Raises NotOneText with the reason why there are none."""
    if operator.kind == "deduplicator":
        raise NotOneText("compares samples with one another")
    params = {name: spec.default for name, spec in operator.params.items()}
    if missing := [name for name, spec in operator.params.items() if spec.required]:
        raise NotOneText(f"has no default for {', '.join(missing)}")
    assets = needs(params, operator.params)
    for need in assets:
        params[need.param], _ = find(need)
        if params[need.param] is None:
            raise NotOneText(f"needs {need.name}, which is not here: refinery assets")
    if problems := operator.check(params):
        raise NotOneText(problems[0].rstrip("."))
    free = candidates(operator)
    while True:
        arguments = {name: argument(operator, spec) for name, spec in free.items()}
        try:
            chain = _chain(operator, {**params, **arguments}, library)
            functions = _functions(operator.name, operator, chain, free)
            return [replace(one, lasting=not assets and _lasts(operator, chain, library)) for one in functions]
        except DependsOnColumn as error:
            del free[error.parameter]


def _lasts(operator: Operator, chain: Chain, library: Library) -> bool:
    """Return whether the SQL is the same whenever it is made: features with `variables` may read files, as models are found."""
    features = [library.features[name] for name in chain.used_features]
    return is_shipped(operator.path) and all(is_shipped(feature.path) and not feature.variables for feature in features)


def functions_of_step(name: str, step: Step, library: Library) -> list[SqlFunction]:
    """The functions of a step with its own parameters, under a name. Raises NotOneText."""
    operator = library.operators[step.name]
    if operator.kind == "deduplicator":
        raise NotOneText("compares samples with one another")
    return _functions(name, operator, _chain(operator, step.params, library), {})


def _chain(operator: Operator, params: Mapping[str, Any], library: Library) -> Chain:
    """The compiled step. Raises NotOneText for one that reads more than a text."""
    step = Step(1, operator.name, dict(params))
    try:
        chain = compile_chain([step], library, _SCHEMA)
    except DependsOnColumn:
        raise
    except RefineryError as error:
        raise NotOneText(_reads_more(str(error))) from None
    for read in chain.batch_columns.values():
        if (read.kind, read.name) != ("input", TEXT):
            raise NotOneText("reads the number of the sample" if read.kind == "row" else "reads the name of the file")
    if chain.files:
        raise NotOneText("its SQL reads files")
    return chain


def _reads_more(message: str) -> str:
    if "no column" in message:
        name = message.partition("'")[2].partition("'")[0]
        return f"reads the field {name!r}"
    return message.rpartition(": ")[2].rstrip(".")


def _functions(name: str, operator: Operator, chain: Chain, free: Mapping[str, Param]) -> list[SqlFunction]:
    """The functions: of a filter its verdict, with another one for its statistics; of a mapper the text, or what it writes."""
    inlined = InlinedChain(chain, {chain.read[(TEXT,)]: TEXT, "_bad": f"CASE WHEN {TEXT} IS NULL THEN 'no text' END"})
    functions: list[SqlFunction] = []
    if operator.kind == "filter":
        [alive] = chain.alive.values()
        functions.append(_function(name, operator, "BOOLEAN", inlined.guarded(itemgetter(alive), [alive]), free))
    elif operator.kind == "mapper":
        functions.append(_function(name, operator, *_of_mapper(chain, inlined), free))
    if chain.stats:
        kind = struct_type({stat.name: stat.type for stat in chain.stats})
        columns = {stat.name: stat.column for stat in chain.stats}
        body = inlined.guarded(partial(struct_of, columns), columns.values())
        own = name if operator.kind == "stats" else f"{name}_stats"
        functions.append(_function(own, operator, kind, body, free))
    if not functions:
        raise NotOneText("gives no value of a text")
    return functions


def _of_mapper(chain: Chain, inlined: InlinedChain) -> tuple[str, str]:
    """Type and SQL of a mapper's value: NULL for a sample that it removes."""
    written = {keys[0]: column for column, keys in chain.values.items()}
    texts = [change for change in chain.changes if change.field == (TEXT,)]
    alive = list(chain.alive.values())
    columns = [chain.texts[(TEXT,)]] if texts or not written else list(written.values())
    if texts or not written:
        kind = "VARCHAR"
    elif len(written) == 1:
        kind = chain.written[(next(iter(written)),)]
    else:
        kind = struct_type({field: chain.written[(field,)] for field in written})

    def value(shown: Mapping[str, str]) -> str:
        sql = shown[columns[0]] if len(columns) == 1 else struct_of(written, shown)
        for column in alive:
            sql = f"CASE WHEN {shown[column]} THEN {sql} END"
        return sql

    return kind, inlined.guarded(value, [*columns, *alive])


def _function(name: str, operator: Operator, returns: str, body: str, free: Mapping[str, Param]) -> SqlFunction:
    expression, names = with_arguments(with_own_variables(parse(body)))
    used = {parameter: spec for parameter, spec in free.items() if parameter in names}
    return SqlFunction(name, operator.name, returns, declared(operator, used), expression.sql("duckdb"))

"""The whole recipe as one SQL script that a person can read, and run in a DuckDB shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refinery.compiler.chain import Chain, Keys, out_name
from refinery.compiler.env import ident, json_path, lit, template
from refinery.compiler.ledger import ledger_columns
from refinery.compiler.names import text_of_columns
from refinery.compiler.program import Program, pretty, stats_object
from refinery.library import read_sql


def script(program: Program, chain: Chain, files: Sequence[dict[str, Any]], export_path: str, title: str) -> str:
    """The script for one stage over whole files.

    files: path, suffix, format, array (JSON that is not one sample a line), delimiter. The SELECT in the middle is
    what every shard of `refinery run` runs; reading and writing around it are their plain SQL equals.
    """
    parts = [_head(program, title)]
    parts.append(_render("io/read_lines.sql" if program.lines else "io/read_typed.sql", files=files))
    parts.append(_pass(chain))
    parts.append(_render("tables/ledger.sql", facts="facts", **ledger_columns(chain, chain.steps)))
    columns = [(lit(stat.column), ident(stat.column)) for stat in program.stats]
    parts.append(_render("tables/stats.sql", facts="facts", columns=[column for _, column in columns]))
    parts.append(_render("tables/stat_summary.sql", columns=columns))
    parts.append(_write_lines(program, export_path) if program.lines else _write_typed(program, export_path))
    return "\n\n".join(part.strip().rstrip(";") + ";" for part in parts[1:]).join([parts[0] + "\n\n", "\n"])


def _head(program: Program, title: str) -> str:
    names = [function.name for function in program.functions]
    lines = [f"-- {title}"]
    if names:
        lines.append(f"-- It calls {', '.join(names)}: run it in Python on a connection after refinery.register(con).")
    else:
        lines.append("-- It needs nothing but DuckDB 2.0: duckdb < script.sql")
    return "\n".join(lines)


def _pass(chain: Chain) -> str:
    sql = pretty(chain.select([c.replace("_i", "_i AS _row", 1) if c == "_i" else c for c in chain.pass_columns()]))
    steps = "\n".join(f"--   {step.where}  step {step.index}: {step.name}" for step in chain.steps)
    return f"-- One pass over all samples:\n{steps}\nCREATE OR REPLACE TEMP TABLE facts AS\n{sql};\nDELETE FROM facts WHERE _bad IS NOT NULL"


def _write_lines(program: Program, export_path: str) -> str:
    line = "rtrim(_line, E' \\t\\r\\n')"
    for keys in program.outs:
        column = out_name(keys)
        line = f"CASE WHEN {column} IS NULL THEN {line} ELSE json_set({line}, {lit(json_path(keys))}, json_quote({column})) END"
    if program.stats_json:
        line = f"json_set({line}, '$.\"__dj__stats__\"', {stats_object(program.stats)})"
    return _render("io/write_lines.sql", line=line, path=export_path)


def _write_typed(program: Program, export_path: str) -> str:
    replaced = ", ".join(_replacement(keys) for keys in program.outs)
    form = "parquet" if export_path.endswith(".parquet") else "json"
    return _render("io/write_typed.sql", replaced=replaced, path=export_path, format=form)


def _replacement(keys: Keys) -> str:
    new = f"coalesce({out_name(keys)}, batch.{text_of_columns(keys)})"
    for depth in range(len(keys) - 1, 0, -1):
        parent = text_of_columns(keys[:depth])
        new = f"struct_update(batch.{parent}, {ident(keys[depth])} := {new})"
    return f"{new} AS {ident(keys[0])}"


def _render(name: str, **values: Any) -> str:
    return template(read_sql(name)).render(values)

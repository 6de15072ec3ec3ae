"""The whole recipe as one SQL script that a person can read, and run in a DuckDB shell."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from refinery.compiler.chain import Chain, Keys, out_name
from refinery.compiler.env import ident, json_path, lit, template
from refinery.compiler.ledger import LEDGER_COLUMNS, case_of_step, ledger_columns
from refinery.compiler.names import text_of_columns
from refinery.compiler.program import Program, pretty, stats_object
from refinery.library import read_sql

_COMPRESSIONS = {"jsonl.gz": ", COMPRESSION gzip", "jsonl.zst": ", COMPRESSION zstd"}

_ROW_AS_JSON = "CAST(to_json(struct_pack(*COLUMNS(batch.* EXCLUDE (_i, _row, _suffix, _file)))) AS VARCHAR)"


@dataclass(frozen=True)
class File:
    """One input file.

    kind: jsonl, json (an array, or values over several lines), csv, tsv, parquet, text, or arrow, which stands for a
    table that is registered as `dataset`. columns: names and DuckDB types of a CSV file.
    """

    path: str
    suffix: str
    kind: str
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Export:
    """The export: its path and format, the file of the statistics (None where the recipe has none).

    add_suffix: whether samples get the suffix of their file. taken: columns of a table that are written anew.
    """

    path: str
    format: str
    stats_path: str | None
    add_suffix: bool = False
    taken: tuple[str, ...] = ()


def script(
    program: Program, chain: Chain, files: Sequence[File], export: Export, title: str, notes: Sequence[str] = ()
) -> str:
    """The script for one stage over whole files.

    The SELECT in the middle is what `refinery run` runs over each batch; reading and writing around it are its plain
    SQL equals. notes: further lines of the comment at the top.
    """
    names = [ident(stat.column) for stat in program.stats]
    parts = [
        _read(program, files),
        _pass(chain),
        _render("io/quarantine.sql", raw="batch._line" if program.lines else _ROW_AS_JSON),
        _table("ledger", facts="facts", removing=[], **_ledger(chain)),
        _table("stats", facts="facts", columns=names),
        _table("stat_summary", columns=[(lit(stat.column), ident(stat.column)) for stat in program.stats]),
        _write_lines(program, export) if program.lines else _write_typed(program, export),
    ]
    if export.stats_path:
        parts.append(_render("io/write_stats.sql", fields=_fields(program), path=export.stats_path))
    return "\n\n".join([_head(program, files, export, title, notes), *(f"{part};" for part in parts)]) + "\n"


def _ledger(chain: Chain) -> dict[str, str]:
    found = ledger_columns(chain, chain.steps)
    return {name: case_of_step(found[name], kind) for name, kind in LEDGER_COLUMNS.items()}


def _head(program: Program, files: Sequence[File], export: Export, title: str, notes: Sequence[str]) -> str:
    names = ", ".join(function.name for function in program.functions)
    lines = [title, ""]
    if names:
        lines += [f"Run it in Python, because it calls {names}:", "", '    con = duckdb.connect("tables.duckdb")']
        lines += ["    refinery.register(con)", '    con.execute(open("script.sql").read()).fetchall()', ""]
    else:
        lines += [
            "Run it with DuckDB 2.0, which is all that it needs:",
            "",
            "    duckdb tables.duckdb < script.sql",
            "",
        ]
    shown = ", ".join(file.path for file in files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    lines += [f"It reads {shown} and writes {export.path}, whose folder must be there."]
    lines += ["The tables quarantine, ledger, stats and stat_summary tell what became of every sample.", *notes]
    return "\n".join(f"-- {_plain(line)}".rstrip() for line in lines)


def _plain(text: str) -> str:
    """A text that stays within one line of a comment."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)


def _read(program: Program, files: Sequence[File]) -> str:
    groups = []
    for (kind, suffix, columns), members in groupby(files, _group):
        paths = "[" + ", ".join(lit(_literal(file.path)) for file in members) + "]"
        found: dict[str, Any] = {"kind": kind, "suffix": suffix, "paths": paths, "columns": columns}
        groups.append({**found, "rows": _render("io/rows_of_files.sql", **found).strip("\n")})
    return _render("io/read_lines.sql" if program.lines else "io/read_typed.sql", groups=groups)


def _group(file: File) -> tuple[Any, ...]:
    """Neighbours with the same are read together; text files' suffixes are taken from their names."""
    return file.kind, "" if file.kind == "text" else file.suffix, file.columns


def _literal(path: str) -> str:
    """A path in which DuckDB sees no pattern."""
    return re.sub(r"[*?\[]", lambda match: f"[{match[0]}]", path)


def _pass(chain: Chain) -> str:
    columns = [re.sub(r"^_i$", "_i AS _row", column) for column in chain.pass_columns()]
    lines = ["Refine: one pass over all samples. A filter only marks what it removes; steps see what is still there."]
    lines += [f"    {_step(step)}" for step in chain.steps]
    comment = "\n".join(f"-- {_plain(line)}" for line in lines)
    return f"{comment}\nCREATE OR REPLACE TEMP TABLE facts AS\n{pretty(chain.select(columns, plain=True))}"


def _step(step: Any) -> str:
    """A step of the recipe on one line: its place, number, name and given parameters."""
    given = {name: value for name, value in step.params.items() if name in getattr(step, "given", ())}
    shown = ", ".join(f"{name}: {_value(value)}" for name, value in given.items())
    return f"{step.file}:{step.line} step {step.index} {step.name}" + (f" {{{shown}}}" if shown else "")


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else text[:117] + "..."


def _table(name: str, **values: Any) -> str:
    """A statement of `sql/tables`, laid out; its comment stays above it."""
    rendered = _render(f"tables/{name}.sql", **values)
    comment = "\n".join(line for line in rendered.splitlines() if line.startswith("--"))
    body = "\n".join(line for line in rendered.splitlines() if not line.startswith("--"))
    return f"{comment}\n{pretty(body)}"


def _write_lines(program: Program, export: Export) -> str:
    found = ["rtrim(batch._line, E' \\t\\r\\n')"]
    for number, keys in enumerate(program.outs):
        old, new = f"line_{number}", f"facts.{ident(out_name(keys))}"
        set_text = f"json_set({old}, {lit(json_path(keys))}, json_quote({new}))"
        found.append(f"CASE WHEN {new} IS NULL THEN {old} ELSE {set_text} END")
    if program.stats_json:
        found.append(f"json_set(line_{len(found) - 1}, '$.\"__dj__stats__\"', {stats_object(program.stats)})")
    if export.add_suffix:
        found.append(f"json_set(line_{len(found) - 1}, '$.\"__dj__suffix__\"', json_quote(batch._suffix))")
    names = [f"line_{number}" for number in range(len(found) - 1)] + ["line"]
    lines = [f"{expression} AS {name}" for expression, name in zip(found, names, strict=True)]
    compression = _COMPRESSIONS.get(export.format, "")
    return _render("io/write_lines.sql", lines=lines, path=export.path, format=export.format, compression=compression)


def _write_typed(program: Program, export: Export) -> str:
    return _render(
        "io/write_typed.sql",
        replaced=",\n    ".join(_replacement(keys) for keys in program.outs),
        taken=", ".join(map(ident, export.taken)),
        stats=f"struct_pack({_fields(program)})" if program.stats_json else "",
        add_suffix=export.add_suffix,
        path=export.path,
        format=export.format,
        compression=_COMPRESSIONS.get(export.format, ""),
    )


def _fields(program: Program) -> str:
    return ", ".join(f"{name} := {name}" for name in (ident(stat.column) for stat in program.stats))


def _replacement(keys: Keys) -> str:
    new = f"coalesce(facts.{ident(out_name(keys))}, batch.{text_of_columns(keys)})"
    for depth in range(len(keys) - 1, 0, -1):
        new = f"struct_update(batch.{text_of_columns(keys[:depth])}, {ident(keys[depth])} := {new})"
    return f"{new} AS {ident(keys[0])}"


def _render(name: str, **values: Any) -> str:
    return template(read_sql(name)).render(values).strip().rstrip(";")

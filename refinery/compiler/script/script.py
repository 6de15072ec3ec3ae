"""The whole recipe as one readable SQL script for a DuckDB shell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from refinery.compiler.ledger import LEDGER_COLUMNS, case_of_step, ledger_columns
from refinery.compiler.model import Stat
from refinery.compiler.program import Program, stats_object
from refinery.compiler.script.between_stages import (
    ScriptPass,
    changed_columns,
    changed_lines,
    laid_out,
    left_after,
    member_set,
    pass_over,
    removing,
    render,
    script_of_barrier,
    with_comment,
)
from refinery.compiler.stat_summary import summary_statements
from refinery.compiler.templates import ident, json_path, lit
from refinery.io.readers.model import Reader
from refinery.io.writers.registry import writer_of
from refinery.recipe.sql import tokens_of
from refinery.recipe.stat_summary import StatSummary

_COMPACT = (
    "A line with a new value (a text, statistics, a suffix) is written as compact JSON: its values are those of a run,",
    "white space between them and escapes may differ. A script that needs refinery's functions writes a run's bytes.",
)

_REPEATED = (
    "A line that holds a key twice is written as compact JSON as well, whatever the steps do with it, with the last value",
    "of the key; a key that stands twice inside of a value stays so. A run leaves the last one at any depth, and every",
    "other byte.",
)

_ROW_AS_JSON = "CAST(to_json(struct_pack(*COLUMNS(batch.* EXCLUDE (_i, _row, _suffix, _file)))) AS VARCHAR)"


@dataclass(frozen=True)
class ScriptInput:
    """One input file.

    reader: of its format; of a table in memory, one that is registered as `dataset`. columns: names and DuckDB types of
    a CSV file. partitions: fields of all
    samples from the names of folders: key, value, True for an integer. texts: keys of columns that are read as text but
    have another type, and True for those that hold bytes.
    """

    path: str
    suffix: str
    reader: Reader
    columns: tuple[tuple[str, str], ...] = ()
    partitions: tuple[tuple[str, str | None, bool], ...] = ()
    texts: tuple[tuple[tuple[str, ...], bool], ...] = ()


@dataclass(frozen=True)
class ScriptExport:
    """The export: its path and format, the file of the statistics (None where the recipe has none).

    add_suffix: samples get the suffix of their file. taken: columns of a table that the export replaces.
    """

    path: str
    format: str
    stats_path: str | None
    add_suffix: bool = False
    taken: tuple[str, ...] = ()


def script(
    parts: Sequence[ScriptPass],
    files: Sequence[ScriptInput],
    export: ScriptExport,
    title: str,
    notes: Sequence[str] = (),
    summary: StatSummary = StatSummary(),  # noqa: B008  it is frozen
) -> str:
    """The script of all stages over whole files.

    The SELECT in the middle of a stage is what `refinery run` runs over each batch; reading and writing are plain SQL
    with the same result. notes: further lines of the comment at the top. summary: groups that statistics are summed by.
    """
    # A script that needs functions also writes lines by one; another script needs DuckDB alone.
    spliced = any(part.program.functions for part in parts)
    parts = [replace(part, spliced=spliced) for part in parts]
    first, last = parts[0], parts[-1]
    stats = [stat for part in parts for stat in part.program.stats]
    statements = [*_settings(parts), _read(first.program, files, spliced), *_stages(parts)]
    statements += [
        _table(
            "ledger", facts="facts", ordered=False, more=False, range="", removing=removing(parts), **_ledger(parts)
        ),
        _table("stats", facts="facts", ordered=False, columns=[ident(stat.column) for stat in stats]),
        *map(with_comment, summary_statements([part.program for part in parts], summary)),
    ]
    if writer_of(export.format).writes:
        write = _write_lines if last.program.lines else _write_typed
        statements.append(write(last.program, stats, export, last.spliced))
    if export.stats_path:
        statements.append(render("io/write_stats.sql", fields=_fields(stats), path=export.stats_path))
    text = "\n\n".join(f"{statement};" for statement in statements)
    return f"{_head(parts, files, export, title, notes, text)}\n\n{text}\n"


def _settings(parts: Sequence[ScriptPass]) -> list[str]:
    """DuckDB settings of a run that results could depend on."""
    settings = ["SET TimeZone = 'UTC'"]
    if any(part.chain.files for part in parts):
        settings.append("-- SQL of the recipe reads files, whose order one thread keeps.\nSET threads = 1")
    return settings


def _stages(parts: Sequence[ScriptPass]) -> Iterator[str]:
    """Statements of every stage: its pass and the deduplicator after it; `facts` has the fate of each sample."""
    alone = len(parts) == 1
    for part in parts:
        table = "facts" if alone else f"facts_{part.number}"
        if alone or not part.program.copies:
            yield _pass(part, parts, table)
        if part is parts[0]:
            raw = "batch._line" if part.program.lines else _ROW_AS_JSON
            yield render("io/quarantine.sql", raw=raw, facts=table)
            if not alone:
                yield render("deduplicators/_script_tables.sql")
        if part.stage.after is not None:
            yield from script_of_barrier(part)
        elif part is not parts[-1]:
            yield left_after(part)
    if not alone:
        yield _facts(parts)


def _facts(parts: Sequence[ScriptPass]) -> str:
    """The facts of all stages in one table, with the texts that the last one has changed."""
    done = [part for part in parts if not part.program.copies]
    columns = [(part.number, ident(stat.column)) for part in done for stat in part.program.stats]
    columns += [(part.number, name) for part in done for name in (*part.chain.terms.values(), *part.program.hidden)]
    if parts[-1] in done:
        columns += [(parts[-1].number, ident(name)) for name in parts[-1].program.outs.values()]
    return laid_out("deduplicators/_script_facts.sql", stages=[part.number for part in done], columns=columns)


def _ledger(parts: Sequence[ScriptPass]) -> dict[str, str]:
    columns = [ledger_columns(part.chain, part.steps) for part in parts]
    cases = {name: {step: sql for one in columns for step, sql in one[name].items()} for name in LEDGER_COLUMNS}
    return {name: case_of_step(cases[name], kind) for name, kind in LEDGER_COLUMNS.items()}


def _head(
    parts: Sequence[ScriptPass],
    files: Sequence[ScriptInput],
    export: ScriptExport,
    title: str,
    notes: Sequence[str],
    text: str,
) -> str:
    names = ", ".join(_called(parts, text))
    lines = [title, ""]
    if names:
        lines += [f"Run it in Python, because it calls {names}:", "", "    import duckdb, refinery"]
        lines += ['    con = duckdb.connect("tables.duckdb")', "    refinery.register(con)"]
        lines += ['    con.execute(open("script.sql").read()).fetchall()', ""]
    else:
        lines += [
            "Run it with DuckDB 2.0, which is all that it needs:",
            "",
            "    duckdb tables.duckdb < script.sql",
            "",
        ]
    shown = ", ".join(file.path for file in files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    lines += [f"It reads {shown} and writes {_written(export)}."]
    tables = "quarantine, ledger, stats" if len(parts) == 1 else "quarantine, duplicates, clusters, ledger, stats"
    lines += [
        f"The tables {tables} and stat_summary tell what became of every sample.",
        *_lines_apart(files, parts[0].spliced),
        *_REPEATED[: 3 if parts[0].program.lines and not parts[0].spliced else 0],
        *notes,
    ]
    return "\n".join(f"-- {_plain(line)}".rstrip() for text in lines for line in text.split("\n"))


def _written(export: ScriptExport) -> str:
    """The files that the script writes, and what becomes of files of these names."""
    if not writer_of(export.format).writes:
        return "no samples"
    files = " and ".join(filter(None, (export.path, export.stats_path)))
    return (
        f"{files}, whose folder must be there.\nIt REPLACES what has that name, the export of `refinery run` too: "
        "`refinery sql --export_path FILE` names another file"
    )


def _lines_apart(files: Sequence[ScriptInput], spliced: bool) -> list[str]:
    """Notes on lines that a script and a run treat differently."""
    if not any(file.reader.cut_anywhere for file in files):
        return []
    return [
        "Lines that are not UTF-8 are left out and stand in the table reject_errors; a run has them in quarantine and",
        "counts them, so _row of later samples is greater there. Errors in quarantine are put more briefly here, without",
        "the number of the line.",
        *_COMPACT[: 0 if spliced else 2],
    ]


def _called(parts: Sequence[ScriptPass], text: str) -> list[str]:
    """Functions of refinery that the script calls."""
    known = {function.name for part in parts for function in part.program.functions}
    known |= {function.name for part in parts if part.operator is not None for function in part.operator.functions}
    called = _called_names(text)
    return sorted(
        name
        for name in {*known, "hamming_pairs", "units_in_filter", "set_member", "last_members"}
        if name.lower() in called
    )


def _called_names(text: str) -> set[str]:
    """Names before a parenthesis, in any place but texts and comments."""
    tokens = tokens_of(text)
    return {name.lower() for (_, name), (after, _) in pairwise(tokens) if after == "L_PAREN"}


def _plain(text: str) -> str:
    """A text made to fit on one line of a comment."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)


def _read(program: Program, files: Sequence[ScriptInput], spliced: bool) -> str:
    groups = []
    for (_, suffix, columns, partitions, texts), group in groupby(files, _group):
        members = list(group)
        reader = members[0].reader
        paths = "[" + ", ".join(lit(_literal(file.path)) for file in members) + "]"
        values: dict[str, Any] = {
            "reader": reader,
            "suffix": suffix,
            "paths": paths,
            "columns": columns,
            "partitions": partitions,
            "folders": _folders(partitions),
            "line": _with_fields(reader.script_line, partitions),
            "replaced": ", ".join(_as_text(keys, of_bytes) for keys, of_bytes in texts),
        }
        groups.append({**values, "rows": render(reader.script, **values).strip("\n")})
    return render("io/read_lines.sql" if program.lines else "io/read_typed.sql", groups=groups, spliced=spliced)


def _group(file: ScriptInput) -> tuple[Any, ...]:
    """Group key: neighbours with the same key are read together; suffixes of text files come from their names."""
    return file.reader.name, "" if file.reader.one_sample else file.suffix, file.columns, file.partitions, file.texts


def _as_text(keys: tuple[str, ...], of_bytes: bool) -> str:
    """A column of a table with one of its fields as text; NULL if the field's bytes are not text."""
    path = ".".join(map(ident, keys))
    text = f"TRY(decode(CAST({path} AS BLOB)))" if of_bytes else f"CAST({path} AS VARCHAR)"
    for depth in range(len(keys) - 1, 0, -1):
        text = f"struct_update({'.'.join(map(ident, keys[:depth]))}, {ident(keys[depth])} := {text})"
    return f"{text} AS {ident(keys[0])}"


def _folders(partitions: Sequence[tuple[str, str | None, bool]]) -> str:
    """SQL for the columns from the names of folders, with a comma behind each."""
    columns = ""
    for key, value, whole in partitions:
        none = f"CAST(NULL AS {'BIGINT' if whole else 'VARCHAR'})"
        columns += f"{none if value is None else value if whole else lit(value)} AS {ident(key)}, "
    return columns


def _with_fields(line: str, partitions: Sequence[tuple[str, str | None, bool]]) -> str:
    """SQL for a line with the fields from the names of folders."""
    for key, value, whole in partitions:
        text = value if whole and value is not None else json.dumps(value, ensure_ascii=False)
        line = f"with_field({line}, {lit(json_path((key,)))}, {lit(f'{json.dumps(key, ensure_ascii=False)}: {text}')})"
    return line


def _literal(path: str) -> str:
    """A path in which DuckDB sees no pattern."""
    return re.sub(r"[*?\[]", lambda match: f"[{match[0]}]", path)


def _pass(part: ScriptPass, parts: Sequence[ScriptPass], table: str) -> str:
    """The statement that makes a stage's facts."""
    alone, first = len(parts) == 1, part is parts[0]
    columns = ["_i AS _row" if column == "_i" else column for column in part.chain.pass_columns()]
    stage = "Refine" if alone else f"Stage {part.number}"
    samples = "all samples" if first else "what is left"
    lines = [f"{stage}: one pass over {samples}. A filter only marks what it removes; steps see what is still there."]
    lines += [f"    {_step(step)}" for step in part.steps]
    if part.stage.after is not None:
        lines += [f"    {_step(part.stage.after)}: what it compares"]
    comment = "\n".join(f"-- {_plain(line)}" for line in lines)
    sql = pass_over(part, columns, parts)
    return f"{comment}\nCREATE OR REPLACE TEMP TABLE {table} AS\n{sql}"


def _step(step: Any) -> str:
    """A step of the recipe on one line: its place, number, name and given parameters."""
    params = {name: value for name, value in step.params.items() if name in getattr(step, "given", ())}
    shown = ", ".join(f"{name}: {_value(value)}" for name, value in params.items())
    return f"{step.file}:{step.line} step {step.index} {step.label}" + (f" {{{shown}}}" if shown else "")


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else text[:117] + "..."


def _table(name: str, /, **values: Any) -> str:
    """A statement of `sql/tables`."""
    return laid_out(f"tables/{name}.sql", **values)


def _write_lines(program: Program, stats: Sequence[Stat], export: ScriptExport, spliced: bool) -> str:
    lines, _ = changed_lines(program, "rtrim(batch._line, E' \\t\\r\\n')", spliced)
    expressions = [line.rpartition(" AS ")[0] for line in lines]
    if program.stats_json:
        expressions.append(member_set(f"line_{len(expressions) - 1}", ("__dj__stats__",), stats_object(stats), spliced))
    if export.add_suffix:
        expressions.append(
            member_set(f"line_{len(expressions) - 1}", ("__dj__suffix__",), "batch._suffix", spliced, quote=True)
        )
    names = [f"line_{number}" for number in range(len(expressions) - 1)] + ["line"]
    lines = [f"{expression} AS {name}" for expression, name in zip(expressions, names, strict=True)]
    return render("io/write_lines.sql", lines=lines, path=export.path, writer=writer_of(export.format))


def _write_typed(program: Program, stats: Sequence[Stat], export: ScriptExport, spliced: bool) -> str:
    return render(
        "io/write_typed.sql",
        replaced=changed_columns(program.outs),
        taken=", ".join(map(ident, export.taken)),
        stats=f"struct_pack({_fields(stats)})" if program.stats_json and stats else "",
        add_suffix=export.add_suffix,
        path=export.path,
        writer=writer_of(export.format),
    )


def _fields(stats: Sequence[Stat]) -> str:
    return ", ".join(f"{name} := {name}" for name in (ident(stat.column) for stat in stats))

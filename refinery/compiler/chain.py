"""A chain of mappers and filters becomes one SELECT over a batch of samples.

Nothing is deleted on the way: a filter's condition ends in `_alive_<step>`, later steps are computed for live rows
only, and the last SELECT tells of every row where it stopped, what was measured and what changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlglot import exp

from refinery.compiler.compiled import (
    ALONE,
    REST,
    Around,
    Chain,
    Change,
    Keys,
    Order,
    Schema,
    Stat,
    base_name,
)
from refinery.compiler.conditions import in_range, order_terms
from refinery.compiler.deduplicators import MARK
from refinery.compiler.env import ident, json_path, lit, template
from refinery.compiler.groups import Reader, key_columns
from refinery.compiler.layers import Layers
from refinery.compiler.names import json_column, own_expression, parse, resolve, text_of_columns, text_of_line
from refinery.compiler.stability import unstable
from refinery.errors import Problem, RecipeError, did_you_mean
from refinery.library import Library, Operator
from refinery.recipe.sql_files import file_names


def compile_chain(
    steps: Sequence[Any],
    library: Library,
    schema: Schema,
    text_key: Keys = ("text",),
    share: bool = True,
    around: Around = ALONE,
) -> Chain:
    """Compile the steps of one stage.

    steps: checked recipe steps (index, name, params, line, file). share: compute features once per text version (the
    recipe's `op_fusion`); results are the same without. Raises RecipeError naming every step whose SQL is wrong.
    """
    return _Compiler(steps, library, schema, text_key, share, around).run()


class _Compiler:
    def __init__(
        self,
        steps: Sequence[Any],
        library: Library,
        schema: Schema,
        text_key: Keys,
        share: bool,
        around: Around,
    ) -> None:
        self.steps, self.library, self.schema, self.text_key, self.share = steps, library, schema, text_key, share
        self.around = around
        self.version: dict[Keys, tuple[str, int]] = {}
        self.alive = "_alive_0"
        self.latest: dict[str, str] = {}  # statistic name -> its newest column
        for stat in around.stats:
            self.latest |= {stat.name: stat.column, f"{stat.name}_{stat.step}": stat.column}
        self.source_columns: dict[str, str] = {"_i": "_i"}
        self.users: dict[tuple[Keys, int, str], int] = {}
        self.chars: dict[str, str] = {}  # text -> column with its length
        self.current = 0  # the step that is compiled

    def run(self) -> Chain:
        before, after = self.around.before, self.around.after
        fields = list(dict.fromkeys([self.text_key, *map(self._keys, self._all_steps())]))
        self.chain = Chain(list(self.steps), Layers(set()), "", [], [], {}, {}, {}, {}, set(), set())
        for keys in fields:
            column = f"_{base_name(keys)}_0"
            self.version[keys] = (column, 0)
            self.chain.read[keys] = column
            if keys == self.text_key and before is None:
                self.chain.versions[0] = column
            self._source(column, self._text(keys))
            if not self.schema.lines:
                self.chain.inputs.add(keys[0])
        self._bad()
        self._count_feature_users()
        problems: list[Problem] = []
        layers = self.chain.layers = Layers({*self.source_columns})
        layers.add("_alive_0", parse("_bad IS NULL"), 0, "rows that could be read")
        problems += self._group_keys()
        for step in self._all_steps():
            self.current = step.index
            compiled = self._take_out if step is before else self._mark if step is after else self._step
            try:
                compiled(step, self.library.operators[step.name])
            except ValueError as error:
                problems.append(Problem(step.where, f"{step.name}: {error}", None))
        if problems:
            raise RecipeError(problems)
        for stat in self.around.stats if self.around.carry_all else ():
            self._stat(stat.column)
        self.chain.stats.sort(key=lambda stat: stat.step)  # tables list them as the recipe does, whatever ran first
        self.chain.texts = {keys: column for keys, (column, _) in self.version.items()}
        self.chain.source, self.chain.plain_source = self._source_sql(), self._source_sql(plain=True)
        return self.chain

    def _group_keys(self) -> list[Problem]:
        """Define what statistics are summed up by: of samples as they are read, so in the first stage."""
        summary = self.around.summary
        if summary is None or self.around.before is not None:
            return []
        lookup = partial(self._lookup, keys=self.text_key, user_sql=True)
        own = partial(own_expression, lookup=lookup, known=self._known())
        try:
            for name, sql, note in key_columns(summary, Reader(self.schema, self._from_source, self._input, own)):
                self.chain.layers.add(name, self._parsed(sql), 0, note)
                self.chain.keys.append(name)
        except ValueError as error:
            hosts = [group for group in summary.groups if group in ("fqdn", "suffix")]
            place = summary.by if len(self.chain.keys) >= len(hosts) else summary.where
            return [Problem(place, str(error) if place.startswith("--") else f"stat_summary: {error}")]
        self.chain.functions |= {"url_parts"} if {"_key_fqdn", "_key_suffix"} & {*self.chain.keys} else set()
        return []

    def _count_chars(self, step: Any, keys: Keys) -> None:
        """The length of the text that the step measures, which a histogram adds up; once for each version."""
        summary, text = self.around.summary, self.version[keys][0]
        if summary is None or "histogram" not in summary.groups:
            return
        if text not in self.chars:
            count = f"CASE WHEN {self.alive} THEN length({text}) END"
            self.chars[text] = self._define(step, f"_chars_{step.index}", count, "code points of the text")
        self.chain.chars[step.index] = self.chars[text]

    def _all_steps(self) -> list[Any]:
        """The chain with the deduplicators at its ends, where they have something to compute here."""
        before, after = self.around.before, self.around.after
        applied = [before] if before is not None and self.library.operators[before.name].apply else []
        return [*applied, *self.steps, *([after] if after is not None else [])]

    # What is read of a sample

    def _keys(self, step: Any) -> Keys:
        given = step.params.get("text_key")
        return self.text_key if not given else tuple(given.split("."))

    def _text(self, keys: Keys) -> str:
        if self.schema.lines and keys == self.text_key:
            return f"_line ->> {lit(json_path(keys))}"
        if self.schema.lines:
            return text_of_line(keys)
        return text_of_columns(keys)

    def _source(self, name: str, sql: str) -> str:
        self.source_columns.setdefault(name, sql)
        return name

    def _bad(self) -> None:
        if not self.schema.lines:
            self._source("_bad", f"CASE WHEN {self.version[self.text_key][0]} IS NULL THEN 'no text' END")

    def _source_sql(self, plain: bool = False) -> str:
        if not self.schema.lines:
            columns = ", ".join(f"{sql} AS {ident(name)}" for name, sql in self.source_columns.items())
            return f"SELECT {columns.replace('_i AS _i', '_i')} FROM batch"
        # One look at the line tells whether it is JSON with a text; only for others it is asked what is wrong.
        bad = (
            "CASE WHEN _kind = 'VARCHAR' THEN NULL WHEN NOT json_valid(_line) THEN 'malformed JSON' "
            "WHEN json_type(_line) <> 'OBJECT' THEN 'not an object' ELSE 'no text' END AS _bad"
        )
        known = len(self.text_key) == 1 and not plain
        found = {
            name: f"CASE WHEN _kind = 'VARCHAR' THEN {self._of_rest(sql) if known else sql} END AS {ident(name)}"
            for name, sql in self.source_columns.items()
        }
        found |= {name: name for name in ("_i", "_row", "_suffix") if name in found}
        kind = f"TRY(json_type(_line, {lit(json_path(self.text_key))}))"
        if known:  # NULL says that the text is not known, not that there is none
            name = self.chain.read[self.text_key]
            kind = f"CASE WHEN _text IS NULL THEN {kind} ELSE 'VARCHAR' END"
            text = f"CASE WHEN _kind = 'VARCHAR' THEN {self.source_columns[name]} END"
            found[name] = f"CASE WHEN _text IS NULL THEN {text} ELSE _text END AS {ident(name)}"
        return f"SELECT {', '.join(found.values())}, {bad} FROM (SELECT *, {kind} AS _kind FROM batch)"

    def _of_rest(self, sql: str) -> str:
        """What is read of a line, from the line without its main text."""
        if json_path(self.text_key) in sql:
            return sql
        parts = re.split("('(?:[^']|'')*')", sql)  # texts, at odd places, stay
        parts[::2] = [re.sub(r"\b_line\b", REST, part) for part in parts[::2]]
        found = "".join(parts)
        if found != sql:
            self.chain.inputs.add(REST)
        return found

    # Steps

    def _step(self, step: Any, operator: Operator) -> None:
        keys = self._keys(step)
        if not self.schema.lines:
            self._check_column(keys[0])
        select = self._render(step, operator, keys)
        note = f"{step.where} step {step.index} {step.name}"
        if operator.kind != "mapper":
            self._count_chars(step, keys)
        if operator.kind == "mapper":
            self._mapper(step, keys, select, note)
        elif operator.kind == "stats" or self.around.measure:
            self._measure(step, operator, select, note)
        else:
            self._filter(step, operator, select, note)

    def _take_out(self, step: Any, operator: Operator) -> None:
        """The text without the units that the deduplicator has found before."""
        keys = self._keys(step)
        column = f"_removed_{step.index}"
        self.chain.removed = self._from_source(column, column)
        note = f"{step.where} step {step.index} {step.name}"
        self._mapper(step, keys, self._render(step, operator, keys, operator.apply), note)
        if step.params.get(operator.rule.get("drop_empty", "")):
            text = self.version[keys][0]
            self._end_filter(step, f"{self.alive} AND NOT (_changed_{step.index} AND {text} = '')")

    def _mark(self, step: Any, operator: Operator) -> None:
        """What the deduplicator compares of each sample that is still there, and prefers one by."""
        keys = self._keys(step)
        if not self.schema.lines:
            self._check_column(keys[0])
        note = f"{step.where} step {step.index} {step.name}"
        body = operator.compare if self.around.compare else operator.sql
        for name, expression in self._render(step, operator, keys, body).items():
            self._define_mark(step, MARK + name, expression, note)
        keep = "first" if self.around.compare else step.params.get("keep", "first")
        for number, (term, direction) in enumerate([] if keep == "first" else order_terms(keep)):
            lookup = partial(self._lookup, keys=keys, user_sql=True)
            expression = parse(own_expression(term, lookup, self._known()))
            column = self._define_mark(step, f"{MARK}order_{number}", expression, "the order in which one is kept")
            self.chain.order.append(Order(column, direction))

    def _define_mark(self, step: Any, name: str, expression: exp.Expr, note: str) -> str:
        self._define(step, name, f"CASE WHEN {self.alive} THEN {expression.sql('duckdb')} END", note)
        self.chain.marks.append(name)
        return name

    def _render(self, step: Any, operator: Operator, keys: Keys, sql: str | None = None) -> dict[str, exp.Expr]:
        text = self.version[keys][0]
        params = {**step.params, **self._own_sql(step, operator, keys)}
        context = {
            **{name: value for name, value in params.items() if name in operator.params},
            "params": params,
            "text": text,
            "feature": lambda name: self._feature(name, keys, step),
            "shares": lambda name: self.share and self.users.get((keys, self.version[keys][1], name), 0) > 1,
            "field": lambda name: self._input(name),
            "suffix": self._suffix(operator),
            "removed": self.chain.removed,
        }
        body = template(sql or operator.sql).render(context)
        select = parse(body)
        if not isinstance(select, exp.Select):
            raise ValueError("its body is not one SELECT")
        if more := [name.strip("_").upper() for name, value in select.args.items() if value and name != "expressions"]:
            raise ValueError(
                f"its body has {more[0]}, but is one SELECT of columns; put what reads rows into a subquery"
            )
        found: dict[str, exp.Expr] = {}
        own = {stat: stat for stat in operator.stats_of(step.params)}
        inner: dict[str, str] = {}
        for projection in select.expressions:
            name, expression = projection.alias_or_name, projection.unalias()
            reason = unstable(expression)
            if reason:
                raise ValueError(reason)
            # A condition names the statistics that stand beside it; their columns are put in once they are defined.
            mine = own | inner if name == "keep" else inner
            expression = resolve(expression, partial(self._own_or_other, mine, keys), self._known())
            if name.startswith("_"):
                inner[name] = self._inner(step, name, expression)
            else:
                found[name] = expression
        self.chain.functions |= {f.name for f in operator.functions if f.name in body}
        return found

    def _inner(self, step: Any, name: str, expression: exp.Expr) -> str:
        """A column that an operator computes for its other columns, once."""
        guarded = f"CASE WHEN {self.alive} THEN {expression.sql('duckdb')} END"
        return self._define(step, f"_inner_{step.index}{name}", guarded, f"what step {step.index} needs")

    def _own_sql(self, step: Any, operator: Operator, keys: Keys) -> dict[str, str]:
        """Parameters that are a person's SQL, with the columns of the chain in place of the person's names."""
        lookup = partial(self._lookup, keys=keys, user_sql=True)
        return {
            name: own_expression(step.params[name], lookup, self._known())
            for name, param in operator.params.items()
            if param.type == "sql" and step.params.get(name) is not None
        }

    def _mapper(self, step: Any, keys: Keys, select: dict[str, exp.Expr], note: str) -> None:
        before, _ = self.version[keys]
        stem = base_name(keys)
        if "delta" in select:
            delta = select["delta"]
        elif "text" in select:
            # The text of a row that an expression turns into NULL is not lost: the row keeps what it had.
            delta = parse(f"nullif({select['text'].sql('duckdb')}, {before})")
        else:
            raise ValueError("a mapper must select `AS text` or `AS delta`")
        name = f"_delta_{step.index}"
        self._define(step, name, f"CASE WHEN {self.alive} THEN {delta.sql('duckdb')} END", note)
        after = f"_{stem}_{step.index}"
        self._define(step, after, f"coalesce({name}, {before})", f"text after step {step.index}")
        changed = f"_changed_{step.index}"
        self._define(step, changed, f"{name} IS NOT NULL", f"whether step {step.index} changed it")
        self.version[keys] = (after, step.index)
        if keys == self.text_key:
            self.chain.versions[step.index] = after
        self.chain.changes.append(Change(step.index, keys, before, after, changed))

    def _filter(self, step: Any, operator: Operator, select: dict[str, exp.Expr], note: str) -> None:
        columns = self._measure(step, operator, select, note)
        bounded = {name: ends for name, ends in operator.bounds.items() if name in columns}
        conditions = [in_range(ident(columns[name]), step.params, *ends) for name, ends in bounded.items()]
        if "keep" in select:
            keep = resolve(
                select["keep"], lambda n: exp.column(columns[n], quoted=True) if n in columns else exp.column(n), ()
            )
            conditions.append(keep.unnest().sql("duckdb"))
        if not conditions:
            raise ValueError("a filter must select `AS keep`, or its header must name bounds")
        condition = conditions[0] if len(conditions) == 1 else " AND ".join(f"({c})" for c in conditions)
        kept = f"{self.alive} AND coalesce({condition}, FALSE)"
        if "keep" in select:  # AND looks at both sides; only CASE spares a predicate the rows that are gone
            kept = f"coalesce(CASE WHEN {self.alive} THEN {condition} END, FALSE)"
        if self.around.probe:
            self.chain.passes[step.index] = self._define(step, f"_pass_{step.index}", kept, "what it would keep")
            kept = f"{self.alive} AND _pass_{step.index} IS NOT NULL"
        self._end_filter(step, kept)

    def _measure(self, step: Any, operator: Operator, select: dict[str, exp.Expr], note: str) -> dict[str, str]:
        """Define the statistics of a step; their columns by name."""
        columns: dict[str, str] = {}
        stats = operator.stats_of(step.params)
        for name, expression in select.items():
            if name == "keep" and operator.kind == "filter":
                continue
            if name not in stats:
                raise ValueError(f"selects {name!r}, which its header's stats do not name")
            column = self.stat_column(name, step.index)
            kind = stats[name].get("type", "DOUBLE")
            self.chain.stats.append(Stat(column, name, step.index, kind, *operator.bounds.get(name, ())))
            value = f"CASE WHEN {self.alive} THEN CAST({expression.sql('duckdb')} AS {kind}) END"
            columns[name] = self._define(step, column, value, note)
        for name, column in columns.items():
            self.latest[name] = column
            self.latest[f"{name}_{step.index}"] = column  # an earlier one, where the name stands for a later
        return columns

    def _end_filter(self, step: Any, kept: str) -> None:
        alive = f"_alive_{step.index}"
        self._define(step, alive, kept, f"whether step {step.index} keeps it")
        self.alive = alive
        self.chain.alive[step.index] = alive

    def stat_column(self, name: str, step: int) -> str:
        """A statistic's column: its own name, or with the step when an earlier step has taken the name.

        SQL does not tell letter cases apart, so neither does this.
        """
        taken = {stat.column.lower() for stat in (*self.around.stats, *self.chain.stats)}
        return f"{name}_{step}" if name.lower() in taken else name

    def _define(self, step: Any, name: str, sql: str, note: str) -> str:
        return self.chain.layers.add(name, self._parsed(sql), step.index, note)

    def _parsed(self, sql: str) -> exp.Expr:
        """An expression of the chain; the files that it reads are noted."""
        found = parse(sql)
        self.chain.files.update(file_names(found))
        return found

    # Names

    def _feature(self, name: str, keys: Keys, step: Any) -> str:
        text, version = self.version[keys]
        column = f"_{name}_{base_name(keys)}_{version}" + ("" if self.share else f"_{step.index}")
        self.chain.features.setdefault(column, []).append(step.index)
        if column not in self.chain.layers:
            feature = self.library.features[name]
            sql = template(feature.sql).render({"text": text})
            if reason := unstable(parse(sql)):
                raise ValueError(f"feature {name}: {reason}")
            self.chain.functions |= {f.name for f in feature.functions if f.name in sql}
            self._define(
                step, column, f"CASE WHEN {self.alive} THEN {sql} END", f"{name} of the text after step {version}"
            )
        return column

    def _count_feature_users(self) -> None:
        """How many steps ask for each feature of each text version: what `shares` answers."""
        version = {keys: 0 for keys in self.version}
        for step in self._all_steps():
            operator, keys = self.library.operators[step.name], self._keys(step)
            for name in self.library.features:
                if f"feature('{name}')" in operator.sql:
                    self.users[keys, version[keys], name] = self.users.get((keys, version[keys], name), 0) + 1
            if operator.kind == "mapper":
                version[keys] = step.index

    def _suffix(self, operator: Operator) -> str:
        if "suffix" not in operator.sql.replace("suffixes", ""):
            return "_suffix"
        self.chain.uses_suffix = True
        own = "_line ->> '$.__dj__suffix__'" if self.schema.lines else None
        if not self.schema.lines and "__dj__suffix__" in self.schema.columns:
            own = "__dj__suffix__"
            self.chain.inputs.add("__dj__suffix__")
        return self._from_source("_file_suffix", f"coalesce({own}, _suffix)" if own else "_suffix")

    def _known(self) -> list[str]:
        return [*self.latest, "text", *self.schema.columns, "_row"]

    def _own_or_other(self, own: Mapping[str, str], keys: Keys, name: str) -> exp.Expr | None:
        return exp.column(own[name]) if name in own else self._lookup(name, keys, user_sql=False)

    def _lookup(self, name: str, keys: Keys, user_sql: bool) -> exp.Expr | None:
        self.chain.asked.setdefault(self.current, set()).add(name.lower())
        if name in self.chain.layers and not user_sql:
            return exp.column(name)
        if name in self.latest:
            return exp.column(self._stat(self.latest[name]))
        if name in ("text", keys[-1]) and (len(keys) == 1 or name == "text") and name not in self._shadowing(keys):
            return exp.column(self.version[keys][0])
        if (name,) in self.version:
            return exp.column(self.version[(name,)][0])
        if name == "_row":
            self.chain.uses_row = True
            return exp.column(self._from_source("_row", "_row"))
        if name in self.schema.columns or (not user_sql and self.schema.lines):
            return exp.column(self._input(name))
        if not user_sql:
            return exp.column(name)  # an alias of the operator's own body
        return exp.Null() if self.schema.unknown else None

    def _stat(self, column: str) -> str:
        """The column of a statistic; one of an earlier stage comes with the samples."""
        if column in {stat.column for stat in self.chain.stats}:
            return column
        self.chain.carried.add(column)
        return self._from_source(column, ident(column))

    def _shadowing(self, keys: Keys) -> set[str]:
        return {"text"} if keys[-1] != "text" and "text" in self.schema.columns else set()

    def _input(self, name: str) -> str:
        column = f"_in_{base_name((name,))}"
        if self.schema.lines:
            return self._from_source(column, json_column(name, self.schema.columns.get(name, "VARCHAR")))
        self._check_column(name)
        self.chain.inputs.add(name)
        return self._from_source(column, ident(name))

    def _check_column(self, name: str) -> None:
        """Whether SQL can name a column of a table. Raises ValueError with the cure."""
        known = self.schema.columns
        if known and name not in known:
            raise ValueError(f"no column {name!r}{did_you_mean(name, known)}")
        if name in ("_i", "_row", "_suffix"):
            raise ValueError(f"column {name!r} has a name that is used for something else here; rename it")
        alike = [other for other in self.chain.inputs if other != name and other.lower() == name.lower()]
        if alike:
            raise ValueError(
                f"columns {name!r} and {alike[0]!r} differ in letter case only, which SQL does not see; rename one"
            )

    def _from_source(self, name: str, sql: str) -> str:
        self._source(name, sql)
        return self.chain.layers.provide(name)

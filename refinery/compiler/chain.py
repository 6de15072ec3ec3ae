"""Compiles a chain of mappers and filters to one SELECT over a batch of samples.

Nothing is deleted on the way: a filter's condition ends in `_alive_<step>`, and later steps are computed for live rows
only. The last SELECT returns for every row the step that removed it, its statistics and the steps that changed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from refinery.common.fields import keys_of
from refinery.common.lazy import exp
from refinery.compiler.batch_reads import BatchRead, BatchReads
from refinery.compiler.bounds import in_range, kept_if, order_terms
from refinery.compiler.by_column import select_by_column, stored_name, stored_types
from refinery.compiler.column_names import ColumnNames, Keys, called, column, stem
from refinery.compiler.deduplicators import MATCH_KEY
from refinery.compiler.feature_users import FeatureUse, feature_users
from refinery.compiler.field_values import FieldValues
from refinery.compiler.json_fields import field_of
from refinery.compiler.layers import Layers
from refinery.compiler.mistakes import each_of, sentences
from refinery.compiler.model import ALONE, Chain, CompileContext, OrderTerm, Schema, Stat, TextChange
from refinery.compiler.stat_groups import GroupReads, define_keys
from refinery.compiler.template_faults import blaming, parsed, rendered, select_of
from refinery.compiler.templates import asks_for, ident, lit
from refinery.compiler.terms import CONDITION, TEXTS, is_verdict, predicate_of, verdicts_of
from refinery.compiler.user_names import (
    json_of_numbers,
    own_expression,
    parse,
    require_one_sample,
    resolve,
)
from refinery.errors import Problem, RecipeError, did_you_mean
from refinery.operators import Function, Library, Operator
from refinery.operators.bounds import kept_range
from refinery.recipe.by_column import ByColumn
from refinery.recipe.sql_files import file_names


def compile_chain(
    steps: Sequence[Any],
    library: Library,
    schema: Schema,
    text_key: Keys = ("text",),
    share: bool = True,
    around: CompileContext = ALONE,
) -> Chain:
    """Compile the steps of one stage.

    steps: checked recipe steps (index, name, params, line, file). share: compute features once per text version (the
    recipe's `op_fusion`), which does not change results. Raises RecipeError that names every step whose SQL is wrong.
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
        around: CompileContext,
    ) -> None:
        self.steps, self.library, self.schema, self.text_key, self.share = steps, library, schema, text_key, share
        self.around, self.version = around, dict[Keys, tuple[str, int]]()
        self.names = ColumnNames(taken=[stat.column for stat in around.stats])
        self.alive = self.names.fixed("alive", 0)
        self.latest: dict[str, str] = {}  # statistic name -> its newest column
        self.numbered: dict[str, str] = {}  # statistic name with the step's number -> its column
        for stat in around.stats:
            self._remember(stat)
        self.reads = BatchReads(schema, text_key)
        self.users: Mapping[FeatureUse, int] = {}
        self.within: dict[str, list[str]] = {}  # column of a feature -> columns of features that it is made of
        self.shown: dict[str, str] = {}  # column that may be NULL -> the user's name of it
        self.chars: dict[str, str] = {}  # text -> column with its length
        self.current = 0  # the step that is compiled
        self.lost = schema.lost.copy()
        self.values: dict[Keys, str] = {}  # field that a mapper has written -> column with its newest value
        self.fields = FieldValues(schema)

    def run(self) -> Chain:
        before, after = self.around.before, self.around.after
        fields = list(dict.fromkeys([self.text_key, *map(self._keys, self._all_steps())]))
        self.chain = Chain(list(self.steps), Layers(set()), "", [], [], {}, {}, {}, {}, set(), self.reads.given)
        for keys in fields:
            name = self._version(keys, 0)
            self.version[keys] = (name, 0)
            self.chain.read[keys] = name
            if keys == self.text_key and self.around.first:
                self.chain.versions[0] = name
            self.reads.add(name, self.reads.text(keys))
        self.reads.judge(self.chain.read[self.text_key])
        self.users = feature_users(self._all_steps(), self.library, self._keys)
        problems: list[Problem] = []
        layers = self.chain.layers = Layers(self.reads.columns)
        layers.add(self.alive, parse("_bad IS NULL"), 0, "rows that could be read", "alive")
        problems += self._group_keys()
        for step in self._all_steps():
            self.current = step.index
            compiled = self._take_out if step is before else self._match_keys if step is after else self._step
            try:
                compiled(step, self.library.operators[step.name])
            except ValueError as error:
                problems += [Problem(step.where, f"{step.name}: {sentence}") for sentence in sentences(error)]
                self.lost.add(step.index, self.library.operators[step.name].stats_of(step.params))
        if problems:
            raise RecipeError(problems)
        for stat in (*(self.around.stats if self.around.carry_all else ()), *self.around.shown):
            self._stat(stat.column)
        self.chain.shown = self.around.shown
        self.chain.stats.sort(key=lambda stat: stat.step)  # tables list statistics in the recipe's order
        self.chain.functions |= self.fields.functions
        self.chain.texts = {keys: name for keys, (name, _) in self.version.items()}
        self._outs()
        text = self.chain.read[self.text_key]
        self.chain.source, self.chain.plain_source = self.reads.sql(text), self.reads.sql(text, plain=True)
        return self.chain

    def _version(self, keys: Keys, step: int) -> str:
        """The column of a field's text after a step; 0: as read."""
        name = stem(keys)
        return self.names.free(f"_{name}_{step}", "text", keys, step, otherwise=f"_field_{name}_{step}")

    def _outs(self) -> None:
        """Name the results that hold new texts, in the order of the fields."""
        changed = {change.field for change in self.chain.changes}
        written = [keys for keys in self.version if keys in changed]
        self.chain.outs |= {keys: self.names.free(f"_out_{stem(keys)}", "out", keys) for keys in written}

    def _group_keys(self) -> list[Problem]:
        """Define the keys that statistics are summed up by; they belong to samples as read, so to the first stage."""
        summary = self.around.summary
        if summary is None or not self.around.first:
            return []
        reader = GroupReads(self.schema, self._from_line, self._input, self._own(self.text_key), self.fields.is_json)

        def define(name: str, sql: str, note: str) -> None:
            self.chain.layers.add(name, self._parsed(sql), 0, note, "key")
            self.chain.keys.append(name)

        problems = define_keys(summary, reader, define)
        self.chain.functions |= {"url_parts"} if {"_key_fqdn", "_key_suffix"} & {*self.chain.keys} else set()
        return problems

    def _count_chars(self, step: Any, keys: Keys) -> None:
        """Define the length of the text that the step measures, once per version; a histogram sums the lengths."""
        summary, text = self.around.summary, self.version[keys][0]
        if summary is None or "histogram" not in summary.groups:
            return
        if text not in self.chars:
            count = f"CASE WHEN {self.alive} THEN length({text}) END"
            name = self.names.fixed("chars", step.index)
            self.chars[text] = self._define(step, name, count, "code points of the text", "chars")
        self.chain.chars[step.index] = self.chars[text]

    def _all_steps(self) -> list[Any]:
        """The chain with the deduplicators at its ends, if these compute something in this stage."""
        before, after = self.around.before, self.around.after
        applied = [before] if before is not None and self.library.operators[before.name].apply else []
        return [*applied, *self.steps, *([after] if after is not None else [])]

    # Text fields

    def _keys(self, step: Any) -> Keys:
        given = step.params.get("text_key")
        return self.text_key if not given else keys_of(given)

    # Steps

    def _step(self, step: Any, operator: Operator) -> None:
        keys = self._keys(step)
        if not self.schema.lines:
            self._check_column(keys[0])
        select = self._render(step, operator, keys)
        note = f"{step.where} step {step.index} {step.name}"
        if operator.kind != "mapper":
            self._count_chars(step, keys)
        if operator.kind == "mapper" and operator.writes[0]:
            self._write(step, operator, select, note)
            return
        with blaming(operator.path, operator.sql):
            if operator.kind == "mapper":
                self._mapper(step, keys, select, note)
                if verdicts_of(select) and not self.around.measure:
                    self._filter(step, operator, select, note)
                return
            if operator.kind == "stats" or self.around.measure:
                self._measure(step, operator, select, note)
            else:
                self._filter(step, operator, select, note)
            if TEXTS & {*select}:
                self._mapper(step, keys, select, note)

    def _take_out(self, step: Any, operator: Operator) -> None:
        """Remove from the text the units that the deduplicator of the stage before has found."""
        keys = self._keys(step)
        name = self.names.fixed("removed", step.index)
        self.chain.removed = name
        self._from_source(name, BatchRead(self.reads.give_fixed("removed", name)))
        note = f"{step.where} step {step.index} {step.name}"
        self._mapper(step, keys, self._render(step, operator, keys, operator.apply), note)
        if step.params.get(operator.rule.get("drop_empty", "")):
            text, changed = self.version[keys][0], self.names.fixed("changed", step.index)
            self._end_filter(step, f"{self.alive} AND NOT ({changed} AND {text} = '')")

    def _match_keys(self, step: Any, operator: Operator) -> None:
        """Define the match keys of each live sample, and the order in which samples are preferred."""
        keys = self._keys(step)
        if not self.schema.lines:
            self._check_column(keys[0])
        note = f"{step.where} step {step.index} {step.name}"
        body = operator.compare if self.around.compare else operator.sql
        render = partial(self._render, step, operator, keys, body)
        (compared,), terms = each_of([lambda: [render()], lambda: self._order(step, keys)])
        lasting = step.params.get("index") and getattr(operator.matcher, "any_type", False)
        for name, expression in (self.fields.lasting(compared) if lasting else compared).items():
            self._define_key(step, MATCH_KEY + name, expression, note)
        for number, (expression, direction) in enumerate(terms):
            name = self._define_key(step, f"{MATCH_KEY}order_{number}", expression, "the order in which one is kept")
            self.chain.order.append(OrderTerm(name, direction))

    def _order(self, step: Any, keys: Keys) -> list[tuple[exp.Expr, str]]:
        """Expressions, with directions, that choose the kept sample of several."""
        keep = "first" if self.around.compare else step.params.get("keep", "first")
        terms = [] if keep == "first" else order_terms(keep)
        own = self._own(keys)
        found = list(each_of([partial(own, term) for term, _ in terms]))
        self.fields.require_order(found, [term for term, _ in terms])
        return [(parse(sql), direction) for sql, (_, direction) in zip(found, terms, strict=True)]

    def _define_key(self, step: Any, name: str, expression: exp.Expr, note: str) -> str:
        self._define(step, name, f"CASE WHEN {self.alive} THEN {expression.sql('duckdb')} END", note, "mark")
        self.chain.match_keys.append(name)
        return name

    def _render(self, step: Any, operator: Operator, keys: Keys, sql: str | None = None) -> dict[str, exp.Expr]:
        """Expressions that an operator's SQL selects, by name, with the columns of the chain in place of names."""
        text, body = self.version[keys][0], sql or operator.sql
        given = {**step.params, **self._own_sql(step, operator, keys)}
        context = {
            "text": text,
            "feature": lambda name, **given: self._feature(name, keys, step, given),
            "shares": lambda name: self.share and self.users.get((keys, self.version[keys][1], name), 0) > 1,
            "field": partial(field_of, schema=self.schema, written=self.values, read=self._input),
            "suffix": self._suffix(operator),
            "removed": self.chain.removed,
        }

        def render(params: Mapping[str, Any]) -> exp.Select:
            own = {name: value for name, value in params.items() if name in operator.params}
            return select_of(operator.path, body, {**own, "params": params, **context})

        by_column = any(isinstance(value, ByColumn) for value in given.values())
        with blaming(operator.path, body):
            select = select_by_column(operator, given, render, self._own(keys)) if by_column else render(given)
            return self._selected(step, operator, keys, select)

    def _selected(self, step: Any, operator: Operator, keys: Keys, select: exp.Select) -> dict[str, exp.Expr]:
        found, inner = dict[str, exp.Expr](), dict[str, str]()
        own = {stat: stat for stat in (*operator.stats_of(step.params), *stored_types(operator, step.params))}
        for projection in select.expressions:
            name, expression = projection.alias_or_name, projection.unalias()
            require_one_sample(expression)
            # A condition names the statistics selected beside it; their columns are inserted once they are defined.
            mine = own | inner if is_verdict(name) else inner
            expression = resolve(expression, partial(self._own_or_other, mine, keys), self._known())
            expression = self.fields.by_value(expression)
            if name.startswith("_"):
                inner[name] = self._inner(step, name, expression)
            else:
                found[name] = expression
        self._calls(select, operator.functions)
        return found

    def _calls(self, sql: exp.Expr, functions: Sequence[Function]) -> None:
        """Record the functions of an operator or feature that its SQL calls."""
        found = called(sql)
        self.chain.functions |= {function.name for function in functions if function.name.lower() in found}

    def _inner(self, step: Any, name: str, expression: exp.Expr) -> str:
        """Define a column that an operator computes once for its other columns."""
        guarded = f"CASE WHEN {self.alive} THEN {expression.sql('duckdb')} END"
        given = self.names.free(f"_inner_{step.index}{stem((name,))}", "inner", step.index, name)
        return self._define(step, given, guarded, f"what step {step.index} needs", "inner")

    def _own_sql(self, step: Any, operator: Operator, keys: Keys) -> dict[str, str]:
        """Parameters that are a person's SQL, with the columns of the chain in place of the person's names."""
        own = self._own(keys)
        given = operator.sql_of(step.params)
        return dict(zip(given, list(each_of([partial(own, sql) for sql in given.values()])), strict=True))

    def _write(self, step: Any, operator: Operator, select: dict[str, exp.Expr], note: str) -> None:
        """Define a field that a mapper writes in place of a text; its versions are JSON."""
        name, kind = str(step.params[operator.writes[0]]), operator.writes[1]
        keys: Keys = (name,)
        if "value" not in select:
            raise ValueError("a mapper with `writes` must select `AS value`")
        if not name or (keys in self.version and keys not in self.chain.written) or name == self.text_key[0]:
            raise ValueError(
                f"{operator.writes[0]} is {name!r}, which is a text that the recipe works on; name another"
            )
        if keys not in self.version:
            before = self._version(keys, 0)
            self.reads.add(before, self.reads.json(name))
            self.version[keys], self.chain.read[keys] = (before, 0), before
        self.chain.written[keys] = kind
        guarded = f"CASE WHEN {self.alive} THEN CAST({select['value'].sql('duckdb')} AS {kind}) END"
        given = self.names.free(f"_value_{step.index}", "value", step.index)
        value = self._define(step, given, guarded, note, "inner")
        self._mapper(step, keys, {"text": parse(json_of_numbers(value, name))}, note)
        self.values[keys] = value
        self.chain.values[value] = keys

    def _mapper(self, step: Any, keys: Keys, select: dict[str, exp.Expr], note: str) -> None:
        before, _ = self.version[keys]
        if "delta" in select:
            delta = select["delta"]
        elif "text" in select:
            # If the expression is NULL, the row keeps its text.
            delta = parse(f"nullif({select['text'].sql('duckdb')}, {before})")
        else:
            raise ValueError("a mapper must select `AS text` or `AS delta`")
        name = self.names.fixed("delta", step.index)
        self._define(step, name, f"CASE WHEN {self.alive} THEN {delta.sql('duckdb')} END", note, "delta")
        after = self._version(keys, step.index)
        self._define(step, after, f"coalesce({name}, {before})", f"text after step {step.index}", "text")
        changed = self.names.fixed("changed", step.index)
        self._define(step, changed, f"{name} IS NOT NULL", f"whether step {step.index} changed it", "changed")
        self.version[keys] = (after, step.index)
        if keys == self.text_key:
            self.chain.versions[step.index] = after
        self.chain.changes.append(TextChange(step.index, keys, before, after, changed))

    def _filter(self, step: Any, operator: Operator, select: dict[str, exp.Expr], note: str) -> None:
        columns = self._measure(step, operator, select, note)
        bounded = {name: ends for name, ends in operator.bounds.items() if name in columns}
        params = self.chain.params_of(step)
        conditions = [in_range(ident(columns[name]), kept_range(params, *ends)) for name, ends in bounded.items()]
        verdicts = verdicts_of(select)
        if verdicts:
            conditions.append(self._predicate(step, operator, verdicts, columns))
            self.chain.conditions.add(step.index)
        if not conditions and not self._is_off(operator):
            raise ValueError("a filter must select `AS keep` or `AS keep_REASON`, or its header must name bounds")
        kept = kept_if(self.alive, conditions or ["TRUE"], guarded=bool(verdicts))
        if self.around.probe:
            name = self._define(step, self.names.fixed("pass", step.index), kept, "what it would keep", "pass")
            self.chain.passes[step.index] = name
            kept = f"{self.alive} AND {name} IS NOT NULL"
        self._end_filter(step, kept)

    @staticmethod
    def _is_off(operator: Operator) -> bool:
        """Return whether the conditions of a filter can all be off: with these parameters its body selects none."""
        return CONDITION.search(operator.sql) is not None

    def _predicate(
        self, step: Any, operator: Operator, verdicts: Mapping[str, exp.Expr], columns: Mapping[str, str]
    ) -> str:
        """The condition of a predicate; the term that a sample breaks is a column, unless stored statistics have it."""
        trees = {
            reason: resolve(keep, lambda name: column(columns.get(name, name)), ()).unnest()
            for reason, keep in verdicts.items()
        }
        stored = {"_row", *(stat.column for stat in (*self.around.stats, *self.chain.stats))}
        names, own = self.shown | {name: stat for stat, name in columns.items()}, operator.sql_of(step.params)
        predicate = self.chain.predicates[step.index] = predicate_of(trees, own, names, stored, self.chain.functions)
        if self.around.probe or not predicate.has_column:
            return exp.and_(*trees.values()).sql("duckdb")
        name, sql = self.names.fixed("term", step.index), f"CASE WHEN {self.alive} THEN {predicate.failed()} END"
        self.chain.terms[step.index] = self._define(step, name, sql, "the term that is not true", "inner")
        return f"{name} IS NULL"

    def _measure(self, step: Any, operator: Operator, select: dict[str, exp.Expr], note: str) -> dict[str, str]:
        """Define the statistics of a step; return their columns by name."""
        columns: dict[str, str] = {}
        by_column = stored_types(operator, step.params)
        stats = operator.stats_of(step.params) | {name: {"type": kind} for name, kind in by_column.items()}
        for name, expression in select.items():
            if operator.kind != "stats" and (is_verdict(name) or name in TEXTS):
                continue
            if name not in stats:
                raise ValueError(f"selects {name!r}, which its header's stats do not name")
            # The statistic's own name, with the step's number if an earlier step or a table of the run has that name.
            given = self.names.free(name, "stat", step.index, name, otherwise=f"{name}_{step.index}")
            kind = stats[name].get("type", "DOUBLE")
            self.chain.stats.append(Stat(given, name, step.index, kind, *operator.bounds.get(name, ())))
            value = f"CASE WHEN {self.alive} THEN CAST({expression.sql('duckdb')} AS {kind}) END"
            columns[name] = self._define(step, given, value, note, "stat")
        for stat in self.chain.stats:
            if stat.step == step.index:
                self._remember(stat)
        held = {name: columns.get(stored_name(operator, name)) for name in step.params if name in operator.params}
        self.chain.bounds[step.index] = {n: c for n, c in held.items() if c and stored_name(operator, n) in by_column}
        return columns

    def _remember(self, stat: Stat) -> None:
        """Let later steps name a statistic: by its name, by its column's name, and with its step's number."""
        self.latest[stat.name] = stat.column
        self.numbered[stat.column] = self.numbered[f"{stat.name}_{stat.step}"] = stat.column

    def _end_filter(self, step: Any, kept: str) -> None:
        alive = self.names.fixed("alive", step.index)
        self._define(step, alive, kept, f"whether step {step.index} keeps it", "alive")
        self.alive = alive
        self.chain.alive[step.index] = alive

    def _define(self, step: Any, name: str, sql: str, note: str, kind: str) -> str:
        return self.chain.layers.add(name, self._parsed(sql), step.index, note, kind)

    def _parsed(self, sql: str) -> exp.Expr:
        """Parse an expression of the chain, and record the files that it reads."""
        found = parse(sql)
        self.chain.files.update(file_names(found))
        return found

    # Names

    def _own(self, keys: Keys) -> Callable[[str], str]:
        """Function that puts the columns of the chain in place of the names in a person's SQL."""
        lookup, types = partial(self._lookup, keys=keys, user_sql=True), self.schema.columns
        return partial(own_expression, lookup=lookup, known=self._known(), finish=self.fields.by_value, types=types)

    def _feature(self, name: str, keys: Keys, step: Any, params: Mapping[str, Any]) -> str:
        """The column of a feature: one for each version of a text and each choice of parameters."""
        if name not in self.library.features:
            raise ValueError(f"there is no feature {name!r}{did_you_mean(name, self.library.features)}")
        text, version = self.version[keys]
        alone = None if self.share else step.index
        wanted = f"_{name}_{stem(keys)}_{version}" + ("" if self.share else f"_{step.index}")
        values = [[key, lit(value)] for key, value in sorted(params.items())]
        given = self.names.free(wanted, "feature", name, keys, version, alone, str(values))
        self._uses(given, step)
        self.chain.used_features.add(name)
        if given not in self.chain.layers:
            feature, within = self.library.features[name], self.within.setdefault(given, [])

            def other(inner: str, **its: Any) -> str:
                within.append(self._feature(inner, keys, step, its))
                return within[-1]

            context = {**feature.context(params), "text": text, "feature": other}
            with blaming(feature.path, feature.sql):
                sql = rendered(feature.path, feature.sql, context)
                expression = parsed(feature.path, feature.sql, sql)
                require_one_sample(expression)
            self._calls(expression, feature.functions)
            note = f"{name} of the text after step {version}"
            self._define(step, given, f"CASE WHEN {self.alive} THEN {sql} END", note, "feature")
        return given

    def _uses(self, feature: str, step: Any) -> None:
        """Record that a step uses a feature's column, and the columns of features that this one is made of."""
        self.chain.features.setdefault(feature, []).append(step.index)
        for inner in self.within.get(feature, ()):
            self._uses(inner, step)

    def _suffix(self, operator: Operator) -> str:
        return self._from_source("_file_suffix", self.reads.suffix()) if asks_for(operator.sql, "suffix") else "_suffix"

    def _known(self) -> list[str]:
        return [*self.latest, *self.numbered, "text", *self.schema.columns, "_row"]

    def _own_or_other(self, own: Mapping[str, str], keys: Keys, name: str) -> exp.Expr | None:
        return column(own[name]) if name in own else self._lookup(name, keys, user_sql=False)

    def _lookup(self, name: str, keys: Keys, user_sql: bool) -> exp.Expr | None:
        self.chain.asked.setdefault(self.current, set()).add(name.lower())
        if name in self.chain.layers and not user_sql:
            return column(name)
        if name in self.latest or name in self.numbered:
            return self._nullable(self._stat(self.latest.get(name) or self.numbered[name]), name)
        if name in ("text", keys[-1]) and (len(keys) == 1 or name == "text") and name not in self._shadowing(keys):
            return column(self.version[keys][0])
        if (name,) in self.values:
            return self._nullable(self.values[(name,)], name)
        if (name,) in self.version and (name,) not in self.chain.written:
            return column(self.version[(name,)][0])
        if name == "_row":
            return column(self._from_source("_row", BatchRead(self.reads.give_fixed("row"))))
        if name in self.schema.columns:
            return self._nullable(self._input(name), name)
        kind = "NULL" if self.schema.unknown else self.lost.type_of(name, self.current)
        return None if kind is None else parse(f"CAST(NULL AS {kind})" if kind != "NULL" else kind)

    def _nullable(self, name: str, shown: str) -> exp.Expr:
        self.shown[name] = shown
        return column(name)

    def _stat(self, name: str) -> str:
        """The column of a statistic; the batch carries a statistic of an earlier stage."""
        if name in {stat.column for stat in self.chain.stats}:
            return name
        taken = not self.schema.lines and name.lower() in {known.lower() for known in self.schema.columns}
        given = self.reads.give("carried", name, f"_carried_{stem((name,))}" if taken else name)
        return self._from_source(name, BatchRead(ident(given)))

    def _shadowing(self, keys: Keys) -> set[str]:
        return {"text"} if keys[-1] != "text" and "text" in self.schema.columns else set()

    def _input(self, name: str) -> str:
        wanted = self.names.free(f"_in_{stem((name,))}", "input", name)
        if self.schema.lines:
            return self._from_line(wanted, self.fields.column(wanted, name), [(name,)])
        self._check_column(name)
        return self._from_source(wanted, self.reads.value(name))

    def _check_column(self, name: str) -> None:
        """Raise ValueError, with the nearest column name, if a table does not have the column."""
        known = self.schema.columns
        if known and name not in known:
            raise ValueError(f"no column {name!r}{did_you_mean(name, known)}")

    def _from_line(self, name: str, make: Callable[[str], str], fields: Sequence[Keys]) -> str:
        return self._from_source(name, self.reads.of_line(make, fields))

    def _from_source(self, name: str, read: BatchRead) -> str:
        self.reads.add(name, read)
        return self.chain.layers.provide(name)

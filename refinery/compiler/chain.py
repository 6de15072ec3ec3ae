"""Compiles a chain of mappers and filters to one SELECT over a batch of samples.

Nothing is deleted on the way: a filter's condition ends in `_alive_<step>`, and later steps are computed for live rows
only. The last SELECT returns for every row the step that removed it, its statistics and the steps that changed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from refinery.common.fields import keys_of
from refinery.common.lazy import exp
from refinery.compiler.batch_reads import BatchRead
from refinery.compiler.bounds import in_range, kept_if, order_terms
from refinery.compiler.by_column import select_by_column, stored_name, stored_types
from refinery.compiler.chain_names import ChainNames
from refinery.compiler.column_names import Keys, column, stem
from refinery.compiler.deduplicators import MATCH_KEY, require_params
from refinery.compiler.export_repeats import repeat_fault, repeats_of
from refinery.compiler.feature_users import feature_users
from refinery.compiler.json_fields import field_of
from refinery.compiler.kept_fields import read_field
from refinery.compiler.kept_order import key_of, order_of
from refinery.compiler.layers import Layers
from refinery.compiler.mistakes import each_of, sentences
from refinery.compiler.model import ALONE, Chain, CompileContext, KeptField, OrderTerm, Schema, Stat, TextChange
from refinery.compiler.stat_groups import GroupReads, as_text, define_keys
from refinery.compiler.template_faults import blaming, select_of
from refinery.compiler.templates import ident
from refinery.compiler.terms import CONDITION, TEXTS, is_verdict, predicate_of, verdicts_of
from refinery.compiler.user_names import (
    json_of_numbers,
    json_of_text,
    parse,
    require_one_sample,
    resolve,
)
from refinery.dedup.matchers.params import size_field
from refinery.errors import Problem, RecipeError
from refinery.operators import Library, Operator
from refinery.operators.bounds import kept_range
from refinery.recipe.by_column import ByColumn

# Places of problems of these keys, which planning replaces by those in the recipe.
PARTITION, REPEAT, KEEP = "partition_by", "repeat_by", "keep_fields"


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


class _Compiler(ChainNames):
    def run(self) -> Chain:
        before, after = self.around.before, self.around.after
        fields = list(dict.fromkeys([self.text_key, *map(self._keys, self._all_steps())]))
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
        problems += self._kept_fields()
        for step in self._all_steps():
            self.current = step.index
            compiled = self._take_out if step is before else self._match_keys if step is after else self._step
            try:
                compiled(step, self.library.operators[step.name])
            except ValueError as error:
                problems += [Problem(step.where, f"{step.name}: {sentence}") for sentence in sentences(error)]
                self.lost.add(step.index, self.library.operators[step.name].stats_of(step.params))
        problems += [*self._partition(), *self._repeats()] if not problems else []
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

    def _kept_fields(self) -> list[Problem]:
        """Define the fields of the input that are stored for every sample; only the first stage reads the input."""
        problems: list[Problem] = []
        for number, name in enumerate(self.around.keep_fields if self.around.first else (), 1):
            try:
                text = self.version.get(keys_of(name))
                sql, kind = (text[0], "VARCHAR") if text else read_field(name, self.schema, self._input)
                column = self.names.free(f"_field_{number}", "kept field", number)
                self.chain.layers.add(column, self._parsed(sql), 0, f"field {name} of the input", "key")
                self.chain.kept_fields.append(KeptField(column, name, kind))
            except ValueError as error:
                problems += [Problem(KEEP, f"keep_fields: {sentence}") for sentence in sentences(error)]
        return problems

    def _partition(self) -> list[Problem]:
        """Define the values that name the folders of a partitioned export; they belong to samples as they are exported."""
        self.chain.keeps_removed, problems = self.around.keeps_removed, []
        last = self._last_step()
        for number, (name, sql) in enumerate(self.around.partition, 1):
            try:
                own = self._own(self.text_key)(sql)
                value = f"CASE WHEN {self.alive} THEN {as_text(own, self.fields.is_json)} END"
                column = self.names.free(f"_partition_{number}", "partition", number)
                parsed = self._parsed(value)
                self.chain.partition.append(
                    self.chain.layers.add(column, parsed, last, "the folder of the export", "key")
                )
            except ValueError as error:
                problems += [Problem(PARTITION, f"partition_by: {name}: {sentence}") for sentence in sentences(error)]
        return problems

    def _repeats(self) -> list[Problem]:
        """Define the number of times that a sample is exported; a sample without a valid one goes to quarantine."""
        if self.around.repeat is None:
            return []
        last, note = self._last_step(), "times that the sample is exported"
        try:
            own = self._own(self.text_key)(self.around.repeat)
            fault, times = (self.names.free(name, name) for name in ("_repeat_fault", "_repeats"))
            for name, sql in ((fault, repeat_fault(own)), (times, repeats_of(own))):
                self.chain.layers.add(name, self._parsed(f"CASE WHEN {self.alive} THEN {sql} END"), last, note, "key")
        except ValueError as error:
            return [Problem(REPEAT, f"repeat_by: {sentence}") for sentence in sentences(error)]
        earlier = self.chain.faults.get(last)
        self.chain.faults[last] = f"coalesce({earlier}, {fault})" if earlier else fault
        self.chain.repeats.append(times)
        return []

    def _last_step(self) -> int:
        """The number of the last step of the stage, or of the one before it; 0 where there is none."""
        steps = self._all_steps()
        before = [self.around.before] if self.around.before is not None else []
        return int([*before, *steps][-1].index) if before or steps else 0

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
        applied = [before] if before is not None and self._is_applied(before) else []
        return [*applied, *self.steps, *([after] if after is not None else [])]

    def _is_applied(self, before: Any) -> bool:
        """Return whether the stage does something with the findings of the deduplicator before it."""
        operator = self.library.operators[before.name]
        return bool(operator.apply) or "save_cluster_size" in operator.fields_of(before.params)

    # Text fields

    def _keys(self, step: Any) -> Keys:
        field = step.params.get("text_key")
        return self.text_key if not field else keys_of(field)

    # Steps

    def _step(self, step: Any, operator: Operator) -> None:
        keys = self._keys(step)
        if not self.schema.lines:
            self._check_column(keys[0])
        select = self._render(step, operator, keys)
        note = f"{step.where} step {step.index} {step.name}"
        if operator.kind != "mapper":
            self._count_chars(step, keys)
        with blaming(operator.path, operator.sql):
            if "fault" in select and "fault" not in operator.stats:
                self._fault(step, select.pop("fault"), note)
            if operator.kind == "mapper":
                if operator.changes_text:
                    self._mapper(step, keys, select, note)
                self._write(step, operator, select, note)
                if verdicts_of(select, ()) and not self.around.measure:
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
        if not operator.apply:
            self._write_size(step)
            return
        keys = self._keys(step)
        self._read_removed(step)
        note = f"{step.where} step {step.index} {step.name}"
        select = self._render(step, operator, keys, operator.apply)
        columns = self._measure(step, operator, select, note)
        bounded = {name: ends for name, ends in operator.bounds_of(step.params).items() if name in columns}
        ranges = {name: kept_range(step.params, *ends) for name, ends in bounded.items()}
        kept = [in_range(ident(columns[name]), ends) for name, ends in ranges.items() if ends.ends]
        if TEXTS & {*select}:
            self._mapper(step, keys, select, note)
            if step.params.get(operator.rule.get("drop_empty", "")):
                text, changed = self.version[keys][0], self.names.fixed("changed", step.index)
                kept.append(f"NOT ({changed} AND {text} = '')")
        if kept:
            self._end_filter(step, " AND ".join([self.alive, *kept]))

    def _write_size(self, step: Any) -> None:
        """Write the size of each sample's cluster, as the deduplicator of the stage before has found it; 1 without duplicates."""
        field, name = size_field(step.params), self._read_removed(step, "size")
        assert field is not None
        size = parse(f"coalesce(CAST({name} AS BIGINT), 1)")
        self._write_field(
            step, field, "save_cluster_size", "BIGINT", size, f"{step.where} step {step.index} {step.name}"
        )

    def _match_keys(self, step: Any, operator: Operator) -> None:
        """Define the match keys of each live sample, and the order in which samples are preferred."""
        require_params(step, operator)
        keys = self._keys(step)
        if not self.schema.lines:
            self._check_column(keys[0])
        note = f"{step.where} step {step.index} {step.name}"
        body = operator.compare if self.around.compare else operator.sql
        if self.around.compare and operator.matcher.takes_units:
            self._read_removed(step)
        render = partial(self._render, step, operator, keys, body)
        (compared,), terms = each_of([lambda: [render()], lambda: self._order(step, keys)])
        lasting = step.params.get("index") and getattr(operator.matcher, "any_type", False)
        for name, expression in (self.fields.lasting(compared) if lasting else compared).items():
            self._define_key(step, MATCH_KEY + name, expression, note)
        for number, (expression, direction) in enumerate(terms):
            name = self._define_key(step, f"{MATCH_KEY}order_{number}", expression, "the order in which one is kept")
            self.chain.order.append(OrderTerm(name, direction))

    def _read_removed(self, step: Any, kind: str = "removed") -> str:
        """The column of the batch with the units to remove, the places of items to compare, or the size of a cluster."""
        name = self.chain.removed = self.names.fixed(kind, step.index)
        self._from_source(name, BatchRead(self.reads.give_fixed("removed", name)))
        return name

    def _order(self, step: Any, keys: Keys) -> list[tuple[exp.Expr, str]]:
        """Expressions, with directions, that choose the kept sample of several."""
        units = self.library.operators[step.name].matcher.takes_units
        order = "" if self.around.compare or units else order_of(step.params)
        terms = order_terms(order) if order else []
        own = self._own(keys)
        own_terms = list(each_of([partial(own, term) for term, _ in terms]))
        self.fields.require_order(own_terms, [term for term, _ in terms])
        return [(parse(key_of(sql, step.params)), way) for sql, (_, way) in zip(own_terms, terms, strict=True)]

    def _define_key(self, step: Any, name: str, expression: exp.Expr, note: str) -> str:
        self._define(step, name, f"CASE WHEN {self.alive} THEN {expression.sql('duckdb')} END", note, "mark")
        self.chain.match_keys.append(name)
        return name

    def _render(self, step: Any, operator: Operator, keys: Keys, sql: str | None = None) -> dict[str, exp.Expr]:
        """Expressions that an operator's SQL selects, by name, with the columns of the chain in place of names."""
        text, body = self.version[keys][0], sql or operator.sql
        values = {**step.params, **self._own_sql(step, operator, keys)}
        context = {
            "text": text,
            "feature": lambda name, **params: self._feature(name, keys, step, params),
            "shares": lambda name: self.share and self.users.get((keys, self.version[keys][1], name), 0) > 1,
            "field": partial(field_of, schema=self.schema, written=self.values, read=self._input),
            "suffix": self._suffix(operator),
            "removed": self.chain.removed,
            "places": self.chain.removed if self.around.compare else None,
        }

        def render(params: Mapping[str, Any]) -> exp.Select:
            own = {name: value for name, value in params.items() if name in operator.params}
            return select_of(operator.path, body, {**own, "params": params, **context})

        by_column = any(isinstance(value, ByColumn) for value in values.values())
        with blaming(operator.path, body):
            select = self._by_column(step, operator, keys, values, render) if by_column else render(values)
            return self._selected(step, operator, keys, select)

    def _by_column(
        self, step: Any, operator: Operator, keys: Keys, params: Mapping[str, Any], render: Any
    ) -> exp.Select:
        """The SELECT of a body with parameters that depend on a column; the values of samples are columns of the chain."""

        def define(name: str, sql: str) -> str:
            return self._inner(step, name, parse(sql))

        return select_by_column(operator, params, render, self._own(keys), define)

    def _selected(self, step: Any, operator: Operator, keys: Keys, select: exp.Select) -> dict[str, exp.Expr]:
        columns, inner = dict[str, exp.Expr](), dict[str, str]()
        own = {stat: stat for stat in (*operator.stats_of(step.params), *stored_types(operator, step.params))}
        for projection in select.expressions:
            name, expression = projection.alias_or_name, projection.unalias()
            require_one_sample(expression)
            # A condition names the statistics selected beside it; their columns are inserted once they are defined.
            mine = own | inner if is_verdict(name, own) else inner
            expression = resolve(expression, partial(self._own_or_other, mine, keys), self._known())
            expression = self.fields.by_value(expression)
            if name.startswith("_"):
                inner[name] = self._inner(step, name, expression)
            else:
                columns[name] = expression
        self._calls(select, operator.functions)
        return columns

    def _inner(self, step: Any, name: str, expression: exp.Expr) -> str:
        """Define a column that an operator computes once for its other columns."""
        guarded = f"CASE WHEN {self.alive} THEN {expression.sql('duckdb')} END"
        column = self.names.free(f"_inner_{step.index}{stem((name,))}", "inner", step.index, name)
        return self._define(step, column, guarded, f"what step {step.index} needs", "inner")

    def _own_sql(self, step: Any, operator: Operator, keys: Keys) -> dict[str, str]:
        """Parameters that are a person's SQL, with the columns of the chain in place of the person's names."""
        own = self._own(keys)
        texts = operator.sql_of(step.params)
        return dict(zip(texts, list(each_of([partial(own, sql) for sql in texts.values()])), strict=True))

    def _write(self, step: Any, operator: Operator, select: dict[str, exp.Expr], note: str) -> None:
        """Define the fields that a mapper writes besides the text, each from a column of its own."""
        for param, name in operator.fields_of(step.params).items():
            value = "value" if len(operator.writes) == 1 else f"value_{param}"
            if value not in select:
                raise ValueError(f"a mapper that writes {param} must select `AS {value}`")
            self._write_field(step, name, param, operator.writes[param], select.pop(value), note)

    def _write_field(self, step: Any, name: str, param: str, kind: str, value: exp.Expr, note: str) -> None:
        """Define a field that a mapper writes; its versions are JSON."""
        keys: Keys = (name,)
        if not name or (keys in self.version and keys not in self.chain.written) or name == self.text_key[0]:
            raise ValueError(f"{param} is {name!r}, which is a text that the recipe works on; name another")
        if keys not in self.version:
            before = self._version(keys, 0)
            self.reads.add(before, self.reads.json(name))
            self.version[keys], self.chain.read[keys] = (before, 0), before
        self.chain.written[keys] = kind
        guarded = f"CASE WHEN {self.alive} THEN CAST({value.sql('duckdb')} AS {kind}) END"
        inner = self.names.free(f"_value_{step.index}", "value", step.index, name)
        column = self._define(step, inner, guarded, note, "inner")
        as_json = json_of_text(column) if kind in ("VARCHAR", "BIGINT") else json_of_numbers(column, name)
        self._mapper(step, keys, {"text": parse(as_json)}, note)
        self.values[keys] = column
        self.chain.values[column] = keys

    def _mapper(self, step: Any, keys: Keys, select: dict[str, exp.Expr], note: str) -> None:
        before, _ = self.version[keys]
        if "delta" in select:
            delta = select["delta"]
        elif "text" in select:
            # If the expression is NULL, the row keeps its text.
            delta = parse(f"nullif({select['text'].sql('duckdb')}, {before})")
        else:
            raise ValueError("a mapper must select `AS text` or `AS delta`")
        name, changed = self._names_of_change(step, keys)
        self._define(step, name, f"CASE WHEN {self.alive} THEN {delta.sql('duckdb')} END", note, "delta")
        after = self._version(keys, step.index)
        self._define(step, after, f"coalesce({name}, {before})", f"text after step {step.index}", "text")
        self._define(step, changed, f"{name} IS NOT NULL", f"whether step {step.index} changed it", "changed")
        self.version[keys] = (after, step.index)
        if keys == self.text_key:
            self.chain.versions[step.index] = after
        self.chain.changes.append(TextChange(step.index, keys, before, after, changed))

    def _names_of_change(self, step: Any, keys: Keys) -> tuple[str, str]:
        """The columns of a step's new text and of its flag: fixed for the first field that it changes."""
        kinds = "delta", "changed"
        if all(change.step != step.index for change in self.chain.changes):
            delta, changed = (self.names.fixed(kind, step.index) for kind in kinds)
        else:
            delta, changed = (
                self.names.free(f"_{kind}_{step.index}_{stem(keys)}", kind, step.index, keys) for kind in kinds
            )
        return delta, changed

    def _fault(self, step: Any, fault: exp.Expr, note: str) -> None:
        """Define the reason why a step cannot process a sample: it goes to quarantine, and later steps leave it out."""
        name = self.names.fixed("fault", step.index)
        self._define(step, name, f"CASE WHEN {self.alive} THEN {fault.sql('duckdb')} END", note, "inner")
        self.chain.faults[step.index] = name
        sound = self.names.fixed("sound", step.index)
        self._define(step, sound, f"{self.alive} AND {name} IS NULL", "whether it could be processed", "alive")
        self.alive = sound

    def _filter(self, step: Any, operator: Operator, select: dict[str, exp.Expr], note: str) -> None:
        columns = self._measure(step, operator, select, note)
        bounded = {name: ends for name, ends in operator.bounds_of(step.params).items() if name in columns}
        params = self.chain.params_of(step)
        conditions = [in_range(ident(columns[name]), kept_range(params, *ends)) for name, ends in bounded.items()]
        verdicts = verdicts_of(select, columns)
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
        by_column, bounds = stored_types(operator, step.params), operator.bounds_of(step.params)
        stats = operator.stats_of(step.params) | {name: {"type": kind} for name, kind in by_column.items()}
        for name, expression in select.items():
            if operator.kind != "stats" and (is_verdict(name, stats) or name in TEXTS):
                continue
            if name not in stats:
                raise ValueError(f"selects {name!r}, which its header's stats do not name")
            # The statistic's own name, with the step's number if an earlier step or a table of the run has that name.
            own = self.names.free(name, "stat", step.index, name, otherwise=f"{name}_{step.index}")
            kind = stats[name].get("type", "DOUBLE")
            self.chain.stats.append(Stat(own, name, step.index, kind, *bounds.get(name, ())))
            value = f"CASE WHEN {self.alive} THEN CAST({expression.sql('duckdb')} AS {kind}) END"
            columns[name] = self._define(step, own, value, note, "stat")
        for stat in self.chain.stats:
            if stat.step == step.index:
                self._remember(stat)
        held = {name: columns.get(stored_name(operator, name)) for name in step.params if name in operator.params}
        self.chain.bounds[step.index] = {n: c for n, c in held.items() if c and stored_name(operator, n) in by_column}
        return columns

    def _end_filter(self, step: Any, kept: str) -> None:
        alive = self.names.fixed("alive", step.index)
        self._define(step, alive, kept, f"whether step {step.index} keeps it", "alive")
        self.alive = alive
        self.chain.alive[step.index] = alive

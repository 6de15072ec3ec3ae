"""The columns of a chain by the names in operators' bodies and users' SQL: texts, statistics, features, fields of the input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from refinery.common.lazy import exp
from refinery.compiler.batch_reads import BatchRead, BatchReads
from refinery.compiler.by_column import in_constants
from refinery.compiler.column_names import ColumnNames, Keys, called, column, stem
from refinery.compiler.feature_users import FeatureUse
from refinery.compiler.field_values import FieldValues
from refinery.compiler.layers import Layers
from refinery.compiler.model import Chain, CompileContext, Schema, Stat
from refinery.compiler.template_faults import blaming, parsed, rendered
from refinery.compiler.templates import ColumnValue, DependsOnColumn, asks_for, ident, lit
from refinery.compiler.user_names import (
    own_expression,
    parse,
    require_one_sample,
)
from refinery.errors import did_you_mean
from refinery.operators import Function, Library, Operator
from refinery.recipe.sql_files import file_names


class ChainNames:
    """The columns that a chain has so far, and the definition of those that a name asks for."""

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
        self.chain = Chain(list(self.steps), Layers(set()), "", [], [], {}, {}, {}, {}, set(), self.reads.batch_columns)

    def _version(self, keys: Keys, step: int) -> str:
        """The column of a field's text after a step; 0: as read."""
        name = stem(keys)
        return self.names.free(f"_{name}_{step}", "text", keys, step, otherwise=f"_field_{name}_{step}")

    def _remember(self, stat: Stat) -> None:
        """Let later steps name a statistic: by its name, by its column's name, and with its step's number."""
        self.latest[stat.name] = stat.column
        self.numbered[stat.column] = self.numbered[f"{stat.name}_{stat.step}"] = stat.column

    def _define(self, step: Any, name: str, sql: str, note: str, kind: str) -> str:
        return self.chain.layers.add(name, self._parsed(sql), step.index, note, kind)

    def _parsed(self, sql: str) -> exp.Expr:
        """Parse an expression of the chain, and record the files that it reads."""
        tree = parse(sql)
        self.chain.files.update(file_names(tree))
        return tree

    def _own(self, keys: Keys) -> Callable[[str], str]:
        """Function that puts the columns of the chain in place of the names in a person's SQL."""
        lookup, types = partial(self._lookup, keys=keys, user_sql=True), self.schema.columns
        return partial(own_expression, lookup=lookup, known=self._known(), finish=self.fields.by_value, types=types)

    def _feature(self, name: str, keys: Keys, step: Any, params: Mapping[str, Any]) -> str:
        """The column of a feature: one for each version of a text and each choice of parameters."""
        if name not in self.library.features:
            raise ValueError(f"there is no feature {name!r}{did_you_mean(name, self.library.features)}")
        for value in params.values():
            if isinstance(value, ColumnValue):  # a feature is computed once for each value, not for each sample's
                raise DependsOnColumn(value.parameter)
        text, version = self.version[keys]
        alone = None if self.share else step.index
        wanted = f"_{name}_{stem(keys)}_{version}" + ("" if self.share else f"_{step.index}")
        values = [[key, lit(value)] for key, value in sorted(params.items())]
        column = self.names.free(wanted, "feature", name, keys, version, alone, str(values))
        if column in self.chain.layers:
            self._uses(column, step)
        else:
            feature, within = self.library.features[name], self.within.setdefault(column, [])

            def other(inner: str, **its: Any) -> str:
                within.append(self._feature(inner, keys, step, its))
                return within[-1]

            context = {**feature.context(params), "text": text, "feature": other}
            with blaming(feature.path, feature.sql):
                sql = rendered(feature.path, feature.sql, context)
                expression = parsed(feature.path, feature.sql, sql)
                require_one_sample(expression)
            by_column = [value for value in params.values() if isinstance(value, ColumnValue)]
            for parameter in in_constants(expression, feature.functions, by_column):
                raise DependsOnColumn(parameter)
            self._calls(expression, feature.functions)
            note = f"{name} of the text after step {version}"
            self._define(step, column, f"CASE WHEN {self.alive} THEN {sql} END", note, "feature")
            self.chain.features.setdefault(column, []).append(step.index)
        self.chain.used_features.add(name)
        return column

    def _calls(self, sql: exp.Expr, functions: Sequence[Function]) -> None:
        """Record the functions of an operator or feature that its SQL calls."""
        names = called(sql)
        self.chain.functions |= {function.name for function in functions if function.name.lower() in names}

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
        column = self.reads.give("carried", name, f"_carried_{stem((name,))}" if taken else name)
        return self._from_source(name, BatchRead(ident(column)))

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

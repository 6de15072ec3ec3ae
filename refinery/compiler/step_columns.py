"""The columns that each step of a compiled stage reads and makes, found from its expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from refinery.common.fields import field_name
from refinery.common.lazy import exp
from refinery.compiler.column_names import GUARDS
from refinery.compiler.filter_order import StepColumns
from refinery.compiler.layers import Definition
from refinery.compiler.model import Chain, Keys
from refinery.compiler.program import StepInfo


def needs_of(chain: Chain, steps: Sequence[StepInfo]) -> list[StepColumns]:
    """Needs of every step of the chain, in its order. steps: of its program."""
    infos = {info.index: info for info in steps}
    definitions = {definition.name: definition for definition in chain.layers.definitions()}
    fields = {column: keys for keys, column in chain.read.items()}
    fields |= {change.after: change.field for change in chain.changes}
    fields |= chain.values
    writes = {change.step: field_name(change.field) for change in chain.changes}
    needs = []
    for step in chain.steps:
        own = [definition for definition in definitions.values() if definition.step == step.index]
        used = {column for column, users in chain.features.items() if step.index in users}
        stats = [stat for stat in chain.stats if stat.step == step.index]
        others = {stat.column for stat in chain.stats if stat.step != step.index}
        known = {name: definition for name, definition in definitions.items() if name not in others}
        reads = _fields([*own, *(definitions[column] for column in used)], known, fields)
        measures = {name.lower() for stat in stats for name in (stat.name, stat.column, f"{stat.name}_{stat.step}")}
        asked = frozenset(chain.asked.get(step.index, set()) - measures)
        needs.append(
            StepColumns(
                step=step.index,
                name=infos[step.index].name,
                kind=infos[step.index].kind,
                reads=frozenset(field_name(keys) for keys in reads),
                writes=writes.get(step.index),
                asked=asked,
                measures=frozenset(measures),
            )
        )
    return needs


def _fields(own: list[Definition], definitions: Mapping[str, Definition], fields: Mapping[str, Keys]) -> set[Keys]:
    """The text fields that definitions read, themselves or through columns that they name.

    Guards are not followed: they do not change the values that are computed for a sample. Earlier text versions are not
    followed either, nor statistics of other steps, which are not among the definitions: a step that makes a statistic
    stays in front of the steps that name it.
    """
    keys: set[Keys] = set()
    seen: set[str] = set()
    left = list(own)
    while left:
        for column in left.pop().expression.find_all(exp.Column):
            name = column.parts[0].name
            if name in fields:
                keys.add(fields[name])
            elif name in definitions and name not in seen and definitions[name].kind not in GUARDS:
                seen.add(name)
                left.append(definitions[name])
    return keys

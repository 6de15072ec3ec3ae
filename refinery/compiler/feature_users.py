"""Numbers of steps that use each feature of each version of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from refinery.compiler.column_names import Keys
from refinery.compiler.templates import arguments
from refinery.operators import Library

# A text field, the step that made its version, and a feature's name.
FeatureUse = tuple[Keys, int, str]


def feature_users(steps: Sequence[Any], library: Library, field_of: Callable[[Any], Keys]) -> Counter[FeatureUse]:
    """Count the calls of each feature by the templates of steps. field_of: the text field that a step works on."""
    version: dict[Keys, int] = {}
    users: Counter[FeatureUse] = Counter()
    for step in steps:
        operator, keys = library.operators[step.name], field_of(step)
        called = (argument.text for argument in arguments(operator.sql, "feature") if not argument.is_variable)
        users.update((keys, version.get(keys, 0), name) for name in called)
        if operator.changes_text:
            version[keys] = step.index
    return users

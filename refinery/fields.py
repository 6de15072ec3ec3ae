"""The fields that a recipe names, held against those that the first samples have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from refinery.errors import Problem, suggestion
from refinery.library import Library
from refinery.recipe import Recipe
from refinery.recipe.fields import field_name, keys_of
from refinery.recipe.model import Step
from refinery.samples.glimpse import Glimpse

# What operators ask for with `field(language_key)` or `field('url')` in their SQL.
_ASKED = re.compile(r"\bfield\(\s*(?:(?P<param>[A-Za-z_]\w*)|'(?P<name>[^']+)')\s*\)")
# Fields that are made here, so no sample needs to have them.
_OWN = ("__dj__stats__", "__dj__suffix__")
_SHOWN = 20


@dataclass(frozen=True)
class Named:
    """A field that a recipe names, dots for members.

    where: the place. by: what names it. is_text: rows without it cannot be read. is_either: a name with dots in it may
    be that of a field as well, as tracers take it.
    """

    field: str
    where: str
    by: str
    is_text: bool = False
    is_either: bool = False

    def stands_in(self, seen: Glimpse) -> bool:
        """Look for the field in the samples."""
        return seen.has(self.field) or (self.is_either and seen.has(field_name((self.field,))))


def named_fields(recipe: Recipe, steps: Sequence[Step], library: Library) -> list[Named]:
    """The fields that a recipe and its steps name, but those within SQL, which DuckDB looks up itself."""
    found = [Named(recipe.text_key, recipe.place_of("text_keys"), "text_keys", True)]
    for step in steps:
        if key := step.params.get("text_key"):
            found.append(Named(key, step.where, f"{step.name}.text_key", True))
        for asked in _ASKED.finditer(library.operators[step.name].sql):
            param = asked["param"]
            value = step.params.get(param) if param else asked["name"]
            if isinstance(value, str) and value:
                found.append(Named(field_name((value,)), step.where, f"{step.name}.{param}" if param else step.name))
    if recipe.open_tracer:
        found += [Named(key, recipe.place_of("trace_keys"), "trace_keys", is_either=True) for key in recipe.trace_keys]
    return [named for named in found if named.field not in _OWN]


def text_fields(recipe: Recipe) -> tuple[tuple[str, ...], ...]:
    """The keys of the fields that the recipe and its steps name as text."""
    named = [recipe.text_key, *(step.params.get("text_key") for step in recipe.steps)]
    return tuple(sorted({keys_of(name) for name in named if name}))


def missing_fields(recipe: Recipe, library: Library, seen: Sequence[Glimpse]) -> tuple[list[Problem], list[str]]:
    """Problems of fields that no sample has, or that hold no text and should, and notes on files in which no sample has a text field."""
    problems: list[Problem] = []
    notes: list[str] = []
    typed = all(glimpse.typed for glimpse in seen)  # compiling looks up what steps name then
    for named in named_fields(recipe, recipe.steps, library):
        problems += _of_other_types(named, seen) if named.is_text else []
    for named in named_fields(recipe, () if typed else recipe.steps, library) if seen else ():
        lacking = [glimpse for glimpse in seen if not named.stands_in(glimpse)]
        if len(lacking) == len(seen):
            problems.append(_problem(named, seen))
        elif named.is_text:
            notes += [_note(named, glimpse) for glimpse in lacking]
    return list(dict.fromkeys(problems)), list(dict.fromkeys(notes))


def _of_other_types(named: Named, seen: Sequence[Glimpse]) -> list[Problem]:
    """Text fields that hold something else: in a file with types, or in all the other samples that were looked at."""
    wrong = [glimpse for glimpse in seen if glimpse.kind_of(named.field) is not None]
    having = [glimpse for glimpse in seen if not glimpse.typed and glimpse.has(named.field)]
    everywhere = all(glimpse in wrong for glimpse in having)
    for glimpse in wrong:
        if glimpse.typed or everywhere:
            return [_problem_of_type(named, glimpse)]
    return []


def _problem_of_type(named: Named, glimpse: Glimpse) -> Problem:
    kind, member = glimpse.kind_of(named.field), keys_of(named.field)
    what = f"{'column' if len(member) == 1 else 'field'} {named.field!r} is {kind}, not text"
    if not glimpse.typed:
        what = (
            f"field {named.field!r} is {kind} in all of the {glimpse.samples} samples looked at that have it, not text"
        )
    shown = ", ".join(glimpse.texts[:_SHOWN]) + (", ..." if len(glimpse.texts) > _SHOWN else "")
    cure = f"Fields of text there: {shown}." if shown else "No field there is text: write it as text first."
    return Problem(named.where, f"{named.by}: {glimpse.path}: {what}", cure)


def _problem(named: Named, seen: Sequence[Glimpse]) -> Problem:
    paths = list(dict.fromkeys(glimpse.path for glimpse in seen))
    files = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more files"
    looked = sum(glimpse.samples for glimpse in seen)
    samples = f"none of the {looked} samples looked at in {files} has" if looked else f"{files} does not have"
    return Problem(named.where, f"{named.by} names the field {named.field!r}, which {samples}", _cure(named, seen))


def _cure(named: Named, seen: Sequence[Glimpse]) -> str:
    top = list(dict.fromkeys(name for glimpse in seen for name in glimpse.top))
    names = sorted({name for glimpse in seen for name in glimpse.names}, key=lambda name: (name.count("."), name))
    shown = ", ".join(top[:_SHOWN]) + (", ..." if len(top) > _SHOWN else "")
    near = suggestion(named.field, names)
    return f"Fields there: {shown}.{f' {near}' if near else ''}"


def _note(named: Named, glimpse: Glimpse) -> str:
    shown = ", ".join(glimpse.top[:_SHOWN])
    cure = f"it has {shown}"
    return f"{glimpse.path}: no sample looked at has the field {named.field!r} of {named.by}: {cure}"

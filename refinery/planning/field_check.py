"""The fields that a recipe names, held against those that samples have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refinery.common.fields import field_name, keys_of
from refinery.compiler.templates import arguments
from refinery.errors import Problem, suggestion
from refinery.io.first_samples import FileFields, InputFields, closer_look, first_look
from refinery.io.formats import encoding_without_mark
from refinery.io.model import Keys, Shard
from refinery.operators import Library
from refinery.recipe.model import Step

# Fields that refinery makes, so that no sample needs to have them.
_OWN = ("__dj__stats__", "__dj__suffix__")
_SHOWN = 20
_DELIMITERS = {";": "semicolon", "|": "bar", "\t": "tab", ",": "comma"}


@dataclass(frozen=True)
class NamedField:
    """A field that a recipe names; dots separate the keys of a nested field.

    where: the place. by: the setting or step that names it. is_text: rows without it cannot be read. is_either: a name
    with dots may also be that of one field, as the tracer reads it.
    """

    field: str
    where: str
    by: str
    is_text: bool = False
    is_either: bool = False

    def stands_in(self, seen: FileFields) -> bool:
        """Return whether the samples have the field."""
        return seen.has(self.field) or (self.is_either and seen.has(field_name((self.field,))))


def fields_of_steps(steps: Sequence[Step], library: Library) -> list[NamedField]:
    """The fields that steps name, except in SQL, where DuckDB looks them up itself."""
    fields: list[NamedField] = []
    written: set[str] = set()  # by earlier steps, so that no sample needs to have them
    for step in steps:
        operator = library.operators[step.name]
        if key := step.params.get("text_key"):
            fields.append(NamedField(key, step.where, f"{step.name}.text_key", True))
        fields += [named for named in _asked(step, operator.sql) if named.field not in written]
        written |= written_fields([step], library)
    return fields


def written_fields(steps: Sequence[Step], library: Library) -> set[str]:
    """The fields that steps write."""
    return {
        field_name((name,)) for step in steps for name in library.operators[step.name].fields_of(step.params).values()
    }


def _asked(step: Step, body: str) -> Iterator[NamedField]:
    """The fields that an operator reads with `field(language_key)` or `field('url')` in its SQL."""
    for asked in arguments(body, "field"):
        value = step.params.get(asked.text) if asked.is_variable else asked.text
        if isinstance(value, str) and value:
            by = f"{step.name}.{asked.text}" if asked.is_variable else step.name
            yield NamedField(value, step.where, by, is_either=True)


@dataclass(frozen=True)
class FieldNames:
    """The fields that a recipe names.

    named: by the recipe and its steps. of_recipe: those without the steps', which compiling looks up in columns. texts: keys
    of the fields named as text. decides: the samples decide what a field holds, for the recipe does not say how many of
    them may be unreadable.
    """

    named: tuple[NamedField, ...]
    of_recipe: tuple[NamedField, ...]
    texts: tuple[Keys, ...]
    decides: bool

    @staticmethod
    def of(keys: Sequence[NamedField], steps: Sequence[Step], library: Library, decides: bool) -> FieldNames:
        """The fields that a recipe names by its keys and its steps."""
        of_recipe, of_steps = _of_samples(keys), _of_samples(fields_of_steps(steps, library))
        named = (*of_recipe, *of_steps)
        texts = {keys_of(field.field) for field in named if field.is_text}
        return FieldNames(named, of_recipe, tuple(sorted(texts)), decides)


def _of_samples(fields: Sequence[NamedField]) -> tuple[NamedField, ...]:
    """The fields that samples must have: not those that refinery makes."""
    return tuple(named for named in fields if named.field not in _OWN and keys_of(named.field)[0] not in _OWN)


def missing_fields(names: FieldNames, shards: Sequence[Shard]) -> tuple[list[Problem], list[str]]:
    """Problems of fields that no sample has, or that hold no text and should, and notes on what only some samples have.

    Where the first samples of files have a problem, more of the input is looked at. A field that is still missing is a problem
    where nothing was left out, or a field of a similar name is there; else a note. Raises DataError for a file that cannot be read.
    """
    look = first_look(shards)
    problems, notes = _compared(names, look, True)
    if problems and not look.is_typed:
        look = closer_look(shards)
        problems, notes = _compared(names, look, look.whole)
    return list(dict.fromkeys(problems)), list(dict.fromkeys(notes))


def _compared(names: FieldNames, look: InputFields, whole: bool) -> tuple[list[Problem], list[str]]:
    problems: list[Problem] = []
    notes: list[str] = []
    seen = look.glimpses
    for named in names.named:
        problems += _of_other_types(named, seen, names.decides) if named.is_text else []
    for named in (names.of_recipe if look.is_typed else names.named) if seen else ():
        lacking = [glimpse for glimpse in seen if not named.stands_in(glimpse)]
        if len(lacking) < len(seen):
            notes += _notes_of_some(named, seen, lacking) if named.is_text else []
        elif whole or look.is_typed or _near(named, seen):
            problems.append(_problem(named, seen))
        else:
            notes.append(_note_of_none(named, seen))
    return problems, notes


def _of_other_types(named: NamedField, seen: Sequence[FileFields], decides: bool) -> list[Problem]:
    """Text fields that hold something else: in a file with types, or in all the other samples if these decide."""
    wrong = [glimpse for glimpse in seen if glimpse.kind_of(named.field) is not None]
    having = [glimpse for glimpse in seen if not glimpse.typed and glimpse.has(named.field)]
    everywhere = decides and all(glimpse in wrong for glimpse in having)
    for glimpse in wrong:
        if glimpse.typed or everywhere:
            return [_problem_of_type(named, glimpse)]
    return []


def _problem_of_type(named: NamedField, glimpse: FileFields) -> Problem:
    kind, member = glimpse.kind_of(named.field), keys_of(named.field)
    what = f"{'column' if len(member) == 1 else 'field'} {named.field!r} is {kind}, not text"
    if not glimpse.typed:
        what = (
            f"field {named.field!r} is {kind} in all of the {glimpse.samples} examined samples that have it, not text"
        )
    shown = ", ".join(glimpse.texts[:_SHOWN]) + (", ..." if len(glimpse.texts) > _SHOWN else "")
    cure = f"Fields of text there: {shown}." if shown else "No field there is text: write it as text first."
    return Problem(named.where, f"{named.by}: {glimpse.path}: {what}", cure)


def _problem(named: NamedField, seen: Sequence[FileFields]) -> Problem:
    near = _other_encoding(seen) or _other_delimiter(named, seen) or _near(named, seen)
    return Problem(named.where, _missing(named, seen), f"{_there(seen)}{f' {near}' if near else ''}")


def _other_encoding(seen: Sequence[FileFields]) -> str | None:
    """The cure for a header in UTF-16, which is read as names with NUL after or before each character."""
    for name in (name for glimpse in seen for name in glimpse.top):
        if encoding := encoding_without_mark(name.encode()):
            return f"Every second byte is NUL, so the file is UTF-16. Convert it: iconv -f {encoding} -t UTF-8"
    return None


def _other_delimiter(named: NamedField, seen: Sequence[FileFields]) -> str | None:
    """The cure for a header that is one column because its names are separated by another delimiter."""
    for name in (name for glimpse in seen for name in glimpse.top):
        for sign, word in _DELIMITERS.items():
            if sign in name and named.field in [part.strip(' "') for part in name.split(sign)]:
                read = "Files named .csv are separated by commas, those named .tsv by tabs"
                cure = f"name another one: dataset: {{path: ..., delimiter: '{sign}'}}"
                return f"The delimiter seems to be the {word} ({sign!r}). {read}: {cure}."
    return None


def _note_of_none(named: NamedField, seen: Sequence[FileFields]) -> str:
    rest = "The rest of the input was not examined: rows without the field"
    effect = "go into quarantine" if named.is_text else "have NULL in its place"
    return f"{named.where}: {_missing(named, seen)}. {rest} {effect}. {_there(seen)}"


def _missing(named: NamedField, seen: Sequence[FileFields]) -> str:
    paths = list(dict.fromkeys(glimpse.path for glimpse in seen))
    files = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more files"
    looked = sum(glimpse.samples for glimpse in seen)
    samples = f"none of the {looked} examined samples in {files} has" if looked else f"{files} does not have"
    return f"{named.by} names the field {named.field!r}, which {samples}"


def _near(named: NamedField, seen: Sequence[FileFields]) -> str | None:
    """The question whether a field of a similar name is meant."""
    names = sorted({name for glimpse in seen for name in glimpse.names}, key=lambda name: (name.count("."), name))
    return suggestion(named.field, names)


def _there(seen: Sequence[FileFields]) -> str:
    top = list(dict.fromkeys(name for glimpse in seen for name in glimpse.top))
    return f"Fields there: {', '.join(top[:_SHOWN])}{', ...' if len(top) > _SHOWN else ''}."


def _notes_of_some(named: NamedField, seen: Sequence[FileFields], lacking: Sequence[FileFields]) -> list[str]:
    """Notes on files in which no sample has a text field that others have."""
    having = {glimpse.path for glimpse in seen if named.stands_in(glimpse)}
    return [_note(named, glimpse) for glimpse in lacking if glimpse.path not in having]


def _note(named: NamedField, glimpse: FileFields) -> str:
    shown = ", ".join(glimpse.top[:_SHOWN])
    cure = f"it has {shown}"
    return f"{glimpse.path}: no examined sample has the field {named.field!r} of {named.by}: {cure}"

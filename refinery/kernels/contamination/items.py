"""Items of evaluation sets: prompts, passages and answers, from fields with their usual names or with names that are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from refinery.common.paths import printable
from refinery.errors import did_you_mean
from refinery.kernels.contamination.set_files import Row, SetError, below, files_of, rows_of, written

PROMPT, PASSAGE, CHOICES, ANSWER, ID = "prompt", "passage", "choices", "answer", "id"
PARTS = (PROMPT, CHOICES, ANSWER)  # in this order the text of an item; a passage is a text of its own
SETTINGS = ("path", "split", PROMPT, PASSAGE, CHOICES, ANSWER, ID)

# Usual names of fields, in lower case.
NAMES: dict[str, tuple[str, ...]] = {
    PROMPT: (
        "question", "prompt", "query", "problem", "instruction", "input", "goal", "ctx", "question_stem", "premise", "hypothesis",
        "sentence", "claim", "statement", "task_description", "question_text", "messages", "stem", "body",
    ),
    PASSAGE: ("passage", "context", "article", "story", "paragraph", "document", "support", "background", "reading"),
    CHOICES: (
        "choices", "options", "endings", "candidates", "option_a", "option_b", "option_c", "option_d", "opa", "opb", "opc", "opd",
        "a", "b", "c", "d", "e", "sol1", "sol2", "choice1", "choice2", "answera", "answerb", "answerc", "ending1", "ending2",
        "distractor1", "distractor2", "distractor3", "correct_answer_text", "option1", "option2", "mc1_targets",
    ),
    ANSWER: (
        "answer", "answers", "solution", "solutions", "canonical_solution", "output", "target", "targets", "label", "labels", "correct_answer",
        "best_answer", "response", "reference", "references", "code", "completion", "gold", "rationale", "explanation",
    ),
    ID: ("id", "task_id", "question_id", "qid", "idx", "uid", "item_id", "problem_id", "uuid", "_id"),
}  # fmt: skip
_ALONE = ("text", "content", "sentence", "item")  # a field that holds all of an item, if no other is known


class Item(NamedTuple):
    """One item. place: its id, or else file and number. passages, parts: texts; the parts have their fields' names."""

    place: str
    passages: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]


class EvaluationSet(NamedTuple):
    """An evaluation set of a recipe. settings: fields for the parts of items, and the split; all may be missing."""

    name: str
    path: str
    settings: Mapping[str, Any]


def evaluation_sets(sets: Any) -> list[EvaluationSet]:
    """The sets that a recipe names: a path, several, or paths or mappings by name. Raises SetError."""
    if isinstance(sets, Mapping):
        named = [_named(name, value) for name, value in sets.items()]
    else:
        paths = [sets] if isinstance(sets, str) else list(sets)
        named = [EvaluationSet(name_of(path), path, {}) for path in paths]
    names = [one.name for one in named]
    for name in names:
        if names.count(name) > 1:
            raise SetError(f"two sets have the name {name!r}; write sets as a mapping of names to paths")
    if not named:
        raise SetError("sets is empty: name a file or folder of an evaluation set")
    return named


def name_of(path: str) -> str:
    """The name of a set or task without one: the file's or folder's up to the first point."""
    return printable(Path(path).name.split(".")[0]) or "set"


def _named(name: str, value: Any) -> EvaluationSet:
    if isinstance(value, str):
        return EvaluationSet(name, value, {})
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str):
        raise SetError(f"set {name}: write a path, or a mapping with path and names of fields")
    for key in value:
        if key not in SETTINGS:
            raise SetError(
                f"set {name} has no setting {key!r}{did_you_mean(str(key), SETTINGS)}; it has {', '.join(SETTINGS)}"
            )
    for part in NAMES:
        fields = value.get(part)
        if fields is not None and not all(isinstance(field, str) for field in _listed(fields)):
            raise SetError(f"set {name}: {part} is {fields!r}; write the name of a field, or a list of names")
    return EvaluationSet(name, value["path"], value)


def files_of_set(one: EvaluationSet) -> list[str]:
    """The files of a set. Raises SetError."""
    return files_of(one.path, str(one.settings.get("split") or ""))


def items_of(one: EvaluationSet) -> Iterator[Item]:
    """The items of a set, in order, each with another name. Raises SetError for a file without known fields, or without an item."""
    chosen: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}  # by the fields of a row
    missing: dict[str, str] = {}  # fields that the recipe names and no row has had yet, and where
    names: set[str] = set()
    count = with_text = 0
    for file in files_of_set(one):
        for place, row in rows_of(file, below(file, one.path)):
            shape = tuple(row)
            if shape not in chosen:
                chosen[shape] = _fields(one, row, f"{printable(file)} ({place})")
                _note_missing(one, row, f"{printable(file)} ({place})", missing, not count)
            count += 1
            item = _item(place, row, chosen[shape])
            if item.place in names:  # several rows have the id
                item = item._replace(place=f"{item.place} ({place})")
            names.add(item.place)
            with_text += bool(item.passages or item.parts)
            yield item
    if not count:
        raise SetError(f"{printable(one.path)}: there is no item")
    if missing:
        raise SetError(next(iter(missing.values())))
    if not with_text:
        raise SetError(
            f"{printable(one.path)}: no item has a text in its fields; name the fields that have, as {PROMPT}: FIELD"
        )


def _note_missing(one: EvaluationSet, row: Row, where: str, missing: dict[str, str], first: bool) -> None:
    """Keep the fields that the recipe names and no row has: a typing error, while a missing value of some rows is none."""
    for name in (name for part in NAMES for name in _named_fields(one, part)):
        if name in row:
            missing.pop(name, None)
        elif first:
            suggestion = did_you_mean(name, [*map(written, row)])
            missing[name] = f"{where}: set {one.name} has no field {name!r}{suggestion}"


def _named_fields(one: EvaluationSet, part: str) -> tuple[str, ...]:
    """The fields of a part that the recipe names."""
    return _listed(one.settings.get(part) or ())


def _listed(fields: Any) -> tuple[Any, ...]:
    return tuple(fields) if isinstance(fields, (list, tuple)) else (fields,)


def _fields(one: EvaluationSet, row: Row, where: str) -> dict[str, tuple[str, ...]]:
    """The fields of each part of an item. Raises SetError."""
    chosen = {part: names for part in NAMES if (names := _named_fields(one, part))}
    given = [*chosen]
    if not {*given} - {ID}:
        chosen |= {
            part: tuple(name for name in row if str(name).lower() in names)
            for part, names in NAMES.items()
            if part != ID
        }
    if ID not in chosen:
        chosen[ID] = tuple(name for name in row if str(name).lower() in NAMES[ID])[:1]
    if not any(chosen.get(part) for part in (PROMPT, PASSAGE)) and not given:
        alone = [name for name in row if str(name).lower() in _ALONE][:1]
        if not row:
            raise SetError(f"{where}: an item without fields; leave it out of the set")
        if not alone and not chosen[ANSWER]:
            raise SetError(
                f"{where}: none of the fields {', '.join(map(written, row))} has a usual name of a prompt or passage; write "
                f"sets: {{{one.name}: {{path: ..., {PROMPT}: FIELD, {ANSWER}: FIELD}}}}"
            )
        chosen[PROMPT] = tuple(alone)
    return chosen


def _item(place: str, row: Row, fields: Mapping[str, Sequence[str]]) -> Item:
    texts = {part: [text for name in fields.get(part, ()) if (text := _text(row.get(name)))] for part in NAMES}
    if texts[CHOICES] and all(isinstance(row.get(name), int) for name in fields.get(ANSWER, ())):
        texts[ANSWER] = []  # the number of the right choice
    parts = tuple((part, "\n".join(texts[part])) for part in PARTS if texts[part])
    return Item(texts[ID][0] if texts[ID] else place, tuple(texts[PASSAGE]), parts)


def _text(value: Any) -> str:
    """The text of a field: of a list or mapping (choices, answers, messages) the texts in it."""
    if isinstance(value, Mapping):
        kept = value.get("text", value.get("content", value.get("choices")))
        return _text(kept if kept is not None else list(value.values()))
    if isinstance(value, (list, tuple)):
        return "\n".join(text for item in value if (text := _text(item)))
    if value is None or isinstance(value, (bool, bytes)):
        return ""
    return written(value).strip()

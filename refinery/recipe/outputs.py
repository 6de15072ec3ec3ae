"""Keys of a recipe that say what is written and how: `export_fields`, `partition_by`, `removed_path`."""

from __future__ import annotations

from collections.abc import Iterator

from refinery.common.fields import OTHERS, NamedFields, keys_of
from refinery.errors import suggestion
from refinery.recipe.key import RecipeKey
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, Sequence, describe
from refinery.recipe.values import take

_NAME = RecipeKey("export_fields", "str", "")
_SQL = RecipeKey("partition_by", "sql", "")
_FORMS = "Write a list of fields, [id, text], or a mapping of fields to their new names, {text: content}."
_LEFT_OUT = "-"
# Columns of a file of removed samples that tell why a sample was removed.
REMOVED_COLUMNS = ("_row", "step", "operator", "name", "reason", "statistic", "value", "bound", "kept_instead")

# A field as it is written, its new name (None: left out), and the node with its place.
_Named = tuple[str, str | None, Node]


def read_export_fields(entry: Entry | None, problems: Problems) -> NamedFields:
    """Pairs of a field and its name in the export, None where it is left out; errors are added to `problems`."""
    node = _structure(entry)
    if node is None:
        return ()
    named = list(_of_mapping(node, problems) if isinstance(node, Mapping) else _of_list(node, problems))
    before = len(problems.found)
    fields: dict[str, str | None] = {}
    for field, name, item in named:
        if not field or not all(keys_of(field)) or name == "":
            problems.add(item.place, f"export_fields names the field {field!r}, which has an empty part")
        elif field in fields:
            problems.add(item.place, f"export_fields names {field!r} twice")
        else:
            fields[field] = name
    _check_names(fields, named, node, problems)
    return tuple(fields.items()) if len(problems.found) == before else ()


def _structure(entry: Entry | None) -> Node | None:
    """The value of a key that takes a text, a list or a mapping; None where nothing is set."""
    node = entry.node if entry is not None else None
    if isinstance(node, Scalar) and node.collection is not None:
        node = node.collection
    if isinstance(node, Scalar) and (node.broken or (node.value is None and (node.plain or node.text is None))):
        return None
    return node


def _of_list(node: Node, problems: Problems) -> Iterator[_Named]:
    """Fields of a list, which keep their names; a nested one has that of its last key. `-name` leaves one out."""
    items = _listed(node)
    if not items:
        problems.add(node.place, "export_fields is empty", _FORMS)
    texts = [take(item, _NAME, "export_fields", problems, "").strip() for item in items]
    drops = any(text.startswith(_LEFT_OUT) for text in texts)
    if drops and OTHERS not in texts:
        yield OTHERS, OTHERS, node
    for text, item in zip(texts, items, strict=True):
        if text.startswith(_LEFT_OUT):
            yield text[1:].strip(), None, item
        elif drops and text != OTHERS:
            what = f"export_fields chooses {text!r} and leaves out other fields, which are not chosen anyway"
            problems.add(item.place, what, "Write either the fields to choose, or those to leave out.")
        elif text:
            yield text, OTHERS if text == OTHERS else keys_of(text)[-1], item


def _listed(node: Node) -> list[Node]:
    """Items of a list; a text is a list of one, an option a list with commas."""
    if isinstance(node, Sequence):
        return node.items
    if isinstance(node, Scalar) and node.option and node.text is not None:
        parts = [part.strip() for part in node.text.split(",")]
        return [Scalar(part, part, node.place, plain=False) for part in parts if part]
    return [node]


def _of_mapping(node: Mapping, problems: Problems) -> Iterator[_Named]:
    """Fields of a mapping to new names: a text, null or false to leave the field out, true for its own name."""
    for field, entry in node.entries.items():
        item, own = entry.node, OTHERS if field == OTHERS else keys_of(field)[-1]
        value = item.value if isinstance(item, Scalar) and (item.plain or item.text is None) else ""
        if isinstance(item, Scalar) and item.broken:
            continue
        if field == OTHERS and not (value is True or value is None):
            problems.add(item.place, f"export_fields: '*' must be true, not {describe(item)}", "Write '*': true.")
        elif field == OTHERS or value is True:
            yield field, own, item
        elif value is None or value is False:
            yield field, None, item
        else:
            yield field, take(item, _NAME, f"export_fields.{field}", problems, "").strip(), item


def _check_names(fields: dict[str, str | None], named: list[_Named], node: Node, problems: Problems) -> None:
    """Check that no two fields get one name, that a field which is left out would otherwise stay, and that one stays."""
    places = {field: item.place for field, _, item in named}
    goals: dict[str, str] = {}
    for field, name in fields.items():
        if field == OTHERS:
            continue
        if name is None and OTHERS not in fields:
            hint = "Add '*': true if all other fields are to stay."
            problems.add(places[field], f"export_fields leaves out {field!r}, which is not chosen anyway", hint)
        elif name is not None and goals.setdefault(name, field) != field:
            hint = f"Give one of them another name: {{{field}: {name}_2}}."
            problems.add(places[field], f"export_fields gives {goals[name]!r} and {field!r} the name {name!r}", hint)
    if fields and all(name is None for name in fields.values()):
        problems.add(node.place, "export_fields leaves out every field", _FORMS)


def read_partition(entry: Entry | None, problems: Problems, key: str = "partition_by") -> tuple[tuple[str, str], ...]:
    """Pairs of name and SQL, from a text, a list of texts (each its own name), or a mapping of names to texts."""
    node = _structure(entry)
    if node is None:
        return ()
    if isinstance(node, Mapping):
        items = [(name, field.node) for name, field in node.entries.items()]
    else:
        items = [("", item) for item in (node.items if isinstance(node, Sequence) else [node])]
    found: dict[str, str] = {}
    for name, item in items:
        sql = take(item, _SQL, key, problems, "").strip()
        name = name or _own_name(sql)
        if not sql:
            problems.add(item.place, f"{key} has an empty expression", "Name a column, or write SQL.")
        elif not name:
            hint = f"Write {key}: {{name: {sql}}}."
            problems.add(item.place, f"{key} has the expression {sql!r}, which needs a name for its folders", hint)
        elif found.setdefault(name, sql) != sql:
            problems.add(item.place, f"{key} has the name {name!r} twice")
    return tuple(found.items())


def _own_name(sql: str) -> str:
    """The name of a column or a nested field that stands alone; "" for any other SQL."""
    parts = keys_of(sql)
    plain = all(part and (f'"{part}"' in sql or part.isidentifier()) for part in parts)
    return parts[-1] if plain else ""


def check_kept(names: tuple[str, ...], entries: dict[str, Entry], problems: Problems) -> None:
    """Check the names of `keep_fields`."""
    for at, name in enumerate(names):
        place = entries["keep_fields"].node.place
        if not name or not all(keys_of(name)):
            problems.add(place, f"keep_fields names the field {name!r}, which has an empty part")
        elif name in names[:at]:
            problems.add(place, f"keep_fields names {name!r} twice")


def check_removed(values: dict[str, object], entries: dict[str, Entry], problems: Problems) -> None:
    """Check the keys of the removed samples."""
    path, by = values["removed_path"], values["removed_partition_by"]
    if by is not None and path is None:
        place = entries["removed_partition_by"].place
        problems.add(place, "removed_partition_by has no effect without removed_path", "Name a folder in removed_path.")
    for name in by if isinstance(by, tuple) else ():
        if not name or not all(keys_of(name)):
            place = entries["removed_partition_by"].node.place
            hint = suggestion(name, REMOVED_COLUMNS)
            problems.add(place, f"removed_partition_by names the field {name!r}, which has an empty part", hint)

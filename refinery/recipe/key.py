"""The declaration of a recipe's key, beside the field that holds its value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_REFERENCE = re.compile(rf"[:,] see {_LINK.pattern}| \({_LINK.pattern}\)")
_KEYS = "keys"


@dataclass(frozen=True)
class RecipeKey:
    """One key.

    type: as for parameters of operators, and `strings` (one text or a list of texts), `count_or_all`, `count_or_share`
    (a number, or text such as 0.1%), `share` (up to 1, or text such as 1%), `size` (bytes, or text such as 128MB), `paths`, `mapping`, `list`. doc: Markdown
    for docs/recipes.md. own: not a key of Data-Juicer. note: the key is accepted without effect, for this reason.
    refuses: the key would change the result if ignored, so any value but the default is an error with this cure. alias:
    the key that this one is another name of. below: the key below which it stands.
    """

    name: str
    type: str
    default: Any
    doc: str = ""
    choices: tuple[Any, ...] | None = None
    min: float | None = None
    max: float | None = None
    nullable: bool = False
    note: str = ""
    refuses: str = ""
    own: bool = False
    alias: str = ""
    below: str = ""

    @property
    def help(self) -> str:
        """The description without links to other pages, for terminals and editors."""
        return _LINK.sub(r"\1", _REFERENCE.sub("", self.doc))


def key(type: str, default: Any, doc: str = "", **more: Any) -> Any:
    """Declare a dataclass field with the value of the key of the field's name. more: of RecipeKey."""
    return read_from(RecipeKey("", type, default, doc, **more), default=default)


def read_from(*keys: RecipeKey, default: Any, compare: bool = True) -> Any:
    """Declare a dataclass field whose value is read from keys; a key without a name has that of the field.

    default: the field's own, which may differ from that of the keys. compare: as for dataclasses; secrets do not.
    """
    return field(default=default, compare=compare, repr=compare, metadata={_KEYS: keys})


def declared_keys(declaration: type, below: str = "") -> dict[str, RecipeKey]:
    """The keys that the fields of a dataclass declare, by name, in the order of the fields."""
    keys = [
        replace(made, name=made.name or declared.name)
        for declared in fields(declaration)
        for made in declared.metadata.get(_KEYS, ())
    ]
    return {made.name: made for made in keys if made.below == below}

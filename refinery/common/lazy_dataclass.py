"""Dataclasses whose methods are made at their first use.

Python generates and compiles six methods for a frozen dataclass, which takes half a millisecond. A command loads more than
a hundred dataclasses, makes objects of half of them, and compares or prints few.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

_FIELDS = "__dataclass_fields__"
_MATCH_ARGS = "__match_args__"
_INIT = "__init__"
# What the standard decorator adds to a class. `inspect.signature` asks for the last one.
_MADE = (_FIELDS, _MATCH_ARGS, _INIT, "__repr__", "__eq__", "__hash__", "__dataclass_params__", "__signature__")
# What a class has by itself, and no copy of it may have.
_OF_CLASS = frozenset(
    {"__dict__", "__weakref__", "__setattr__", "__delattr__", "__annotate_func__", "__annotations_cache__"}
)
_lock = RLock()


class _Declared(NamedTuple):
    """A class as declared. fields: the values that `field(...)` returned."""

    cls: type
    options: dict[str, bool]
    fields: dict[str, Any]


class _Later:
    """Stand-in for an attribute that the standard decorator makes, until its first use."""

    def __init__(self, name: str, declared: _Declared) -> None:
        self._name, self._declared = name, declared

    def __get__(self, instance: Any, owner: type) -> Any:
        name, declared = self._name, self._declared
        with _lock:
            if declared.cls.__dict__.get(name) is self:  # no other thread was faster
                if name == _INIT:
                    _make_constructor(declared)
                elif name in (_FIELDS, _MATCH_ARGS) or name in declared.fields:
                    _make_fields(declared)
                else:
                    _make_all(declared)
        return getattr(owner if instance is None else instance, name)


def _move(made: Mapping[str, Any], names: list[str], cls: type) -> None:
    """Move attributes in place of the stand-ins of a class; take a stand-in away for which nothing was made."""
    for name in names:
        if type(cls.__dict__.get(name)) is not _Later:
            continue
        if name in made:
            setattr(cls, name, made[name])
        else:
            delattr(cls, name)


def _make_fields(declared: _Declared) -> None:
    """Make the fields on an empty class that has the same annotations and defaults: nothing is compiled.

    The types are added afterwards, because each text is searched for `ClassVar`, which is not supported.
    """
    cls, annotations = declared.cls, inspect.get_annotations(declared.cls)
    space = {name: value for name, value in cls.__dict__.items() if name in annotations} | declared.fields
    space |= {
        "__annotations__": dict.fromkeys(annotations, object),
        "__module__": cls.__module__,
        "__doc__": "Not from the signature.",
    }
    made = type(cls.__name__, (), space)
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=declared.options["kw_only"])(made)
    fields: dict[str, dataclasses.Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= getattr(base, _FIELDS, {})
    for field in dataclasses.fields(made):
        field.type, fields[field.name] = annotations[field.name], field
    found = {_FIELDS: fields, _MATCH_ARGS: tuple(f.name for f in fields.values() if f.init and not f.kw_only)}
    _move(made.__dict__ | found, [*declared.fields, _MATCH_ARGS, _FIELDS], cls)


def _make_constructor(declared: _Declared) -> None:
    """Compile the constructor alone, equal to the standard one; `InitVar` is not supported."""
    cls, options, _ = declared
    try:
        made = _constructor(dataclasses.fields(cls), options["frozen"], hasattr(cls, "__post_init__"))
    except SyntaxError:
        return _make_all(declared)  # raises the standard error
    made.__qualname__ = f"{cls.__qualname__}.{_INIT}"
    cls.__init__ = made  # type: ignore[misc]


def _constructor(fields: tuple[dataclasses.Field[Any], ...], frozen: bool, checked: bool) -> Any:
    """checked: the class has a method that is called at the end."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": object()}
    positional, named, body = ["self"], ["*"], list[str]()
    for field in fields:
        name = value = argument = field.name
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"], argument = field.default, f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_factory_{name}"], argument = field.default_factory, f"{name}=_absent"
            value = f"_factory_{name}()" + (f" if {name} is _absent else {name}" if field.init else "")
        if field.init:
            (named if field.kw_only else positional).append(argument)
        if field.init or field.default_factory is not dataclasses.MISSING:
            body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if checked:
        body.append("self.__post_init__()")
    arguments = ", ".join([*positional, *(named if named[1:] else [])])
    exec(f"def __init__({arguments}):\n " + "\n ".join(body or ["pass"]), known)
    return known[_INIT]


def _make_all(declared: _Declared) -> None:
    """Make all attributes on a copy of the class, and move them to the class.

    The standard decorator makes nothing that a class has. If the class itself lost its stand-ins first, other threads would
    meet a class without a constructor.
    """
    cls = declared.cls
    waiting = [name for name, value in cls.__dict__.items() if type(value) is _Later]
    members = {name: value for name, value in cls.__dict__.items() if name not in _OF_CLASS and name not in waiting}
    members |= {**declared.fields, "__annotations__": inspect.get_annotations(cls), "__qualname__": cls.__qualname__}
    copy = types.new_class(cls.__name__, cls.__bases__, exec_body=lambda space: space.update(members))
    _move(dataclasses.dataclass(**declared.options)(copy).__dict__, waiting, cls)


def _freeze(cls: type) -> None:
    """Refuse assignments, as the standard decorator does with methods that it compiles for each class."""

    def refuse(self: Any, name: str) -> None:
        if type(self) is cls or name in getattr(cls, _FIELDS):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def set_attribute(self: Any, name: str, value: Any) -> None:
        refuse(self, name)
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    def delete_attribute(self: Any, name: str) -> None:
        refuse(self, name)
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    cls.__setattr__, cls.__delattr__ = set_attribute, delete_attribute  # type: ignore[method-assign,assignment]


def _deferred(cls: type, options: dict[str, bool]) -> type:
    fields = {name: value for name, value in cls.__dict__.items() if isinstance(value, dataclasses.Field)}
    declared = _Declared(cls, options, fields)
    for name in (*fields, *(name for name in _MADE if name not in cls.__dict__)):
        setattr(cls, name, _Later(name, declared))
    if options["frozen"]:
        _freeze(cls)
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, *, frozen: bool = False, kw_only: bool = False) -> Any:
        """Declare a dataclass, as `dataclasses.dataclass` does; errors in its fields are raised at its first use."""
        options = {"frozen": frozen, "kw_only": kw_only}
        return _deferred(cls, options) if cls is not None else lambda declared: _deferred(declared, options)

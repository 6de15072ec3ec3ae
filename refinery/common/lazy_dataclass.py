"""Dataclasses whose methods are made at their first use.

Python generates and compiles six methods for a frozen dataclass, which takes half a millisecond. A command loads more than
a hundred dataclasses and uses half of them.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from threading import RLock
from typing import TYPE_CHECKING, Any

# What the standard decorator adds to a class. `inspect.signature` asks for the last one.
_FIELDS = "__dataclass_fields__"
_MADE = (
    "__init__",
    "__repr__",
    "__eq__",
    "__hash__",
    "__match_args__",
    "__dataclass_params__",
    _FIELDS,
    "__signature__",
)
# What a class has by itself, and no copy of it may have.
_OF_CLASS = frozenset(
    {"__dict__", "__weakref__", "__setattr__", "__delattr__", "__annotate_func__", "__annotations_cache__"}
)
_lock = RLock()


class _Later:
    """Stand-in for an attribute that the standard decorator makes: its first use makes all attributes of the class.

    declared: the value that the class had for a field made by `field(...)`.
    """

    def __init__(self, cls: type, name: str, options: dict[str, bool], declared: Any = None) -> None:
        self._class, self._name, self._options, self.declared = cls, name, options, declared

    def __get__(self, instance: Any, owner: type) -> Any:
        with _lock:
            if self._class.__dict__.get(self._name) is self:  # no other thread was faster
                _complete(self._class, self._options)
        return getattr(owner if instance is None else instance, self._name)


def _complete(cls: type, options: dict[str, bool]) -> None:
    """Make the attributes on a copy of the class, and move each in place of its stand-in.

    The standard decorator makes nothing that a class has. If the class itself lost its stand-ins first, other threads would
    meet a class without a constructor.
    """
    waiting = {name: value for name, value in cls.__dict__.items() if type(value) is _Later}
    members = {name: value for name, value in cls.__dict__.items() if name not in _OF_CLASS and name not in waiting}
    members |= {name: later.declared for name, later in waiting.items() if later.declared is not None}
    members |= {"__annotations__": inspect.get_annotations(cls), "__qualname__": cls.__qualname__}
    copy = types.new_class(cls.__name__, cls.__bases__, exec_body=lambda space: space.update(members))
    made = dataclasses.dataclass(**options)(copy).__dict__
    for name in waiting:
        if name in made:
            setattr(cls, name, made[name])
        else:
            delattr(cls, name)


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
    for name, declared in [pair for pair in cls.__dict__.items() if isinstance(pair[1], dataclasses.Field)]:
        setattr(cls, name, _Later(cls, name, options, declared))
    for name in _MADE:
        if name not in cls.__dict__:
            setattr(cls, name, _Later(cls, name, options))
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

"""Dataclasses whose methods are made at their first use: the same as those of the standard decorator."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import sys
import threading
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.common.lazy_dataclass import dataclass

PACKAGE = Path(refinery.__file__).parent


@dataclass(frozen=True)
class Frozen:
    """An example."""

    number: int
    text: str = "a"
    numbers: list[int] = field(default_factory=list, compare=False)
    hidden: int = field(default=3, repr=False)

    @cached_property
    def twice(self) -> int:
        return 2 * self.number


@dataclass
class Open:
    number: int
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log.append("made")


@dataclass(frozen=True)
class Below(Frozen):
    more: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Named:
    first: int
    second: int = 2

    def __str__(self) -> str:
        return "named"


class Plain(Frozen):
    """No dataclass itself."""


def fresh(frozen: bool = True) -> Any:
    """A class that nothing has used yet."""

    class Fresh:
        number: int
        text: str = field(default="a", metadata={"why": "test"})

    return dataclass(frozen=frozen)(Fresh)


def test_the_methods_are_those_of_the_standard_decorator() -> None:
    one = Frozen(1, numbers=[1])
    assert repr(one) == "Frozen(number=1, text='a', numbers=[1])" and one.hidden == Frozen.hidden == 3
    assert one == Frozen(1) and hash(one) == hash(Frozen(1)) and one != Frozen(2) and one.twice == 2
    assert dataclasses.replace(one, text="b") == Frozen(1, "b") and dataclasses.asdict(one)["numbers"] == [1]
    assert Frozen.__match_args__ == ("number", "text", "numbers", "hidden") and not hasattr(Frozen, "numbers")
    assert [(field.name, field.type) for field in dataclasses.fields(Below)] == [
        ("number", "int"),
        ("text", "str"),
        ("numbers", "list[int]"),
        ("hidden", "int"),
        ("more", "float"),
    ]
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'number'"):
        Frozen()  # type: ignore[call-arg]


def test_open_derived_and_named() -> None:
    made = Open(1)
    made.number = 2
    assert made == Open(2) and made.log == ["made"] and Open.__hash__ is None
    assert Below(1, more=2.0) == Below(1, "a", [], 3, 2.0) != Frozen(1) and Plain(4).number == 4
    assert Named(first=1).second == 2 and str(Named(first=1)) == "named"
    with pytest.raises(TypeError, match="positional"):
        Named(1)


@pytest.mark.parametrize("kind", [Frozen, Below])
def test_assignments_to_frozen_ones_are_refused(kind: type[Frozen]) -> None:
    made = kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'number'"):
        made.number = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.text
    assert made == kind(1)


def test_a_plain_subclass_may_have_attributes_of_its_own() -> None:
    made: Any = Plain(1)
    made.other = 2
    del made.other
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.number = 2


@pytest.mark.parametrize(
    "use",
    [
        lambda kind: dataclasses.fields(kind)[1].metadata["why"] == "test",
        dataclasses.is_dataclass,
        lambda kind: kind.text == "a",
        lambda kind: list(inspect.signature(kind).parameters) == ["number", "text"],
        lambda kind: kind.__match_args__ == ("number", "text"),
        lambda kind: kind(number=1).number == 1,
        lambda kind: kind.__new__(kind) != 1,
        lambda kind: repr(kind).endswith("Fresh'>"),
        lambda kind: kind(1) == kind(number=1) and kind.text == "a" and "text" in kind.__dataclass_fields__,
    ],
)
def test_any_first_use_is_right(use: Any) -> None:
    assert use(fresh())
    assert use(fresh(frozen=False))


def test_a_copy_without_a_constructor_is_equal_and_frozen() -> None:
    kind = fresh()
    made = kind.__new__(kind)
    made.__dict__.update(number=1, text="a")  # as pickle does
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.number = 2
    assert made == kind(1) and hash(made) == hash(kind(1)) and repr(made).endswith("Fresh(number=1, text='a')")


class Declared:
    """Every kind of field, undecorated."""

    one: int
    two: int = 2
    three: list[int] = field(default_factory=list)
    four: list[int] = field(default_factory=list, init=False)
    five: int = field(default=5, init=False)
    six: int = field(kw_only=True)
    seven: list[int] = field(default_factory=list, kw_only=True)

    def __post_init__(self) -> None:
        self.four.append(self.two)


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"kw_only": True}], ids=str)
@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((1,), {"six": 6}),
        ((), {"one": 1, "six": 6}),
        ((1, 3, [4]), {"six": 6, "seven": [7]}),
        ((1,), {}),
        ((1, 2, [3], 4), {"six": 6}),
        ((1,), {"six": 6, "five": 5}),
    ],
    ids=str,
)
def test_the_constructor_is_the_standard_one(options: dict[str, bool], args: Any, named: Any) -> None:
    def made(decorate: Any) -> Any:
        kind = decorate(**options)(type("Kind", (), dict(Declared.__dict__)))
        try:
            return list(vars(kind(*args, **named)).items())
        except TypeError as error:
            return str(error)

    assert made(dataclass) == made(dataclasses.dataclass)


def test_fields_with_errors_are_refused_at_the_first_use() -> None:
    class Wrong:
        first: int = 1
        second: str

    kind: Any = dataclass(frozen=True)(Wrong)
    for _ in range(2):
        with pytest.raises(TypeError, match="non-default argument 'second' follows default argument"):
            kind(1, "a")


def test_the_package_declares_its_dataclasses_by_it() -> None:
    only_standard = re.compile(r"^(?:from|import) .*\b(?:InitVar|ClassVar)\b", re.MULTILINE)
    assert not [path for path in PACKAGE.rglob("*.py") if only_standard.search(path.read_text())]
    standard = re.compile(r"^from dataclasses import .*\bdataclass\b|\bdataclasses\.dataclass\b", re.MULTILINE)
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if standard.search(path.read_text())}
    assert found == {"common/lazy_dataclass.py", "stats/placing.py"}  # the second one compares its objects by order


def test_threads_that_use_a_class_first_at_the_same_time() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            kind, made = fresh(), list[Any]()
            gate = threading.Barrier(4)

            def use(kind: Any = kind, made: list[Any] = made, gate: threading.Barrier = gate) -> None:
                gate.wait()
                made.append(kind(number=1))

            threads = [threading.Thread(target=use) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert made == [kind(1)] * 4
    finally:
        sys.setswitchinterval(before)

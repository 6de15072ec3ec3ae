"""The SQL functions of an operator as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from refinery.compiler.templates import ident

# The first parameter of every function.
TEXT = "text"


@dataclass(frozen=True)
class Parameter:
    """A named argument. default: its SQL."""

    name: str
    default: str


@dataclass(frozen=True)
class SqlFunction:
    """A scalar macro. operator: whose step it computes. returns: its type. body: its SQL expression.

    lasting: it is the same whenever it is made, so it can be stored.
    """

    name: str
    operator: str
    returns: str
    parameters: tuple[Parameter, ...]
    body: str
    lasting: bool = False

    @property
    def signature(self) -> str:
        """The function with its arguments: `words_num_filter(text, min_num := 10)`."""
        named = [f"{ident(one.name)} := {one.default}" for one in self.parameters]
        return f"{ident(self.name)}({', '.join([TEXT, *named])})"

    @property
    def statement(self) -> str:
        """The statement that creates the macro in a connection; nothing is written to the user's database."""
        return f"CREATE OR REPLACE TEMP MACRO {self.signature} AS {self.body}"

"""Kernels: Python functions that the build compiles to machine code, and the instructions that they are made of.

A run loads the built library (`library`) and imports no compiler. With `REFINERY_KERNELS=python` the functions run as
plain Python (`python_form`), for debugging. `refinery.kernels.build` compiles them, with numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial, update_wrapper
from importlib import import_module
from typing import Any

from refinery.common.extras import lacks
from refinery.errors import OperatorError
from refinery.kernels.core import library
from refinery.kernels.core.python_form import python_form
from refinery.kernels.core.signatures import Signature, parse

PACKAGE = "refinery.kernels."


class Kernel:
    """A function that other kernels call. It borrows its arrays and allocates nothing.

    py_func: the Python function. options: of numba's `njit`, beside `nogil`.
    """

    __name__: str

    def __init__(self, py_func: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, py_func)
        self.py_func = py_func
        self.options = options

    @property
    def name(self) -> str:
        """Module in this package, and function."""
        return f"{self.__module__.removeprefix(PACKAGE)}.{self.__name__}"

    @cached_property
    def python(self) -> Callable[..., Any]:
        """The function as plain Python."""
        return python_form(self.py_func)

    def __call__(self, *args: Any) -> Any:
        """Run the plain Python: machine code of such a function is a part of others only."""
        return self.python(*args)


class Entry(Kernel):
    """A kernel that Python calls, for arguments of the declared types."""

    def __init__(self, py_func: Callable[..., Any], declaration: str, records: Sequence[type] = ()) -> None:
        super().__init__(py_func)
        self._declared = declaration, records
        self._call: Callable[..., Any] | None = None

    @cached_property
    def signature(self) -> Signature:
        """Types of the arguments and of the result."""
        return parse(*self._declared)

    def __call__(self, *args: Any) -> Any:
        """Run the machine code. Raises TypeError for arguments of other types, OperatorError where it is not built."""
        if self._call is None:
            self._call = self.python if library.in_python() else library.function(self.name, self.signature)
        return self._call(*args)


class Instruction(Kernel):
    """An instruction written for LLVM by hand. The Python function is its meaning.

    llvm: makes the function for numba's `intrinsic` (see `refinery.kernels.llvm`).
    """

    def __init__(self, py_func: Callable[..., Any], llvm: Callable[[], Callable[..., Any]]) -> None:
        super().__init__(py_func)
        self.llvm = llvm

    @property
    def python(self) -> Callable[..., Any]:
        """The meaning, whose numpy is numpy's own."""
        return self.py_func


def kernel(function: Callable[..., Any]) -> Any:
    """Decorator of a function that other kernels call."""
    return Kernel(function) if _is_ours(function) else _compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """As `kernel`, for a helper in the innermost loop: its machine code becomes a part of the caller's."""
    return Kernel(function, forceinline=True) if _is_ours(function) else _compiled(function, forceinline=True)


def entry(declaration: str, *records: type) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a kernel that Python calls.

    declaration: types of the arguments and of the result, as in `signatures`. records: the NamedTuples in it.
    """

    def decorated(function: Callable[..., Any]) -> Any:
        return Entry(function, declaration, records) if _is_ours(function) else _compiled(function)

    return decorated


def instruction(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of the meaning of an instruction. name: module and function below `refinery.kernels.llvm`."""
    return lambda function: Instruction(function, partial(llvm_form, name))


def llvm_form(name: str, *arguments: Any) -> Callable[..., Any]:
    """The function for numba's `intrinsic` of a name, or the one that the named function makes of arguments."""
    module, _, function = name.rpartition(".")
    form: Callable[..., Any] = getattr(import_module(f"{PACKAGE}llvm.{module}"), function)
    return form(*arguments) if arguments else form


def _is_ours(function: Callable[..., Any]) -> bool:
    return function.__module__.startswith(PACKAGE)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    """A kernel of a user's file, which numba compiles when it is called (extra `kernels`)."""
    try:
        import numba
    except ImportError as error:
        raise OperatorError(
            lacks(f"the kernel {function.__name__} of {function.__module__}", "kernels", error)
        ) from error
    compiled: Any = numba.njit
    return compiled(nogil=True, cache=True, **options)(function)

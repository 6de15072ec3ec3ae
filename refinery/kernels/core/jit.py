"""Kernels: Python functions that numba compiles to machine code.

numba is imported only where machine code is missing: it takes a third of a second.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import Any

from refinery.common.in_thread import InThread
from refinery.kernels.core import machine_code
from refinery.kernels.core.compiling import alone, compile_apart
from refinery.kernels.core.kernel_calls import Caller, stored_calls
from refinery.kernels.core.signatures import VOID, NotDeclared, Number, packed, parse

_PACKAGE = "refinery.kernels."
_compiling = threading.RLock()
HELPER_OPTIONS: dict[str, bool] = {}  # of numba; a process that only compiles kernels adds to them
_declared: dict[str, "Kernel"] = {}  # of the modules that have been imported
_failed: set[str] = set()  # kernels that cannot be compiled or loaded, so numba runs them
_Callers = Callable[[], Iterable[Caller]]
_expected: list[_Callers] = []  # at most one
_certain: list[_Callers] = []  # a part of the expected code that is found at once
_complete: list[_Callers] = []  # the expected code, once all of its kernels are compiled


class Kernel:
    """A function that other kernels call; Python may call it too, if it is declared by `entry`.

    Without numba's reference counts: a kernel only borrows its array arguments, and atomic counting at every call of a
    helper costs more than most helpers. Such a kernel cannot allocate.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        declared: str | None = None,
        records: Sequence[type] = (),
        rare: bool = False,
        **options: Any,
    ) -> None:
        self.py_func = function
        self.declared = declared
        self.rare = rare
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self._records = records
        self._options = options
        self._code: machine_code.MachineCode | None = None
        self._known = False
        if declared is not None:
            _declared[self.name] = self

    @property
    def name(self) -> str:
        """Module in this package, and function."""
        return f"{self.__module__.removeprefix(_PACKAGE)}.{self.__name__}"

    @cached_property
    def dispatcher(self) -> Any:
        """numba's view of the function."""
        import numba

        compiled: Any = numba.njit
        return compiled(nogil=True, _nrt=False, **self._options, **HELPER_OPTIONS)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    @cached_property
    def _arguments(self) -> Sequence[Any]:
        return parse(self.declared or "", self._records)

    def __call__(self, *args: Any) -> Any:
        """Call machine code; with other types of arguments than declared, code that numba makes for them."""
        code = self._code or (self._load() if self.declared else None)
        if code is None:
            return self.dispatcher(*args)
        try:
            values = packed(self._arguments, args)
        except NotDeclared:
            return self.dispatcher(*args)
        return _results(code.results, code(values))

    def _load(self) -> machine_code.MachineCode | None:
        """Machine code of the declared arguments, compiled if it is nowhere; None if that fails."""
        with _compiling:
            if self._code is None and self.name not in _failed:
                if not machine_code.is_known(self.name):
                    compile_missing(self.name)
                self._code = machine_code.load(self.name)
                if self._code is None:
                    _failed.add(self.name)
            return self._code

    def is_missing(self) -> bool:
        """True if a call would have to compile the kernel."""
        self._known = self._known or self._code is not None or not _is_missing(self.name)
        return not self._known

    def compile_to(self, folder: Any) -> None:
        """Compile the kernel for its declared arguments and write its object file to a folder."""
        from refinery.kernels.core.numba_compiler import compile_kernel

        machine_code.store(self.name, folder, *compile_kernel(self.dispatcher, self._arguments))


def expect(callers: _Callers, certain: _Callers) -> None:
    """Name the code whose kernels this process will call. certain: a part of it that is found at once.

    They are compiled with the first kernel that is missing. Without such code, the kernels of imported modules are.
    """
    _expected[:], _certain[:] = [callers], [certain]


def compile_expected(*run: Caller) -> None:
    """Compile all expected kernels if one is missing of the code that is certain to run. run: more of that code.

    To find all that is expected takes longer than all other work on kernels, once they are compiled.
    """
    with _compiling:
        certain = [*run, *(caller for callers in _certain for caller in callers())]
        if not _expected or any(map(_is_missing, stored_calls(certain, machine_code.CACHE))):
            compile_missing()


def load_ahead(callers: Iterable[Caller]) -> None:
    """Load the machine code of the kernels that code calls, as far as it is compiled, in a thread.

    Each takes a millisecond of a processor, most of it without Python's lock.
    """
    InThread(partial(_load_compiled, tuple(callers)))


def _load_compiled(callers: Iterable[Caller]) -> None:
    for name in sorted(stored_calls(callers, machine_code.CACHE)):
        if machine_code.is_known(name):
            import_module(_PACKAGE + name.rpartition(".")[0])
            _declared[name]._load()


def compile_missing(*called: str) -> None:
    """Compile the kernels that are called or expected and compiled nowhere, on all processors, once per machine."""
    with _compiling:
        if not called and _complete and _complete == _expected:
            return
        if not _missing(called):
            _complete[:] = _expected
            return
        folder = machine_code.user_folder()
        with alone(folder):
            names = _missing(called)  # another process may have compiled them
            if names:
                compile_apart(names, folder)
            _failed.update(name for name in names if not machine_code.is_known(name))


def _missing(called: Sequence[str]) -> list[str]:
    if not _expected:
        return [name for name, kernel in list(_declared.items()) if kernel.is_missing()]
    names = stored_calls(_expected[0](), machine_code.CACHE).union(*map(_along, called))
    return [name for name in sorted(names) if _is_missing(name)]


def _along(name: str) -> set[str]:
    """A kernel that is called, and for a rare one those of its module, which are often called with it."""
    module = name.rpartition(".")[0]
    rare = {other for other, kernel in _declared.items() if kernel.rare and other.startswith(f"{module}.")}
    return {name, *rare} if name in rare else {name}


def _is_missing(name: str) -> bool:
    return name not in _failed and not machine_code.is_known(name)


class Intrinsic:
    """An instruction that a kernel uses; see numba's `intrinsic`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        made = intrinsic(self._function)
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(made)


class _Types:
    """numba's types, imported on first use."""

    def __getattr__(self, name: str) -> Any:
        from numba.core import types

        return getattr(types, name)


types: Any = _Types()
intrinsic: Callable[[Callable[..., Any]], Any] = Intrinsic


def _results(names: list[str], bits: list[int]) -> Any:
    if len(names) == 1:
        return _UNPACK[names[0]](bits[0])
    return tuple(_UNPACK[name](value) for name, value in zip(names, bits, strict=True))


_UNPACK: dict[str, Callable[[int], Any]] = {
    VOID: lambda bits: None,
    **{name: Number(name).unpack for name in ("bool", "float64", "int64", "uint64", "int32", "uint32", "uint8")},
}


def _decorated(
    declared: str | None, records: Sequence[type], rare: bool, options: dict[str, Any], function: Callable[..., Any]
) -> Any:
    if function.__module__.startswith(_PACKAGE):
        return Kernel(function, declared, records, rare, **options)
    import numba  # a function of a user's file, whose machine code numba stores

    compiled: Any = numba.njit
    return compiled(nogil=True, cache=True, _nrt=False, **options)(function)


# A function that other kernels call.
kernel: Callable[[Callable[..., Any]], Any] = partial(_decorated, None, (), False, {})

# The same for a helper in the innermost loop: a call passes seven numbers per array, so it is inlined.
inlined: Callable[[Callable[..., Any]], Any] = partial(_decorated, None, (), False, {"forceinline": True})


def entry(declared: str, *records: type, rare: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a kernel that Python calls.

    declared: types of its arguments, as in `signatures`. records: NamedTuples in it. rare: True for a kernel that few
    runs call; it is compiled when it is called, not with the others of a run.
    """
    return partial(_decorated, declared, records, rare, {})

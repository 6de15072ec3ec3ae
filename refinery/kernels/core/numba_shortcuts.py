"""Shortcuts through numba's own Python code, for a process that only compiles kernels.

numba spends half of its time on what small functions of numbers and arrays do not need: texts for messages and events
that nobody reads, the same operator resolved for the same types thousands of times, registries searched again, and
garbage collection among millions of living objects. Machine code is the same with and without shortcuts; a test holds
it.
"""

import gc
import logging
from contextlib import suppress
from functools import lru_cache
from typing import Any

import llvmlite.ir
import numba.core

from refinery.kernels.core.numba_passes import constants_once, few_passes, graphs_once

core: Any = numba.core  # not typed, because its functions are replaced
llvm: Any = llvmlite.ir

KNOWN = (0, 68)  # the last version of numba that the shortcuts have been tried with


def take() -> None:
    """Apply all shortcuts to the numba of this process, for good. One that it has no place for is left out."""
    gc.disable()
    if numba.version_info.short > KNOWN:
        return
    for shortcut in (
        _silent_events,
        _silent_passes,
        _silent_errors,
        _silent_instructions,
        _known_parameters,
        _known_sizes,
        _registries_once,
        _settings_by_content,
        _variables,
        _operators_once,
        _no_closures,
        _silent_variables,
        _no_old_values,
        _no_warnings,
        _no_debugging,
        _known_packers,
        few_passes,
        graphs_once,
        constants_once,
    ):
        with suppress(AttributeError, ImportError):
            shortcut()


def _silent_events() -> None:
    """No events about compilation: nothing listens."""

    def nothing(*args: Any, **kwargs: Any) -> None:
        pass

    core.event.start_event = core.event.end_event = nothing


def _silent_passes() -> None:
    """A pass runs without a description of itself."""

    def run(self: Any, index: int, one: Any, state: Any) -> None:
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)

    machinery = core.compiler_machinery.PassManager
    if hasattr(machinery, "_runPass") and not machinery._ENFORCING:
        machinery._runPass = run


class _NoContext:
    """Context that adds nothing to an error."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def _silent_errors() -> None:
    """Errors do not say where they arose: such a kernel is compiled again by the process that calls it."""
    context = _NoContext()
    for module in (core.lowering, core.typeinfer):
        if hasattr(module, "new_error_context"):
            module.new_error_context = lambda *args, **kwargs: context


def _silent_instructions() -> None:
    """Instructions are not written out."""
    kinds: list[Any] = [kind for kind in vars(core.ir).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, core.ir.Stmt):
            kind.__str__ = lambda self: ""


def _known_parameters() -> None:
    core.base._has_loc = lru_cache(maxsize=None)(core.base._has_loc)


def _known_sizes() -> None:
    """The size of a type is asked of LLVM once, not by a module of its own each time."""
    measure = llvm.Type.get_abi_size
    known: dict[Any, int] = {}

    def size(self: Any, target_data: Any, context: Any = None) -> int:
        if isinstance(self, llvm.IdentifiedStructType):  # its text is a name, which another module may use
            return measure(self, target_data, context)
        key = str(self), str(target_data)
        if key not in known:
            known[key] = measure(self, target_data, context)
        return known[key]

    llvm.Type.get_abi_size = size


def _registries_once() -> None:
    """numba's lists of implementations are complete after its import, so they are read once."""
    read = core.cpu.CPUContext.load_additional_registries
    done: list[Any] = []

    def once(self: Any) -> None:
        if self not in done:
            done.append(self)
            read(self)

    core.cpu.CPUContext.load_additional_registries = once


def _settings_by_content() -> None:
    """Settings are compared by what was set, before all values are gathered."""

    def equal(self: Any, other: Any) -> Any:
        if not isinstance(other, core.targetconfig.TargetConfig):
            return NotImplemented
        return self._values == other._values or self.values() == other.values()

    core.targetconfig.TargetConfig.__eq__ = equal


def _variables() -> None:
    """Variables of an instruction are found without a call and a list for each of its fields."""
    plain = frozenset((core.ir.Loc, str, int, bool, type(None)))

    def collect(values: Any, found: list[Any]) -> list[Any]:
        for value in values:
            if type(value) is core.ir.Var:
                found.append(value)
            elif type(value) in plain:
                continue
            elif isinstance(value, core.ir.Inst):
                found.extend(value.list_vars())
            elif isinstance(value, list | tuple):
                collect(value, found)
            elif isinstance(value, dict):
                collect(value.values(), found)
        return found

    core.ir.Stmt.list_vars = lambda self: collect(self.__dict__.values(), [])
    core.ir.Expr.list_vars = lambda self: collect(self._kws.values(), [])


def _operators_once() -> None:
    """A function of numba's, such as an operator, is resolved once for the same types and settings.

    Types are compared by identity, and kept, so an identity is never used again. The implementation that was found is
    made current again, as resolving would.
    """
    resolve = core.types.Function.get_call_type
    known: dict[Any, Any] = {}
    contents: dict[int, Any] = {}

    def content(settings: Any) -> Any:
        if id(settings) not in contents:
            values = settings and tuple(sorted((name, repr(value)) for name, value in settings.values().items()))
            contents[id(settings)] = values, settings
        return contents[id(settings)][0]

    def once(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return resolve(self, context, args, kws)
        key = (id(self), content(core.targetconfig.ConfigStack.top_or_none()), *map(id, args))
        if key not in known:
            signature = resolve(self, context, args, kws)
            known[key] = signature, self._impl_keys.get(signature.args), self, args
            return signature
        signature, implementation, *_ = known[key]
        self._impl_keys[signature.args] = implementation
        return signature

    core.types.Function.get_call_type = once


def _no_closures() -> None:
    """Functions without functions and comprehensions in them are not searched for what could be inlined."""
    search = core.untyped_passes.InlineClosureLikes.run_pass

    def run(self: Any, state: Any) -> Any:
        code = state.func_id.code
        nested = any(hasattr(constant, "co_code") for constant in code.co_consts)
        return search(self, state) if nested or {"array", "reduce", "stencil"}.intersection(code.co_names) else False

    core.untyped_passes.InlineClosureLikes.run_pass = run


def _silent_variables() -> None:
    """The renaming of variables is not logged."""
    log = core.ssa._logger
    if not log.isEnabledFor(logging.DEBUG):
        core.ssa._logger = _NoLog()


class _NoLog:
    def debug(self, *args: Any) -> None:
        """Write nothing."""


def _no_old_values() -> None:
    """The old value of a variable is not read before it gets a new one: nothing is counted by references."""

    def store(self: Any, value: Any, name: str, argidx: Any = None) -> None:
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))  # which compares the types

    core.lowering.Lower.storevar = store


def _no_warnings() -> None:
    """Warnings are not collected: nobody reads them."""
    context = _NoContext()
    core.errors.WarningsFixer.catch_warnings = lambda *args, **kwargs: context


def _no_debugging() -> None:
    """No variable is kept in memory for a debugger, so nobody asks each time that one is read."""
    lower = core.lowering.Lower
    if hasattr(lower, "_disable_sroa_like_opt"):
        lower._disable_sroa_like_opt = False


def _known_packers() -> None:
    """The arguments of functions with the same types are laid out once."""
    context = core.base.BaseContext
    context.get_arg_packer = lru_cache(maxsize=None)(context.get_arg_packer)

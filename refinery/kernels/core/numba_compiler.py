"""Machine code of a kernel, made by numba. Imported only where a kernel's machine code is in no cache.

The code is a function of one argument: the address of 64-bit integers, in which `signatures` packs the arguments and
which receive the results. So machine code needs neither numba nor Python when it runs.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, codegen, dispatcher, lowering, postproc, transforms, types
from numba.core.registry import cpu_target

from refinery.kernels.core import numba_arrays, numba_loops
from refinery.kernels.core.numba_calls import Calls
from refinery.kernels.core.signatures import VOID, Array, Number, Record

SYMBOL = "refinery_kernel"  # of every kernel's function
_WORD, _REAL = ir.IntType(64), ir.DoubleType()


class _Library(codegen.JITCodeLibrary):
    """Code of a function, linked and optimised only as a part of the kernel that uses it.

    numba optimises every function, makes machine code of it and of a wrapper for calls from Python; of a kernel's
    helpers that is two thirds of the time, for nothing.
    """

    def add_llvm_module(self, module: Any) -> None:
        """Add the function's own code."""
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """Take no more code."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """A number that is no address: the function cannot be called here."""
        return 1

    def object_file(self) -> bytes:
        """Machine code of the function and of all that it calls, optimised as a whole."""
        self.finalize()
        for library in _called(self):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        passes, builder = self.codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._final_module.verify()
        return bytes(self.codegen._tm.emit_object(self._final_module))


def _called(library: Any) -> list[Any]:
    """Libraries of the functions that a function calls, directly or not, each once."""
    found: dict[Any, None] = {}
    todo = list(library._linking_libraries)
    while todo:
        one = todo.pop()
        if one not in found:
            found[one] = None
            todo.extend(one._linking_libraries)
    return list(found)


@lru_cache(maxsize=1)
def prepare() -> Any:
    """Make numba compile functions that only other functions call, in this process."""
    context = cpu_target.target_context
    context.refresh()
    numba_arrays.take(context)
    numba_loops.take(context)
    calls = Calls(context)
    changed: Any = type(context)
    changed.call_conv = property(lambda self: calls)
    made = context.codegen()
    made._library_class = _Library
    made.set_env = lambda name, env: None
    changed = dispatcher.Dispatcher
    changed.get_call_template = _general_call
    changed = lowering.Lower
    changed.create_cpython_wrapper = changed.create_cfunc_wrapper = lambda *args, **kwargs: None
    changed = postproc.PostProcessor
    changed.run = _analyse
    return context


_full_analysis = postproc.PostProcessor.run


def _analyse(self: Any, *args: Any, **kwargs: Any) -> None:
    """Leave out where the lives of variables end, because nothing is counted by references."""
    code = self.func_ir
    if code.is_generator:
        _full_analysis(self, *args, **kwargs)
        return
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = postproc.VariableLifetime(code.blocks)  # computed when a pass asks for it
    code.generator_info = None


_special_call = dispatcher.Dispatcher.get_call_template


def _general_call(self: Any, args: Any, kws: Any) -> Any:
    """Compile a helper once, not anew for each constant that it is called with.

    While numba looks for the type of a loop's variable, it takes a start of 0 for the constant 0, and compiles what is
    called with it for that, too.
    """
    if self.targetoptions.get("no_cpython_wrapper"):
        args = tuple(types.unliteral(kind) for kind in args)
    return _special_call(self, args, kws)


def compile_kernel(function: Any, arguments: Sequence[Number | Array | Record]) -> tuple[str, list[str], bytes]:
    """Compile a kernel: name of its symbol, types of its results (`["void"]` for none), object file.

    function: numba's dispatcher of the kernel.
    """
    given = tuple(_numba_type(argument) for argument in arguments)
    context = prepare()
    function.compile(given)
    made = function.overloads[given]
    results = _results(made.signature.return_type)
    library = context.codegen().create_library("entry")
    with context.push_code_library(library):
        library.add_ir_module(_entry(context, library.create_ir_module("entry"), made.fndesc, given))
    library.add_linking_library(made.library)
    return SYMBOL, results, library.object_file()


def _entry(context: Any, module: Any, kernel: Any, given: Sequence[Any]) -> Any:
    """The module with the function of one address, which calls the kernel."""
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [_WORD]), SYMBOL)
    builder = ir.IRBuilder(function.append_basic_block())
    words = builder.inttoptr(function.args[0], _WORD.as_pointer())
    places = (builder.gep(words, [ir.Constant(_WORD, place)]) for place in range(1 << 16))
    values = [_argument(context, builder, kind, map(builder.load, places)) for kind in given]
    callee = context.declare_function(module, kernel)
    status, returned = context.call_conv.call_function(builder, callee, kernel.restype, kernel.argtypes, values)
    if kernel.restype is not types.none:
        for place, bits in enumerate(_bits(context, builder, kernel.restype, returned)):
            builder.store(bits, builder.gep(words, [ir.Constant(_WORD, place)]))
    builder.ret(status.code)
    return module


def _argument(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    """An argument as numba's functions take it, of the next words."""
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_argument(context, builder, part, words) for part in kind.types])  # type: ignore[attr-defined]
    if isinstance(kind, types.Array):
        return numba_arrays.packed(context, builder, kind, next(words), [next(words) for _ in range(kind.ndim)])
    if kind is types.float64:
        return builder.bitcast(next(words), _REAL)
    return context.cast(builder, next(words), types.int64, kind)


def _bits(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """The results as words."""
    if isinstance(kind, types.BaseTuple):
        parts = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)  # type: ignore[attr-defined]
        return [bits for part, one in parts for bits in _bits(context, builder, part, one)]
    if kind is types.float64:
        return [builder.bitcast(value, _WORD)]
    return [context.cast(builder, value, kind, types.int64)]


def _numba_type(argument: Number | Array | Record) -> Any:
    if isinstance(argument, Record):
        return types.NamedTuple([_numba_type(field) for field in argument.fields], argument.kind)
    kind = numba.from_dtype(np.dtype(argument.name))
    return types.Array(kind, argument.dimensions, "C") if isinstance(argument, Array) else kind


def _results(returned: Any) -> list[str]:
    if returned is types.none:
        return [VOID]
    parts: list[Any] = [*returned] if isinstance(returned, types.BaseTuple) else [returned]  # type: ignore[misc]
    return [_name(part) for part in parts]


def _name(kind: Any) -> str:
    if isinstance(kind, types.IntegerLiteral):
        kind = kind.literal_type
    if isinstance(kind, types.Boolean | types.BooleanLiteral):
        return "bool"
    if isinstance(kind, types.Integer) or kind is types.float64:
        return str(kind)
    raise TypeError(f"a kernel that Python calls returns numbers, not {kind}")

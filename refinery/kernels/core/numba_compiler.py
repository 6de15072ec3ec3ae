"""Machine code of a kernel, made by numba. Imported only where a kernel's machine code is in no cache.

The code is a function of one argument: the address of 64-bit integers, in which `signatures` packs the arguments and
which receive the results. So machine code needs neither numba nor Python when it runs.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, codegen, compiler, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np import arrayobj

from refinery.kernels.core.signatures import VOID, Array, Number, Record


class _Library(codegen.JITCodeLibrary):
    """Code of a function, optimised only as a part of the kernel that uses it.

    numba optimises every function, makes machine code of it and of a wrapper for calls from Python; of a kernel's
    helpers that is two thirds of the time, for nothing.
    """

    def add_llvm_module(self, module: Any) -> None:
        """Add the function's own code."""
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """Link the functions that this one calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """A number that is no address: the function cannot be called here."""
        return 1

    def object_file(self) -> bytes:
        """Machine code, optimised as a whole."""
        self._ensure_finalized()
        self._optimize_final_module()
        self._final_module.verify()
        return bytes(self.codegen._tm.emit_object(self._final_module))


def _prepare() -> Any:
    """Make numba compile functions that only other functions call, in this process."""
    context = cpu_target.target_context
    made = context.codegen()
    made._library_class = _Library
    made.set_env = lambda name, env: None
    return context


def _array_at(kind: types.Array) -> Any:
    """Instruction that makes an array of an address and its lengths."""

    def declare(typingctx: Any, address: Any, lengths: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(kind)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            shape = cgutils.unpack_tuple(builder, args[1], kind.ndim)
            strides = [context.get_constant(types.intp, size)]
            for length in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], length))
            arrayobj.populate_array(
                array,
                data=builder.inttoptr(args[0], array.data.type),
                shape=shape,
                strides=strides,
                itemsize=context.get_constant(types.intp, size),
                meminfo=None,
            )
            return array._getvalue()

        return kind(address, lengths), generate

    return intrinsic(declare)


def compile_kernel(function: Any, arguments: Sequence[Number | Array | Record]) -> tuple[str, list[str], bytes]:
    """Compile a kernel: name of its symbol, types of its results (`["void"]` for none), object file.

    function: numba's dispatcher of the kernel.
    """
    given = tuple(_numba_type(argument) for argument in arguments)
    context = _prepare()
    function.compile(given)
    returned = function.overloads[given].signature.return_type
    results = _results(returned)
    entry = _entry(function, arguments, results, isinstance(returned, types.BaseTuple))
    made = compiler.compile_extra(cpu_target.typing_context, context, entry, (types.int64,), types.none, _flags(), {})
    return made.fndesc.llvm_func_name, results, made.library.object_file()


def _flags() -> Any:
    flags: Any = compiler.Flags()
    flags.nrt = False
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    return flags


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


def _entry(
    function: Any, arguments: Sequence[Number | Array | Record], results: list[str], several: bool
) -> Callable[..., Any]:
    """The function of one address that calls the kernel."""
    names: dict[str, Any] = {"kernel": function, "np": np}
    places = iter(range(1 << 16))
    call = ", ".join(_expression(argument, places, names) for argument in arguments)
    room = max(next(places), len(results))
    names["whole"], names["real"] = (_array_at(types.Array(kind, 1, "C")) for kind in (types.int64, types.float64))
    lines = [
        "def entry(address):",
        f"    a, f = whole(address, ({room},)), real(address, ({room},))",
        f"    r = kernel({call})",
    ]
    if results != [VOID]:
        lines += [_store(i, name, f"r[{i}]" if several else "r") for i, name in enumerate(results)]
    exec("\n".join(lines), names)
    entry: Callable[..., Any] = names["entry"]
    return entry


def _store(place: int, name: str, value: str) -> str:
    return f"    f[{place}] = {value}" if name == "float64" else f"    a[{place}] = np.int64({value})"


def _expression(argument: Number | Array | Record, places: Iterator[int], names: dict[str, Any]) -> str:
    if isinstance(argument, Record):
        names[argument.kind.__name__] = argument.kind
        return f"{argument.kind.__name__}({', '.join(_expression(field, places, names) for field in argument.fields)})"
    place = next(places)
    if isinstance(argument, Array):
        names[f"array{place}"] = _array_at(_numba_type(argument))
        return f"array{place}(a[{place}], ({', '.join(f'a[{next(places)}]' for _ in range(argument.dimensions))},))"
    if argument.name == "float64":
        return f"f[{place}]"
    return f"a[{place}] != 0" if argument.name == "bool" else f"np.{argument.name}(a[{place}])"

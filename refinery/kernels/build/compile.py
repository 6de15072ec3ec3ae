"""Machine code of one kernel, by public means of numba and llvmlite.

numba makes LLVM code of a C function that calls the kernel, without optimisation; LLVM optimises it as a whole and emits
an object file whose only name is the kernel's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import carray, cfunc, types

from refinery.kernels.build import numba_types
from refinery.kernels.core.jit import Entry
from refinery.kernels.core.library import symbol_of
from refinery.kernels.core.signatures import Array, Number, Record

# Arrays of a kernel are borrowed, so there is nothing to count.
_COUNTS = re.compile(r"^ *(?:tail )?call void @NRT_(?:incref|decref)\(.*\n", re.MULTILINE)
# What a kernel must not do, by the names that its machine code would need.
_FORBIDDEN = {"NRT_": "allocates memory", "numba_": "can raise an exception"}


class Refused(Exception):
    """A kernel that cannot be built, and the reason."""


def object_files(entry: Entry, kinds: Sequence[str]) -> list[bytes]:
    """Machine code of a kernel for each kind of processor. Raises Refused."""
    numba_types.register()
    try:
        function = _c_function(entry)
    except numba.core.errors.NumbaError as error:
        raise Refused(f"{entry.name}: {error}") from error
    # numba forbids inlining of the call of the kernel itself.
    text = _COUNTS.sub("", function.inspect_llvm()).replace("{ noinline }", "{ nounwind }")
    return [_optimised(text, function.native_name, entry, kind) for kind in kinds]


def _optimised(text: str, native_name: str, entry: Entry, kind: str) -> bytes:
    """Object file of LLVM code. native_name: of the kernel's function in it."""
    module, machine = llvm.parse_assembly(text), target(kind)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    _keep_only(module, native_name, symbol_of(entry.name))
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    module.verify()
    _refuse_calls(module, entry)
    return bytes(machine.emit_object(module))


@cache
def target(kind: str) -> Any:
    """LLVM's machine for a kind of processor: `x86-64-v3`, or the plain one of this computer's architecture."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu = kind if kind.startswith("x86-64") else "generic"
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")


def _c_function(entry: Entry) -> Any:
    """numba's C function of plain arguments that calls a kernel."""
    signature = entry.signature
    names: dict[str, Any] = {"kernel": numba_types.compiled(entry), "carray": carray}
    params: list[tuple[str, Any]] = []
    arguments = [_argument(kind, f"a{place}", params, names) for place, kind in enumerate(signature.arguments)]
    call = f"kernel({', '.join(arguments)})"
    returned: Any = types.void
    if len(signature.results) == 1:
        returned, body = _number(signature.results[0]), [f"return {call}"]
    else:
        places = range(len(signature.results))
        params += [(f"r{place}", types.CPointer(_number(signature.results[place]))) for place in places]
        body = [f"results = {call}", *(f"carray(r{place}, (1,))[0] = results[{place}]" for place in places)]
    lines = [f"def c_function({', '.join(name for name, _ in params)}):", *(f"    {line}" for line in body)]
    exec("\n".join(lines), names)
    compiled: Any = cfunc(returned(*(kind for _, kind in params)))
    return compiled(names["c_function"])


def _argument(kind: Any, name: str, params: list[tuple[str, Any]], names: dict[str, Any]) -> str:
    """The expression of one argument. Adds its C arguments to `params`, and what it needs to `names`."""
    if isinstance(kind, Record):
        names[f"Record_{name}"] = kind.kind
        fields = [_argument(field, f"{name}_{place}", params, names) for place, field in enumerate(kind.fields)]
        return f"Record_{name}({', '.join(fields)})"
    if isinstance(kind, Number):
        params.append((name, _number(kind)))
        return name
    lengths = [f"{name}_length{place}" for place in range(kind.dimensions)]
    params += [(name, types.CPointer(_number(kind))), *((length, types.intp) for length in lengths)]
    return f"carray({name}, ({', '.join(lengths)},))"


def _number(kind: Number | Array) -> Any:
    return numba.from_dtype(np.dtype(kind.name))


def _keep_only(module: Any, native_name: str, symbol: str) -> None:
    """Name the kernel's function and hide all other names, so that LLVM may inline or drop them."""
    for function in module.functions:
        if function.name == native_name:
            function.name = symbol
        elif not function.is_declaration:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"


def _refuse_calls(module: Any, entry: Entry) -> None:
    """Raise Refused for a kernel that calls more than the C library."""
    called = [function.name for function in module.functions if function.is_declaration]
    deeds = [deed for prefix, deed in _FORBIDDEN.items() if any(name.startswith(prefix) for name in called)]
    if deeds:
        raise Refused(f"{entry.name}: the kernel {' and '.join(deeds)}, see docs/writing-kernels.md")

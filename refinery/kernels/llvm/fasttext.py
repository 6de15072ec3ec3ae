"""Instructions of `models.fasttext_sums`, and functions of the C library for `models.fasttext_scores`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from refinery.kernels.llvm.vectors import WORD

_REAL = ir.FloatType()


def adder(lanes: int) -> Callable[..., Any]:
    """The instruction that adds `lanes` columns of some rows to a sum; see `models.fasttext_sums`."""

    def declare(
        typingctx: Any, total: Any, place: Any, data: Any, base: Any, width: Any, rows: Any, first: Any, last: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.VectorType(_REAL, lanes) if lanes > 1 else _REAL
            total, place, data, base, width, rows, first, last = args

            def start(array: int, position: Any) -> Any:
                values = context.make_array(signature.args[array])(context, builder, args[array]).data
                return builder.gep(values, [position])

            target = builder.bitcast(start(0, place), kind.as_pointer())
            total = cgutils.alloca_once_value(builder, builder.load(target, align=4))
            with cgutils.for_range_slice(builder, first, last, ir.Constant(WORD, 1), WORD) as (at, _):
                row = builder.sext(builder.load(start(5, at)), WORD)
                source = start(2, builder.add(base, builder.mul(row, width)))
                values = builder.load(builder.bitcast(source, kind.as_pointer()), align=1)
                builder.store(builder.fadd(builder.load(total), values), total)
            builder.store(builder.load(total), target, align=4)
            return context.get_dummy_value()

        number = types.int64
        return types.void(total, number, data, number, number, rows, number, number), generate

    return declare


def library_function(name: str, kind: ir.Type, argument: Any) -> Callable[..., Any]:
    """The instruction that calls a function of the C library, of one number."""

    def declare(typingctx: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
            return builder.call(function, args)

        return argument(argument), generate

    return declare


expf = library_function("expf", _REAL, types.float32)
exp = library_function("exp", ir.DoubleType(), types.float64)
log = library_function("log", ir.DoubleType(), types.float64)

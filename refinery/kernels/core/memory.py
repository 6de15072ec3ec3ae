"""Numbers at any place of bytes, arrays that begin with a line of the cache, hints to fetch memory, divisions without the test for zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from refinery.kernels.core.blocks import address
from refinery.kernels.core.jit import intrinsic, types

LINE = 64  # bytes that a processor fetches at once
_WORD, _HALF, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)


def aligned(count: int, kind: Any) -> np.ndarray:
    """Zeros that begin with a line of the cache; what is never written is never allocated by the system."""
    size = np.dtype(kind).itemsize
    room = np.zeros(count + LINE // size, kind)
    first = -room.ctypes.data % LINE // size
    return room[first : first + count]


@intrinsic
def load_half(typingctx, data, i):
    """Load four bytes from data[i] on as a little-endian uint32; all of them must exist."""

    def generate(context, builder, signature, args):
        return builder.load(address(context, builder, _HALF, signature.args[0], *args), align=1)

    return types.uint32(data, types.intp), generate


@intrinsic
def as_float(typingctx, bits):
    """The float32 that has these 32 bits."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.uint32), generate


@intrinsic
def prefetch(typingctx, data, i):
    """Fetch the memory of data[i] into the cache, without waiting for it; it need not exist."""

    def generate(context, builder, signature, args):
        pointer = address(context, builder, _BYTE, signature.args[0], *args)
        function = ir.FunctionType(ir.VoidType(), [pointer.type, _HALF, _HALF, _HALF])
        name = "llvm.prefetch.p0i8" if not _opaque(pointer.type) else "llvm.prefetch.p0"
        called = builder.module.globals.get(name) or ir.Function(builder.module, function, name)
        builder.call(called, [pointer, _HALF(0), _HALF(3), _HALF(1)])
        return context.get_dummy_value()

    return types.void(data, types.intp), generate


def _opaque(pointer: ir.Type) -> bool:
    return "*" not in str(pointer)


@intrinsic
def remainder(typingctx, value, divisor):
    """Remainder of unsigned numbers; the divisor is not zero."""

    def generate(context, builder, signature, args):
        return builder.urem(*args)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def high_product(typingctx, left, right):
    """The upper 64 of the 128 bits of a product of unsigned numbers."""

    def generate(context, builder, signature, args):
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(number, wide) for number in args))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def quotient(typingctx, value, divisor):
    """Quotient of unsigned numbers, rounded down; the divisor is not zero."""

    def generate(context, builder, signature, args):
        return builder.udiv(*args)

    return types.uint64(types.uint64, types.uint64), generate

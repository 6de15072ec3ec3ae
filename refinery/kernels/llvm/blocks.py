"""Instructions of `core.blocks`: blocks of 64 bytes and masks of 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from refinery.kernels.core.blocks import BLOCK, HALF, within
from refinery.kernels.llvm.vectors import BYTE, WORD, Vector, address, repeated, splat

_BLOCK, _HALF = ir.VectorType(BYTE, BLOCK), ir.VectorType(BYTE, HALF)
_FALSE = ir.Constant(ir.IntType(1), 0)


def mask(test: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The instruction that returns the mask of a test; see `core.blocks.lanes`."""

    def declare(typingctx: Any, data: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def load(step: int) -> Vector:
                at = builder.add(args[1], ir.Constant(args[1].type, step))
                place = address(context, builder, _BLOCK, signature.args[0], args[0], at)
                return Vector(builder, builder.load(place, align=1))

            return builder.bitcast(test(*map(load, range(count))).value, WORD)

        return types.uint64(data, types.intp), generate

    return declare


def equal_to(typingctx: Any, data: Any, i: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = builder.load(address(context, builder, _BLOCK, signature.args[0], *args[:2]), align=1)
        return builder.bitcast(builder.icmp_unsigned("==", block, repeated(builder, args[2], _BLOCK)), WORD)

    return types.uint64(data, types.intp, types.uint8), generate


def first_set(typingctx: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], _FALSE)

    return types.int64(types.uint64), generate


def last_set(typingctx: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sub(ir.Constant(WORD, 63), builder.ctlz(args[0], _FALSE))

    return types.int64(types.uint64), generate


def count_set(typingctx: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


def copy_block(typingctx: Any, data: Any, i: Any, out: Any, w: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = builder.load(address(context, builder, _BLOCK, signature.args[0], *args[:2]), align=1)
        builder.store(block, address(context, builder, _BLOCK, signature.args[2], *args[2:]), align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, out, types.intp), generate


def copy_lower(typingctx: Any, data: Any, i: Any, out: Any, w: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = builder.load(address(context, builder, _HALF, signature.args[0], *args[:2]), align=1)
        upper = within(Vector(builder, block), 0x41, 0x5A).value
        bit = builder.select(upper, splat(0x20, HALF), splat(0, HALF))
        place = address(context, builder, _HALF, signature.args[2], *args[2:])
        builder.store(builder.or_(block, bit), place, align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, out, types.intp), generate

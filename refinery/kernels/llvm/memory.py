"""Instructions of `core.memory` and loads of several bytes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from refinery.kernels.llvm.vectors import BYTE, INDEX, WORD, address

_WIDE = ir.IntType(128)


def byte_at(typingctx: Any, data: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(address(context, builder, BYTE, signature.args[0], *args))

    return types.uint8(data, types.intp), generate


def load_word(typingctx: Any, data: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(address(context, builder, WORD, signature.args[0], *args), align=1)

    return types.uint64(data, types.intp), generate


def store_word(typingctx: Any, data: Any, i: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], address(context, builder, WORD, signature.args[0], *args[:2]), align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), generate


def load_half(typingctx: Any, data: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(address(context, builder, INDEX, signature.args[0], *args), align=1)

    return types.uint32(data, types.intp), generate


def as_float(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.uint32), generate


def as_double(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), generate


def prefetch(typingctx: Any, data: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = address(context, builder, BYTE, signature.args[0], *args)
        function = ir.FunctionType(ir.VoidType(), [pointer.type, INDEX, INDEX, INDEX])
        name = "llvm.prefetch.p0i8" if "*" in str(pointer.type) else "llvm.prefetch.p0"
        called = builder.module.globals.get(name) or ir.Function(builder.module, function, name)
        builder.call(called, [pointer, INDEX(0), INDEX(3), INDEX(1)])
        return context.get_dummy_value()

    return types.void(data, types.intp), generate


def remainder(typingctx: Any, value: Any, divisor: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.urem(*args)

    return types.uint64(types.uint64, types.uint64), generate


def quotient(typingctx: Any, value: Any, divisor: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.udiv(*args)

    return types.uint64(types.uint64, types.uint64), generate


def high_product(typingctx: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.mul(*(builder.zext(number, _WIDE) for number in args))
        return builder.trunc(builder.lshr(product, ir.Constant(_WIDE, 64)), WORD)

    return types.uint64(types.uint64, types.uint64), generate

"""Runs of plain bytes in JSON, looked through and copied 64 at a time.

LLVM makes no vector instructions of a loop that ends at the first byte it looks for, so these few are written for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from refinery.kernels.jit import inlined, kernel

BLOCK = 64  # bytes; one bit of a machine word for each

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_BLOCK = ir.VectorType(_BYTE, BLOCK)


def _all(byte: int) -> ir.Constant:
    return ir.Constant(_BLOCK, [byte] * BLOCK)


def _address(context: Any, builder: Any, kind: Any, array: Any, position: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), _BLOCK.as_pointer())


def _count_before(builder: Any, lanes: Any) -> Any:
    """How many lanes come before the first that is set; all of them when none is."""
    return builder.cttz(builder.bitcast(lanes, _WORD), ir.Constant(ir.IntType(1), 0))


def _special(builder: Any, block: Any) -> Any:
    """Lanes that end a run of text: quotes, backslashes, control characters."""
    quote = builder.icmp_unsigned("==", block, _all(34))
    backslash = builder.icmp_unsigned("==", block, _all(92))
    return builder.or_(builder.or_(quote, backslash), builder.icmp_unsigned("<", block, _all(32)))


def _generated(function: Callable[..., Any]) -> Any:
    """`intrinsic`, without its type: calls leave out the first parameter, which type checkers do not know."""
    return intrinsic(function)


@_generated
def byte_at(typingctx, data, i):
    """The byte data[i], i not negative."""

    def generate(context, builder, signature, args):
        start = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(start, [args[1]]))

    return types.uint8(data, types.intp), generate


@_generated
def specials(typingctx, data, i):
    """Which of the 64 bytes at data[i] are special: bit 0 stands for the first. All of them are read."""

    def generate(context, builder, signature, args):
        block = builder.load(_address(context, builder, signature.args[0], *args), align=1)
        return builder.bitcast(_special(builder, block), _WORD)

    return types.uint64(data, types.intp), generate


@_generated
def first_bit(typingctx, word):
    """The number of the lowest bit that is set; 64 when none is."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@_generated
def copy_block(typingctx, data, i, out, w):
    """Copy the 64 bytes at data[i] to out[w:]; how many of them come before the first special one."""

    def generate(context, builder, signature, args):
        block = builder.load(_address(context, builder, signature.args[0], *args[:2]), align=1)
        builder.store(block, _address(context, builder, signature.args[2], *args[2:]), align=1)
        return _count_before(builder, _special(builder, block))

    return types.int64(data, types.intp, out, types.intp), generate


@_generated
def _flat_in_block(typingctx, data, i):
    """Bytes before the first quote, bracket or brace of the 64 at data[i]; all of them are read."""

    def generate(context, builder, signature, args):
        block = builder.load(_address(context, builder, signature.args[0], *args), align=1)
        lanes = builder.icmp_unsigned("==", block, _all(34))
        either = builder.or_(block, _all(32))  # a bracket becomes a brace
        for brace in b"{}":
            lanes = builder.or_(lanes, builder.icmp_unsigned("==", either, _all(brace)))
        return _count_before(builder, lanes)

    return types.int64(data, types.intp), generate


@inlined
def is_special(b):
    """Whether a byte ends a run of text: a quote, a backslash or a control character."""
    return b == 34 or b == 92 or b < 32


@kernel
def skip_text(data, i, end):
    """Position of the first special byte of data[i:end]; `end` when there is none."""
    while i + BLOCK <= len(data) and i < end:
        count = first_bit(specials(data, i))
        i += count
        if count < BLOCK:
            return min(i, end)
    while i < end and not is_special(data[i]):
        i += 1
    return min(i, end)


@kernel
def skip_flat(data, i, end):
    """Position of the first quote, bracket or brace of data[i:end]; `end` when there is none."""
    while i + BLOCK <= len(data) and i < end:
        count = _flat_in_block(data, i)
        i += count
        if count < BLOCK:
            return min(i, end)
    while i < end and data[i] != 34 and data[i] | 32 != 123 and data[i] | 32 != 125:
        i += 1
    return min(i, end)

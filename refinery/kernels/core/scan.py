"""Scan and copy of plain bytes in JSON, 64 at a time, by the masks of `blocks`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from refinery.kernels.core.blocks import BLOCK, address, any_of, first_set, is_byte, lanes, splat, within
from refinery.kernels.core.jit import inlined, intrinsic, kernel, types

_BYTES = ir.VectorType(ir.IntType(8), BLOCK)


def _special(builder: Any, block: Any) -> Any:
    """Lanes that end a run of text: quotes, backslashes, control characters."""
    return any_of(builder, is_byte(builder, block, b'"'), is_byte(builder, block, b"\\"), within(builder, block, 0, 31))


def _bracket(builder: Any, block: Any) -> Any:
    """Lanes that are quotes, brackets or braces."""
    either = builder.or_(block, splat(0x20))  # a bracket becomes a brace
    return any_of(
        builder, is_byte(builder, block, b'"'), is_byte(builder, either, b"{"), is_byte(builder, either, b"}")
    )


specials = lanes(_special)
_brackets = lanes(_bracket)


@intrinsic
def byte_at(typingctx, data, i):
    """Byte data[i], i not negative."""

    def generate(context, builder, signature, args):
        start = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(start, [args[1]]))

    return types.uint8(data, types.intp), generate


@intrinsic
def copy_block(typingctx, data, i, out, w):
    """Copy the 64 bytes at data[i] to out[w:]; returns the number of bytes before the first special one."""

    def generate(context, builder, signature, args):
        block = builder.load(address(context, builder, _BYTES, signature.args[0], *args[:2]), align=1)
        builder.store(block, address(context, builder, _BYTES, signature.args[2], *args[2:]), align=1)
        found = builder.bitcast(_special(builder, block), ir.IntType(64))
        return builder.cttz(found, ir.Constant(ir.IntType(1), 0))

    return types.int64(data, types.intp, out, types.intp), generate


@inlined
def is_special(b):
    """True if a byte ends a run of text: a quote, a backslash or a control character."""
    return b == 34 or b == 92 or b < 32


@kernel
def skip_text(data, i, end):
    """Position of the first special byte of data[i:end]; `end` when there is none."""
    while i + BLOCK <= len(data) and i < end:
        count = first_set(specials(data, i))
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
        count = first_set(_brackets(data, i))
        i += count
        if count < BLOCK:
            return min(i, end)
    while i < end and data[i] != 34 and data[i] | 32 != 123 and data[i] | 32 != 125:
        i += 1
    return min(i, end)

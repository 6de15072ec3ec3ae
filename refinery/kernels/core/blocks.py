"""Tests of 64 bytes at once, with a mask of one bit per byte as the result, and loads of several bytes.

LLVM does not compile a loop over bytes to such masks, so these instructions are written by hand. Bit k of a mask
stands for byte i + k. The caller ensures that all bytes exist: `i + BLOCK <= len(data)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from refinery.kernels.core.jit import inlined, intrinsic, types

BLOCK = 64
HALF = 32

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


def address(context: Any, builder: Any, target: ir.Type, kind: Any, array: Any, position: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), target.as_pointer())


def splat(byte: int, lanes: int = BLOCK) -> ir.Constant:
    return ir.Constant(ir.VectorType(_BYTE, lanes), [byte & 0xFF] * lanes)


def lanes(test: Callable[[Any, Any], Any]) -> Any:
    """Make an instruction `(data, i)` that returns the mask of `test(builder, block)`."""

    def declare(typingctx, data, i):
        def generate(context, builder, signature, args):
            target = ir.VectorType(_BYTE, BLOCK)
            block = builder.load(address(context, builder, target, signature.args[0], *args), align=1)
            return builder.bitcast(test(builder, block), _WORD)

        return types.uint64(data, types.intp), generate

    return intrinsic(declare)


def within(builder: Any, block: Any, low: int, high: int) -> Any:
    """Lanes whose byte lies in low..high."""
    return builder.icmp_unsigned("<=", builder.sub(block, splat(low)), splat(high - low))


def is_byte(builder: Any, block: Any, char: bytes) -> Any:
    return builder.icmp_unsigned("==", block, splat(char[0]))


def _letter(builder: Any, block: Any) -> Any:
    return within(builder, builder.or_(block, splat(0x20)), 0x61, 0x7A)


def any_of(builder: Any, *masks: Any) -> Any:
    found = masks[0]
    for mask in masks[1:]:
        found = builder.or_(found, mask)
    return found


wide = lanes(lambda b, x: within(b, x, 0x80, 0xFF))
letters = lanes(_letter)
digits = lanes(lambda b, x: within(b, x, 0x30, 0x39))
# Separators of words: U+0020, tab, line feed
separators = lanes(lambda b, x: any_of(b, is_byte(b, x, b" "), is_byte(b, x, b"\t"), is_byte(b, x, b"\n")))
blanks = lanes(lambda b, x: is_byte(b, x, b" "))
controls = lanes(lambda b, x: any_of(b, within(b, x, 0, 0x1F), is_byte(b, x, b"\x7f")))
tabs_and_line_feeds = lanes(lambda b, x: within(b, x, 0x09, 0x0A))
spacing = lanes(lambda b, x: within(b, x, 0x09, 0x0D))  # tab to carriage return
line_feeds = lanes(lambda b, x: is_byte(b, x, b"\n"))
ampersands = lanes(lambda b, x: is_byte(b, x, b"&"))
at_signs = lanes(lambda b, x: is_byte(b, x, b"@"))


@intrinsic
def equal_to(typingctx, data, i, byte):
    """Mask of the bytes that are `byte`."""

    def generate(context, builder, signature, args):
        target = ir.VectorType(_BYTE, BLOCK)
        block = builder.load(address(context, builder, target, signature.args[0], *args[:2]), align=1)
        single = builder.insert_element(ir.Constant(target, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        wanted = builder.shuffle_vector(single, ir.Constant(target, ir.Undefined), places)
        return builder.bitcast(builder.icmp_unsigned("==", block, wanted), _WORD)

    return types.uint64(data, types.intp, types.uint8), generate


@intrinsic
def first_set(typingctx, mask):
    """Position of the lowest set bit; 64 when none is set."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def last_set(typingctx, mask):
    """Position of the highest set bit; -1 when none is set."""

    def generate(context, builder, signature, args):
        return builder.sub(ir.Constant(_WORD, 63), builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0)))

    return types.int64(types.uint64), generate


@intrinsic
def count_set(typingctx, mask):
    """Number of set bits."""

    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@inlined
def low_bits(n):
    """Mask of the n lowest bits, n from 0 to 64."""
    half = np.uint64(n >> 1)  # a shift by 64 is undefined
    return ~((~np.uint64(0) << half) << np.uint64(n - (n >> 1)))


@intrinsic
def load_word(typingctx, data, i):
    """Load eight bytes from data[i] on as a little-endian uint64; all of them must exist."""

    def generate(context, builder, signature, args):
        return builder.load(address(context, builder, _WORD, signature.args[0], *args), align=1)

    return types.uint64(data, types.intp), generate


@intrinsic
def store_word(typingctx, data, i, word):
    """Write a uint64 to data[i:], little-endian; all eight bytes must exist."""

    def generate(context, builder, signature, args):
        builder.store(args[2], address(context, builder, _WORD, signature.args[0], *args[:2]), align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), generate


@intrinsic
def copy_block(typingctx, data, i, out, w):
    """Write the 64 bytes from data[i] on to out[w:]; all of them must exist."""

    def generate(context, builder, signature, args):
        target = ir.VectorType(_BYTE, BLOCK)
        block = builder.load(address(context, builder, target, signature.args[0], *args[:2]), align=1)
        builder.store(block, address(context, builder, target, signature.args[2], *args[2:]), align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, out, types.intp), generate


@intrinsic
def copy_lower(typingctx, data, i, out, w):
    """Write the 32 bytes from data[i] on to out[w:], ASCII letters in lower case; all of them must exist."""

    def generate(context, builder, signature, args):
        target = ir.VectorType(_BYTE, HALF)
        block = builder.load(address(context, builder, target, signature.args[0], *args[:2]), align=1)
        upper = builder.icmp_unsigned("<", builder.sub(block, splat(0x41, HALF)), splat(26, HALF))
        bit = builder.select(upper, splat(0x20, HALF), splat(0, HALF))
        place = address(context, builder, target, signature.args[2], *args[2:])
        builder.store(builder.or_(block, bit), place, align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, out, types.intp), generate

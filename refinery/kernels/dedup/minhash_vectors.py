"""Minima over a few hashes: the instructions that `minhash_exact` is made of."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from refinery.kernels.core.blocks import address
from refinery.kernels.core.jit import intrinsic, types

CHUNK = 16  # hashes that are searched together
GROUP = 32  # permutations that are searched together, one per lane

_INDEX, _LONG = ir.IntType(32), ir.IntType(64)
_LANES = ir.VectorType(ir.IntType(32), GROUP)
_HASHES, _WIDE = ir.VectorType(ir.IntType(32), CHUNK), ir.VectorType(_LONG, CHUNK)


@intrinsic
def search_chunk(typingctx, hashes, i, number, factors, terms, best, j):
    """Enter the least a h + b mod 2^32 of hashes[i : i + CHUNK] for each of the permutations j to j + GROUP - 1.

    factors and terms: a and b. best: the least of all chunks so far, the least of the other chunks, and the number of the
    chunk that has the least. number: of this chunk.
    """

    def generate(context, builder, signature, args):
        hashes, i, number, factors, terms, best, j = args

        def place(argument: int, row: int = 0) -> Any:
            array = args[argument]
            width = context.make_array(signature.args[argument])(context, builder, array).shape
            columns = builder.extract_value(width, signature.args[argument].ndim - 1)
            at = builder.add(j, builder.mul(ir.Constant(_LONG, row), columns)) if row else j
            return address(context, builder, _LANES, signature.args[argument], array, at)

        a, b = builder.load(place(3), align=4), builder.load(place(4), align=4)
        word = address(context, builder, _INDEX, signature.args[0], hashes, i)
        found = None
        for k in range(CHUNK):
            h = builder.load(builder.gep(word, [ir.Constant(_LONG, k)]), align=4)
            value = builder.add(builder.mul(a, _splat(builder, h)), b)
            found = value if found is None else _chosen(builder, "<", found, value)
        least, other, chunk = (builder.load(place(5, row), align=4) for row in range(3))
        later = _chosen(builder, ">", least, found)
        better = builder.icmp_unsigned("<", found, least)
        builder.store(builder.select(better, found, least), place(5, 0), align=4)
        builder.store(_chosen(builder, "<", other, later), place(5, 1), align=4)
        numbers = _splat(builder, builder.trunc(number, _INDEX))
        builder.store(builder.select(better, numbers, chunk), place(5, 2), align=4)
        return context.get_dummy_value()

    return types.void(hashes, types.int64, types.int64, factors, terms, best, types.int64), generate


@intrinsic
def least_of_chunk(typingctx, hashes, i, a, b):
    """Least (y mod 2^32) + (y >> 61) mod 2^32 of y = a h + b mod 2^64 over hashes[i : i + CHUNK], uint32."""

    def generate(context, builder, signature, args):
        hashes, i, a, b = args
        loaded = builder.load(address(context, builder, _HASHES, signature.args[0], hashes, i), align=4)
        y = builder.mul(builder.zext(loaded, _WIDE), _splat_wide(builder, a))
        y = builder.add(y, _splat_wide(builder, b))
        value = builder.trunc(builder.add(y, builder.lshr(y, ir.Constant(_WIDE, [61] * CHUNK))), _HASHES)
        width = CHUNK
        while width > 1:
            width //= 2
            value = _chosen(builder, "<", _half(builder, value, 0, width), _half(builder, value, width, width))
        return builder.extract_element(value, ir.Constant(_INDEX, 0))

    return types.uint32(hashes, types.int64, types.uint64, types.uint64), generate


def _chosen(builder: Any, order: str, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_unsigned(order, a, b), a, b)


def _half(builder: Any, value: Any, start: int, width: int) -> Any:
    places = ir.Constant(ir.VectorType(_INDEX, width), list(range(start, start + width)))
    return builder.shuffle_vector(value, value, places)


def _repeated(builder: Any, value: Any, kind: ir.VectorType) -> Any:
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_INDEX, 0))
    places = ir.Constant(ir.VectorType(_INDEX, kind.count), None)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), places)


def _splat(builder: Any, value: Any) -> Any:
    return _repeated(builder, value, _LANES)


def _splat_wide(builder: Any, value: Any) -> Any:
    return _repeated(builder, value, _WIDE)

"""Instructions of `dedup.minhash_vectors`: minima over a few hashes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from refinery.kernels.dedup.minhash_vectors import CHUNK, GROUP
from refinery.kernels.llvm.vectors import INDEX, WORD, address, repeated

_LANES = ir.VectorType(INDEX, GROUP)
_HASHES, _WIDE = ir.VectorType(INDEX, CHUNK), ir.VectorType(WORD, CHUNK)


def search_chunk(typingctx: Any, hashes: Any, i: Any, number: Any, factors: Any, terms: Any, best: Any, j: Any) -> Any:
    def generate(context, builder, signature, args):
        hashes, i, number, factors, terms, best, j = args

        def place(argument: int, row: int = 0) -> Any:
            array = args[argument]
            width = context.make_array(signature.args[argument])(context, builder, array).shape
            columns = builder.extract_value(width, signature.args[argument].ndim - 1)
            at = builder.add(j, builder.mul(ir.Constant(WORD, row), columns)) if row else j
            return address(context, builder, _LANES, signature.args[argument], array, at)

        a, b = builder.load(place(3), align=4), builder.load(place(4), align=4)
        word = address(context, builder, INDEX, signature.args[0], hashes, i)
        least_value = None
        for k in range(CHUNK):
            h = builder.load(builder.gep(word, [ir.Constant(WORD, k)]), align=4)
            value = builder.add(builder.mul(a, repeated(builder, h, _LANES)), b)
            least_value = value if least_value is None else _chosen(builder, "<", least_value, value)
        least, other, chunk = (builder.load(place(5, row), align=4) for row in range(3))
        later = _chosen(builder, ">", least, least_value)
        better = builder.icmp_unsigned("<", least_value, least)
        builder.store(builder.select(better, least_value, least), place(5, 0), align=4)
        builder.store(_chosen(builder, "<", other, later), place(5, 1), align=4)
        numbers = repeated(builder, builder.trunc(number, INDEX), _LANES)
        builder.store(builder.select(better, numbers, chunk), place(5, 2), align=4)
        return context.get_dummy_value()

    return types.void(hashes, types.int64, types.int64, factors, terms, best, types.int64), generate


def least_of_chunk(typingctx: Any, hashes: Any, i: Any, a: Any, b: Any) -> Any:
    def generate(context, builder, signature, args):
        hashes, i, a, b = args
        loaded = builder.load(address(context, builder, _HASHES, signature.args[0], hashes, i), align=4)
        y = builder.mul(builder.zext(loaded, _WIDE), repeated(builder, a, _WIDE))
        y = builder.add(y, repeated(builder, b, _WIDE))
        value = builder.trunc(builder.add(y, builder.lshr(y, ir.Constant(_WIDE, [61] * CHUNK))), _HASHES)
        width = CHUNK
        while width > 1:
            width //= 2
            value = _chosen(builder, "<", _half(builder, value, 0, width), _half(builder, value, width, width))
        return builder.extract_element(value, ir.Constant(INDEX, 0))

    return types.uint32(hashes, types.int64, types.uint64, types.uint64), generate


def _chosen(builder: Any, order: str, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_unsigned(order, a, b), a, b)


def _half(builder: Any, value: Any, start: int, width: int) -> Any:
    places = ir.Constant(ir.VectorType(INDEX, width), list(range(start, start + width)))
    return builder.shuffle_vector(value, value, places)

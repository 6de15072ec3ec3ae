"""Instructions of `dedup.sha1_vectors`: SHA-1 of one block for each of 16 lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from refinery.kernels.dedup.sha1_vectors import BLOCK, LANES, ROUND_CONSTANTS, START
from refinery.kernels.llvm.vectors import BYTE, INDEX, WORD, address, repeated

_BYTES, _LONGS = ir.VectorType(BYTE, BLOCK), ir.VectorType(WORD, BLOCK // 8)
_WORDS = ir.VectorType(INDEX, LANES)


def put_block(typingctx: Any, data: Any, i: Any, used: Any, mark: Any, length: Any, blocks: Any, lane: Any) -> Any:
    def generate(context, builder, signature, args):
        data, i, used, mark, length, blocks, lane = args
        loaded = builder.load(address(context, builder, _BYTES, signature.args[0], data, i), align=1)
        numbers = ir.Constant(_BYTES, list(range(BLOCK)))
        inside = builder.icmp_unsigned("<", numbers, repeated(builder, builder.trunc(used, BYTE), _BYTES))
        marked = builder.icmp_unsigned("==", numbers, repeated(builder, builder.trunc(mark, BYTE), _BYTES))
        padding = builder.select(marked, ir.Constant(_BYTES, [0x80] * BLOCK), ir.Constant(_BYTES, None))
        block = builder.select(inside, loaded, padding)
        words = _swap(builder, builder.bitcast(block, _WORDS))
        last = builder.insert_element(ir.Constant(_LONGS, None), length, ir.Constant(INDEX, BLOCK // 8 - 1))
        block = builder.or_(builder.bitcast(words, _LONGS), last)
        place = builder.mul(lane, ir.Constant(WORD, LANES))
        builder.store(block, address(context, builder, _LONGS, signature.args[5], blocks, place), align=4)
        return context.get_dummy_value()

    number = types.int64
    return types.void(data, number, number, number, types.uint64, blocks, number), generate


def first_words(typingctx: Any, blocks: Any, states: Any) -> Any:
    def generate(context, builder, signature, args):
        columns = _columns(context, builder, signature.args[0], args[0])
        state = _compressed(builder, columns, [_splat(word) for word in START])
        place = _row(context, builder, signature.args[1], args[1], 0)
        builder.store(_swap(builder, state[0]), place, align=4)
        return context.get_dummy_value()

    return types.void(blocks, states), generate


def advance(typingctx: Any, blocks: Any, states: Any) -> Any:
    def generate(context, builder, signature, args):
        places = [_row(context, builder, signature.args[1], args[1], k) for k in range(len(START))]
        columns = _columns(context, builder, signature.args[0], args[0])
        state = [builder.load(place, align=4) for place in places]
        for word, place in zip(_compressed(builder, columns, state), places, strict=True):
            builder.store(word, place, align=4)
        return context.get_dummy_value()

    return types.void(blocks, states), generate


def _row(context: Any, builder: Any, kind: Any, array: Any, row: int) -> Any:
    return address(context, builder, _WORDS, kind, array, ir.Constant(WORD, row * LANES))


def _columns(context: Any, builder: Any, kind: Any, blocks: Any) -> list[Any]:
    """Word k of all lanes, for each k: the blocks transposed, in quarters of four words first."""
    rows = [builder.load(_row(context, builder, kind, blocks, k), align=4) for k in range(LANES)]
    pairs = [p for a, b in zip(rows[::2], rows[1::2], strict=True) for p in _pair(builder, a, b, _LOW, _HIGH)]
    quads: list[list[Any]] = []
    for a, b, c, d in (pairs[k : k + 4] for k in range(0, LANES, 4)):
        quads.append([*_pair(builder, a, c, _LOW_2, _HIGH_2), *_pair(builder, b, d, _LOW_2, _HIGH_2)])
    columns: list[Any] = [None] * LANES
    for k in range(4):
        even, odd = _pair(builder, quads[0][k], quads[1][k], _EVEN, _ODD)
        even_2, odd_2 = _pair(builder, quads[2][k], quads[3][k], _EVEN, _ODD)
        columns[k], columns[8 + k] = _pair(builder, even, even_2, _EVEN, _ODD)
        columns[4 + k], columns[12 + k] = _pair(builder, odd, odd_2, _EVEN, _ODD)
    return columns


def _pair(builder: Any, a: Any, b: Any, one: Sequence[int], other: Sequence[int]) -> tuple[Any, Any]:
    return _shuffled(builder, a, b, one), _shuffled(builder, a, b, other)


# Words of two vectors (the second's from 16 on), quarter by quarter: the lower or upper two of each in turn, the lower or
# upper pair of each; and quarters 0 and 2, or 1 and 3, of both.
_QUARTERS = range(0, LANES, 4)
_LOW = [q + k for q in _QUARTERS for k in (0, 16, 1, 17)]
_HIGH = [q + k for q in _QUARTERS for k in (2, 18, 3, 19)]
_LOW_2 = [q + k for q in _QUARTERS for k in (0, 1, 16, 17)]
_HIGH_2 = [q + k for q in _QUARTERS for k in (2, 3, 18, 19)]
_EVEN = [q + k for q in (0, 8, 16, 24) for k in range(4)]
_ODD = [q + k for q in (4, 12, 20, 28) for k in range(4)]


def _compressed(builder: Any, words: Sequence[Any], state: Sequence[Any]) -> list[Any]:
    """State after the 80 rounds of a block."""
    w, (a, b, c, d, e) = list(words), state
    for number in range(80):
        if number >= 16:
            mixed = builder.xor(builder.xor(w[number - 3], w[number - 8]), builder.xor(w[number - 14], w[number - 16]))
            w.append(_left(builder, mixed, 1))
        chosen = _FUNCTIONS[number // 20](builder, b, c, d)
        constant = builder.add(w[number], _splat(ROUND_CONSTANTS[number // 20]))
        total = builder.add(_left(builder, a, 5), builder.add(builder.add(e, constant), chosen))
        a, b, c, d, e = total, a, _left(builder, b, 30), c, d
    return [builder.add(old, new) for old, new in zip(state, (a, b, c, d, e), strict=True)]


def _left(builder: Any, x: Any, n: int) -> Any:
    return builder.or_(builder.shl(x, _splat(n)), builder.lshr(x, _splat(32 - n)))


def _choose(builder: Any, b: Any, c: Any, d: Any) -> Any:
    return builder.xor(d, builder.and_(b, builder.xor(c, d)))


def _parity(builder: Any, b: Any, c: Any, d: Any) -> Any:
    return builder.xor(builder.xor(b, c), d)


def _majority(builder: Any, b: Any, c: Any, d: Any) -> Any:
    return builder.or_(builder.and_(b, c), builder.and_(d, builder.or_(b, c)))


_FUNCTIONS: tuple[Callable[..., Any], ...] = (_choose, _parity, _majority, _parity)


def _splat(value: int) -> ir.Constant:
    return ir.Constant(_WORDS, [value] * LANES)


def _swap(builder: Any, words: Any) -> Any:
    """Words with their bytes in reverse order."""
    bytes_ = builder.bitcast(words, _BYTES)
    reverse = [i ^ 3 for i in range(BLOCK)]
    return builder.bitcast(_shuffled(builder, bytes_, bytes_, reverse), _WORDS)


def _shuffled(builder: Any, a: Any, b: Any, places: Sequence[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INDEX, len(places)), list(places)))

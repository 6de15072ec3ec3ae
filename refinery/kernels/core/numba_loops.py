"""Ranges and slices, for a process that only compiles kernels.

They are values here. numba keeps each in memory of its own, with the code for steps of any size and sign, which LLVM has
to find out to be needless.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, imputils, types
from numba.cpython.rangeobj import range_impl_map

_WORD = ir.IntType(64)
_START, _STOP, _STEP = 0, 1, 2  # fields of a range, and of a slice
_NEXT, _BY, _LEFT = 0, 2, 3  # fields of a range's iterator


def take(context: Any) -> None:
    """Make numba compile ranges and slices so, for good. context: numba's, for this processor."""
    for number, (state, iterator) in range_impl_map.items():
        _replace(context, range, (number,), _range)
        _replace(context, range, (number, number), _range)
        _replace(context, "getiter", (state,), _iterator(_replaced(context, "getiter", (state,))))
        _replace(context, "iternext", (iterator,), _next)
    whole = (types.VarArg(types.Any),)
    _replace(context, slice, whole, _slice(_replaced(context, slice, whole)))
    context.pair_first = lambda builder, value, kind: builder.extract_value(value, 0)
    context.pair_second = lambda builder, value, kind: builder.extract_value(value, 1)


def _replaced(context: Any, key: Any, signature: Any) -> Any:
    """numba's implementation for exactly these types."""
    (found,) = (made for kinds, made in context._defns[key].versions if kinds == signature)
    return found


def _replace(context: Any, key: Any, signature: Any, implementation: Any) -> None:
    _replaced(context, key, signature)  # fails where numba has none
    others = context._defns[key]
    others.versions = [(kinds, implementation if kinds == signature else made) for kinds, made in others.versions]
    others._cache.clear()


def _structure(builder: Any, kind: Any, *fields: Any) -> Any:
    whole = kind(ir.Undefined)
    for place, value in enumerate(fields):
        whole = builder.insert_value(whole, value, place)
    return whole


def _range(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """`range(stop)` and `range(start, stop)`."""
    kind = context.get_value_type(signature.return_type)
    number = args[0].type
    start = args[0] if len(args) == 2 else number(0)
    return _structure(builder, kind, start, args[-1], number(1))


def _iterator(general: Any) -> Any:
    def made(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """An iterator of a range whose step is known to be 1; else numba's own."""
        step = args[0].value if isinstance(args[0], ir.instructions.InsertValue) else None
        if not (isinstance(step, ir.Constant) and step.constant == 1):
            return general(context, builder, signature, args)
        start, stop = (builder.extract_value(args[0], field) for field in (_START, _STOP))
        count = builder.sub(stop, start)
        left = builder.select(builder.icmp_signed(">", count, count.type(0)), count, count.type(0))
        places = [cgutils.alloca_once_value(builder, value) for value in (start, left)]
        kind = context.get_value_type(signature.return_type)
        return _structure(builder, kind, places[0], stop, step, places[1])

    return made


@imputils.iternext_impl(imputils.RefType.BORROWED)
def _next(context: Any, builder: Any, signature: Any, args: Any, result: Any) -> None:
    """The next number of an iterator, if one is left."""
    place, by, counter = (builder.extract_value(args[0], field) for field in (_NEXT, _BY, _LEFT))
    left = builder.load(counter)
    is_valid = builder.icmp_signed(">", left, left.type(0))
    result.set_valid(is_valid)
    with builder.if_then(is_valid):
        value = builder.load(place)
        result.yield_(value)
        builder.store(builder.sub(left, left.type(1), flags=["nsw"]), counter)
        builder.store(builder.add(value, by), place)


def _slice(general: Any) -> Any:
    def made(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """`slice(start, stop)`, of which each may be None; numba's own for others."""
        if len(args) != 2 or not all(kind in (types.none, types.intp) for kind in signature.args):
            return general(context, builder, signature, args)
        given = [None if kind is types.none else value for kind, value in zip(signature.args, args, strict=True)]
        start = _WORD(0) if given[0] is None else given[0]
        stop = _WORD((1 << 63) - 1) if given[1] is None else given[1]
        return _structure(builder, context.get_value_type(signature.return_type), start, stop, _WORD(1))

    return made

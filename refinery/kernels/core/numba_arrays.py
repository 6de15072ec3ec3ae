"""Arrays as kernels use them, for a process that only compiles kernels: an address and lengths.

numba's array has seven fields, two of them for reference counts, and three follow from the others where an array is
C-contiguous. Each call of a helper passes all of them, and each access of an element goes through a copy in memory,
which LLVM has to take apart again: that is half of all instructions that it gets for a kernel.
"""

import operator
from functools import reduce
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import Registry
from numba.np import arrayobj

_WORD = ir.IntType(64)
_DATA, _SHAPE = 0, 1  # fields
_DERIVED = frozenset(("meminfo", "parent", "nitems", "itemsize", "strides"))

_registry = Registry("arrays of kernels")
_proxy = cgutils.create_struct_proxy
_structs: Any = cgutils._StructProxy


def take(context: Any) -> None:
    """Make numba compile such arrays, for good. context: numba's, for this processor."""
    changed: Any = cgutils
    changed.create_struct_proxy = _struct_proxy
    changed.alloca_once = _variable
    _structs.__init__, _structs._make_refs = _made, _references
    changed = arrayobj
    changed.populate_array = _populated
    context.data_model_manager.register(types.Array, _model)
    context.data_model_manager._cache.clear()
    context.install_registry(_registry)


def packed(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """An array of an address, a number, and lengths."""
    whole = context.get_value_type(kind)
    data, lengths = whole.elements
    array = builder.insert_value(whole(ir.Undefined), builder.inttoptr(address, data), _DATA)
    return builder.insert_value(array, cgutils.pack_array(builder, shape, lengths.element), _SHAPE)


class _Model(models.StructModel):
    """A C-contiguous array: fields `data` and `shape`."""

    def __init__(self, manager: Any, kind: Any) -> None:
        fields = [("data", types.CPointer(kind.dtype)), ("shape", types.UniTuple(types.intp, kind.ndim))]
        super().__init__(manager, kind, fields)


def _model(manager: Any, kind: Any) -> Any:
    return _Model(manager, kind) if kind.layout == "C" else models.ArrayModel(manager, kind)


class _Fields:
    """Fields of numba's array that are no fields here: computed when they are read, ignored when they are set."""

    _context: Any
    _builder: Any
    _fe_type: Any
    shape: Any

    @property
    def meminfo(self) -> Any:
        return self._context.get_value_type(types.MemInfoPointer(self._fe_type.dtype))(None)

    @property
    def parent(self) -> Any:
        return self._context.get_value_type(types.pyobject)(None)

    @property
    def itemsize(self) -> Any:
        return _WORD(arrayobj.get_itemsize(self._context, self._fe_type))

    @property
    def nitems(self) -> Any:
        return self._products()[0]

    @property
    def strides(self) -> Any:
        return cgutils.pack_array(self._builder, self._products()[1:], _WORD)

    def _products(self) -> list[Any]:
        """Bytes from one element to the next of each dimension, after the number of elements."""
        sizes, count = [self.itemsize], _WORD(1)
        lengths = cgutils.unpack_tuple(self._builder, self.shape, self._fe_type.ndim)
        for length in reversed(lengths):
            count = self._builder.mul(count, length, flags=["nsw"])
            sizes.insert(0, self._builder.mul(sizes[0], length))
        return [count, *sizes[1:]]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DERIVED:
            super().__setattr__(name, value)


_known: dict[Any, Any] = {}


def _struct_proxy(kind: Any, use: str = "value", **named: Any) -> Any:
    found = _proxy(kind, named.get("kind", use))
    if not (isinstance(kind, types.Array) and kind.layout == "C"):
        return found
    if found not in _known:
        _known[found] = type(found.__name__, (_Fields, found), {})
    return _known[found]


def _made(self: Any, context: Any, builder: Any, value: Any = None, ref: Any = None) -> None:
    """Make a structure in memory, filled with zeros only where it gets no value."""
    self._context, self._builder = context, builder
    self._datamodel = context.data_model_manager[self._fe_type]
    self._be_type = self._get_be_type(self._datamodel)
    self._has_value = value is not None
    self._outer_ref, self._value = self._make_refs(ref)
    if value is not None:
        builder.store(value, self._outer_ref)


def _references(self: Any, ref: Any) -> tuple[Any, Any]:
    if ref is None:
        with self._builder.goto_entry_block():
            ref = self._builder.alloca(self._be_type)
        if not self._has_value:
            self._builder.store(self._be_type(None), ref)
    return ref, ref


def _variable(builder: Any, kind: Any, size: Any = None, name: str = "", zfill: bool = False) -> Any:
    """A variable, zero at the start of the function, or where it is made."""
    if isinstance(size, int):
        size = _WORD(size)
    with builder.goto_entry_block():
        made = builder.alloca(kind, size=size, name=name)
        if not zfill:
            builder.store(kind(None), made)
    if zfill:
        builder.store(kind(None), made)
    return made


def _populated(array: Any, data: Any, shape: Any, strides: Any, itemsize: Any, **others: Any) -> Any:
    builder = array._builder
    lengths, steps = (
        cgutils.pack_array(builder, part, _WORD) if isinstance(part, tuple | list) else part
        for part in (shape, strides)
    )
    array.data, array.shape = data, lengths
    if not isinstance(array._datamodel, _Model):  # a view of some columns: its fields for reference counts stay zero
        array.strides, array.itemsize = steps, itemsize
        counts = cgutils.unpack_tuple(builder, lengths, lengths.type.count)
        array.nitems = reduce(builder.mul, counts)
    return array


def _is_plain(kind: Any) -> bool:
    return kind.ndim == 1 and kind.layout == "C"


def _element(context: Any, builder: Any, array: Any, kind: Any, index: Any) -> Any:
    """Address of an element. A negative index counts from the end."""
    signed = kind.signed
    index = context.cast(builder, index, kind, types.intp if signed else types.uintp)
    if signed and not (isinstance(index, ir.Constant) and index.constant >= 0):
        wrapped = builder.add(index, builder.extract_value(array, [_SHAPE, 0]))
        index = builder.select(builder.icmp_signed("<", index, _WORD(0)), wrapped, index)
    return builder.gep(builder.extract_value(array, _DATA), [index])


@_registry.lower(operator.getitem, types.Array, types.Integer)
def _get(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, number = signature.args
    if not _is_plain(kind):
        return arrayobj.getitem_arraynd_intp(context, builder, signature, args)
    return arrayobj.load_item(context, builder, kind, _element(context, builder, args[0], number, args[1]))


@_registry.lower(operator.getitem, types.Array, types.SliceType)
def _part(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A part of an array, from one index to another, as a view."""
    kind, bounds = signature.args
    if not (_is_plain(kind) and _is_plain(signature.return_type)) or bounds.has_step:
        return arrayobj.getitem_arraynd_intp(context, builder, signature, args)
    array, size = args[0], builder.extract_value(args[0], [_SHAPE, 0])
    start, stop = (_inside(builder, builder.extract_value(args[1], place), size) for place in (0, 1))
    length = builder.sub(stop, start)
    length = builder.select(builder.icmp_signed("<=", length, _WORD(0)), _WORD(0), length)
    data = builder.gep(builder.extract_value(array, _DATA), [start])
    view = builder.insert_value(context.get_value_type(signature.return_type)(ir.Undefined), data, _DATA)
    return builder.insert_value(view, length, [_SHAPE, 0])


def _inside(builder: Any, bound: Any, size: Any) -> Any:
    """A bound of a part, from 0 to the size. A negative one counts from the end."""
    zero = _WORD(0)
    bound = builder.select(builder.icmp_signed("<", bound, zero), builder.add(bound, size), bound)
    bound = builder.select(builder.icmp_signed("<", bound, zero), zero, bound)
    return builder.select(builder.icmp_signed(">=", bound, size), size, bound)


@_registry.lower(operator.setitem, types.Array, types.Integer, types.Number)
@_registry.lower(operator.setitem, types.Array, types.Integer, types.Boolean)
def _set(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, number, given = signature.args
    if not _is_plain(kind):
        return arrayobj.setitem_array(context, builder, signature, args)
    place = _element(context, builder, args[0], number, args[1])
    arrayobj.store_item(context, builder, kind, context.cast(builder, args[2], given, kind.dtype), place)
    return None


@_registry.lower(len, types.Array)
def _length(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    (kind,) = signature.args
    if kind.layout != "C":
        return arrayobj.array_len(context, builder, signature, args)
    return builder.extract_value(args[0], [_SHAPE, 0])

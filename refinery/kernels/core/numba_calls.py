"""Calls between functions of a kernel, for a process that only compiles kernels.

numba's calls hand on a Python exception with its text. A kernel that fails returns a number to its caller, so a call has
one argument less, and one comparison after it.
"""

from typing import Any

from llvmlite import ir
from numba.core import callconv, types

_FAILED = 1
_UNSEEN = [name for name in ("captures(none)", "nocapture") if name in ir.values.ArgumentAttributes._known]


class Calls(callconv.MinimalCallConv):
    """A function returns a status, and its result through a pointer."""

    def decorate_function(self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False) -> None:
        """Name the arguments of a function; say that nothing else points to the place of its result."""
        super().decorate_function(fn, args, fe_argtypes)
        for attribute in ("noalias", *_UNSEEN[:1]):
            fn.args[0].add_attribute(attribute)

    def call_function(self, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None) -> Any:
        """Call a function; returns its status and its result."""
        with builder.goto_entry_block():
            place = builder.alloca(callee.args[0].type.pointee)
        code = builder.call(callee, [place, *self._get_arg_packer(argtys).as_arguments(builder, args)])
        is_none = builder.icmp_signed("==", code, callconv.RETCODE_NONE) if isinstance(resty, types.Optional) else None
        failed = builder.icmp_signed(">", code, code.type(0))
        status = callconv.Status(code, None, is_none, failed, None, None, None, None)
        return status, self.context.get_returned_value(builder, resty, builder.load(place))

    def return_user_exc(self, builder: Any, *error: Any, **details: Any) -> None:
        """End the function with a failure."""
        self._return_errcode_raw(builder, _FAILED)

    return_dynamic_user_exc = return_user_exc

"""Scan and copy of plain bytes in JSON, 64 at a time, by the masks of `blocks`."""

from __future__ import annotations

from refinery.kernels.core.blocks import BLOCK, any_of, first_set, is_byte, lanes, within
from refinery.kernels.core.blocks import copy_block as copy_bytes
from refinery.kernels.core.jit import inlined, kernel

# Bytes that end a run of text: quotes, backslashes, control characters.
specials = lanes(lambda x: any_of(is_byte(x, b'"'), is_byte(x, b"\\"), within(x, 0, 0x1F)))
# Quotes, brackets, braces; a bracket becomes a brace.
_brackets = lanes(lambda x: any_of(is_byte(x, b'"'), is_byte(x | 0x20, b"{"), is_byte(x | 0x20, b"}")))


@inlined
def copy_block(data, i, out, w):
    """Copy the 64 bytes at data[i] to out[w:]; returns the number of bytes before the first special one."""
    mask = specials(data, i)
    copy_bytes(data, i, out, w)
    return first_set(mask)


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

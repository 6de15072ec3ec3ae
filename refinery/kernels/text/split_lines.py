"""Lines of a text as `str.splitlines` cuts them."""

from __future__ import annotations

from refinery.kernels.core.blocks import BLOCK, any_of, first_set, is_byte, lanes, within
from refinery.kernels.core.jit import kernel
from refinery.kernels.core.utf8 import decode

CR, LF = 0x0D, 0x0A

# ASCII line ends, and the first bytes of the other line ends.
_line_ends = lanes(
    lambda x: any_of(within(x, 0x0A, 0x0D), within(x, 0x1C, 0x1E), is_byte(x, b"\xc2"), is_byte(x, b"\xe2"))
)


@kernel
def next_line(data, i, end):
    """End of the line that begins at i, and the begin of the next one."""
    while i < end:
        if i + BLOCK <= len(data):
            run = first_set(_line_ends(data, i))
            i += run
            if run == BLOCK:
                continue
            if i >= end:
                break
        elif data[i] & 0xC0 == 0x80:  # within a character, which began in the block before
            i += 1
            continue
        cp, after = decode(data, i)
        if 0x0A <= cp <= 0x0D or 0x1C <= cp <= 0x1E or cp == 0x85 or cp == 0x2028 or cp == 0x2029:
            if cp == CR and after < end and data[after] == LF:
                after += 1
            return i, after
        i = after
    return end, end

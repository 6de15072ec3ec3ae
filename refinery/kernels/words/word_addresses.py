"""Recognition of addresses: a host, with or without a scheme, a user, a port, a path (rules of `word_rules`)."""

from __future__ import annotations

from refinery.kernels.core.jit import kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.words.word_rules import DIGIT, IN_HOST, LOWER, WORD

FULL_STOP, AT, COLON, SLASH = 0x2E, 0x40, 0x3A, 0x2F


@kernel
def is_address(data, start, end, table):
    """True if data[start:end] is an address: a host, with or without a scheme, a user, a port, a path."""
    if is_host(data, start, end, table):
        return True
    scheme = True
    i = start
    while i < end:
        byte = data[i]
        if byte == AT and i > start and is_host(data, i + 1, end, table):
            return True
        if byte == COLON and scheme:
            scheme = False
            if i - start >= 2 and i + 2 < end and data[i + 1] == SLASH and data[i + 2] == SLASH:
                if _has_two(data, start, i) and is_host(data, i + 3, end, table):
                    return True
        elif scheme and (byte < 0x80 or byte >= 0xC0):
            scheme = table[decode(data, i)[0]] & WORD != 0 or byte == 0x2B or byte == 0x2D or byte == FULL_STOP
        i += 1
    return False


@kernel
def _has_two(data, start, end):
    """True if data[start:end] has two characters or more."""
    return end > start and decode(data, start)[1] < end


@kernel
def is_host(data, start, end, table):
    """True if a host begins at `start` and an address ends at `end`."""
    i = label = start
    labels = 0
    numbers = 0  # labels that are numbers
    lower = 0  # characters of the label so far, all possible in a top-level domain; -1: not all
    chars = 0
    joined = False  # True if the label's last character may only be inside labels
    digits = True
    while i < end:
        byte = data[i]
        if byte == COLON or byte == SLASH or byte == 0x3F or byte == 0x23:
            break
        cp, after = decode(data, i)
        bits = table[cp]
        if byte == FULL_STOP:
            if chars == 0 or chars > 64 or joined:
                return False
            labels += 1
            numbers += digits
            label = after
            lower = chars = 0
            joined = False
            digits = True
        else:
            inner = byte == 0x2D or byte == 0x5F
            if not (bits & IN_HOST or (inner and chars > 0)):
                if not bits & LOWER:  # the last label may have letters that no other label has
                    return False
                labels = -1000
            joined = inner
            digits = digits and bits & DIGIT != 0 and after - label <= 3
            lower = lower + 1 if lower >= 0 and bits & LOWER else -1
            chars += 1
        i = after
    if labels < 0:  # a letter beyond U+FFFF: allowed in the last label only, which is checked again
        return _ends_in_far_letters(data, start, i, end, table)
    if labels == 0 or not _is_path(data, i, end):
        return False
    if labels == 3 and numbers == 3 and digits and chars > 0:
        return _is_public(data, start, i)
    return 2 <= lower <= 63


@kernel
def _ends_in_far_letters(data, start, stop, end, table):
    """`is_host` for a host with letters beyond U+FFFF."""
    dot = stop
    while dot > start and data[dot - 1] != FULL_STOP:
        dot -= 1
    if dot == start or not _is_path(data, stop, end):
        return False
    chars = 0
    i = dot
    while i < stop:
        cp, i = decode(data, i)
        if not table[cp] & LOWER:
            return False
        chars += 1
    if not 2 <= chars <= 63:
        return False
    i = start
    chars = 0
    joined = False
    while i < dot:
        byte = data[i]
        cp, i = decode(data, i)
        if byte == FULL_STOP:
            if chars == 0 or chars > 64 or joined:
                return False
            chars = 0
            joined = False
            continue
        inner = byte == 0x2D or byte == 0x5F
        if not (table[cp] & IN_HOST or (inner and chars > 0)):
            return False
        joined = inner
        chars += 1
    return True


@kernel
def _is_path(data, i, end):
    """True if data[i:end] is empty, a port, a path, or a port and a path."""
    if i < end and data[i] == COLON:
        port = i + 1
        i = port
        while i < end and 0x30 <= data[i] <= 0x39:
            i += 1
        if not 2 <= i - port <= 5:
            return False
    return i == end or data[i] == SLASH or data[i] == 0x3F or data[i] == 0x23


@kernel
def _is_public(data, start, end):
    """True if four numbers are an address outside private networks, without needless zeros at either end."""
    a = b = number = place = 0
    first = start
    for i in range(start, end + 1):
        if i < end and data[i] != FULL_STOP:
            number = number * 10 + data[i] - 0x30
            continue
        if number > 255 or ((place == 0 or place == 3) and data[first] == 0x30):
            return False
        if place == 0:
            a = number
        elif place == 1:
            b = number
        place += 1
        last = number
        number = 0
        first = i + 1
    private = a == 10 or a == 127 or (a == 169 and b == 254) or (a == 192 and b == 168)
    return not private and not (a == 172 and 16 <= b <= 31) and 1 <= a <= 223 and 1 <= last <= 254

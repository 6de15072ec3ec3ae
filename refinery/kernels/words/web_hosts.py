"""The host of an address as browsers, and the parsers that follow their standard (https://url.spec.whatwg.org), read it."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from urllib.parse import unquote_to_bytes

_SPECIAL = frozenset(("http", "https", "ws", "wss", "ftp", "file"))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROLS = "".join(map(chr, range(0x21)))  # and the space
_FORBIDDEN = re.compile(r"[\x00\t\n\r #/:<>?@\[\\\]^|]")
_FORBIDDEN_IN_DOMAIN = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f]")
_NUMBER = re.compile(r"\d+|0[xX][0-9A-Fa-f]*")


def host_of(url: str) -> str:
    """The host of an address, a domain in lower case and Punycode. Raises ValueError if there is none, or it is not valid."""
    url = url.strip(_CONTROLS)
    for char in "\t\n\r":
        url = url.replace(char, "")
    match = _SCHEME.match(url)
    if match is None:
        raise ValueError(f"relative address without a base: {url[:200]!r}")
    scheme, rest = match[1].lower(), url[match.end() :]
    special = scheme in _SPECIAL
    host = _host_and_port(_authority(rest, scheme, special, url), url)
    if not host:
        raise ValueError(f"address without a host: {url[:200]!r}")
    return _ipv6(host, url) if host.startswith("[") else _domain(host, url) if special else _opaque(host, url)


def _authority(rest: str, scheme: str, special: bool, url: str) -> str:
    """User, host and port, as written."""
    if special:
        rest = rest.replace("\\", "/")
    slashes = len(rest) - len(rest.lstrip("/"))
    if (not special or scheme == "file") and slashes < 2:
        raise ValueError(f"address without a host: {url[:200]!r}")
    return re.split("[/?#]", rest[slashes if special and scheme != "file" else 2 :], maxsplit=1)[0]


def _host_and_port(authority: str, url: str) -> str:
    whole = authority.rpartition("@")[2]
    end = whole.rfind("]") + 1 if whole.startswith("[") else 0
    host, _, port = whole[end:].partition(":")
    if port and not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise ValueError(f"invalid port in {url[:200]!r}")
    return whole[:end] + host


def _ipv6(host: str, url: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(host[1:-1] if host.endswith(']') else host)}]"
    except ValueError:
        raise ValueError(f"invalid IPv6 address in {url[:200]!r}") from None


def _domain(host: str, url: str) -> str:
    name = unquote_to_bytes(host).decode("utf-8", "replace") if "%" in host else host
    ascii_name = name.lower() if name.isascii() else ".".join(map(_punycode, re.split("[.。．｡]", name)))
    if not ascii_name or _FORBIDDEN_IN_DOMAIN.search(ascii_name):
        raise ValueError(f"invalid domain in {url[:200]!r}")
    parts = ascii_name.removesuffix(".").split(".")
    return _ipv4(parts, url) if _NUMBER.fullmatch(parts[-1]) else ascii_name


def _punycode(label: str) -> str:
    """A label of a domain in ASCII. Of the mapping of UTS 46 this is what lower case and NFKC give."""
    label = unicodedata.normalize("NFKC", label.lower()).replace("\xad", "")
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def _ipv4(parts: list[str], url: str) -> str:
    """An IPv4 address of one to four numbers, decimal, octal or hexadecimal, of which the last fills the rest."""
    try:
        numbers = [_number(part) for part in parts]
        *first, last = numbers
        if len(numbers) > 4 or any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
            raise ValueError
    except ValueError:
        raise ValueError(f"invalid IPv4 address in {url[:200]!r}") from None
    return str(ipaddress.IPv4Address(sum(number << 24 - 8 * at for at, number in enumerate(first)) + last))


def _number(part: str) -> int:
    if not _NUMBER.fullmatch(part):
        raise ValueError(part)
    if part[:2] in ("0x", "0X"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if part.startswith("0") and len(part) > 1 else int(part)


def _opaque(host: str, url: str) -> str:
    if _FORBIDDEN.search(host):
        raise ValueError(f"invalid host in {url[:200]!r}")
    return "".join(char if " " < char < "\x7f" else "".join(f"%{byte:02X}" for byte in char.encode()) for char in host)

"""Files of the library `tokenizers` (tokenizer.json) for which kernels count tokens: byte-level BPE.

A file with anything that is not listed here is refused with `Unsupported`, and the library encodes by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from refinery.kernels.core.file_state import state_of
from refinery.kernels.models.character_classes import composed
from refinery.kernels.models.sentencepiece_file import Unsupported

# Ways to cut a text into words.
WHOLE, GPT2, CL100K = range(3)
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_BEFORE, _AFTER = r"|[^\r\n\p{L}\p{N}]?\p{L}+|", r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TOP = {
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
}
_MODEL = {
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
}
# The patterns of GPT-4 and Llama 3, and of Qwen 2, with the digits that a number has at most.
PATTERNS = {_CONTRACTIONS + _BEFORE + number + _AFTER: most for number, most in ((r"\p{N}{1,3}", 3), (r"\p{N}", 1))}


@dataclass(frozen=True)
class TokenizerFile:
    """A byte-level BPE tokenizer.

    vocabulary: the number of each token. merges: the numbers of both parts and of their union, by rank. split: a way to
    cut words; digits: of a number at most. raw, cooked: added tokens that are looked for before and after NFC. special:
    tokens that are added to each text.
    """

    vocabulary: dict[bytes, int]
    merges: list[tuple[int, int, int]]
    ignore_merges: bool
    split: int
    digits: int
    prefix_space: bool
    nfc: bool
    raw: tuple[str, ...]
    cooked: tuple[str, ...]
    special: int


def problem(path: str) -> str:
    """Reason why kernels cannot count tokens by a tokenizer.json; empty if they can. Raises OSError."""
    return _problem(path, *state_of(path))


@lru_cache(maxsize=16)
def _problem(path: str, *state: int) -> str:
    try:
        read(path)
    except Unsupported as error:
        return str(error)
    return ""


def read(path: str) -> TokenizerFile:
    """Read a tokenizer.json. Raises OSError and Unsupported."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unsupported(f"it is no JSON: {error}") from None
    try:
        return _tokenizer(_mapping(content, _TOP, "the file"))
    except (KeyError, TypeError, AttributeError) as error:
        raise Unsupported(f"its form is another one ({type(error).__name__}: {error})") from None


def _tokenizer(content: Mapping[str, Any]) -> TokenizerFile:
    model = _mapping(content["model"], _MODEL, "the model")
    _need(model["type"] == "BPE", f"its model is {model['type']}")
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        _need(model.get(name) is None, f"its model has {name}")
    nfc = _is_nfc(content.get("normalizer"))
    split, digits, prefix = _words(content.get("pre_tokenizer"))
    raw, cooked = _added(content.get("added_tokens") or [], nfc)
    vocabulary = _vocabulary(model["vocab"])
    return TokenizerFile(
        vocabulary=_in_bytes(vocabulary),
        merges=_merges(model["merges"], vocabulary),
        ignore_merges=_flag(model.get("ignore_merges", False)),
        split=split,
        digits=digits,
        prefix_space=prefix,
        nfc=nfc,
        raw=raw,
        cooked=cooked,
        special=_specials(content.get("post_processor")),
    )


def _need(condition: bool, problem: str) -> None:
    if not condition:
        raise Unsupported(problem)


def _mapping(value: Any, known: set[str], what: str) -> Mapping[str, Any]:
    _need(isinstance(value, dict), f"{what} is no mapping")
    unknown = sorted(set(value) - known)
    _need(not unknown, f"{what} has {', '.join(unknown)}")
    return dict(value)


def _flag(value: Any) -> bool:
    _need(isinstance(value, bool), f"{value!r} is neither true nor false")
    return bool(value)


def _is_nfc(normalizer: Any) -> bool:
    if normalizer is None:
        return False
    steps = normalizer["normalizers"] if normalizer["type"] == "Sequence" else [normalizer]
    kinds = [step["type"] for step in steps]
    _need(set(kinds) <= {"NFC"}, f"its normalizer is {' and '.join(kinds)}")
    return bool(kinds)


def _words(pre_tokenizer: Any) -> tuple[int, int, bool]:
    """The way to cut words, the digits of a number at most, and whether a space is put before a text."""
    _need(pre_tokenizer is not None, "it has no pre_tokenizer")
    steps = pre_tokenizer["pretokenizers"] if pre_tokenizer["type"] == "Sequence" else [pre_tokenizer]
    kinds = [step["type"] for step in steps]
    _need(kinds in (["ByteLevel"], ["Split", "ByteLevel"]), f"its pre_tokenizer is {' and '.join(kinds)}")
    last = steps[-1]
    prefix, regex = _flag(last["add_prefix_space"]), _flag(last.get("use_regex", True))
    if len(steps) == 1:
        return GPT2 if regex else WHOLE, 0, prefix
    _need(not prefix and not regex, "its pre_tokenizer cuts words twice")
    first = steps[0]
    pattern = first["pattern"].get("Regex")
    _need(pattern in PATTERNS, "its pre_tokenizer has a pattern that is not that of GPT-4, Llama 3 or Qwen 2")
    _need(
        first["behavior"] == "Isolated" and not _flag(first["invert"]), "its pre_tokenizer leaves out what it cuts at"
    )
    return CL100K, PATTERNS[pattern], False


def _added(tokens: Sequence[Mapping[str, Any]], nfc: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Added tokens that are looked for before and after NFC."""
    contents = [token["content"] for token in tokens]
    _need(all(contents) and len({*contents}) == len(contents), "it has added tokens that are empty or there twice")
    for token in tokens:
        for option in ("single_word", "lstrip", "rstrip"):
            _need(not _flag(token[option]), f"its added token {token['content']!r} has {option}")
        _need(not nfc or composed(token["content"]) == token["content"], "it has an added token that is not in NFC")
    cooked = {token["content"] for token in tokens if _flag(token["normalized"])}
    return tuple(one for one in contents if one not in cooked), tuple(one for one in contents if one in cooked)


def _specials(processor: Any) -> int:
    """Number of tokens that are added to each text."""
    if processor is None or processor["type"] == "ByteLevel":
        return 0
    if processor["type"] == "Sequence":
        counts = [_specials(step) for step in processor["processors"]]
        _need(sum(count > 0 for count in counts) < 2, "its post_processor adds tokens in two steps")
        return sum(counts)
    _need(processor["type"] == "TemplateProcessing", f"its post_processor is {processor['type']}")
    template = processor["single"]
    texts = [part["Sequence"]["id"] for part in template if "Sequence" in part]
    _need(texts == ["A"], "its post_processor repeats the text, or leaves it out")
    names = [part["SpecialToken"]["id"] for part in template if "Sequence" not in part]
    return sum(len(processor["special_tokens"][name]["ids"]) for name in names)


def _vocabulary(tokens: Any) -> dict[str, int]:
    _need(isinstance(tokens, dict), "its vocabulary is no mapping")
    numbers = list(tokens.values())
    good = all(type(number) is int and 0 <= number < 1 << 31 for number in numbers)
    _need(good and len({*numbers}) == len(numbers), "its vocabulary has numbers that are unusual or there twice")
    return dict(tokens)


def alphabet() -> list[str]:
    """The character that stands for each byte in tokens: itself where it is a visible one of Latin-1."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) if byte in shown else chr(0x100 + others.index(byte)) for byte in range(256)]


def _in_bytes(vocabulary: Mapping[str, int]) -> dict[bytes, int]:
    """The tokens that words can be made of, as bytes."""
    bytes_of = {ord(char): byte for byte, char in enumerate(alphabet())}
    missing = [char for char in alphabet() if char not in vocabulary]
    _need(not missing, f"its vocabulary has no token for {len(missing)} of the 256 bytes")
    table = {code: chr(byte) for code, byte in bytes_of.items()} | {
        code: "\u0100" for code in range(256) if code not in bytes_of
    }
    by_bytes = {}
    for token, number in vocabulary.items():
        text = token.translate(table)
        if text and all(char < "\u0100" for char in text):
            by_bytes[text.encode("latin-1")] = number
    return by_bytes


def _merges(merges: Sequence[Any], vocabulary: Mapping[str, int]) -> list[tuple[int, int, int]]:
    """Numbers of the parts and the union of each merge."""
    pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in merges]
    _need(all(len(pair) == 2 for pair in pairs), "it has merges that are no pairs")
    _need(len({*pairs}) == len(pairs), "it has a merge twice")
    _need(not any(left.startswith("#version") for left, _ in pairs), "its merges have a version")
    return [(vocabulary[left], vocabulary[right], vocabulary[left + right]) for left, right in pairs]

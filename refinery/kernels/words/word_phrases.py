"""Tables by which kernels find exceptions that the rules of `word_rules` alone would cut into several words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

Phrase = tuple[str, ...]

BEGINS, BESIDE = 1, 2  # bits of `pairs`
IS_PHRASE = 0  # column of `automaton`


def numbers(phrases: Iterable[Phrase]) -> dict[str, int]:
    """Numbers of the words of phrases, from 1."""
    return {word: number for number, word in enumerate(sorted({word for words in phrases for word in words}), 1)}


def pairs(phrases: Iterable[Phrase]) -> np.ndarray:
    """Table by two bytes, uint8 (256, 256), which rejects most words outside phrases without reading the words.

    BEGINS: the first two words of a phrase begin with the bytes. BESIDE: a word of a phrase ends with the first byte,
    the next word begins with the second.
    """
    table = np.zeros((256, 256), np.uint8)
    for words in phrases:
        one, two, *_ = (word.encode()[0] for word in words)
        table[one, two] |= BEGINS
        for left, right in zip(words, words[1:], strict=False):
            table[left.encode()[-1], right.encode()[0]] |= BESIDE
    return table


def automaton(phrases: Sequence[Phrase], numbered: Mapping[str, int]) -> np.ndarray:
    """Automaton as int16 (states, words + 1): the next state by word number, 0 for none; the start is state 0.

    The column IS_PHRASE is 1 in the state after a whole phrase.
    """
    states: dict[Phrase, int] = {(): 0}
    for words in phrases:
        for end in range(1, len(words) + 1):
            states.setdefault(words[:end], len(states))
    table = np.zeros((len(states), len(numbered) + 1), np.int16)
    for words, state in states.items():
        if words:
            table[states[words[:-1]], numbered[words[-1]]] = state
    for words in phrases:
        table[states[words], IS_PHRASE] = 1
    return table

"""Checks of KenLM's files: kernels check no bounds, so a file that does not fit its counts is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from refinery.kernels.models.kenlm_file import FIXED, KINDS, SANITY, ModelError, read, unusable
from refinery.kernels.models.kenlm_layout import BEGIN, END
from tests.kernels.models import kenlm_writer as writer

GRAMS = writer.grams_of([["a", "b", "c", "a"], ["b", "c"], []], 3)
HEAD = len(SANITY) + FIXED.size


def read_bytes(content: bytes | bytearray) -> object:
    return read(np.frombuffer(bytes(content), np.uint8))


@pytest.mark.parametrize("kind", range(6))
def test_kinds_and_markers(kind: int) -> None:
    model = read(np.frombuffer(writer.model(GRAMS, kind), np.uint8))
    words = sorted(["<s>", "</s>", "a", "b", "c"], key=lambda word: writer.murmur(word.encode()))
    assert (model.kind, model.order) == (KINDS[kind], 3)
    assert model.tables.layout[[BEGIN, END]].tolist() == [words.index("<s>") + 1, words.index("</s>") + 1]


@pytest.mark.parametrize("kind", range(6))
def test_every_cut_is_refused(kind: int) -> None:
    whole = writer.model(GRAMS, kind, writer.Options(words=False))
    for size in range(len(whole)):
        with pytest.raises(ModelError):
            read_bytes(whole[:size])
    assert read_bytes(whole)


def changed(at: int, value: bytes, kind: int = writer.QUANTIZED_ARRAY) -> bytearray:
    content = bytearray(writer.model(GRAMS, kind))
    content[at : at + len(value)] = value
    return content


COUNTS_END = HEAD + 8 * 3 + 4
VOCABULARY_END = COUNTS_END + 8 + 8 * 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not in KenLM's binary format"),
        (b"\\data\\\nngram 1=3\n", "build_binary converts ARPA"),
        (b"mmap lm http://kheafield.com/code incomplete\n" + bytes(300), "is unfinished"),
        (changed(49, b"4"), "version of the format is not 5"),
        (changed(60, b"\1"), "another kind of computer"),
        (changed(len(SANITY), b"\1"), "up to 1 words"),
        (changed(len(SANITY), b"\xff"), "up to 255 words"),
        (changed(len(SANITY) + 4, struct.pack("<f", 0.5)), "0.5 places"),
        (changed(len(SANITY) + 4, struct.pack("<f", float("nan"))), "nan places"),
        (changed(len(SANITY) + 8, b"\6"), "kind of model, 6"),
        (changed(len(SANITY) + 16, b"\7"), "tables have version 7"),
        (changed(HEAD, struct.pack("<Q", 1 << 33)), "claims to have"),
        (changed(HEAD, struct.pack("<Q", 1 << 20)), "cut off"),
        (changed(HEAD + 16, struct.pack("<Q", 1 << 40)), "cut off"),
        (changed(HEAD + 8, struct.pack("<Q", 9)), "is not where its counts say|cut off|version"),
        (changed(COUNTS_END, struct.pack("<Q", 1 << 40)), "words"),
        (changed(COUNTS_END, b"\1", writer.PROBING), "vocabulary has version 1"),
        (changed(VOCABULARY_END, b"\3"), "quantization has version 3"),
        (changed(VOCABULARY_END + 1, b"\0"), "quantized to 0 and 8 bits"),
        (changed(VOCABULARY_END + 2, b"\x1a"), "quantized to 8 and 26 bits"),
        (writer.model(GRAMS, 0)[:-40] + bytes(40), "list of words"),
    ],
)
def test_refused(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=said):
        read_bytes(content)
    path = tmp_path / "en.arpa.bin"
    path.write_bytes(content)
    (problem,) = unusable(str(path))
    assert problem.startswith(f"model {path} cannot be used: it")


def test_no_file(tmp_path: Path) -> None:
    (problem,) = unusable(str(tmp_path / "en.arpa.bin"))
    assert problem.endswith("cannot be read (No such file or directory): give a file that exists and may be read")
    assert unusable(None) == []

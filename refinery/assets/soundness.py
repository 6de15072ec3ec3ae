"""Checks of loaded assets by their contents: a server may send half a file, or a page that says no."""

from __future__ import annotations

import json
from pathlib import Path

_FASTTEXT, _KENLM = (793_712_314).to_bytes(4, "little"), b"mmap lm http://kheafield.com/code"
_PAGES = (b"<!doctype", b"<html", b"<?xml")
_POINTER = b"version https://git-lfs"
_HEAD = 1024


def problem_of(path: Path, name: str) -> str:
    """Reason why a file cannot be the asset of a name, as half a sentence; empty if it can. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not head:
        return "is empty"
    if begin.startswith(_PAGES):
        return "is a page of HTML or XML, such as a server's message"
    if begin.startswith(_POINTER):
        return "is a pointer of Git LFS in place of the file"
    if name.endswith(".json"):
        return _problem_of_json(path)
    if name.endswith((".bin", ".ftz")):
        return _problem_of_model(path, head)
    return _problem_of_sentencepiece(path) if name.endswith(".model") else ""


def _problem_of_json(path: Path) -> str:
    try:
        json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        return f"is no whole JSON file ({error})"
    return ""


def _problem_of_model(path: Path, head: bytes) -> str:
    if head.startswith(_FASTTEXT):
        return _problem_of_fasttext(path)
    if head.startswith(_KENLM):
        return _problem_of_kenlm(path)
    return "begins neither as a model of fastText nor as one of KenLM"


def _problem_of_fasttext(path: Path) -> str:
    from refinery.kernels.models import fasttext_file

    try:
        fasttext_file.read(str(path))
    except fasttext_file.OtherModel:  # the steps that use it say so
        return ""
    except ValueError as error:
        return f"is no whole model of fastText ({error})"
    return ""


def _problem_of_kenlm(path: Path) -> str:
    import numpy as np

    from refinery.kernels.models import kenlm_file

    try:
        kenlm_file.read(np.memmap(path, np.uint8, "r"))
    except ValueError as error:
        return f"is no whole model of KenLM ({error})"
    return ""


def _problem_of_sentencepiece(path: Path) -> str:
    from refinery.kernels.models.protobuf import Damaged, fields

    content = path.read_bytes()
    try:
        parts = {number for number, *_ in fields(content, 0, len(content))}
    except Damaged as error:
        return f"is no whole model of SentencePiece ({error})"
    # Pieces come first, settings of training and of normalization after them.
    return "" if {1, 2, 3} <= parts else "is no whole model of SentencePiece"

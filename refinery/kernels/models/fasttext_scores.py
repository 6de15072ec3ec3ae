"""Scores of labels as fastText computes them, with the C library's functions, and the best of them in its order."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import inlined, instruction, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.models.fasttext_file import DIM, HIERARCHICAL, LABELS, LOSS, SOFTMAX, WIDTH


class Scores(NamedTuple):
    """Room of a thread for the scores of one text.

    sums: float32, the text's vector. outputs: float32, for each label. best: float32, a heap of logarithms, and their
    labels: int32. nodes: int32, inner nodes of the labels' tree that are still to be seen, and their paths: float32.
    """

    sums: np.ndarray
    outputs: np.ndarray
    best: np.ndarray
    labels: np.ndarray
    nodes: np.ndarray
    paths: np.ndarray


record(Scores, "float32[] float32[] float32[] int32[] int32[] float32[]")


def new_scores(dim: int, labels: int) -> Scores:
    """Room for a model of this size."""
    reals = [np.zeros(n, np.float32) for n in (dim, labels + 16, labels + 2, labels + 2)]
    return Scores(
        reals[0], reals[1], reals[2], np.zeros(labels + 2, np.int32), np.zeros(labels + 2, np.int32), reals[3]
    )


# Functions of the C library, whose results those of numpy and LLVM need not equal.
_C = ctypes.CDLL(None)


@instruction("fasttext.expf")
def _expf(x):
    return np.float32(_called("expf", ctypes.c_float, x))


@instruction("fasttext.exp")
def _exp(x):
    return _called("exp", ctypes.c_double, x)


@instruction("fasttext.log")
def _log(x):
    return _called("log", ctypes.c_double, x)


def _called(name, kind, x):
    function = _C[name]
    function.argtypes, function.restype = [kind], kind
    return function(x)


@inlined
def exponential(x):
    """exp of a float32 as a float32."""
    return _expf(x)


@inlined
def logarithm(x):
    """The logarithm that fastText takes of a float32: it stays above -11.6."""
    return np.float32(_log(np.float64(x) + 1e-5))


@kernel
def find_best(tables, scores, k, threshold):
    """Put the labels with the k best scores, if those reach the threshold, into scores.labels, the best one first.

    scores.best has the logarithms of the scores. Returns their number, or -1 where numbers overflow.
    """
    labels = tables.sizes[LABELS]
    if not _dots(tables, scores):
        return -1
    if tables.sizes[LOSS] == HIERARCHICAL:
        size = _walk(tables, scores, k, logarithm(threshold))
    else:
        if tables.sizes[LOSS] == SOFTMAX:
            _softmax(scores.outputs, labels)
        else:
            for i in range(labels):
                scores.outputs[i] = _sigmoid(scores.outputs[i])
        size = 0
        for i in range(labels):
            if not scores.outputs[i] < threshold:
                size = _offer(scores, size, k, logarithm(scores.outputs[i]), i)
    for last in range(size - 1, 0, -1):
        _pop(scores.best, scores.labels, last)
    return size


@kernel
def _dots(tables, scores):
    """Compute the dot product of each label's row with the text's vector; returns whether all are finite."""
    width, labels, outputs = tables.sizes[WIDTH], tables.sizes[LABELS], scores.outputs
    for i in range(width):
        outputs[i] = 0
    for j in range(tables.sizes[DIM]):
        x = scores.sums[j]
        row = tables.output[j * width : (j + 1) * width]
        for i in range(len(row)):
            outputs[i] += row[i] * x
    finite = True
    for i in range(labels):
        outputs[i] *= tables.output_norms[i]
        finite &= abs(outputs[i]) < np.inf
    return finite


@kernel
def _softmax(outputs, labels):
    most, total = outputs[0], np.float32(0)
    for i in range(1, labels):
        most = max(most, outputs[i])
    for i in range(labels):
        outputs[i] = np.float32(_exp(np.float64(outputs[i] - most)))
        total += outputs[i]
    for i in range(labels):
        outputs[i] /= total


@inlined
def _sigmoid(x):
    """1 / (1 + exp(-x)) at the next lower of 512 places between -8 and 8."""
    if x < -8:
        return np.float32(0)
    if x > 8:
        return np.float32(1)
    place = np.int64((x + np.float32(8)) * np.float32(512) / np.float32(8) / np.float32(2))
    at = np.float32(place * 16) / np.float32(512) - np.float32(8)
    return np.float32(1.0 / (1.0 + np.float64(exponential(-at))))


@kernel
def _walk(tables, scores, k, least):
    """Find the best labels in the tree of labels, without paths that can lead to no better one; returns their number."""
    labels = tables.sizes[LABELS]
    scores.nodes[0], scores.paths[0] = 2 * labels - 2, 0
    size, open_nodes = 0, 1
    while open_nodes > 0:
        open_nodes -= 1
        node, path = np.int64(scores.nodes[open_nodes]), scores.paths[open_nodes]
        if path < least or (size == k and path < scores.best[0]):
            continue
        if node < labels:
            size = _offer(scores, size, k, path, node)
            continue
        inner = node - labels
        right = np.float32(1.0 / np.float64(np.float32(1) + exponential(-scores.outputs[inner])))
        left = np.float32(1.0 - np.float64(right))
        scores.nodes[open_nodes], scores.paths[open_nodes] = tables.tree[2 * inner + 1], path + logarithm(right)
        scores.nodes[open_nodes + 1], scores.paths[open_nodes + 1] = tables.tree[2 * inner], path + logarithm(left)
        open_nodes += 2
    return size


# The heap has its least score first. Of equal scores the order counts, which is that of the C++ library's heap.


@inlined
def _offer(scores, size, k, score, label):
    """Add a label to the heap of the k best; returns the size of the heap."""
    best, labels = scores.best, scores.labels
    if size == k and score < best[0]:
        return size
    _rise(best, labels, size, score, label)
    if size < k:
        return size + 1
    _pop(best, labels, size)
    return size


@inlined
def _rise(best, labels, hole, score, label):
    while hole > 0 and best[(hole - 1) // 2] > score:
        parent = (hole - 1) // 2
        best[hole], labels[hole] = best[parent], labels[parent]
        hole = parent
    best[hole], labels[hole] = score, label


@kernel
def _pop(best, labels, size):
    """Move the first of size + 1 scores behind the others."""
    score, label = best[size], labels[size]
    best[size], labels[size] = best[0], labels[0]
    hole, child = 0, 0
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if best[child] > best[child - 1]:
            child -= 1
        best[hole], labels[hole] = best[child], labels[child]
        hole = child
    if size & 1 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        best[hole], labels[hole] = best[child - 1], labels[child - 1]
        hole = child - 1
    _rise(best, labels, hole, score, label)

"""Tree of labels for the hierarchical softmax of fastText, made of the counts of the labels."""

from __future__ import annotations

import numpy as np

from refinery.kernels.models.fasttext_matrix import ModelFileError

_UNKNOWN = 10**15  # count of a node that is not made yet


def tree_of(counts: np.ndarray) -> np.ndarray:
    """Left and right child of each inner node, int32. Labels are nodes 0 to n - 1, inner nodes follow, the root is last.

    The two nodes with the least counts become children of the next inner node; labels are taken from the last one on.
    """
    n = len(counts)
    if counts.min() < 0 or int(counts.astype(object).sum()) >= _UNKNOWN:
        raise ModelFileError("the counts of its labels are no counts")
    count = counts.tolist() + [_UNKNOWN] * (n - 1)
    children = np.zeros(2 * (n - 1), np.int32)
    leaf, node = n - 1, n
    for made in range(n, 2 * n - 1):
        for side in range(2):
            if leaf >= 0 and count[leaf] < count[node]:
                least, leaf = leaf, leaf - 1
            else:
                least, node = node, node + 1
            children[2 * (made - n) + side] = least
        count[made] = count[children[2 * (made - n)]] + count[children[2 * (made - n) + 1]]
    return children

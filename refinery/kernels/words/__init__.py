"""Kernels over words: splitting, statistics, word lists."""

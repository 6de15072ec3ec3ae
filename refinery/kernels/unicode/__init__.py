"""Kernels of Unicode: repairs as ftfy does them, word segments."""

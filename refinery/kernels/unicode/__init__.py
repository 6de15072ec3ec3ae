"""Kernels that repair texts as ftfy does."""

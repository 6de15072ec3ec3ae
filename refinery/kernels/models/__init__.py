"""Kernels over files of models: tokenizers, classifiers, language models."""

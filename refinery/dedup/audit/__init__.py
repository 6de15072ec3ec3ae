"""Comparison of removed samples with those that stay, and the likely reasons of false matches."""

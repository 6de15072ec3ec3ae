"""Summaries of statistics: moments that merge exactly, and the files in which workers hand them over."""

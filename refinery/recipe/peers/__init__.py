"""Configurations of other tools, translated to recipes: DCLM, datamap-rs, FineWeb-2, dolma, NeMo Curator.

`detect.translate` finds the tool that a file belongs to. Each tool's module makes a `Translation`: the recipe's keys and
steps, each with its line in the file, notes on differences, and what has no translation, with the reason. `nodes.py` makes
the tree of a recipe of it, `write.py` the text of one.
"""

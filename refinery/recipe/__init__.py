"""Recipes: from YAML or a dict, with changes by the command line, to a checked and frozen `Recipe`.

load      all steps: read, fill in variables, apply overrides, check against the library's operators
dump      the effective recipe as YAML
"""

from refinery.recipe.dump import dump
from refinery.recipe.input_config import InputConfig
from refinery.recipe.load import load, loads
from refinery.recipe.model import Note, Recipe, Step
from refinery.recipe.override import Override, overrides_of, parse_overrides, parse_set, parse_variables

__all__ = [
    "InputConfig",
    "Note",
    "Override",
    "Recipe",
    "Step",
    "dump",
    "load",
    "loads",
    "overrides_of",
    "parse_overrides",
    "parse_set",
    "parse_variables",
]

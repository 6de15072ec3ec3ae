"""refinery: recipes for language-model training text, compiled to DuckDB SQL.

Importing this package loads nothing heavy; `run`, `compile` and `register` import what they need when called.
"""

__version__ = "0.1.0"

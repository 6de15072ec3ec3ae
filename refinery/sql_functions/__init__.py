"""Operators as SQL functions of a DuckDB connection: macros over the functions that compiled recipes call."""

"""Filter on a number that a person's SQL computes, with all that built-in filters have: bounds, statistic, ledger, tune."""

from __future__ import annotations

from typing import Any

OPERATOR = {
    "doc": (
        "Keep samples for which the number `value`, a DuckDB expression over one sample, lies in [min, max]. It is a "
        "statistic of the run under the name `name`, so it has a histogram, the ledger has its value and the bound, "
        "and `tune` and `refilter` try other bounds. The expression may use the same names as the condition of sql_filter: fields of the "
        "sample at that step, `text`, statistics of earlier steps. A truth value counts as 1 or 0. A sample for which it is NULL is removed "
        "if there is a bound; one for which it is no number goes to quarantine. Without bounds every sample is kept."
    ),
    "version": 1,
    "params": {
        "value": {"type": "sql", "doc": "A numeric expression, such as `length(text) / num_words`."},
        "min": {"type": "float", "default": None, "nullable": True, "doc": "Smallest number."},
        "max": {"type": "float", "default": None, "nullable": True, "doc": "Largest number."},
        "name": {"type": "str", "default": "expression", "doc": "Name of the statistic."},
    },
    "stats": {"{name}": {"type": "DOUBLE", "doc": "The number."}},
    "bounds": {"{name}": ["min", "max"]},
    "checks": "problems",
    "sql": "SELECT CAST(({{ value }}) AS DOUBLE) AS {{ name | ident }}",
    "examples": [
        {
            "text": "one two",
            "params": {"value": "length(text) / 2", "min": 3, "max": 3.5, "name": "half"},
            "stats": {"half": 3.5},
            "keep": True,
        },
        {"text": "one", "params": {"value": "length(text) -- n", "min": 4}, "stats": {"expression": 3}, "keep": False},
        {"text": "one", "params": {"value": "length(text)", "max": 3, "max_closed_interval": False}, "keep": False},
        {"text": "one", "params": {"value": "length(text)", "max": 2, "reversed_range": True}, "keep": True},
        {"text": "", "params": {"value": "length(text) / nullif(length(text), 0)", "max": 9}, "keep": False},
        {"text": "one", "params": {"value": "contains(text, 'n')", "min": 1}, "stats": {"expression": 1}, "keep": True},
        {"text": "one", "params": {"value": "NULL"}, "stats": {"expression": None}, "keep": True},
        {"text": "one", "params": {"value": "text", "min": 1}, "quarantined": "Could not convert"},
        {"text": "one", "params": {"value": "count(*)"}, "error": True},
        {"text": "one", "params": {"value": "1", "name": "_one"}, "error": True},
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters, as sentences."""
    name = params["name"]
    if not name or name.startswith("_") or name.lower() == "keep":
        return [f"name: a statistic cannot be named {name!r}; choose another name"]
    return []

"""Operators and features: finding and reading their files."""

from refinery.dedup.matchers.params import SURVIVOR_PARAMS, VERIFY_PARAMS
from refinery.operators.folders import Library, read_sql
from refinery.operators.headers import read_feature, read_operator
from refinery.operators.home import is_shipped, shipped
from refinery.operators.model import (
    KINDS,
    PARAM_TYPES,
    RANGE_PARAMS,
    Feature,
    Function,
    Operator,
    Param,
)
from refinery.operators.modules import load_module
from refinery.operators.user_code import imported_modules

__all__ = [
    "KINDS",
    "PARAM_TYPES",
    "RANGE_PARAMS",
    "SURVIVOR_PARAMS",
    "VERIFY_PARAMS",
    "Feature",
    "Function",
    "Library",
    "Operator",
    "Param",
    "imported_modules",
    "is_shipped",
    "load_module",
    "read_feature",
    "read_operator",
    "read_sql",
    "shipped",
]

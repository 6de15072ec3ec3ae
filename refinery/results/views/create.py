"""Creation of the views: in the database of a new run, or as temporary views over one that is open for reading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from refinery.common.lazy import duckdb
from refinery.compiler.model import KeptField
from refinery.compiler.templates import ident, template
from refinery.operators import read_sql
from refinery.results.views.catalog import Catalog
from refinery.results.views.field_columns import FieldColumn, field_columns
from refinery.results.views.verdicts import StepVerdict

# Views over the verdicts of steps, which only the recipe's SQL has.
OF_VERDICTS: dict[str, tuple[str, ...]] = {"verdicts": ("row_outcomes", "stats"), "overlap": ("row_outcomes", "stats")}
# The views, with the tables that each reads.
VIEWS: dict[str, tuple[str, ...]] = {
    "fields": ("row_outcomes",),
    "samples": ("row_outcomes", "files", "ledger", "quarantine", "steps"),
    "removed": ("ledger", "files"),
    "changed": ("row_outcomes", "steps", "trace"),
    "cluster_members": ("clusters", "duplicates", "files"),
    "waterfall": ("steps", "shards", "quarantine"),
    "contamination": ("stats", "steps"),
    "contamination_sets": ("stats", "steps"),
    "audit_summary": ("audit",),
    **OF_VERDICTS,
}

# Statistics of steps that look for items of evaluation sets; a second step's has a number.
_CONTAMINATIONS = re.compile(r"contaminations(_\d+)?")

# Ends of Wilson's interval: macros of the database, with the sign of their root.
_ENDS = {"wilson_low": "-", "wilson_high": "+"}


def create_views(
    con: duckdb.DuckDBPyConnection, kept: Sequence[KeptField] = (), verdicts: Sequence[StepVerdict] = ()
) -> None:
    """Create the views, and macros for Wilson's interval, in the database that a connection writes; those of these names are replaced.

    kept: fields of the input that the run stores. verdicts: of the steps that may remove samples.
    """
    for name, sign in _ENDS.items():
        con.execute(f"CREATE OR REPLACE MACRO {name}(k, n) AS {_wilson(sign, 'k', 'n')}").fetchall()
    for name, select in _selects(Catalog.of(con), field_columns(kept), verdicts).items():
        con.execute(f"CREATE OR REPLACE VIEW {name} AS {select}").fetchall()


def add_views(con: duckdb.DuckDBPyConnection) -> None:
    """Create, for this connection alone, the views that the database lacks; nothing is written.

    A version that has not made views has not stored fields of the input. Views over verdicts need the recipe: see `add_verdicts`.
    """
    catalog = Catalog.of(con)
    missing = VIEWS.keys() - OF_VERDICTS.keys() - catalog.tables.keys()
    for name, select in _selects(catalog, ()).items() if missing else ():
        if name in missing:
            con.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {select}").fetchall()


def add_verdicts(con: duckdb.DuckDBPyConnection, verdicts: Sequence[StepVerdict]) -> None:
    """Create, for this connection alone, the views over verdicts."""
    for name, select in _selects(Catalog.of(con), (), verdicts).items():
        if name in OF_VERDICTS:
            con.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {select}").fetchall()


def _selects(catalog: Catalog, fields: Sequence[FieldColumn], verdicts: Sequence[StepVerdict] = ()) -> dict[str, str]:
    """The query of each view whose tables the database has."""
    values = _values(catalog) | {"fields": fields, "verdicts": verdicts}
    values["source"] = verdicts[0].source if verdicts else ""
    return {
        name: template(read_sql(f"views/{name}.sql")).render(values)
        for name, tables in VIEWS.items()
        if all(table in catalog.tables for table in tables)
    }


def _values(catalog: Catalog) -> dict[str, Any]:
    """Values of the templates."""
    sizes = catalog.steps_with("_bytes_")
    return {
        "places": template(read_sql("views/_places.sql")).render(lines="lines" in catalog.tables).strip(),
        "ledger": "ledger"
        if catalog.has("ledger", "name")
        else "(SELECT *, CAST(NULL AS VARCHAR) AS name FROM ledger)",
        "named": catalog.has("steps", "name"),
        "sizes": [f"o._bytes_{step}" for step in sizes] or ["CAST(NULL AS BIGINT)"],
        "contaminations": [name for name in catalog.tables.get("stats", {}) if _CONTAMINATIONS.fullmatch(name)],
        **{name: _wilson(sign, "(share * effective)", "effective") for name, sign in _ENDS.items()},
        "changes": [_change(step, sizes) for step in catalog.steps_with("_changed_")],
    }


def _wilson(sign: str, k: str, n: str) -> str:
    """SQL for an end of Wilson's interval of a share of k in n."""
    return template(read_sql("views/_wilson.sql")).render(sign=sign, k=k, n=n).strip()


def _change(step: int, sizes: list[int]) -> dict[str, Any]:
    """A step that changes texts: its flag, and the columns with the bytes of the text before and after it."""
    before = [size for size in sizes if size < step]
    after = f"_bytes_{step}" if step in sizes else ""
    unknown = "CAST(NULL AS BIGINT)"
    return {
        "step": step,
        "flag": ident(f"_changed_{step}"),
        "before": f"_bytes_{before[-1]}" if after and before else unknown,
        "after": after or unknown,
    }

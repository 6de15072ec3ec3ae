"""What an expression over one sample must not use: other samples, chance, the clock, the session."""

from __future__ import annotations

from sqlglot import exp

from refinery.recipe.sql_files import function_name, shown

# All that DuckDB calls volatile or consistent within a query only, macros that use it, and aggregates that draw samples
# (`error` fails for certain rows, which is their own doing).
UNSTABLE = frozenset(
    """
    random rand setseed uuid uuidv4 uuidv7 gen_random_uuid now today ago age_now current_date current_time
    current_timestamp current_localtime current_localtimestamp localtime localtimestamp get_current_time
    get_current_timestamp transaction_timestamp txid_current pg_conf_load_time pg_postmaster_start_time nextval currval
    setval current_setting getvariable current_query current_query_id current_connection_id current_transaction_id
    current_database current_catalog current_schema current_schemas in_search_path stats vector_type write_log sleep_ms
    pg_sleep reservoir_quantile get_block_size
    """.split()
)


def unstable(expression: exp.Expr) -> str | None:
    """Why the expression cannot be an operator's (it looks at other samples, or differs from run to run), or None."""
    for node in expression.walk():
        if isinstance(node, (exp.Window, exp.AggFunc)) and not reads_elsewhere(node):
            return f"{shown(node)} looks at more than one row; an operator sees one sample at a time"
        if isinstance(node, exp.TableSample):
            return f"{shown(node)} gives another result at every run; ORDER BY hash(...) LIMIT n draws the same rows each time"
        name = function_name(node)
        if name in UNSTABLE or (name == "age" and len(list(node.iter_expressions())) == 1):
            cure = "use hash(_row) % 100 < 10 to sample" if "rand" in name else "write the value itself"
            return f"{shown(node)} gives another result at every run; {cure}"
    return None


def reads_elsewhere(node: exp.Expr) -> bool:
    """Whether the node belongs to a subquery that has rows of its own."""
    select = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select)
    while select is not None:
        if select.args.get("from_") or select.args.get("from"):
            return select.parent is not None
        select = select.find_ancestor(exp.Select)
    return False

"""The rows of a query over a database, as a table in an unnamed file: in one order, whatever the database returns first.

The query is DuckDB's SQL, and reads the tables of the database alone: no files, no network, nothing that differs between two runs.
Its rows are sorted by its own ORDER BY and then by all columns, so only equal rows have no order.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from refinery.common.connections import confine, file_name, lock
from refinery.common.lazy import duckdb
from refinery.errors import DataError

_SERVER = ("postgres://", "postgresql://")
_SQLITE = b"SQLite format 3\0"
_DUCKDB = b"DUCK"
_ROWS = 8192
_NAME = "source"  # of the attached database
# Functions of the clock that are called without brackets.
_CLOCK = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
_CLOSED = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def rows_of_query(database: str, query: str) -> pa.Table:
    """The rows of a query over a DuckDB or SQLite file, or a PostgreSQL server, mapped into memory. Raises DataError."""
    try:
        con = _connected(database)
        try:
            return _spooled(con.sql(_ordered(con, database, query)).to_arrow_reader(_ROWS))
        finally:
            con.close()
    except duckdb.Error as error:
        raise DataError(f"{database}: {str(error).splitlines()[0]}") from error


def is_server(database: str) -> bool:
    """Return whether a database is the URL of a server, not a file."""
    return database.startswith(_SERVER)


def _connected(database: str) -> Any:
    """A connection whose tables are those of the database, and which reaches nothing else."""
    kind = "postgres" if is_server(database) else _kind_of_file(database)
    if kind == "duckdb":
        con = duckdb.connect(file_name(database), read_only=True, config=dict(_CLOSED))
    else:
        con = duckdb.connect(":memory:", config=dict(_CLOSED))
        _load(con, database, kind)
        place = (database if kind == "postgres" else file_name(database)).replace("'", "''")
        con.execute(f"ATTACH '{place}' AS {_NAME} (TYPE {kind}, READ_ONLY)").fetchall()
        con.execute(f"USE {_NAME}").fetchall()
    con.execute("SET threads = 1").fetchall()  # sums of fractions differ with the order of their terms
    # The extension of SQLite opens the file, and those beside it, when the query runs.
    confine(con, [os.path.dirname(file_name(database))] if kind == "sqlite" else [])
    lock(con)
    return con


def _kind_of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            head = file.read(16)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
    if head.startswith(_SQLITE):
        return "sqlite"
    if head[8:12] == _DUCKDB:
        return "duckdb"
    raise DataError(f"{path}: is neither a DuckDB nor an SQLite database")


def _load(con: Any, database: str, extension: str) -> None:
    try:
        con.execute(f"LOAD {extension}").fetchall()
    except duckdb.Error as error:
        install = f"""python -c "import duckdb; duckdb.execute('INSTALL {extension}')\""""
        raise DataError(
            f"{database}: DuckDB's extension {extension} is not installed. Install it once, with access to the network: {install}"
        ) from error


def _ordered(con: Any, database: str, query: str) -> str:
    """The query with all its columns behind its own order. Raises DataError for what is no query, or has no fixed rows."""
    [(text,)] = con.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [query]).fetchall()
    tree = json.loads(text)
    if tree.get("error") or len(tree.get("statements", ())) != 1:
        reason = tree.get("error_message") or "it must be one SELECT"
        raise DataError(f"{database}: the query cannot be read: {str(reason).splitlines()[0]}")
    _require_fixed(con, database, tree)
    columns = con.execute(f"DESCRIBE {_text_of(con, tree)}").fetchall()
    node = tree["statements"][0]["node"]
    orders = [_position(number) for number in range(1, len(columns) + 1)]
    own = next((item for item in node["modifiers"] if item["type"] == "ORDER_MODIFIER"), None)
    if own is None:
        node["modifiers"].insert(0, {"type": "ORDER_MODIFIER", "orders": orders})
    else:
        own["orders"] += orders
    return _text_of(con, tree)


def _text_of(con: Any, tree: dict[str, Any]) -> str:
    [(text,)] = con.execute("SELECT json_deserialize_sql(CAST(? AS JSON))", [json.dumps(tree)]).fetchall()
    return str(text)


def _position(number: int) -> dict[str, Any]:
    """An item of ORDER BY: the column at a place of the SELECT."""
    value = {"type": {"id": "INTEGER", "type_info": None}, "is_null": False, "value": number}
    constant = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "query_location": 0, "value": value}
    return {"type": "ORDER_DEFAULT", "null_order": "ORDER_DEFAULT", "expression": constant}


def _require_fixed(con: Any, database: str, tree: dict[str, Any]) -> None:
    """Check that the query neither draws rows nor calls what differs between two runs."""
    unstable = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY')"
    changing = {name for (name,) in con.execute(unstable).fetchall()}
    for item in _items(tree):
        if item.get("sample"):
            raise DataError(f"{database}: the query draws a sample, so its rows differ each time")
        name = str(item.get("function_name") or (item.get("column_names") or [""])[-1]).lower()
        if name in changing and (item.get("function_name") or name in _CLOCK):
            raise DataError(f"{database}: the query calls {name}, whose value differs each time")


def _items(node: Any) -> Iterator[dict[str, Any]]:
    """All objects of a tree."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _items(item)


def _spooled(reader: pa.RecordBatchReader) -> pa.Table:
    """The rows in a file of this machine that has no name, mapped into memory."""
    with tempfile.TemporaryFile(prefix="refinery-") as file:
        with pa.ipc.new_stream(pa.PythonFile(file, "w"), reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        file.flush()
        if not os.fstat(file.fileno()).st_size:
            return reader.schema.empty_table()
        data = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return pa.ipc.open_stream(data).read_all()

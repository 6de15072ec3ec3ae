"""Names that DuckDB has: functions by what their results depend on, reading functions, reserved words, types."""

from __future__ import annotations

# Functions that DuckDB calls volatile or consistent within a query only, macros that use them, and aggregates that draw
# samples (not `error`, which fails for the same rows at every run).
UNSTABLE = frozenset(
    """
    random rand setseed uuid uuidv4 uuidv7 gen_random_uuid now today ago age_now current_date current_time
    current_timestamp current_localtime current_localtimestamp localtime localtimestamp get_current_time
    get_current_timestamp transaction_timestamp txid_current pg_conf_load_time pg_postmaster_start_time nextval currval
    setval current_setting getvariable current_query current_query_id current_connection_id current_transaction_id
    current_database current_catalog current_schema current_schemas in_search_path stats vector_type write_log sleep_ms
    pg_sleep reservoir_quantile get_block_size
    user current_user session_user current_role inet_client_addr inet_client_port inet_server_addr inet_server_port pg_has_role
    has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege
    has_function_privilege has_language_privilege has_schema_privilege has_sequence_privilege has_server_privilege
    has_table_privilege has_tablespace_privilege pg_my_temp_schema pg_is_other_temp_schema
    """.split()
)
# Functions that call an aggregate whose name is an argument.
BY_NAME = frozenset({"list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"})
# Functions that return a file's time of last change beside its content.
WITH_TIMES = frozenset({"read_text", "read_blob"})

# DuckDB's table functions whose first argument names files, and those whose rows depend on their arguments alone. All
# others are refused: their rows depend on the session, the machine, or a computed statement.
READERS = frozenset(
    """
    glob read_blob read_csv read_csv_auto read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto
    read_ndjson read_ndjson_auto read_ndjson_objects read_parquet read_single_csv_file read_single_json_file
    read_single_parquet_file read_text parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata
    parquet_metadata parquet_scan parquet_schema sniff_csv
    """.split()
)
PURE = frozenset({"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest", "explode"})
# Schemas of DuckDB itself, whose tables describe the session.
OF_DUCKDB = frozenset({"information_schema", "main", "pg_catalog", "system", "temp", "memory"})

# Words that DuckDB or sqlglot reads as something other than a column, unless they are quoted.
KEYWORDS = frozenset(
    """
    all analyse analyze and any array as asc both case cast check collate column constraint create default desc
    describe distinct do else end except false fetch for foreign from group having in initially intersect into lambda
    lateral leading limit not null offset on only or order pivot placing primary qualify references returning select
    show some summarize symmetric table then to trailing true union unique unpivot using variadic when where window
    with alter anti asof asymmetric at authorization between binary by collation concurrently cross current_catalog
    current_date current_time current_timestamp current_user deferrable drop force freeze full glob grant if ilike
    inner insert install is isnull join key left like localtime localtimestamp map natural notnull outer overlaps
    partitioned_by pivot_longer pivot_wider positional regexp revoke right rlike rollback semi session_user similar
    tablesample uncache unpack value verbose xor
    """.split()
)

# Types of values of JSON, which a message proposes.
TYPES = (
    "BIGINT", "BLOB", "BOOLEAN", "DATE", "DECIMAL(18, 3)", "DOUBLE", "FLOAT", "HUGEINT", "INTEGER", "JSON", "SMALLINT", "TIME",
    "TIMESTAMP", "TIMESTAMPTZ", "TINYINT", "UBIGINT", "UHUGEINT", "UINTEGER", "USMALLINT", "UTINYINT", "UUID", "VARCHAR",
)  # fmt: skip

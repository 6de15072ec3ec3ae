"""All that refinery knows of the behaviour of DuckDB 2.x beyond its documented SQL and Python interface.

A new DuckDB may change any of it. tests/common/test_duckdb_facts.py asks the installed DuckDB for each fact, so that a
change is seen there, not in the results of a run.
"""

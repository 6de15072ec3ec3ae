"""Examples in the headers of operators, run through the compiler and DuckDB."""

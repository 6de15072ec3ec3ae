"""Output of commands: tables for a terminal, plain data for `--json`."""

"""What commands that help to decide print: tables for a person, plain data for `--json`."""

"""A corpus: samples kept of many adds, from which data can be withdrawn."""

"""Cards about the data of a run, in which every figure is a query."""

"""Tasks of deduplicators: functions over files of the store, which an executor calls; arguments and answers are text."""

/*---
doc: >
  Keep samples for which a DuckDB predicate is true. It may name the sample's columns, `text`, the statistics of
  earlier steps, and `_row`. NULL counts as false.
version: 1
params:
  where: {type: sql, doc: "A predicate over one sample, such as `score > 0.5 AND num_words < 1000`."}
examples:
  - {text: "a short text", params: {where: "length(text) > 5"}, keep: true}
  - {text: "a short text", params: {where: "text LIKE '%long%'"}, keep: false}
  - {text: "a short text", params: {where: "NULL"}, keep: false}
---*/
-- The line end closes a comment at the end of the predicate.
SELECT ({{ where }}
) AS keep

/*---
doc: >
  Replace the text by a DuckDB expression over the sample's columns, `text`, the statistics of earlier steps, and
  `_row`. Where the expression is NULL the text stays as it was.
version: 1
params:
  text: {type: sql, doc: "An expression of type VARCHAR, such as `regexp_replace(text, '\\s+', ' ', 'g')`."}
examples:
  - {text: "Hello World", params: {text: "lower(text)"}, out: "hello world"}
  - {text: "unchanged", params: {text: "NULL"}, out: "unchanged"}
---*/
-- The line end closes a comment at the end of the expression.
SELECT ({{ params.text }}
) AS text

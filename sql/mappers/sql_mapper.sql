/*---
doc: >
  Replace the text by a DuckDB expression over one sample. It may use the same names as the condition of sql_filter.
  If it is NULL, the text stays unchanged.
version: 1
params:
  text: {type: sql, doc: "An expression of type VARCHAR, such as `regexp_replace(text, '\\s+', ' ', 'g')`."}
examples:
  - {text: "Hello World", params: {text: "lower(text)"}, out: "hello world"}
  - {text: "a  b\nc", params: {text: "regexp_replace(text, '\\s+', ' ', 'g')"}, out: "a b c"}
  - {text: "unchanged", params: {text: "NULL"}, out: "unchanged"}
---*/
SELECT {{ params.text }} AS text

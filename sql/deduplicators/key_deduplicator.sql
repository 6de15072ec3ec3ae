/*---
doc: >
  Remove samples for which a DuckDB expression gives the value of an earlier sample: one sample per URL (`key:
  lower(url)`), per title and year (`key: "(title, year)"`), per domain (`key: "regexp_extract(url, '//([^/]+)',
  1)"`). It may name fields of the sample at that step, `text`, and statistics of earlier steps. A sample for which it
  gives NULL is never a duplicate.
version: 2
params:
  key: {type: sql, doc: "An expression over one sample; samples with equal values are duplicates."}
match: keys
examples:
  - {texts: [a, A, b], params: {key: "lower(text)"}, kept: [0, 2]}
  - {texts: ["x 1", "x 2", "y 1"], params: {key: "split_part(text, ' ', 1)"}, kept: [0, 2]}
  - {texts: [long one, short, brief], params: {key: "nullif(length(text) > 5, false)"}, kept: [0, 1, 2]}
  - {texts: [a, b, a], params: {key: "(text, length(text)) -- a row of two"}, kept: [0, 1]}
---*/
SELECT {{ key }}
AS key

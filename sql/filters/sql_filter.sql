/*---
doc: >
  Keep samples for which a DuckDB condition is true. It may name fields of the sample at that step, `text`, the
  statistics of earlier steps (the latest, if two have the same name; `text_len_3` belongs to step 3), and `_row`, the
  number of the sample in the input. NULL counts as false. Terms joined by AND are tried from left to right, up to the
  first that is not true. Aggregates, window functions, the clock and random values are refused; `hash(_row) % 10 = 0`
  selects a tenth of the samples, the same ones in every run. A subquery can read a file: `id IN (SELECT id FROM
  'allowed.parquet')`; the name must be a literal. If the step works on another field (text_keys, text_key), `text` is
  the field of that name if the samples have one.
version: 2
params:
  where: {type: sql, doc: "A condition over one sample, such as `score > 0.5 AND num_words < 1000`."}
examples:
  - {text: "a short text", params: {where: "length(text) > 5"}, keep: true}
  - {text: "a short text", params: {where: "text LIKE '%long%'"}, keep: false}
  - {text: "a short text", params: {where: "NULL"}, keep: false}
  - {text: "a short text", params: {where: "text[1] = 'a' -- the first letter"}, keep: true}
---*/
SELECT {{ where }} AS keep

/*---
doc: Give each sample a one, for sums over groups.
version: 1
peer: doc_count_v1 of dolma 1.2.1
params: {}
stats:
  docs: {type: BIGINT, most: 1, doc: Always 1.}
examples:
  - {text: "a text", stats: {docs: 1}}
  - {text: "", stats: {docs: 1}}
---*/
SELECT 1 AS docs

/*---
doc: Keep samples that have a text. A record of null is in quarantine before, as one that is no sample.
version: 1
peer: non_null_filter of datamap-rs, which drops records of null
params: {}
stats: {}
examples:
  - {text: "a", keep: true}
  - {text: "", keep: true}
---*/
SELECT {{ text }} IS NOT NULL AS keep

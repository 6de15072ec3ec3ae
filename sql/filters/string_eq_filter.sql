/*---
doc: >
  Keep samples with a text in a field that is `eq`, or with keep_matches false those with another one. A sample without the field is removed.
version: 1
peer: string_eq_filter of datamap-rs, which fails at a sample without the field
params:
  str_field: {type: sql, doc: "The field, such as metadata.language, an earlier statistic, or an expression."}
  eq: {type: str, doc: The text.}
  keep_matches: {type: bool, default: true, doc: Keep samples with the text; else the others.}
stats: {}
examples:
  - {text: a, params: {str_field: "'en'", eq: en}, keep: true}
  - {text: a, params: {str_field: "'de'", eq: en}, keep: false}
  - {text: a, params: {str_field: "'de'", eq: en, keep_matches: false}, keep: true}
  - {text: "", params: {str_field: "NULL", eq: ""}, keep: false}
---*/
SELECT ({{ str_field }})::VARCHAR {{ '=' if keep_matches else '<>' }} {{ eq | lit }} AS keep

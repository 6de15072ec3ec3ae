/*---
doc: >
  Keep samples with a text in a field that is `eq`, or with keep_matches false those with another one. A dot in the field's name goes into an
  object. A sample without the field is removed.
version: 1
peer: string_eq_filter of datamap-rs, which fails at a sample without the field
params:
  str_field: {type: str, doc: "The field, such as metadata.language."}
  eq: {type: str, doc: The text.}
  keep_matches: {type: bool, default: true, doc: Keep samples with the text; else the others.}
stats: {}
examples:
  - {text: a, fields: {lang: en}, params: {str_field: lang, eq: en}, keep: true}
  - {text: a, fields: {lang: de}, params: {str_field: lang, eq: en}, keep: false}
  - {text: a, fields: {lang: de}, params: {str_field: lang, eq: en, keep_matches: false}, keep: true}
  - {text: "", params: {str_field: lang, eq: ""}, keep: false}
---*/
SELECT {{ field(str_field) }}::VARCHAR {{ '=' if keep_matches else '<>' }} {{ eq | lit }} AS keep

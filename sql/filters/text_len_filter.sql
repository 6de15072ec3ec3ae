/*---
doc: Keep samples whose length in bytes of UTF-8 lies in [lower_bound, upper_bound].
version: 1
peer: text_len_filter of datamap-rs
params:
  lower_bound: {type: int, default: 0, min: 0, doc: Fewest bytes.}
  upper_bound: {type: int, default: 9223372036854775807, min: 0, doc: Most bytes.}
stats:
  text_bytes: {type: BIGINT, doc: Bytes of the text in UTF-8.}
bounds:
  text_bytes: [lower_bound, upper_bound]
examples:
  - {text: "four", params: {lower_bound: 4, upper_bound: 4}, stats: {text_bytes: 4}, keep: true}
  - {text: "日本", params: {upper_bound: 5}, stats: {text_bytes: 6}, keep: false}
  - {text: "", params: {lower_bound: 1}, stats: {text_bytes: 0}, keep: false}
  - {text: "", stats: {text_bytes: 0}, keep: true}
---*/
SELECT strlen({{ text }}) AS text_bytes

/*---
doc: Keep samples whose length in characters (Unicode code points) lies in [min_len, max_len].
version: 1
peer: text_length_filter of Data-Juicer 1.6.1
params:
  min_len: {type: int, default: 10, doc: Fewest characters.}
  max_len: {type: int, default: 9223372036854775807, doc: Most characters.}
stats:
  text_len: {type: BIGINT, doc: Characters in the text.}
bounds:
  text_len: [min_len, max_len]
examples:
  - {text: "too short", stats: {text_len: 9}, keep: false}
  - {text: "long enough", stats: {text_len: 11}, keep: true}
  - {text: "日本語のテキストです", stats: {text_len: 10}, keep: true}
---*/
SELECT length({{ text }}) AS text_len

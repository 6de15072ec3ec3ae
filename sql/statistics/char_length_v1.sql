/*---
doc: Count the characters of each text.
version: 1
peer: char_length_v1 of dolma 1.2.1
params: {}
stats:
  length: {type: BIGINT, doc: Code points.}
examples:
  - {text: "été 👍🏽", stats: {length: 6}}
  - {text: "", stats: {length: 0}}
---*/
SELECT length({{ text }}) AS length

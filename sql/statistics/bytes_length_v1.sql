/*---
doc: Count the bytes of each text in UTF-8.
version: 1
peer: bytes_length_v1 of dolma 1.2.1
params: {}
stats:
  bytes: {type: BIGINT, doc: Bytes.}
examples:
  - {text: "été", stats: {bytes: 5}}
  - {text: "", stats: {bytes: 0}}
---*/
SELECT strlen({{ text }}) AS bytes

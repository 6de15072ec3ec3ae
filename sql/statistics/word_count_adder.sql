/*---
doc: >
  Measure the number of words of each text: segments of UAX 29 with a letter or digit, vowel signs included. The statistic has the name
  word_count_field; word_removal_ratio_filter compares a later text with it.
version: 1
peer: word_count_adder of datamap-rs
params:
  word_count_field: {type: str, default: original_word_count, doc: Name of the statistic.}
stats:
  "{word_count_field}": {type: BIGINT, doc: Words.}
examples:
  - {text: "can't stop, 3.5 and 漢字", stats: {original_word_count: 6}, keep: true}
  - {text: "नमस्ते", params: {word_count_field: n}, stats: {n: 1}}
  - {text: "– … !", stats: {original_word_count: 0}}
  - {text: "", stats: {original_word_count: 0}}
---*/
SELECT {{ feature('unicode_word_count') }} AS {{ word_count_field | ident }}

/*---
doc: >
  Keep samples whose mean word length in bytes of UTF-8 lies in [lower_bound, upper_bound]; a letter of Cyrillic, Greek or Arabic has
  two bytes, one of Devanagari, Thai or Chinese three. White space separates words. A text without words is removed.
version: 1
peer: word_len_filter of datamap-rs
params:
  lower_bound: {type: float, default: 0, doc: Smallest mean length.}
  upper_bound: {type: float, default: 9223372036854775807, doc: Largest mean length.}
stats:
  mean_word_bytes: {type: DOUBLE, doc: Bytes per word; NULL without words.}
bounds:
  mean_word_bytes: [lower_bound, upper_bound]
examples:
  - {text: "two words", params: {lower_bound: 4}, stats: {mean_word_bytes: 4.0}, keep: true}
  - {text: "два слова", params: {lower_bound: 3, upper_bound: 7}, stats: {mean_word_bytes: 8.0}, keep: false}
  - {text: "a\x1Cb", stats: {mean_word_bytes: 3.0}, keep: true}
  - {text: " \n", stats: {mean_word_bytes: null}, keep: false}
  - {text: "", stats: {mean_word_bytes: null}, keep: false}
---*/
{%- set words = feature('split_words', rust=true) %}
SELECT {{ words }}.bytes / nullif({{ words }}.words, 0) AS mean_word_bytes

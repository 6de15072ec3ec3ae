/*---
doc: >
  Keep samples whose words have a mean length in characters in [min_length, max_length]. Words are separated by white space.
  A text without words is removed.
version: 1
peer: word_length_filter of DCLM
params:
  min_length: {type: float, default: 0, doc: Smallest mean length.}
  max_length: {type: float, default: 9223372036854775807, doc: Largest mean length.}
stats:
  mean_word_length: {type: DOUBLE, doc: "Characters per word; NULL without words."}
bounds:
  mean_word_length: [min_length, max_length]
examples:
  - {text: "one three", params: {min_length: 3, max_length: 4}, stats: {mean_word_length: 4.0}, keep: true}
  - {text: "a  b\u3000çdé", params: {min_length: 2}, stats: {mean_word_length: 1.6666666666666667}, keep: false}
  - {text: " \n", stats: {mean_word_length: null}, keep: false}
  - {text: "", stats: {mean_word_length: null}, keep: false}
---*/
{%- set found = feature('split_words', rust=false) %}
SELECT {{ found }}.chars / nullif({{ found }}.words, 0) AS mean_word_length

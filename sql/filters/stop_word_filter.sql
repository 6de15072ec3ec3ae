/*---
doc: >
  Keep samples with at least min_stop_word of the words the, be, to, of, and, that, have, with, in any letter case. Words are
  separated by white space, so `the,` is none. With `dclm`, min_stop_word 0 asks for one, as 1 does; with `datamap`, it keeps all.
version: 1
peer: stop_word_filter of DCLM and of datamap-rs
params:
  as: {type: str, default: dclm, choices: [dclm, datamap], doc: Whose filter it is.}
  count_unique: {type: bool, default: false, doc: Count a word once that occurs several times.}
  min_stop_word: {type: int, default: 2, doc: Fewest stop words.}
stats:
  stop_words: {type: BIGINT, doc: Stop words; with count_unique different ones.}
examples:
  - {text: "The end of it", stats: {stop_words: 2}, keep: true}
  - {text: "the the", params: {count_unique: true}, stats: {stop_words: 1}, keep: false}
  - {text: "to, the: that.", stats: {stop_words: 0}, keep: false}
  - {text: "nothing", params: {min_stop_word: 0}, stats: {stop_words: 0}, keep: false}
  - {text: "nothing", params: {as: datamap, min_stop_word: 0}, stats: {stop_words: 0}, keep: true}
  - {text: "", stats: {stop_words: 0}, keep: false}
---*/
{%- set datamap = params['as'] == 'datamap' %}
{%- set found = feature('split_words', rust=datamap) %}
SELECT
  {{ found }}.{{ 'different_stops' if count_unique else 'lower_stops' }} AS stop_words,
  stop_words >= {{ (min_stop_word if datamap else [min_stop_word, 1] | max) | lit }} AS keep

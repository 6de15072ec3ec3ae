/*---
doc: >
  Keep samples in which at most max_ratio of the words, separated by white space, have no letter. A text without words is removed.
  With `datamap`, a text of one word is removed, too, and letters are as in Rust, which include combining vowel signs.
version: 1
peer: alphabetic_word_ratio_filter of DCLM and of datamap-rs
params:
  as: {type: str, default: dclm, choices: [dclm, datamap], doc: Whose filter it is.}
  max_ratio: {type: float, default: 0.2, doc: Largest share of words without a letter.}
stats:
  nonalphabetic_word_ratio: {type: DOUBLE, most: 1, doc: "Share of words without a letter; NULL if it is not measured."}
examples:
  - {text: "on 12 May 2001 at x", params: {max_ratio: 0.4}, stats: {nonalphabetic_word_ratio: 0.3333333333333333}, keep: true}
  - {text: "- - 1. one", stats: {nonalphabetic_word_ratio: 0.75}, keep: false}
  - {text: "word", stats: {nonalphabetic_word_ratio: 0.0}, keep: true}
  - {text: "word", params: {as: datamap}, stats: {nonalphabetic_word_ratio: null}, keep: false}
  - {text: "", stats: {nonalphabetic_word_ratio: null}, keep: false}
---*/
{%- set found = feature('split_words', rust=params['as'] == 'datamap') %}
SELECT
  CASE WHEN {{ found }}.words > {{ 1 if params['as'] == 'datamap' else 0 }}
    THEN ({{ found }}.words - {{ found }}.alpha) / {{ found }}.words END AS nonalphabetic_word_ratio,
  nonalphabetic_word_ratio <= {{ max_ratio | lit }} AS keep

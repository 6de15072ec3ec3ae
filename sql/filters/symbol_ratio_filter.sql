/*---
doc: >
  Keep samples with at most max_symbol_to_word_ratio hashes and ellipses (`...`, `. . .`, `…`) per word that is separated by
  white space. `......` is two ellipses. With `dclm`, a text without words is removed. With `datamap`, `. . .` is one word, and
  a text without words has one.
version: 1
peer: symbol_ratio_filter of DCLM and of datamap-rs
params:
  as: {type: str, default: dclm, choices: [dclm, datamap], doc: Whose filter it is.}
  max_symbol_to_word_ratio: {type: float, default: 0.1, doc: Largest ratio.}
stats:
  symbol_to_word_ratio: {type: DOUBLE, doc: "Symbols per word; NULL without words."}
examples:
  - {text: "# a b c d e f g h i", stats: {symbol_to_word_ratio: 0.1}, keep: true}
  - {text: "wait . . . what…", stats: {symbol_to_word_ratio: 0.4}, keep: false}
  - {text: "wait . . . what…", params: {as: datamap}, stats: {symbol_to_word_ratio: 0.6666666666666666}, keep: false}
  - {text: "a......", stats: {symbol_to_word_ratio: 2.0}, keep: false}
  - {text: "", stats: {symbol_to_word_ratio: null}, keep: false}
  - {text: "", params: {as: datamap}, stats: {symbol_to_word_ratio: 0.0}, keep: true}
---*/
{%- set found = feature('split_words', rust=params['as'] == 'datamap') %}
SELECT
  {{ feature('symbol_counts') }} AS _counts,
  {% if params['as'] == 'datamap' %}
  greatest({{ found }}.words - 2 * _counts.spaced, 1) AS _words,
  {% else %}
  nullif({{ found }}.words, 0) AS _words,
  {% endif %}
  (_counts.hashes + _counts.dots + _counts.spaced + _counts.marks) / _words AS symbol_to_word_ratio,
  symbol_to_word_ratio <= {{ max_symbol_to_word_ratio | lit }} AS keep

/*---
doc: >
  Keep samples in which at most max_number_to_text_ratio of the characters are digits from 0 to 9; digits of
  other scripts do not count. An empty text has 1.
version: 1
peer: NumbersFilter of NeMo Curator
params:
  max_number_to_text_ratio: {type: float, default: 0.15, doc: Largest share.}
stats:
  numbers_ratio: {type: DOUBLE, most: 1, doc: Share of the characters that are digits.}
bounds:
  numbers_ratio: [null, max_number_to_text_ratio]
examples:
  - {text: "in 1984 they", stats: {numbers_ratio: 0.3333333333333333}, keep: false}
  - {text: "٣ and ½ and ²", stats: {numbers_ratio: 0.0}, keep: true}
  - {text: "", stats: {numbers_ratio: 1.0}, keep: false}
---*/
{%- set counts = feature('character_counts') %}
SELECT coalesce({{ counts }}.digits / nullif({{ counts }}.chars, 0), 1) AS numbers_ratio

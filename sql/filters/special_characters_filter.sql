/*---
doc: >
  Keep samples in which the share of special characters lies in [min_ratio, max_ratio]. Special characters are ASCII
  punctuation, digits and white space (also spaces between words), emoji, and a list with surprising entries: the
  letters 一 上 士 シ Г π º are in it, NBSP and ZWJ are not. Ordinary prose has about 0.2. An empty text has 0.
version: 1
peer: special_characters_filter of Data-Juicer 1.6.1
params:
  min_ratio: {type: float, default: 0.0, doc: Smallest share.}
  max_ratio: {type: float, default: 0.25, doc: Largest share.}
stats:
  special_char_ratio: {type: DOUBLE, most: 1, doc: Special characters per character.}
bounds:
  special_char_ratio: [min_ratio, max_ratio]
examples:
  - {text: "abc ", stats: {special_char_ratio: 0.25}, keep: true}
  - {text: "see p. 12", stats: {special_char_ratio: 0.5555555555555556}, keep: false}
  - {text: "一上人口", stats: {special_char_ratio: 0.5}, keep: false}
  - {text: "ab\u00a0\u200d👍🏽", stats: {special_char_ratio: 0.3333333333333333}, keep: false}
  - {text: "", stats: {special_char_ratio: 0.0}, keep: true}
---*/
{%- set counts = feature('profile') %}
SELECT CASE WHEN {{ counts }}.chars = 0 THEN 0::DOUBLE
    ELSE {{ counts }}.special::DOUBLE / {{ counts }}.chars END AS special_char_ratio

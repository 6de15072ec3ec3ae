/*---
doc: >
  Keep samples in which the share of special characters lies in [min_ratio, max_ratio]. Special are ASCII punctuation,
  digits and white space (spaces between words as well), emoji, and a list with oddities: the letters 一 上 士 シ Г π º
  belong to it, NBSP and ZWJ do not. So prose has about 0.2. An empty text has 0.
version: 1
peer: special_characters_filter of Data-Juicer 1.6.1
params:
  min_ratio: {type: float, default: 0.0, doc: Smallest share.}
  max_ratio: {type: float, default: 0.25, doc: Largest share.}
stats:
  special_char_ratio: {type: DOUBLE, most: 1, doc: Special characters for each character.}
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

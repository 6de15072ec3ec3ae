/*---
doc: >
  Keep samples in which at most max_non_alpha_numeric_to_text_ratio of the characters are other than ASCII letters and
  digits, line feed, ?, !, comma and full stop. Blanks count as non-alphanumeric, and so do letters of all other
  scripts. An empty text has 1.
version: 1
peer: NonAlphaNumericFilter of NeMo Curator
params:
  max_non_alpha_numeric_to_text_ratio: {type: float, default: 0.25, doc: Largest share.}
stats:
  alpha_numeric: {type: DOUBLE, most: 1, doc: Share of the characters that are not alphanumeric.}
bounds:
  alpha_numeric: [null, max_non_alpha_numeric_to_text_ratio]
examples:
  - {text: "abc\n", stats: {alpha_numeric: 0.0}, keep: true}
  - {text: "abc ", stats: {alpha_numeric: 0.25}, keep: true}
  - {text: "été", stats: {alpha_numeric: 0.6666666666666666}, keep: false}
  - {text: "", stats: {alpha_numeric: 1.0}, keep: false}
---*/
{%- set counts = feature('character_counts') %}
SELECT coalesce(({{ counts }}.chars - {{ counts }}.plain) / nullif({{ counts }}.chars, 0), 1) AS alpha_numeric

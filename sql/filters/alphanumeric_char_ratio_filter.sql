/*---
doc: >
  Remove samples in which fewer than max_alnum_ratio of the characters are letters and digits (str.isalnum): in spite of its
  name, the parameter is the smallest share. An empty text is removed.
version: 1
peer: alphanumeric_char_ratio_filter of DCLM
params:
  max_alnum_ratio: {type: float, default: 0.25, doc: Smallest share of letters and digits.}
stats:
  alnum_char_ratio: {type: DOUBLE, most: 1, doc: "Share of letters and digits; NULL for an empty text."}
examples:
  - {text: "ab--", stats: {alnum_char_ratio: 0.5}, keep: true}
  - {text: "ab------", stats: {alnum_char_ratio: 0.25}, keep: true}
  - {text: "½-------", stats: {alnum_char_ratio: 0.125}, keep: false}
  - {text: "", stats: {alnum_char_ratio: null}, keep: false}
---*/
{%- set counts = feature('profile') %}
SELECT
  {{ counts }}.alnum / nullif({{ counts }}.chars, 0) AS alnum_char_ratio,
  alnum_char_ratio >= {{ max_alnum_ratio | lit }} AS keep

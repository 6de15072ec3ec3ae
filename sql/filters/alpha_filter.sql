/*---
doc: >
  Keep samples in which at least min_alpha_ratio of the characters are letters (the Unicode property Alphabetic): code
  files with tensors or tables as text have fewer. An empty text has no share and is removed; NeMo Curator fails there.
version: 1
peer: AlphaFilter of NeMo Curator
params:
  min_alpha_ratio: {type: float, default: 0.25, doc: Smallest share.}
stats:
  alpha_filter: {type: DOUBLE, most: 1, doc: Share of the characters that are letters; NULL for an empty text.}
bounds:
  alpha_filter: [min_alpha_ratio, null]
examples:
  - {text: "a = 1", stats: {alpha_filter: 0.2}, keep: false}
  - {text: "कि", stats: {alpha_filter: 1.0}, keep: true}
  - {text: "x1y2", params: {min_alpha_ratio: 0.5}, stats: {alpha_filter: 0.5}, keep: true}
  - {text: "", stats: {alpha_filter: null}, keep: false}
---*/
{%- set counts = feature('character_counts') %}
SELECT {{ counts }}.letters / nullif({{ counts }}.chars, 0) AS alpha_filter

/*---
doc: >
  Keep samples in which at most max_bullet_ratio of the lines begin with one of ● • * -. Lines are as they are: an indented bullet is
  none, and empty lines count.
version: 1
peer: bullet_filter of datamap-rs
params:
  max_bullet_ratio: {type: float, default: 0.9, doc: Largest share of lines.}
stats:
  raw_bullet_ratio: {type: DOUBLE, most: 1, doc: Share of lines that begin with a bullet.}
examples:
  - {text: "- a\n• b", stats: {raw_bullet_ratio: 1.0}, keep: false}
  - {text: "- a\n* b\n", stats: {raw_bullet_ratio: 0.6666666666666666}, keep: true}
  - {text: " - a", stats: {raw_bullet_ratio: 0.0}, keep: true}
  - {text: "", params: {max_bullet_ratio: 0}, stats: {raw_bullet_ratio: 0.0}, keep: true}
---*/
{%- set marks = feature('line_marks') %}
SELECT {{ marks }}.raw_bullets / {{ marks }}.lines AS raw_bullet_ratio, raw_bullet_ratio <= {{ max_bullet_ratio | lit }} AS keep

/*---
doc: >
  Remove samples in which more than max_bullet_start_ratio of the lines begin with a bullet, one of ● • * -. Lines end at line
  feeds; white space at their ends, and blank lines, do not count. A text without lines is kept.
version: 1
peer: bullet_count_filter of DCLM
params:
  max_bullet_start_ratio: {type: float, default: 0.9, doc: Largest ratio.}
stats:
  bullet_start_ratio: {type: DOUBLE, most: 1, doc: "Lines that begin with a bullet, per line; 0 without lines."}
examples:
  - {text: "- one\n\n  * two", stats: {bullet_start_ratio: 1.0}, keep: false}
  - {text: "- one\nMore than that.", stats: {bullet_start_ratio: 0.5}, keep: true}
  - {text: "◦ one\n– two", stats: {bullet_start_ratio: 0.0}, keep: true}
  - {text: "", stats: {bullet_start_ratio: 0.0}, keep: true}
---*/
{%- set marks = feature('line_marks') %}
SELECT
  coalesce({{ marks }}.bullets / nullif({{ marks }}.inked, 0), 0) AS bullet_start_ratio,
  {{ marks }}.bullets <= {{ max_bullet_start_ratio | lit }}::DOUBLE * {{ marks }}.inked AS keep

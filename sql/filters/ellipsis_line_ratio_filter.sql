/*---
doc: >
  Keep samples in which at most max_ratio of the lines that are not empty end with `...`, `. . .` or `…`. Lines are as they are: white space
  behind an ellipsis hides it.
version: 1
peer: ellipsis_line_ratio_filter of datamap-rs
params:
  max_ratio: {type: float, default: 0.3, doc: Largest share of lines.}
stats:
  raw_ellipsis_ratio: {type: DOUBLE, most: 1, doc: Share of lines that end with an ellipsis; 0 without lines.}
examples:
  - {text: "a...\n\nb…\nc. . .\nd", stats: {raw_ellipsis_ratio: 0.75}, keep: false}
  - {text: "a... \nb", stats: {raw_ellipsis_ratio: 0.0}, keep: true}
  - {text: "\n", params: {max_ratio: 0}, stats: {raw_ellipsis_ratio: 0.0}, keep: true}
---*/
{%- set marks = feature('line_marks') %}
SELECT coalesce({{ marks }}.raw_ellipses / nullif({{ marks }}.filled, 0), 0) AS raw_ellipsis_ratio,
  raw_ellipsis_ratio <= {{ max_ratio | lit }} AS keep

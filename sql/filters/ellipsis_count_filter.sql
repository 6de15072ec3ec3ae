/*---
doc: >
  Remove samples in which more than max_ellipsis_end_ratio of the lines end with an ellipsis: `...`, `. . .` or `…`. Lines end
  at line feeds; white space at their ends, and blank lines, do not count. A text without lines is kept.
version: 1
peer: ellipsis_count_filter of DCLM
params:
  max_ellipsis_end_ratio: {type: float, default: 0.3, doc: Largest ratio.}
stats:
  ellipsis_end_ratio: {type: DOUBLE, most: 1, doc: "Lines that end with an ellipsis, per line; 0 without lines."}
examples:
  - {text: "Read more...\n\nA whole sentence.", stats: {ellipsis_end_ratio: 0.5}, keep: false}
  - {text: "one…  \ntwo. . .\nthree....\nfour", stats: {ellipsis_end_ratio: 0.75}, keep: false}
  - {text: "one.\ntwo..\nthree. ..", stats: {ellipsis_end_ratio: 0.0}, keep: true}
  - {text: "", stats: {ellipsis_end_ratio: 0.0}, keep: true}
---*/
{%- set marks = feature('line_marks') %}
SELECT
  coalesce({{ marks }}.ellipses / nullif({{ marks }}.inked, 0), 0) AS ellipsis_end_ratio,
  {{ marks }}.ellipses <= {{ max_ellipsis_end_ratio | lit }}::DOUBLE * {{ marks }}.inked AS keep

/*---
doc: >
  Keep samples in which at most max_num_lines_ending_with_ellipsis_ratio of the lines end, before white space, in ... or …,
  also in brackets, in -», or, in any letter case, in `read more` or `read more..`. Lines of white space do not count. A
  text without lines is removed; NeMo Curator fails there.
version: 1
peer: EllipsisFilter of NeMo Curator
params:
  max_num_lines_ending_with_ellipsis_ratio: {type: float, default: 0.3, doc: Largest share.}
stats:
  ellipsis: {type: DOUBLE, most: 1, doc: Share of lines that end in an ellipsis; NULL without lines.}
bounds:
  ellipsis: [null, max_num_lines_ending_with_ellipsis_ratio]
examples:
  - {text: "A page [...]\nRead More\nAn end.", stats: {ellipsis: 0.6666666666666666}, keep: false}
  - {text: "one…\n \ntwo.\nthree.\nfour. . .", stats: {ellipsis: 0.25}, keep: true}
  - {text: "(…)", stats: {ellipsis: 0.0}, keep: true}
  - {text: "", stats: {ellipsis: null}, keep: false}
---*/
{%- set lines = feature('line_marks') %}
SELECT {{ lines }}.cut_short / nullif({{ lines }}.inked, 0) AS ellipsis

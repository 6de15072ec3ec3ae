/*---
doc: >
  Keep samples whose distinct lines are at least max_repeated_line_fraction of all lines. Lines of white space do not
  count; lines with different white space at their ends are different. A text without lines is removed; NeMo Curator
  fails there.
version: 1
peer: RepeatedLinesFilter of NeMo Curator
params:
  max_repeated_line_fraction: {type: float, default: 0.7, doc: "Smallest share, despite the name."}
stats:
  repeated_lines: {type: DOUBLE, most: 1, doc: "Distinct lines per line; NULL without any."}
bounds:
  repeated_lines: [max_repeated_line_fraction, null]
examples:
  - {text: "one\ntwo\n\none\nthree\n", stats: {repeated_lines: 0.75}, keep: true}
  - {text: "one\none\none ", stats: {repeated_lines: 0.6666666666666666}, keep: false}
  - {text: " \n", stats: {repeated_lines: null}, keep: false}
---*/
{%- set pieces = feature('repeated_pieces', paragraphs=false) %}
SELECT ({{ pieces }}.pieces - {{ pieces }}.duplicates) / nullif({{ pieces }}.pieces, 0) AS repeated_lines

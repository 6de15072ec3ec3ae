/*---
doc: >
  Keep samples whose distinct lines have at least max_repeated_lines_char_ratio of the characters of all lines. Lines of
  white space do not count, and line feeds are no characters of a line. A text without lines is removed; NeMo Curator
  fails there.
version: 1
peer: RepeatedLinesByCharFilter of NeMo Curator
params:
  max_repeated_lines_char_ratio: {type: float, default: 0.8, doc: "Smallest share, despite the name."}
stats:
  repeated_lines_char: {type: DOUBLE, most: 1, doc: "Characters of distinct lines per character; NULL without any."}
bounds:
  repeated_lines_char: [max_repeated_lines_char_ratio, null]
examples:
  - {text: "a long line\nx\nx", stats: {repeated_lines_char: 0.9230769230769231}, keep: true}
  - {text: "été\n\nété\nx", stats: {repeated_lines_char: 0.5714285714285714}, keep: false}
  - {text: "", stats: {repeated_lines_char: null}, keep: false}
---*/
{%- set pieces = feature('repeated_pieces', paragraphs=false) %}
SELECT ({{ pieces }}.chars - {{ pieces }}.duplicate_chars) / nullif({{ pieces }}.chars, 0) AS repeated_lines_char

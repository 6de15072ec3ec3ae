/*---
doc: >
  Keep samples whose number of line feeds, plus one, lies in [min_lines, max_lines]. An empty text has one line.
version: 1
peer: NumberOfLinesOfCodeFilter of NeMo Curator
params:
  min_lines: {type: int, default: 10, doc: Fewest lines.}
  max_lines: {type: int, default: 20000, doc: Most lines.}
stats:
  num_lines: {type: BIGINT, doc: Line feeds plus one.}
bounds:
  num_lines: [min_lines, max_lines]
examples:
  - {text: "a\nb\n", params: {min_lines: 3}, stats: {num_lines: 3}, keep: true}
  - {text: "a\r\n\u2028b", stats: {num_lines: 2}, keep: false}
  - {text: "", stats: {num_lines: 1}, keep: false}
---*/
SELECT length({{ text }}) - length(replace({{ text }}, chr(10), '')) + 1 AS num_lines

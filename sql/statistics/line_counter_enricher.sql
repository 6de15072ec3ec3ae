/*---
doc: >
  Count the lines of a text, or with another paragraph_end its paragraphs. Blank ones do not count, unless remove_empty is false.
version: 1
peer: line_counter_enricher of DCLM, which writes the count into the page
params:
  overwrite: {type: bool, default: false, doc: Without effect; a field of the sample is never replaced.}
  key: {type: str, default: num_lines, doc: Name of the statistic.}
  paragraph_end: {type: str, default: "\n", doc: "End of a line, or with two line feeds of a paragraph; not empty."}
  remove_empty: {type: bool, default: true, doc: Leave out blank lines.}
refuses:
  - {when: {paragraph_end: ""}, say: "paragraph_end is empty, which ends no line: leave it out, or set it to \"\\n\\n\" for paragraphs"}
stats:
  "{key}": {type: BIGINT, doc: Lines.}
examples:
  - {text: "a\n \nb", stats: {num_lines: 2}}
  - {text: "a\n \nb", params: {key: n, remove_empty: false}, stats: {n: 3}}
  - {text: "a\nb\n\n\u3000", params: {paragraph_end: "\n\n"}, stats: {num_lines: 1}}
  - {text: "", params: {remove_empty: false}, stats: {num_lines: 1}}
---*/
SELECT
  {% if not remove_empty %}len(string_split({{ text }}, {{ paragraph_end | lit }}))
  {% elif paragraph_end == '\n' %}{{ feature('line_marks') }}.inked
  {% else %}{{ feature('inked_pieces', end=paragraph_end) }}
  {% endif %} AS {{ key | ident }}

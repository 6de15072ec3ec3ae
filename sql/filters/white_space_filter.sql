/*---
doc: >
  Keep samples in which at most max_white_space_ratio of the characters are tab, line feed, carriage return, backspace
  or blank; other white space does not count. An empty text has 1.
version: 1
peer: WhiteSpaceFilter of NeMo Curator
params:
  max_white_space_ratio: {type: float, default: 0.25, doc: Largest share.}
stats:
  white_space: {type: DOUBLE, most: 1, doc: Share of the characters that are white space.}
bounds:
  white_space: [null, max_white_space_ratio]
examples:
  - {text: "a bc", stats: {white_space: 0.25}, keep: true}
  - {text: "a\t\n\r\b ", stats: {white_space: 0.8333333333333334}, keep: false}
  - {text: "\u00a0\v\f\u3000", stats: {white_space: 0.0}, keep: true}
  - {text: "", stats: {white_space: 1.0}, keep: false}
---*/
{%- set counts = feature('character_counts') %}
SELECT coalesce({{ counts }}.blanks / nullif({{ counts }}.chars, 0), 1) AS white_space

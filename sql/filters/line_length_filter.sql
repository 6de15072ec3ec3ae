/*---
doc: >
  Remove samples whose longest line, or with `avg` whose mean line, has more than max_length characters without its end. Lines are
  those of str.splitlines, which also cuts at VT, FF, NEL, U+2028 and others. A text without lines is removed.
version: 1
peer: line_length_filter of DCLM
params:
  length_type: {type: str, default: max, choices: [max, avg], doc: The longest or the mean line.}
  max_length: {type: float, default: 1000, doc: Most characters.}
stats:
  line_length: {type: DOUBLE, doc: "Characters of the longest or mean line; NULL without lines."}
examples:
  - {text: "four\nsixsix", params: {max_length: 6}, stats: {line_length: 6.0}, keep: true}
  - {text: "four\r\nsixsix\u2028\u2028", params: {length_type: avg, max_length: 3}, stats: {line_length: 3.3333333333333335}, keep: false}
  - {text: "\n", stats: {line_length: 0.0}, keep: true}
  - {text: "", stats: {line_length: null}, keep: false}
---*/
{%- set counts = feature('profile') %}
SELECT
  CASE WHEN {{ counts }}.lines > 0 THEN
  {% if length_type == 'max' %}
    {{ counts }}.longest_line
  {% else %}
    length(regexp_replace({{ text }}, '[\n\v\f\r\x{1C}-\x{1E}\x{85}\x{2028}\x{2029}]+', '', 'g')) / {{ counts }}.lines
  {% endif %}
  END AS line_length,
  line_length <= {{ max_length | lit }} AS keep

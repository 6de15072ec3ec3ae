/*---
doc: >
  Keep samples whose average line length in characters lies in [min_len, max_len]. Line ends count as characters;
  lines are cut as by str.splitlines, also at VT, FF, NEL, U+2028 and others. An empty text has 0.
version: 1
peer: average_line_length_filter of Data-Juicer 1.6.1
params:
  min_len: {type: int, default: 10, doc: Smallest average.}
  max_len: {type: int, default: 9223372036854775807, doc: Largest average.}
stats:
  avg_line_length: {type: DOUBLE, doc: "Characters per line, including line ends."}
bounds:
  avg_line_length: [min_len, max_len]
examples:
  - {text: "a line of twenty chr", stats: {avg_line_length: 20.0}, keep: true}
  - {text: "four\nfour\n", stats: {avg_line_length: 5.0}, keep: false}
  - {text: "ab\r\ncd", params: {min_len: 3}, stats: {avg_line_length: 3.0}, keep: true}
  - {text: "ab\x0bcd\u2028ef", params: {min_len: 3}, stats: {avg_line_length: 2.6666666666666665}, keep: false}
  - {text: "\n", params: {min_len: 1}, stats: {avg_line_length: 1.0}, keep: true}
  - {text: "", params: {min_len: 0}, stats: {avg_line_length: 0.0}, keep: true}
---*/
{%- set counts = feature('profile') %}
SELECT CASE WHEN {{ counts }}.lines = 0 THEN 0::DOUBLE
    ELSE {{ counts }}.chars::DOUBLE / {{ counts }}.lines END AS avg_line_length

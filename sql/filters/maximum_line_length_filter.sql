/*---
doc: >
  Keep samples whose longest line has a length in characters within [min_len, max_len]. Line ends do not count; lines are cut as by
  str.splitlines, also at VT, FF, NEL, U+2028 and others. An empty text has 0.
version: 1
peer: maximum_line_length_filter of Data-Juicer 1.6.1
params:
  min_len: {type: int, default: 10, doc: Smallest length of the longest line.}
  max_len: {type: int, default: 9223372036854775807, doc: Largest length of the longest line.}
stats:
  max_line_length: {type: BIGINT, doc: Characters of the longest line without its end.}
bounds:
  max_line_length: [min_len, max_len]
examples:
  - {text: "ten chars!\r\nfour", stats: {max_line_length: 10}, keep: true}
  - {text: "six li\nnine char\n", stats: {max_line_length: 9}, keep: false}
  - {text: "日本語\u2028のテキスト", params: {min_len: 5, max_len: 5}, stats: {max_line_length: 5}, keep: true}
  - {text: "\n\n", params: {min_len: 0}, stats: {max_line_length: 0}, keep: true}
  - {text: "", params: {min_len: 1}, stats: {max_line_length: 0}, keep: false}
---*/
SELECT {{ feature('profile') }}.longest_line AS max_line_length

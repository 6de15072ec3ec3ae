/*---
doc: Keep samples with three lines of 200 characters or more, as mC4 does. The reason of a removal is `< 3 paragraphs`. Lines are separated by U+000A.
version: 1
peer: C4ParagraphFilter of datatrove 0.10.1
stats: {long_lines: {type: BIGINT, doc: Lines of 200 characters or more.}}
examples:
  - {text: "one\ntwo\nthree", stats: {long_lines: 0}, keep: false, reason: "< 3 paragraphs"}
  - {text: "", stats: {long_lines: 0}, keep: false}
---*/
SELECT
  len(list_filter(string_split({{ text }}, chr(10)), lambda line: length(line) >= 200)) AS long_lines,
  long_lines >= 3 AS "keep_< 3 paragraphs"

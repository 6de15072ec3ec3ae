/*---
doc: >
  Keep samples whose distinct paragraphs have at least max_repeated_paragraphs_char_ratio of the characters of all.
  Paragraphs are cut at two line feeds. An empty text is removed; NeMo Curator fails there.
version: 1
peer: RepeatedParagraphsByCharFilter of NeMo Curator
params:
  max_repeated_paragraphs_char_ratio: {type: float, default: 0.8, doc: "Smallest share, despite the name."}
stats:
  repeated_paragraphs_char: {type: DOUBLE, most: 1, doc: "Characters of distinct paragraphs per character; NULL without any."}
bounds:
  repeated_paragraphs_char: [max_repeated_paragraphs_char_ratio, null]
examples:
  - {text: "a longer one\n\nx\n\nx", stats: {repeated_paragraphs_char: 0.9285714285714286}, keep: true}
  - {text: "one\n\none", stats: {repeated_paragraphs_char: 0.5}, keep: false}
  - {text: "\n\n", stats: {repeated_paragraphs_char: null}, keep: false}
---*/
{%- set pieces = feature('repeated_pieces', paragraphs=true) %}
SELECT ({{ pieces }}.chars - {{ pieces }}.duplicate_chars) / nullif({{ pieces }}.chars, 0) AS repeated_paragraphs_char

/*---
doc: >
  Keep samples whose distinct paragraphs are at least max_repeated_paragraphs_ratio of all. Paragraphs are cut at two line
  feeds, and empty ones count: four line feeds in a row are one. An empty text has one paragraph.
version: 1
peer: RepeatedParagraphsFilter of NeMo Curator
params:
  max_repeated_paragraphs_ratio: {type: float, default: 0.7, doc: "Smallest share, despite the name."}
stats:
  repeated_paragraphs: {type: DOUBLE, most: 1, doc: "Distinct paragraphs per paragraph; NULL without any."}
bounds:
  repeated_paragraphs: [max_repeated_paragraphs_ratio, null]
examples:
  - {text: "one\n\ntwo\n\none\n\nthree", stats: {repeated_paragraphs: 0.75}, keep: true}
  - {text: "a\n\n\n\nb\n\n", stats: {repeated_paragraphs: 0.75}, keep: true}
  - {text: "a\n\na\n\na\n", stats: {repeated_paragraphs: 0.6666666666666666}, keep: false}
  - {text: "", stats: {repeated_paragraphs: 1.0}, keep: true}
---*/
{%- set pieces = feature('repeated_pieces', paragraphs=true) %}
SELECT ({{ pieces }}.pieces - {{ pieces }}.duplicates) / nullif({{ pieces }}.pieces, 0) AS repeated_paragraphs

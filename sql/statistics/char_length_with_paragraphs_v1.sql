/*---
doc: >
  Count the characters of each text, and its lines that are more than white space, which dolma calls paragraphs and gives
  their lengths as spans: span_replacement_mapper has these.
version: 1
peer: char_length_with_paragraphs_v1 of dolma 1.2.1
params: {}
stats:
  document: {type: BIGINT, doc: Code points.}
  paragraph: {type: BIGINT, doc: Lines that are more than white space.}
examples:
  - {text: "one\n\u3000\ntwo", stats: {document: 9, paragraph: 2}}
  - {text: "", stats: {document: 0, paragraph: 0}}
---*/
SELECT length({{ text }}) AS document, {{ feature('line_marks') }}.inked AS paragraph

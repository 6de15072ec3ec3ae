/*---
doc: >
  Count the word segments (UAX 29) of the lines of each text that are more than white space, also as a negative number, and
  these lines.
version: 1
peer: uniseg_length_paragraphs_with_doc_length_v1 of dolma 1.2.1
params: {}
stats:
  document: {type: BIGINT, doc: Word segments that are more than white space.}
  negative_document: {type: BIGINT, doc: The same below zero.}
  paragraph: {type: BIGINT, doc: Lines that are more than white space.}
examples:
  - {text: "it's one.\n\u3000\n日本\n", stats: {document: 5, negative_document: -5, paragraph: 2}}
  - {text: "", stats: {document: 0, negative_document: 0, paragraph: 0}}
---*/
SELECT {{ feature('tagged_spans', tagger='uniseg_length_paragraphs_v1') }} AS _spans,
    list_transform(list_filter(_spans, lambda s: s.type = 'paragraph'), lambda s: s.score) AS _sizes,
    coalesce(list_sum(_sizes), 0) AS _words, _words AS document, -_words AS negative_document, len(_sizes) AS paragraph

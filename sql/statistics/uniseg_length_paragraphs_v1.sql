/*---
doc: >
  Count the lines of each text that are more than white space, which dolma calls paragraphs, and the word segments (UAX 29)
  of these; the numbers of segments by line are scores of spans, which span_replacement_mapper has.
version: 1
peer: uniseg_length_paragraphs_v1 of dolma 1.2.1
params: {}
stats:
  paragraph: {type: BIGINT, doc: Lines that are more than white space.}
  document: {type: BIGINT, doc: Word segments of these that are more than white space.}
examples:
  - {text: "it's one.\n\u3000\n日本\n", stats: {paragraph: 2, document: 5}}
  - {text: "", stats: {paragraph: 0, document: 0}}
---*/
SELECT {{ feature('tagged_spans', tagger='uniseg_length_paragraphs_v1') }} AS _spans,
    list_transform(list_filter(_spans, lambda s: s.type = 'paragraph'), lambda s: s.score) AS _sizes,
    len(_sizes) AS paragraph, coalesce(list_sum(_sizes), 0) AS document

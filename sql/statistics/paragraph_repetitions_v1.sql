/*---
doc: >
  Measure groups of characters that occur four times or more in a row, within each line. Copies may have a white space between them.
  Of several groups at a place the shortest counts.
version: 1
peer: paragraph_repetitions_v1 of dolma 1.2.1
params: {}
stats:
  repetition: {type: BIGINT, doc: Repeated groups.}
  doc_max_score_repetition: {type: DOUBLE, doc: "Most occurrences of a group, 0 without any."}
  doc_max_length_repetition: {type: BIGINT, doc: "Most characters of the occurrences of a group, 0 without any."}
  doc_frac_repetition: {type: DOUBLE, most: 1, doc: "Share of the characters in them, 0 without any."}
examples:
  - {text: "ha ha ha ha!", stats: {repetition: 1, doc_max_score_repetition: 4.0, doc_max_length_repetition: 11, doc_frac_repetition: 0.9166666666666666}}
  - {text: "abc\nabc\nabc\nabc", stats: {repetition: 0, doc_max_score_repetition: 0.0}}
  - {text: "abcabcabc", stats: {repetition: 0, doc_frac_repetition: 0.0}}
  - {text: "", stats: {repetition: 0, doc_frac_repetition: 0.0}}
---*/
SELECT {{ feature('tagged_spans', tagger='paragraph_repetitions_v1') }} AS _spans,
    list_transform(_spans, lambda s: s.end - s.start) AS _sizes,
    len(_spans) AS repetition,
    coalesce(list_max(list_transform(_spans, lambda s: s.score)), 0) AS doc_max_score_repetition,
    coalesce(list_max(_sizes), 0) AS doc_max_length_repetition,
    coalesce(list_sum(_sizes) / nullif(length({{ text }}), 0), 0) AS doc_frac_repetition

/*---
doc: >
  Count the lines of punctuation, white space and emoji alone that are more than white space; span_replacement_mapper removes
  them.
version: 1
peer: not_alphanum_paragraph_v1 of dolma 1.2.1
params: {}
stats:
  all_punct: {type: BIGINT, doc: Lines of punctuation and emoji.}
examples:
  - {text: "***\nA line.\n\n - ♥ 🙂\n", stats: {all_punct: 2}}
  - {text: "1.\né\n👍🏽", stats: {all_punct: 1}}
  - {text: "", stats: {all_punct: 0}}
---*/
SELECT len({{ feature('tagged_spans', tagger='not_alphanum_paragraph_v1') }}) AS all_punct

/*---
doc: >
  Count the words of a text under the name `key`, as page_length_filter counts them, so that word_removal_ratio_filter can compare
  with a later count.
version: 1
peer: word_counter_enricher of DCLM, which writes the count into the page
params:
  overwrite: {type: bool, default: false, doc: Without effect; a field of the sample is never replaced.}
  key: {type: str, default: word_count, doc: Name of the statistic.}
  model:
    type: str
    default: fasttext
    choices: [fasttext, uniseg, split]
    doc: "How to cut words: at ASCII white space, at the boundaries of UAX 29, or at all white space."
  ignore_punctuation: {type: bool, default: true, doc: Count only words that begin with a letter or digit.}
  ignore_whitespace: {type: bool, default: true, doc: Leave out words of white space.}
stats:
  "{key}": {type: BIGINT, doc: Words.}
examples:
  - {text: "Two words - (and) one", stats: {word_count: 3}}
  - {text: "a\nb", params: {key: n, ignore_punctuation: false}, stats: {n: 3}}
  - {text: "don't (stop)", params: {model: uniseg}, stats: {word_count: 2}}
  - {text: "", stats: {word_count: 0}}
---*/
SELECT {{ feature('dclm_word_count', model=model, ignore_punctuation=ignore_punctuation, ignore_whitespace=ignore_whitespace) }}
  AS {{ key | ident }}

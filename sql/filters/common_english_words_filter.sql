/*---
doc: >
  Keep samples with at least min_num_common_words of the words the, be, to, of, and, that, have, with. Repeated words
  count again, `The` does not count. With stop_at_false, counting stops at the minimum, so the statistic is never larger.
version: 1
peer: CommonEnglishWordsFilter of NeMo Curator
params:
  min_num_common_words: {type: int, default: 2, min: 0, doc: Fewest common words.}
  stop_at_false: {type: bool, default: true, doc: Stop counting at the minimum.}
stats:
  common_english_words: {type: BIGINT, doc: Common words.}
bounds:
  common_english_words: [min_num_common_words, null]
examples:
  - {text: "the cat and the dog", stats: {common_english_words: 2}, keep: true}
  - {text: "the cat and the dog", params: {stop_at_false: false}, stats: {common_english_words: 3}, keep: true}
  - {text: "The cat, and, to sleep", stats: {common_english_words: 1}, keep: false}
  - {text: "", stats: {common_english_words: 0}, keep: false}
---*/
SELECT least({{ feature('split_words', rust=false) }}.stops,
        {% if stop_at_false %}{{ [min_num_common_words, 1] | max }}{% else %}NULL{% endif %}) AS common_english_words

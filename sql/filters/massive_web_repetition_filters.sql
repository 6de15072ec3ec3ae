/*---
doc: >
  Remove samples with much repetition, by thirteen rules in this order: lines and paragraphs that occur more than once make up more
  than 0.3 of all, or more than 0.2 of their characters; the most frequent 2-, 3- or 4-gram of words holds more than 0.20, 0.18 or 0.16
  of the words' characters; words in 5- to 10-grams that occur more than once hold more than 0.15, 0.14 and so on to 0.10. All copies
  count, also the first. Words are segments of UAX 29 that begin with a letter or digit; lines and paragraphs (between two line feeds)
  are stripped. An empty or blank text is removed.
version: 1
peer: massive_web_repetition_filters of DCLM
params:
  skip_paragraph: {type: bool, default: false, doc: Leave out the two rules on paragraphs.}
stats:
  duplicate_line_ratio: {type: DOUBLE, most: 1, doc: "Share of lines that occur more than once; NULL without lines."}
  duplicate_paragraph_ratio: {type: DOUBLE, most: 1, doc: "Share of paragraphs that occur more than once; NULL without paragraphs."}
  duplicate_line_char_ratio: {type: DOUBLE, most: 1, doc: Their share of the characters of lines.}
  duplicate_paragraph_char_ratio: {type: DOUBLE, most: 1, doc: Their share of the characters of paragraphs.}
  top_2_gram_ratio: {type: DOUBLE, doc: "Characters of the most frequent 2-gram times its count, per character of words."}
  top_3_gram_ratio: {type: DOUBLE, doc: "Characters of the most frequent 3-gram times its count, per character of words."}
  top_4_gram_ratio: {type: DOUBLE, doc: "Characters of the most frequent 4-gram times its count, per character of words."}
  duplicate_5_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the words' characters in repeated 5-grams.}
  duplicate_6_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the words' characters in repeated 6-grams.}
  duplicate_7_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the words' characters in repeated 7-grams.}
  duplicate_8_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the words' characters in repeated 8-grams.}
  duplicate_9_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the words' characters in repeated 9-grams.}
  duplicate_10_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the words' characters in repeated 10-grams.}
examples:
  - {text: "The mill stands by the old river.\nNobody lives there now.", stats: {duplicate_line_ratio: 0.0, top_2_gram_ratio: 0.0}, keep: true}
  - {text: "buy now\n buy now\nsold", stats: {duplicate_line_ratio: 0.6666666666666666}, keep: false}
  - {text: "one two three one two four one two", stats: {top_2_gram_ratio: 0.6666666666666666, duplicate_5_gram_ratio: 0.0}, keep: false}
  - {text: "a b c d e. f a b c d e. g", stats: {duplicate_5_gram_ratio: 0.8333333333333334}, keep: false}
  - {text: "!!!", stats: {duplicate_line_ratio: 0.0, top_2_gram_ratio: 0.0}, keep: true}
  - {text: "", stats: {duplicate_line_ratio: null}, keep: false}
---*/
{%- set lines = feature('repetition', units='lines', sizes=[1], in_bytes=false) %}
{%- set paragraphs = feature('repetition', units='paragraphs', sizes=[1], in_bytes=false) %}
{%- set words = feature('repetition', units='alnum_words', sizes=[2, 3, 4, 5, 6, 7, 8, 9, 10], in_bytes=false) %}
{%- set bounds = {2: 0.2, 3: 0.18, 4: 0.16, 5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11, 10: 0.1} %}
{%- set kinds = [('line', lines)] + ([] if skip_paragraph else [('paragraph', paragraphs)]) %}
SELECT
  {% for kind, found in kinds %}
  {{ found }}.repeated_units[1] / nullif({{ found }}.units, 0) AS duplicate_{{ kind }}_ratio,
  duplicate_{{ kind }}_ratio <= 0.3 AS keep_duplicate_{{ kind }}s,
  {% endfor %}
  {% for kind, found in kinds %}
  {{ found }}.repeated[1] / nullif({{ found }}.size, 0) AS duplicate_{{ kind }}_char_ratio,
  duplicate_{{ kind }}_char_ratio <= 0.2 AS keep_duplicate_{{ kind }}_chars,
  {% endfor %}
  {% for n, bound in bounds.items() %}
  {% set name = ('top_' if n < 5 else 'duplicate_') ~ n ~ '_gram' %}
  coalesce({{ words }}.{{ 'top' if n < 5 else 'repeated' }}[{{ n - 1 }}] / nullif({{ words }}.size, 0), 0) AS {{ name }}_ratio,
  {{ name }}_ratio <= {{ bound }} AS keep_{{ name }}s{{ ',' if not loop.last }}
  {% endfor %}

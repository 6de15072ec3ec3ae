/*---
doc: >
  Measure the words, n-grams of words and lines of each text for Gopher's rules. Words are between white space; lines are
  cut at line feeds, empty ones included. Only … ends a line with an ellipsis, and only * and -
  begin one with a bullet. Characters of duplicate lines are divided by those of words, so that share can exceed 1. Shares
  of n-grams are NULL for a text of fewer words; all others are 0 for an empty text.
version: 1
peer: gopher_v1 of dolma 1.2.1
params: {}
stats:
  "fraction_of_characters_in_most_common_2grams": {type: DOUBLE, doc: "Characters in the most frequent pair of words (of several, the first) per character of words."}
  "fraction_of_characters_in_most_common_3grams": {type: DOUBLE, doc: "The same for three words."}
  "fraction_of_characters_in_most_common_4grams": {type: DOUBLE, doc: "The same for four words."}
  "fraction_of_characters_in_duplicate_5grams": {type: DOUBLE, most: 1, doc: "Characters in n-grams of five words that repeat, per character in all of them."}
  "fraction_of_characters_in_duplicate_6grams": {type: DOUBLE, most: 1, doc: "The same for 6 words."}
  "fraction_of_characters_in_duplicate_7grams": {type: DOUBLE, most: 1, doc: "The same for 7 words."}
  "fraction_of_characters_in_duplicate_8grams": {type: DOUBLE, most: 1, doc: "The same for 8 words."}
  "fraction_of_characters_in_duplicate_9grams": {type: DOUBLE, most: 1, doc: "The same for 9 words."}
  "fraction_of_characters_in_duplicate_10grams": {type: DOUBLE, most: 1, doc: "The same for 10 words."}
  character_count: {type: BIGINT, doc: Characters.}
  word_count: {type: BIGINT, doc: Words.}
  median_word_length: {type: DOUBLE, doc: Median of the characters of words.}
  symbol_to_word_ratio: {type: DOUBLE, most: 1, doc: "Share of words with # or …."}
  fraction_of_words_with_alpha_character: {type: DOUBLE, most: 1, doc: Share of words with a letter.}
  required_word_count: {type: BIGINT, doc: "Words the, be, to, of, and, that, have, with, in lower case; repeated ones count again."}
  fraction_of_lines_starting_with_bullet_point: {type: DOUBLE, most: 1, doc: Share of lines that begin with * or -.}
  fraction_of_lines_ending_with_ellipsis: {type: DOUBLE, most: 1, doc: Share of lines that end with ….}
  fraction_of_duplicate_lines: {type: DOUBLE, most: 1, doc: "Share of lines that occur more than once, all copies."}
  fraction_of_characters_in_duplicate_lines: {type: DOUBLE, doc: Characters of these per character of words.}
examples:
  - text: "the cat and the cat #tag"
    stats:
      fraction_of_characters_in_most_common_2grams: 0.631578947368421
      fraction_of_characters_in_duplicate_6grams: 0.0
      fraction_of_characters_in_duplicate_7grams: null
      word_count: 6
      median_word_length: 3.0
      symbol_to_word_ratio: 0.16666666666666666
      required_word_count: 3
  - text: "the a\n\n* the a\n\n* the a"
    stats: {fraction_of_lines_starting_with_bullet_point: 0.4, fraction_of_duplicate_lines: 0.8}
  - {text: "", stats: {fraction_of_characters_in_most_common_2grams: null, character_count: 0, fraction_of_duplicate_lines: 0.0}}
---*/
{%- set words = feature('split_words', rust=false) %}
{%- set marks = feature('line_marks') %}
{%- set grams = feature('word_grams', most=10, find=0, lang='en') %}
{%- set repeated = feature('repetition', units='raw_lines', sizes=[1], in_bytes=false) %}
SELECT
    greatest({{ words }}.words, 1) AS _words, greatest({{ words }}.chars, 1) AS _chars,
    {{ marks }}.lines AS _lines,
    _lines - {{ marks }}.filled AS _empty,
    {% for n in range(2, 5) %}
    CASE WHEN {{ words }}.words >= {{ n }} THEN {{ grams }}.top_count[{{ n }}] * {{ grams }}.top_chars[{{ n }}] / _chars END
        AS fraction_of_characters_in_most_common_{{ n }}grams,
    {% endfor %}
    {% for n in range(5, 11) %}
    CASE WHEN {{ words }}.words >= {{ n }} THEN {{ grams }}.repeated[{{ n }}] / greatest({{ grams }}."all"[{{ n }}], 1) END
        AS fraction_of_characters_in_duplicate_{{ n }}grams,
    {% endfor %}
    length({{ text }}) AS character_count,
    {{ words }}.words AS word_count,
    {{ words }}.median AS median_word_length,
    {{ words }}.marked_words / _words AS symbol_to_word_ratio,
    {{ words }}.alpha / _words AS fraction_of_words_with_alpha_character,
    {{ words }}.stops AS required_word_count,
    {{ marks }}.raw_dashes / greatest(_lines, 1) AS fraction_of_lines_starting_with_bullet_point,
    {{ marks }}.raw_ellipsis_chars / greatest(_lines, 1) AS fraction_of_lines_ending_with_ellipsis,
    CASE WHEN {{ text }} = '' THEN 0
        ELSE (coalesce({{ repeated }}.repeated_units[1], 0) + CASE WHEN _empty > 1 THEN _empty ELSE 0 END) / greatest(_lines, 1)
        END AS fraction_of_duplicate_lines,
    coalesce({{ repeated }}.repeated[1], 0) / _chars AS fraction_of_characters_in_duplicate_lines

/*---
doc: >
  Remove samples with repeated lines, paragraphs, or n-grams of words. All copies count, and sizes are in bytes. Lines and paragraphs
  (between two line feeds) are as they are, without empty ones; a text without lines is removed. Words are Unicode words (UAX 29). At most 0.3 of
  the lines and of the paragraphs may have a copy, by bytes 0.2; the units of the most frequent 2-, 3- and 4-gram may hold 0.2, 0.18 and 0.16
  of the bytes of words, those of all 5- to 10-grams that repeat 0.15, 0.14, 0.13, 0.12, 0.11 and 0.1.
version: 1
peer: massive_web_repetition_filter of datamap-rs
params: {}
stats:
  repeated_line_ratio: {type: DOUBLE, most: 1, doc: Share of lines with a copy; 1 without lines.}
  repeated_paragraph_ratio: {type: DOUBLE, most: 1, doc: Share of paragraphs with a copy; 1 without paragraphs.}
  repeated_line_bytes_ratio: {type: DOUBLE, most: 1, doc: Share of the bytes of lines in lines with a copy.}
  repeated_paragraph_bytes_ratio: {type: DOUBLE, most: 1, doc: Share of the bytes of paragraphs in paragraphs with a copy.}
  top_2_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the bytes of words in the most frequent 2-gram.}
  top_3_gram_ratio: {type: DOUBLE, most: 1, doc: The same for 3-grams.}
  top_4_gram_ratio: {type: DOUBLE, most: 1, doc: The same for 4-grams.}
  repeated_5_gram_ratio: {type: DOUBLE, most: 1, doc: Share of the bytes of words in 5-grams that repeat.}
  repeated_6_gram_ratio: {type: DOUBLE, most: 1, doc: The same for 6-grams.}
  repeated_7_gram_ratio: {type: DOUBLE, most: 1, doc: The same for 7-grams.}
  repeated_8_gram_ratio: {type: DOUBLE, most: 1, doc: The same for 8-grams.}
  repeated_9_gram_ratio: {type: DOUBLE, most: 1, doc: The same for 9-grams.}
  repeated_10_gram_ratio: {type: DOUBLE, most: 1, doc: The same for 10-grams.}
examples:
  - {text: "one\ntwo\nthree\nfour", stats: {repeated_line_ratio: 0.0, top_2_gram_ratio: 0.0}, keep: true}
  - {text: "one\ntwo\n two\none", stats: {repeated_line_ratio: 0.5, repeated_line_bytes_ratio: 0.46153846153846156}, keep: false}
  - {text: "a b a b a b c d", stats: {repeated_line_ratio: 0.0, top_2_gram_ratio: 0.75, repeated_5_gram_ratio: 0.0}, keep: false}
  - {text: " ", stats: {repeated_line_ratio: 0.0, repeated_paragraph_ratio: 0.0, top_2_gram_ratio: 0.0}, keep: true}
  - {text: "", stats: {repeated_line_ratio: 1.0}, keep: false}
---*/
{%- set lines = feature('repetition', units='raw_lines', sizes=[1], in_bytes=true) %}
{%- set paragraphs = feature('repetition', units='raw_paragraphs', sizes=[1], in_bytes=true) %}
{%- set words = feature('repetition', units='unicode_words', sizes=[2, 3, 4, 5, 6, 7, 8, 9, 10], in_bytes=true) %}
SELECT
  coalesce({{ lines }}.repeated_units[1] / nullif({{ lines }}.units, 0), 1) AS repeated_line_ratio,
  repeated_line_ratio <= 0.3 AS keep_repeated_lines,
  coalesce({{ paragraphs }}.repeated_units[1] / nullif({{ paragraphs }}.units, 0), 1) AS repeated_paragraph_ratio,
  repeated_paragraph_ratio <= 0.3 AS keep_repeated_paragraphs,
  coalesce({{ lines }}.repeated[1] / nullif({{ lines }}.size, 0), 0) AS repeated_line_bytes_ratio,
  repeated_line_bytes_ratio <= 0.2 AS keep_repeated_line_bytes,
  coalesce({{ paragraphs }}.repeated[1] / nullif({{ paragraphs }}.size, 0), 0) AS repeated_paragraph_bytes_ratio,
  repeated_paragraph_bytes_ratio <= 0.2 AS keep_repeated_paragraph_bytes
  {% for most in ['0.2', '0.18', '0.16', '0.15', '0.14', '0.13', '0.12', '0.11', '0.1'] %}
  {% set kind = 'top' if loop.index <= 3 else 'repeated' %}
  {% set name = kind ~ '_' ~ (loop.index + 1) ~ '_gram' %}
  , coalesce({{ words }}.{{ 'covered_top' if kind == 'top' else 'repeated' }}[{{ loop.index }}] / nullif({{ words }}.size, 0), 0)
      AS {{ name }}_ratio,
  {{ name }}_ratio <= {{ most }} AS keep_{{ name }}
  {% endfor %}

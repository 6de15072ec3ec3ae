/*---
doc: >
  Measure each text for C4's rules. Lines are cut at line feeds, empty ones included; span_replacement_mapper removes lines.
  `javascript` is a word between white space, in any letter case.
version: 1
peer: c4_v1 of dolma 1.2.1
params:
  naughty_words: {type: file, default: null, nullable: true, doc: "File with a word or a phrase in lower case in each line, as dolma has it in its package; null: has_naughty_word is not measured."}
stats:
  lines_with_no_ending_punctuation: {type: BIGINT, doc: "Lines that do not end, before white space, in . ? ! or \"."}
  lines_with_too_few_words: {type: BIGINT, doc: Lines of fewer than three words.}
  has_naughty_word: {type: BIGINT, most: 1, doc: "1 with a word or a phrase of the list; else 0. Only with a list."}
  has_javascript: {type: BIGINT, most: 1, doc: "1 with `javascript`; else 0."}
  has_lorem_ipsum: {type: BIGINT, most: 1, doc: "1 with `lorem ipsum`; else 0."}
  has_curly_brace: {type: BIGINT, most: 1, doc: "1 with {; else 0."}
  line_count: {type: BIGINT, doc: Lines.}
examples:
  - text: "A line of words.\nmenu\n\nOne more line"
    stats: {lines_with_no_ending_punctuation: 3, lines_with_too_few_words: 2, has_javascript: 0, line_count: 4}
  - {text: "Enable JavaScript now. Javascript!", stats: {has_javascript: 1, lines_with_no_ending_punctuation: 0}}
  - {text: "Enable JavaScript, now.", stats: {has_javascript: 0}}
  - text: "Two bad wordsies {"
    params: {naughty_words: list.txt}
    files: {list.txt: "wordsies\nvery bad\n"}
    stats: {has_naughty_word: 1, has_curly_brace: 1, lines_with_no_ending_punctuation: 1}
  - text: "very\nbad bad wordsies!"
    params: {naughty_words: list.txt}
    files: {list.txt: "wordsies\nvery bad\n"}
    stats: {has_naughty_word: 0}
  - {text: "", stats: {lines_with_no_ending_punctuation: 1, lines_with_too_few_words: 1, line_count: 1}}
---*/
{#- White space of Python but for the line feed, and all other characters. -#}
{%- set blank %}[\x{9}\x{b}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]{% endset %}
{%- set ink %}[^\x{a}\x{9}\x{b}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+{% endset %}
{%- set marks = feature('line_marks') %}
SELECT
    {{ marks }}.lines - len(regexp_extract_all({{ text }}, '[.?!"]{{ blank }}*(?:\n|\z)')) AS lines_with_no_ending_punctuation,
    {{ marks }}.lines - len(regexp_extract_all({{ text }},
        '(?:\A|\n){{ blank }}*{{ ink }}{{ blank }}+{{ ink }}{{ blank }}+{{ ink }}')) AS lines_with_too_few_words,
    {% if naughty_words is not none %}
    {{ feature('listed_word', path=naughty_words) }}::BIGINT AS has_naughty_word,
    {% endif %}
    regexp_matches(lower(replace({{ text }}, 'İ', '_')), '(?:\A|[\x{9}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}])javascript(?:[\x{9}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]|\z)')::BIGINT AS has_javascript,
    contains(lower(replace({{ text }}, 'İ', '_')), 'lorem ipsum')::BIGINT AS has_lorem_ipsum,
    contains({{ text }}, '{')::BIGINT AS has_curly_brace,
    {{ marks }}.lines AS line_count

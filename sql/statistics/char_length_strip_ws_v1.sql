/*---
doc: Count the characters of each text without the white space at its ends.
version: 1
peer: char_length_strip_ws_v1 of dolma 1.2.1
params: {}
stats:
  length_no_ws: {type: BIGINT, doc: Code points between the white space at the ends.}
examples:
  - {text: "\n a b\u3000\u0085", stats: {length_no_ws: 3}}
  - {text: "\u001f \u200b", stats: {length_no_ws: 1}}
  - {text: " ", stats: {length_no_ws: 0}}
  - {text: "", stats: {length_no_ws: 0}}
---*/
{#- White space of Python, which is not that of RE2. -#}
{%- set blank %}[\x{9}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+{% endset %}
SELECT length(regexp_replace({{ text }}, '\A{{ blank }}|{{ blank }}\z', '', 'g')) AS length_no_ws

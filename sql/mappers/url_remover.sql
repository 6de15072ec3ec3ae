/*---
doc: >
  Remove addresses: http:// or https:// or www. in any letter case, within words, too, with all that follows up to the next
  white space. One of these with nothing behind it stays.
version: 1
peer: UrlRemover of NeMo Curator
params: {}
examples:
  - {text: "see https://example.org/a, or (www.b.c) now", out: "see  or ( now"}
  - {text: "HTTP://X.Y\u3000awww.b", out: "\u3000a"}
  - {text: "http:// www. ftp://a.b", out: "http:// www. ftp://a.b"}
  - {text: "", out: ""}
---*/
{#- \S of Python, whose white space is not that of RE2. -#}
{%- set ink %}[^\x{9}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+{% endset %}
SELECT CASE WHEN regexp_matches({{ text }}, '(?i)https?://|www\.') THEN nullif(
    regexp_replace({{ text }}, '(?i)https?://{{ ink }}|www\.{{ ink }}', '', 'g'), {{ text }})
END AS delta

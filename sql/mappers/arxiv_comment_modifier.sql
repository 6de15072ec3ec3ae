/*---
doc: >-
  Remove LaTeX comments: lines that begin with %, and in other lines a % that is not the last character, with the character before
  it (other than \) and all that follows. With remove_multiline also what is between \begin{comment} and \end{comment}. The character
  before may be a line feed, so 25% of it loses a digit; as in DCLM. Samples whose text is then empty are removed.
version: 1
peer: arxiv_comment_modifier of DCLM
params:
  remove_multiline: {type: bool, default: false, doc: Also remove comment environments.}
examples:
  - {text: "% a comment\nA text. % more\n5\\% of it%\n", out: "A text.\n5\\% of it%\n", keep: true}
  - {text: "a\\begin{comment}\nx\n\\end{comment}b", params: {remove_multiline: true}, out: "ab", keep: true}
  - {text: "grew by 25% in all", out: "grew by 2", keep: true}
  - {text: "%\n% x", keep: false}
  - {text: "", keep: false}
---*/
SELECT
  CASE WHEN contains({{ text }}, '%') THEN
    regexp_replace(regexp_replace({{ text }}, '(?m)^%.*\n?', '', 'g'), '(?m)[^\\]%.+$', '', 'g')
    ELSE {{ text }} END AS _lines,
  {% if remove_multiline %}
  CASE WHEN contains(_lines, '\begin{comment}') THEN
    regexp_replace(_lines, '(?s)\\begin\{comment\}.*?\\end\{comment\}', '', 'g') ELSE _lines END AS _text,
  {% else %}
  _lines AS _text,
  {% endif %}
  nullif(_text, {{ text }}) AS delta,
  _text <> '' AS keep_empty

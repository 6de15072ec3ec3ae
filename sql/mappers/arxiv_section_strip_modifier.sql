/*---
doc: >-
  Remove what is before the first \chapter, \part, \section, \subsection or \subsubsection of a LaTeX text, starred or not, with a title
  in braces. Samples without such a heading are removed. \paragraph and \subparagraph count only one behind the other, as in DCLM.
version: 1
peer: arxiv_section_strip_modifier of DCLM
params: {}
examples:
  - {text: "\\title{A}\n\\section*[a]{One}\ntext", out: "\\section*[a]{One}\ntext", keep: true}
  - {text: "\\sectionmark \\paragraph{a} \\subsection{b} c", out: "\\subsection{b} c", keep: true}
  - {text: "x \\paragraph{a}\\subparagraph{b} c", out: "\\paragraph{a}\\subparagraph{b} c", keep: true}
  - {text: "\\paragraph{a} text", keep: false}
  - {text: "", keep: false}
---*/
{%- set title = '\\*?(?:\\[.*?\\])?\\{.*?\\}' %}
{%- set heading = '\\\\(?:(?:chapter|part|section|subsection|subsubsection)' ~ title ~ '|paragraph' ~ title ~ '\\\\subparagraph' ~ title ~ ')' %}
SELECT
  CASE WHEN contains({{ text }}, '\') THEN regexp_extract({{ text }}, {{ ('(?s)' ~ heading ~ '.*') | lit }}) ELSE '' END AS _text,
  nullif(_text, {{ text }}) AS delta,
  _text <> '' AS keep_empty

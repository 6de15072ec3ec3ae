/*---
doc: >-
  Remove the text before the first heading of a LaTeX text: \chapter, \part, \section, \subsection, \subsubsection,
  \paragraph or \subparagraph, starred or not, with or without a short title, and with a closing brace somewhere after
  it. A text without a heading becomes empty, unless drop_no_head is false.
version: 1
peer: remove_header_mapper of Data-Juicer 1.6.1
params:
  drop_no_head: {type: bool, default: true, doc: Make a text without a heading empty.}
examples:
  - {text: "\\title{T}\n\\section*{One} a \\section{Two}", out: "\\section*{One} a \\section{Two}"}
  - {text: "x \\section[short]{A long\ntitle} y", out: "\\section[short]{A long\ntitle} y"}
  - {text: "x \\sections{a} \\section {b} \\section{c", out: ""}
  - {text: "no heading", params: {drop_no_head: false}, out: "no heading"}
  - {text: "", out: ""}
---*/
{%- set heading %}
regexp_extract({{ text }},
    '(?s)\\(?:chapter|part|section|subsection|subsubsection|paragraph|subparagraph)\*?(?:\[.*?\])?\{[^}]*\}')
{%- endset %}
{#- What the first match found stands nowhere before it (that would be a match), so instr finds the match. -#}
SELECT CASE {{ heading }}
    WHEN '' THEN {% if drop_no_head %}nullif('', {{ text }}){% else %}NULL{% endif %}

    ELSE nullif(substr({{ text }}, instr({{ text }}, {{ heading }})), {{ text }})
END AS delta

/*---
doc: >-
  Cut a LaTeX text at the first \appendix, \begin{references}, \begin{REFERENCES}, \begin{thebibliography} or \bibliography{...}, to
  the end of the text, and remove samples whose text is then empty.
version: 1
peer: arxiv_appendix_modifier of DCLM
params: {}
examples:
  - {text: "Body.\n\\bibliographystyle{x}\n\\bibliography{refs}\nlost", out: "Body.\n\\bibliographystyle{x}\n", keep: true}
  - {text: "a \\begin{thebibliography}{9} b \\appendix c", out: "a ", keep: true}
  - {text: "a \\bibliography{x", out: "a \\bibliography{x", keep: true}
  - {text: "\\appendix", keep: false}
  - {text: "", keep: false}
---*/
SELECT
  CASE WHEN contains({{ text }}, '\') THEN regexp_replace({{ text }},
    '(?s)(?:\\appendix|\\begin\{(?:references|REFERENCES|thebibliography)\}|\\bibliography\{[^}]*\}).*', '') END AS _text,
  nullif(_text, {{ text }}) AS delta,
  coalesce(_text, {{ text }}) <> '' AS keep_empty

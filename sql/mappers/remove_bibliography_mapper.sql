/*---
doc: >-
  Cut a LaTeX text where its bibliography or appendix begins: at the first \appendix, \begin{references},
  \begin{REFERENCES}, \begin{thebibliography} or \bibliography{...}, to the end of the text. \appendix also matches
  as the beginning of a longer command; \bibliographystyle{...} does not match; the braces of \bibliography may span
  lines.
version: 1
peer: remove_bibliography_mapper of Data-Juicer 1.6.1
params: {}
examples:
  - {text: "Body.\n\\bibliographystyle{x}\n\\bibliography{refs}\nlost", out: "Body.\n\\bibliographystyle{x}\n"}
  - {text: "a \\begin{thebibliography}{9} b \\appendix c", out: "a "}
  - {text: "see \\appendixname below", out: "see "}
  - {text: "a \\bibliography{x,\ny} b", out: "a "}
  - {text: "a \\bibliography{x", out: "a \\bibliography{x"}
  - {text: "a \\begin{References} b", out: "a \\begin{References} b"}
---*/
{%- set opening %}
regexp_extract({{ text }},
    '\\(?:appendix|begin\{(?:references|REFERENCES|thebibliography)\}|bibliography\{[^}]*\})')
{%- endset %}
{#- What the first match found stands nowhere before it (that would be a match), so splitting there cuts at it. -#}
SELECT CASE WHEN {{ opening }} <> '' THEN string_split({{ text }}, {{ opening }})[1] END AS delta

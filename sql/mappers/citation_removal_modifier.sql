/*---
doc: >
  Remove citations as Wikipedia has them: `[12]`, `[]`, `[edit]` and `[citation needed]`; and samples whose text is then empty.
version: 1
peer: citation_removal_modifier of DCLM
params: {}
examples:
  - {text: "A fact.[1][23] Another[citation needed]. [edit]", out: "A fact. Another. ", keep: true}
  - {text: "a[٣] b[a] c[1,2] [Edit]", out: "a b[a] c[1,2] [Edit]", keep: true}
  - {text: "[1]", keep: false}
  - {text: "", keep: false}
---*/
SELECT
  CASE WHEN contains({{ text }}, '[') THEN
    regexp_replace({{ text }}, '\[\p{Nd}*\]|\[edit\]|\[citation needed\]', '', 'g')
  END AS _text,
  nullif(_text, {{ text }}) AS delta,
  coalesce(_text, {{ text }}) <> '' AS keep_empty

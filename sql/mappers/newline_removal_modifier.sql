/*---
doc: Cut longer runs of line feeds to max_consecutive. A line of spaces between them ends a run.
version: 1
peer: newline_removal_modifier of DCLM and of datamap-rs
params:
  as: {type: str, default: dclm, choices: [dclm, datamap], doc: Whose modifier it is; both do the same.}
  max_consecutive: {type: int, default: 2, min: 0, max: 999, doc: Most line feeds in a row.}
examples:
  - {text: "a\n\n\n\nb\n\nc\n", out: "a\n\nb\n\nc\n"}
  - {text: "a\n\n \n\n\nb", params: {max_consecutive: 1}, out: "a\n \nb"}
  - {text: "\n\n\n", params: {as: datamap}, out: "\n\n"}
  - {text: "", out: ""}
---*/
SELECT CASE WHEN contains({{ text }}, repeat(chr(10), {{ max_consecutive + 1 }})) THEN
    regexp_replace({{ text }}, '\n{' || {{ max_consecutive + 1 }} || ',}', repeat(chr(10), {{ max_consecutive }}), 'g')
END AS delta

/*---
doc: Shorten runs of three or more line feeds to two, and then runs of three or more CR LF to two.
version: 1
peer: NewlineNormalizer of NeMo Curator
params: {}
examples:
  - {text: "a\n\n\n\nb\n\nc", out: "a\n\nb\n\nc"}
  - {text: "a\r\n\r\n\r\nb", out: "a\r\n\r\nb"}
  - {text: "a\n \n\r\n\n\nb", out: "a\n \n\r\n\nb"}
  - {text: "", out: ""}
---*/
SELECT CASE WHEN contains({{ text }}, repeat(chr(10), 3)) OR contains({{ text }}, repeat(chr(13) || chr(10), 3)) THEN
    regexp_replace(regexp_replace({{ text }}, '\n{3,}', chr(10) || chr(10), 'g'), '(\r\n){3,}', e'\r\n\r\n', 'g')
END AS delta

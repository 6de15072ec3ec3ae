/*---
doc: >
  Remove the quotation marks around a text of more than two characters that begins and ends with ", unless its first line of
  several ends with ".
version: 1
peer: QuotationRemover of NeMo Curator
params: {}
examples:
  - {text: "\"a text\"", out: "a text"}
  - {text: "\"a\nb\"", out: "a\nb"}
  - {text: "\"a\"\n\"b\"", out: "\"a\"\n\"b\""}
  - {text: "\"\n\"", out: "\"\n\""}
  - {text: "\"a\" ", out: "\"a\" "}
  - {text: "\"\"", out: "\"\""}
  - {text: "", out: ""}
---*/
SELECT CASE WHEN starts_with({{ text }}, '"') AND ends_with({{ text }}, '"') AND length({{ text }}) > 2
    AND NOT (contains({{ text }}, chr(10)) AND ends_with(split_part({{ text }}, chr(10), 1), '"'))
    THEN substring({{ text }}, 2, length({{ text }}) - 2) END AS delta

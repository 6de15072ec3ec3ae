/*---
doc: Remove lines that equal one of the patterns, white space included. Lines are separated by line feeds.
version: 1
peer: LineRemover of NeMo Curator
params:
  patterns: {type: "list[str]", doc: Lines to remove.}
examples:
  - {text: "Home\nA page. Home\nHome\n", params: {patterns: [Home]}, out: "A page. Home\n"}
  - {text: "home\n Home\nHome\r\nend", params: {patterns: [Home, "end"]}, out: "home\n Home\nHome\r"}
  - {text: "a\n\n\nb", params: {patterns: [""]}, out: "a\nb"}
  - {text: "Home\nHome", params: {patterns: [Home]}, out: ""}
  - {text: "", params: {patterns: [Home]}, out: ""}
---*/
SELECT nullif(coalesce(array_to_string(
    list_filter(string_split({{ text }}, chr(10)), lambda l: NOT list_contains({{ patterns | lit }}::VARCHAR[], l)), chr(10)
), ''), {{ text }}) AS delta

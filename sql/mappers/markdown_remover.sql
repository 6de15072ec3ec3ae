/*---
doc: >
  Remove Markdown's marks, line by line: of **bold**, *italic* and _underlined_ text the text stays, of a link
  the address. Any two * or _ of a line are a pair, so `2*3*4` becomes `234` and `a_b_c` becomes `abc`.
version: 1
peer: MarkdownRemover of NeMo Curator
params: {}
examples:
  - {text: "a **bold** and *italic* _word_", out: "a bold and italic word"}
  - {text: "see [the page](https://example.org/a_b_c)", out: "see https://example.org/abc"}
  - {text: "* one\n* two", out: "* one\n* two"}
  - {text: "2*3*4 ** ** ***x***", out: "234   x"}
  - {text: "[a\nb](c) [d]()", out: "[a\nb](c) "}
  - {text: "", out: ""}
---*/
SELECT CASE WHEN regexp_matches({{ text }}, '[*_\[]') THEN nullif(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace({{ text }},
        '\*\*(.*?)\*\*', '\1', 'g'), '\*(.*?)\*', '\1', 'g'), '_(.*?)_', '\1', 'g'), '\[.*?\]\((.*?)\)', '\1', 'g'),
    {{ text }})
END AS delta

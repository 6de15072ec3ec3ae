/*---
doc: >-
  Remove a copyright notice written as a source comment. The first slash-star comment of the text, wherever it is, is
  removed if it contains "copyright" in any case. If there is such a comment, removed or not, nothing else changes. A
  text without one loses all leading lines that are empty or begin with //, # or --, also Markdown headings, shebangs
  and #include lines; an indented line ends this.
version: 1
peer: clean_copyright_mapper of Data-Juicer 1.6.1
params: {}
examples:
  - {text: "int a;\n\/* Copyright 2020 X *\/\nint b;", out: "int a;\n\nint b;"}
  - {text: "\/* a note *\/\n\/* copyright X *\/\nint b;", out: "\/* a note *\/\n\/* copyright X *\/\nint b;"}
  - {text: "// Copyright X\n\n#include <stdio.h>\n  // kept\nint b;\n", out: "  // kept\nint b;\n"}
  - {text: "# only\n-- comments\n", out: ""}
  - {text: "\/* never closed, copyright X", out: "\/* never closed, copyright X"}
  - {text: "\/* COPYRİGHT *\/x", out: "x"}
---*/
{#- The peer ignores case with the regex module, where the dotted capital İ is an i as well. -#}
{% set comment %}'/\*[^*]*\*+(?:[^/*][^*]*\*+)*/'{% endset %}
SELECT CASE
    WHEN contains({{ text }}, '/*') AND regexp_matches({{ text }}, {{ comment }}) THEN
        CASE WHEN regexp_matches(regexp_extract({{ text }}, {{ comment }}), '(?i)copyr[iİ]ght')
            THEN regexp_replace({{ text }}, {{ comment }}, '') END
    WHEN regexp_matches({{ text }}, '\A(?://|#|--|\n)')
        THEN regexp_replace({{ text }}, '\A(?:(?:(?://|#|--)[^\n]*)?\n)*(?:(?://|#|--)[^\n]*\z)?', '')
END AS delta

/*---
doc: >-
  Remove a copyright notice written as a source comment. The first slash-star comment of the text, at any
  place, is cut if it contains "copyright" in any case. If there is such a comment, cut or not, nothing else is changed. A text without one loses its leading lines that are empty or begin with //, # or --, so Markdown
  headings, shebangs and #include lines at the top go as well; an indented line ends that.
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

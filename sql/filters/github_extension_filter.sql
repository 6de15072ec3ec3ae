/*---
doc: >
  Keep samples whose file name ends with one of allowed_extensions, in exact letter case: `py` is also the end of `copy`, so
  write `.py`. A sample without a file name is removed.
version: 1
peer: github_extension_filter of DCLM
params:
  filename_key: {type: sql, default: filename, doc: "Field with the file name, such as `path` or `metadata.path`."}
  allowed_extensions:
    type: str_or_list
    default: [
      .asm, .bat, .cmd, .c, .h, .cs, .cpp, .hpp, .c++, .h++, .cc, .hh, .C, .H, .cmake, .css, .dockerfile, .f90, .f, .f03, .f08,
      .f77, .f95, .for, .fpp, .go, .hs, .html, .java, .js, .jl, .lua, .md, .markdown, .php, .php3, .php4, .php5, .phps, .phpt, .pl,
      .pm, .pod, .perl, .ps1, .psd1, .psm1, .py, .rb, .rs, .sql, .scala, .sh, .bash, .command, .zsh, .ts, .tsx, .tex, .vb,
      Dockerfile, Makefile, .xml, .rst, .m, .smali,
    ]
    doc: Ends of file names; by default those of RedPajama.
stats: {}
examples:
  - {text: "a/b.py", params: {filename_key: text, allowed_extensions: [".py", ".md"]}, keep: true}
  - {text: "a/b.PY", params: {filename_key: text, allowed_extensions: .py}, keep: false}
  - {text: "src/Makefile", params: {filename_key: text}, keep: true}
  - {text: "copy", params: {filename_key: text, allowed_extensions: py}, keep: true}
  - {text: "", params: {filename_key: "NULL", allowed_extensions: .py}, keep: false}
---*/
{%- set ends = [allowed_extensions] if allowed_extensions is string else allowed_extensions %}
SELECT
  {% for end in ends %}{{ ' OR ' if not loop.first }}ends_with({{ filename_key }}, {{ end | lit }}){% else %}false{% endfor %} AS keep

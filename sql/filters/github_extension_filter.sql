/*---
doc: >
  Keep samples whose file name ends with one of allowed_extensions, in exact letter case: `py` is also the end of `copy`, so
  write `.py`. A sample without a file name is removed.
version: 1
peer: github_extension_filter of DCLM
params:
  filename_key: {type: sql, doc: "Field with the file name, such as `path` or `metadata.path`."}
  allowed_extensions: {type: str_or_list, doc: Ends of file names.}
stats: {}
examples:
  - {text: "a/b.py", params: {filename_key: text, allowed_extensions: [".py", ".md"]}, keep: true}
  - {text: "a/b.PY", params: {filename_key: text, allowed_extensions: .py}, keep: false}
  - {text: "copy", params: {filename_key: text, allowed_extensions: py}, keep: true}
  - {text: "", params: {filename_key: "NULL", allowed_extensions: .py}, keep: false}
---*/
{%- set ends = [allowed_extensions] if allowed_extensions is string else allowed_extensions %}
SELECT
  {% for end in ends %}{{ ' OR ' if not loop.first }}ends_with({{ filename_key }}, {{ end | lit }}){% else %}false{% endfor %} AS keep

/*---
doc: >-
  Keep samples whose suffix is one of suffixes, exactly: "md" is not ".md", ".MD" is not ".md". Without suffixes every
  sample is kept, also with reversed_range. A sample without a suffix matches none. No statistic is recorded.
version: 1
peer: suffix_filter of Data-Juicer 1.6.1
params:
  suffixes: {type: str_or_list, default: [], nullable: true, doc: One suffix or several; none keeps everything.}
stats: {}
examples:
  - {text: "x", fields: {__dj__suffix__: .md}, params: {suffixes: .md}, keep: true}
  - {text: "x", fields: {__dj__suffix__: .md}, params: {suffixes: [md, .MD, .txt]}, keep: false}
  - {text: "x", fields: {__dj__suffix__: .md}, params: {suffixes: [.md], reversed_range: true}, keep: false}
  - {text: "x", fields: {__dj__suffix__: .md}, keep: true}
  - {text: "x", fields: {__dj__suffix__: .md}, params: {suffixes: [], reversed_range: true}, keep: true}
---*/
{%- set wanted = [suffixes] if suffixes is string else suffixes or [] %}
{%- if wanted %}
SELECT coalesce({{ suffix }} {{ "NOT IN" if reversed_range else "IN" }} ({{ wanted | map("lit") | join(", ") }}),
    {{ "true" if reversed_range else "false" }}) AS keep
{%- else %}
SELECT true AS keep
{%- endif %}

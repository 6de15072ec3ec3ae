/*---
doc: >
  Occurrences of four symbols in a text, which do not overlap: hashes, dots (`...`), spaced (`. . .`) and marks (`…`).
version: 1
---*/
{%- macro count(symbol) -%}
CASE WHEN contains({{ text }}, {{ symbol | lit }}) THEN
    (length({{ text }}) - length(replace({{ text }}, {{ symbol | lit }}, ''))) // {{ symbol | length }} ELSE 0 END
{%- endmacro %}
{hashes: {{ count('#') }}, dots: {{ count('...') }}, spaced: {{ count('. . .') }}, marks: {{ count('…') }}}

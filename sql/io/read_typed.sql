-- Read: every sample is a row with its own columns.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row, *
FROM (
{% for group in groups %}
{{ '  UNION ALL BY NAME\n' if not loop.first -}}
{% if group.kind == 'parquet' %}
  SELECT * EXCLUDE (filename), {{ group.suffix | lit }} AS _suffix, filename AS _file
  FROM read_parquet({{ group.paths }}, union_by_name = true, filename = true)
{% elif group.kind == 'text' %}
  SELECT
    regexp_replace(content, '\r\n?', chr(10), 'g') AS text, {{ group.suffix | lit }} AS _suffix, filename AS _file
  FROM read_text({{ group.paths }})
{% elif group.kind == 'csv' or group.kind == 'tsv' %}
  SELECT
{% for name, kind in group.columns %}
    {{ 'TRY_CAST(trim(%s) AS %s) AS %s' % (name | ident, kind, name | ident) if kind != 'VARCHAR' else name | ident }},
{% endfor %}
    {{ group.suffix | lit }} AS _suffix, filename AS _file
  FROM read_csv(
    {{ group.paths }}, header = true, delim = {{ "','" if group.kind == 'csv' else "E'\\t'" }}, quote = '"', escape = '"',
    all_varchar = true, strict_mode = false, null_padding = true, parallel = false, union_by_name = true, filename = true
  )
{% else %}
  -- A table of yours, which must be registered under this name.
  SELECT *, {{ group.suffix | lit }} AS _suffix, NULL AS _file
  FROM dataset
{% endif %}
{% endfor %}
)

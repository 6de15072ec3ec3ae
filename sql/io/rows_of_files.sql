{% macro folders() %}{% for key, value, whole in partitions %}{{ 'CAST(NULL AS %s)' % ('BIGINT' if whole else 'VARCHAR') if value is none else value if whole else value | lit }} AS {{ key | ident }}, {% endfor %}{% endmacro %}
{% if kind == 'parquet' %}
  SELECT * EXCLUDE (filename){{ ' REPLACE (%s)' % replaced if replaced }}, {{ folders() }}{{ suffix | lit }} AS _suffix, filename AS _file
  FROM read_parquet({{ paths }}, union_by_name = true, hive_partitioning = false, filename = true)
{% elif kind == 'text' %}
  SELECT
    regexp_replace(content, '\r\n?', chr(10), 'g') AS text, {{ folders() }}
    lower(regexp_extract(filename, '[^/](\.[^./]+)$', 1)) AS _suffix, filename AS _file
  FROM read_text({{ paths }})
{% elif kind == 'csv' or kind == 'tsv' %}
  SELECT
{% for name, type in columns %}
    {{ name | ident if type == 'VARCHAR' else 'TRY_CAST(trim(%s) AS %s) AS %s' % (name | ident, type, name | ident) }},
{% endfor %}
    {{ folders() }}{{ suffix | lit }} AS _suffix, filename AS _file
  FROM read_csv(
    {{ paths }}, delim = {{ "','" if kind == 'csv' else "E'\\t'" }}, quote = '"', escape = '"', header = true, all_varchar = true,
    union_by_name = true, null_padding = true, strict_mode = false, parallel = false, hive_partitioning = false, filename = true
  )
{% else %}
  -- Register your table under this name.
  SELECT *{{ ' REPLACE (%s)' % replaced if replaced }}, {{ suffix | lit }} AS _suffix, CAST(NULL AS VARCHAR) AS _file
  FROM dataset
{% endif %}

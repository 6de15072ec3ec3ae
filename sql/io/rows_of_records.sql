  SELECT
{% for name, type in columns %}
    {{ name | ident if type == 'VARCHAR' else 'TRY_CAST(trim(%s) AS %s) AS %s' % (name | ident, type, name | ident) }},
{% endfor %}
    {{ folders }}{{ suffix | lit }} AS _suffix, filename AS _file
  FROM read_csv(
    {{ paths }}, delim = {{ reader.script_delimiter }}, quote = '"', escape = '"', header = true, all_varchar = true,
    union_by_name = true, null_padding = true, strict_mode = false, parallel = false, hive_partitioning = false, filename = true
  )

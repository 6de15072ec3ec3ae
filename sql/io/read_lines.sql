-- Read: every line of JSON is a sample, and `_line` carries it as it is. Lines of white space alone are none.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row, line AS _line, suffix AS _suffix, file AS _file
FROM (
{% for group in groups %}
{{ '  UNION ALL\n' if not loop.first -}}
{% if group.kind == 'jsonl' %}
  -- A line is one value: there is nothing that separates, quotes or escapes.
  SELECT line, {{ group.suffix | lit }} AS suffix, filename AS file
  FROM read_csv(
    {{ group.paths }}, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '', comment = '',
    header = false, auto_detect = false, strict_mode = false, max_line_size = 1073741824, filename = true
  )
{% elif group.kind == 'json' %}
  -- An array, or values over several lines: each value becomes one line.
  SELECT
    regexp_replace(CAST(json AS VARCHAR), '[ \t\r]*\n[ \t\r]*', '', 'g') AS line,
    {{ group.suffix | lit }} AS suffix, filename AS file
  FROM read_json_objects({{ group.paths }}, format = 'auto', maximum_object_size = 1073741824, filename = true)
{% else %}
  SELECT CAST(to_json(struct_pack(*COLUMNS(* EXCLUDE (_suffix, _file)))) AS VARCHAR) AS line, _suffix AS suffix, _file AS file
  FROM (
  {{ group.rows }}
  )
{% endif %}
{% endfor %}
)
WHERE trim(line, E' \t\r\n') <> ''

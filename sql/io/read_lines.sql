-- Each sample is its line of JSON. (`refinery run` reads the same lines in shards, and more tolerantly.)
CREATE OR REPLACE TEMP TABLE batch AS
SELECT row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row, line AS _line, suffix AS _suffix
FROM (
{% for file in files %}
{{ 'UNION ALL' if not loop.first }}
{% if file.array %}
SELECT CAST(json AS VARCHAR) AS line, {{ file.suffix | lit }} AS suffix
FROM read_json_objects({{ file.path | lit }}, format = 'auto', maximum_object_size = 1073741824)
{% else %}
SELECT line, {{ file.suffix | lit }} AS suffix
FROM read_csv({{ file.path | lit }}, columns = {'line': 'VARCHAR'}, header = false, auto_detect = false, delim = '\x01', quote = '', escape = '', comment = '', max_line_size = 1073741824)
{% endif %}
{% endfor %}
)
WHERE trim(line, E' \t\r\n') <> ''

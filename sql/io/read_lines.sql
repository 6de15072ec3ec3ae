{% if groups | selectattr('partitions') | list %}
-- A line with a field that a folder's name stands for, at its end, unless it has one of that name.
CREATE OR REPLACE TEMP MACRO with_field(line, path, field) AS CASE
  WHEN NOT json_valid(line) THEN line
  WHEN json_exists(line, path) THEN line
  WHEN regexp_matches(line, '^\s*\{\s*\}\s*$') THEN '{' || field || '}'
  ELSE regexp_extract(line, '^(?s:(.*?))\s*\}\s*$', 1) || ', ' || field || regexp_extract(line, '\s*\}\s*$')
END;

{% endif %}
-- Read: every line of JSON is a sample, and `_line` carries it as it is. Lines of white space alone are none.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT
  row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row,
  -- Of a key that stands twice the last value counts.
{% if spliced %}
  last_members(line) AS _line,
{% else %}
  CASE
    WHEN CASE WHEN json_valid(line) THEN len(json_keys(line)) > len(list_distinct(json_keys(line))) END THEN '{' || array_to_string(
      list_transform(
        list_filter(
          list_zip(json_keys(line), json_extract(line, '$.*')),
          lambda pair, place: NOT list_contains(json_keys(line)[place + 1:], pair[1])
        ),
        lambda pair: json_quote(pair[1]) || ':' || pair[2]
      ),
      ','
    ) || '}'
    ELSE line
  END AS _line,
{% endif %}
  suffix AS _suffix, file AS _file
FROM (
{% for group in groups %}
{{ '  UNION ALL\n' if not loop.first -}}
{% if group.reader.lines %}
  {{ group.rows }}
{% else %}
  SELECT CAST(to_json(struct_pack(*COLUMNS(* EXCLUDE (_suffix, _file)))) AS VARCHAR) AS line, _suffix AS suffix, _file AS file
  FROM (
  {{ group.rows }}
  )
{% endif %}
{% endfor %}
)
WHERE trim(line, E' \t\r\n') <> ''

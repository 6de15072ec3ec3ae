-- Read: every sample is a row with its own columns.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row, *
FROM (
{% for group in groups %}
{{ '  UNION ALL BY NAME\n' if not loop.first -}}
  {{ group.rows }}
{% endfor %}
)

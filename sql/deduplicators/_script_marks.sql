-- What {{ name }} compares of each of them; who has none of it is nobody's duplicate.
CREATE OR REPLACE TEMP TABLE marks AS
{% if units %}
SELECT _row, unit, key
FROM (
  SELECT _row, generate_subscripts({{ columns['units'] }}, 1) - 1 AS unit, unnest({{ columns['units'] }}) AS key
  FROM facts_{{ stage }}
  WHERE _dropped IS NULL
)
WHERE key <> 0
{% else %}
SELECT _row{% for mark, column in columns.items() %}, {{ column }} AS {{ mark }}{% endfor %}

FROM facts_{{ stage }}
WHERE _dropped IS NULL AND NOT {{ columns.values() | first }} IS NULL
{% endif %}

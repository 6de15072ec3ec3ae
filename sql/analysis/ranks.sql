-- The finite values of each statistic, and their ranks: values that are the same share the mean of the ranks that they take.
{% macro finite(column) %}CASE WHEN isfinite(CAST({{ column }} AS DOUBLE)) THEN CAST({{ column }} AS DOUBLE) END{% endmacro %}
SELECT
{% for column in columns %}
  v{{ loop.index0 }},
  CASE WHEN v{{ loop.index0 }} IS NOT NULL THEN (rank() OVER by_{{ loop.index0 }} + count(*) OVER by_{{ loop.index0 }}) / 2 END
    AS r{{ loop.index0 }}{{ ',' if not loop.last }}
{% endfor %}
FROM (
  SELECT
  {% for column in columns %}
    {{ finite(column) }} AS v{{ loop.index0 }}{{ ',' if not loop.last }}
  {% endfor %}
  FROM {{ relation }}
)
WINDOW
{% for column in columns %}
  by_{{ loop.index0 }} AS (ORDER BY v{{ loop.index0 }} NULLS LAST){{ ',' if not loop.last }}
{% endfor %}

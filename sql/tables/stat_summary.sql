-- Moments of every statistic: n, mean and M2 = sum((x - mean)^2) are all that an exact merge needs.
CREATE OR REPLACE TABLE stat_summary AS
{% for name, column in columns %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  'summary' AS "group",
  'summary' AS key,
  {{ name }} AS stat,
  count({{ column }}) AS n,
  avg(CAST({{ column }} AS DOUBLE)) AS mean,
  coalesce(var_pop(CAST({{ column }} AS DOUBLE)) * count({{ column }}), 0.0) AS m2,
  min(CAST({{ column }} AS DOUBLE)) AS min,
  max(CAST({{ column }} AS DOUBLE)) AS max,
  sum(CAST({{ column }} AS DOUBLE)) AS total
FROM stats
{% else %}
SELECT * FROM (
  SELECT
    '' AS "group", '' AS key, '' AS stat, 0::BIGINT AS n, 0::DOUBLE AS mean, 0::DOUBLE AS m2, 0::DOUBLE AS min,
    0::DOUBLE AS max, 0::DOUBLE AS total
) WHERE FALSE
{% endfor %}

-- Moments of every statistic: n, mean and M2 = sum((x - mean)^2) are all that an exact merge needs. Distances are taken from
-- a value near the mean first; what is left of the mean then corrects both. NaN and infinities are counted apart.
CREATE OR REPLACE TABLE stat_summary AS
{% for stat in stats %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  'summary' AS "group",
  'summary' AS key,
  {{ stat.name | lit }} AS stat,
  count(value) AS n,
  any_value(near) + fsum(value - near) / count(value) AS mean,
  CASE
    WHEN min(value) < max(value) THEN fsum((value - near) * (value - near)) - fsum(value - near) * fsum(value - near) / count(value)
    ELSE 0.0
  END AS m2,
  min(value) AS min,
  max(value) AS max,
  fsum(value) AS total,
  {{ 'count(*) FILTER (WHERE isnan(%s))' % stat.number if stat.real else '0::BIGINT' }} AS nans,
  {{ 'count(*) FILTER (WHERE isinf(%s))' % stat.number if stat.real else '0::BIGINT' }} AS infinities
FROM (
  SELECT {{ stat.column }}, {{ stat.finite }} AS value, (SELECT avg({{ stat.finite }}) FROM stats) AS near
  FROM stats
)
{% else %}
SELECT * FROM (
  SELECT
    '' AS "group", '' AS key, '' AS stat, 0::BIGINT AS n, 0::DOUBLE AS mean, 0::DOUBLE AS m2, 0::DOUBLE AS min,
    0::DOUBLE AS max, 0::DOUBLE AS total, 0::BIGINT AS nans, 0::BIGINT AS infinities
) WHERE FALSE
{% endfor %}

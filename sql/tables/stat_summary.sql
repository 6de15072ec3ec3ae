-- Moments of every statistic: n, mean and M2 = sum((x - mean)^2) are all that an exact merge needs. Distances are taken from
-- a value near the mean first; what is left of the mean then corrects both. NaN and infinities are counted apart.
CREATE OR REPLACE TABLE stat_summary AS
{% for stat in stats %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  'summary' AS "group",
  'summary' AS key,
  {{ stat.name | lit }} AS stat,
  count(_value) AS n,
  any_value(_near) + fsum(_value - _near) / count(_value) AS mean,
  CASE
    WHEN min(_value) < max(_value) THEN fsum((_value - _near) * (_value - _near)) - fsum(_value - _near) * fsum(_value - _near) / count(_value)
    ELSE 0.0
  END AS m2,
  min(_value) AS min,
  max(_value) AS max,
  fsum(_value) AS total,
  {{ 'count(*) FILTER (WHERE isnan(%s))' % stat.number if stat.real else '0::BIGINT' }} AS nans,
  {{ 'count(*) FILTER (WHERE isinf(%s))' % stat.number if stat.real else '0::BIGINT' }} AS infinities
FROM (
  SELECT {{ stat.column }}, {{ stat.finite }} AS _value, (SELECT avg({{ stat.finite }}) FROM stats) AS _near
  FROM stats
)
{% else %}
SELECT * FROM (
  SELECT
    '' AS "group", '' AS key, '' AS stat, 0::BIGINT AS n, 0::DOUBLE AS mean, 0::DOUBLE AS m2, 0::DOUBLE AS min,
    0::DOUBLE AS max, 0::DOUBLE AS total, 0::BIGINT AS nans, 0::BIGINT AS infinities
) WHERE FALSE
{% endfor %}

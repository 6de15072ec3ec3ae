-- What suggested bounds would remove, each by itself: samples whose statistic lies outside or is not there, and the bytes of
-- their texts as the step is given them.
{% for bound in bounds %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  {{ bound.step }} AS step,
  {{ bound.operator }} AS operator,
  {{ bound.stat }} AS stat,
  {{ bound.method }} AS method,
  CAST({{ bound.low }} AS DOUBLE) AS low,
  CAST({{ bound.high }} AS DOUBLE) AS high,
  count(*) FILTER (WHERE outside) AS rows_removed,
  count(*) AS rows,
  CAST(coalesce(sum(size) FILTER (WHERE outside), 0) AS BIGINT) AS bytes_removed,
  CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes
FROM (
  SELECT
    NOT coalesce({{ bound.inside }}, FALSE) AS outside,
    {{ bound.bytes }} AS size
  FROM {{ relation }}
)
{% else %}
SELECT
  0 AS step, '' AS operator, '' AS stat, '' AS method, 0::DOUBLE AS low, 0::DOUBLE AS high, 0::BIGINT AS rows_removed,
  0::BIGINT AS rows, 0::BIGINT AS bytes_removed, 0::BIGINT AS bytes
WHERE FALSE
{% endfor %}

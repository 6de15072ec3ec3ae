-- Where the finite values of each statistic lie, which the axes of histograms and the table of statistics go by.
-- Quantiles are those of every {{ every }}th sample.
{% for column in columns %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  {{ loop.index0 }} AS nth,
  count(x) AS finite,
  min(x) AS low,
  max(x) AS high,
  quantile_disc(x, {{ shares | lit }}){% if every > 1 %} FILTER (_row % {{ every }} = 0){% endif %} AS quantiles
FROM (
  SELECT _row, CASE WHEN isfinite(CAST({{ column }} AS DOUBLE)) THEN CAST({{ column }} AS DOUBLE) END AS x FROM stats
)
{% endfor %}
ORDER BY nth

-- Where the finite values of each statistic lie, which the axes of histograms and the table of statistics go by.
{% for name, column in columns %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  {{ name }} AS stat,
  count({{ column }}) FILTER (isfinite(CAST({{ column }} AS DOUBLE))) AS finite,
  min(CAST({{ column }} AS DOUBLE)) FILTER (isfinite(CAST({{ column }} AS DOUBLE))) AS low,
  max(CAST({{ column }} AS DOUBLE)) FILTER (isfinite(CAST({{ column }} AS DOUBLE))) AS high,
  quantile_disc(CAST({{ column }} AS DOUBLE), {{ shares | lit }}) FILTER (isfinite(CAST({{ column }} AS DOUBLE))) AS quantiles
FROM stats
{% endfor %}

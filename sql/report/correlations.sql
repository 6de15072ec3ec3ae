-- Pearson's correlation of every pair of statistics over the samples that have both; every {{ every }}th sample is taken.
SELECT {% for left, right in pairs %}{{ ', ' if not loop.first }}corr(CAST({{ left }} AS DOUBLE), CAST({{ right }} AS DOUBLE)){% endfor %}

FROM (
  SELECT {% for column in columns %}{{ ', ' if not loop.first }}CASE WHEN isfinite(CAST({{ column }} AS DOUBLE)) THEN {{ column }} END AS {{ column }}{% endfor %}

  FROM stats WHERE _row % {{ every }} = 0
)

-- Samples by bin of one statistic and by their fate: kept, removed by the step that measures it, or by another one.
-- Bins are numbered from 0; -1 and {{ bins }} hold what lies outside of the axis.
SELECT
  CASE
    WHEN x < {{ low | lit }} THEN -1
    WHEN x > {{ high | lit }} THEN {{ bins }}
    ELSE least(greatest(CAST(floor(({{ 'ln(x)' if log else 'x' }} - {{ start | lit }}) / {{ width | lit }}) AS INTEGER), 0), {{ bins - 1 }})
  END AS bin,
  CASE WHEN step IS NULL THEN 'kept' WHEN step = {{ step | lit }} THEN 'here' ELSE 'elsewhere' END AS fate,
  count(*) AS samples
FROM (
  SELECT CAST(s.{{ column }} AS DOUBLE) AS x, l.step AS step
  FROM stats AS s LEFT JOIN ledger AS l ON l._row = s._row
  WHERE s.{{ column }} IS NOT NULL
)
WHERE isfinite(x)
GROUP BY ALL
ORDER BY ALL

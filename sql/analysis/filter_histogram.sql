-- Samples that reach a filter by bin of one statistic and by fate: kept by all steps, removed here, removed by another step.
-- Bins are numbered from 0; -1 and the number of bins hold what lies outside of the axis.
WITH numbers AS (
  SELECT CAST({{ column }} AS DOUBLE) AS x,
    CASE WHEN NOT _in_force THEN 'here' WHEN _fate = 'kept' THEN 'kept' ELSE 'later' END AS fate, _n
  FROM filter_classes
  JOIN filter_kinds USING (_kind)
)
SELECT
  CASE
    WHEN x < {{ axis.low | lit }} THEN -1
    WHEN x > {{ axis.high | lit }} THEN {{ axis.bins }}
    ELSE least(greatest(CAST(floor(({{ 'ln(x)' if axis.log else 'x' }} - {{ axis.start | lit }}) / {{ axis.width | lit }}) AS INTEGER), 0), {{ axis.bins - 1 }})
  END AS bin,
  fate,
  sum(_n) AS samples
FROM numbers
WHERE isfinite(x)
GROUP BY ALL
ORDER BY ALL

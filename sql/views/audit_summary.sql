-- One row per step, source, measure and threshold: the share of the audited samples, or parts of samples, that are at least so similar to
-- what stays. The rows without a source are for all sources; there, each pair counts by the samples that it stands for, and the interval
-- is that of the effective number of pairs (Kish 1965).
WITH measured AS (
  SELECT step, operator, source, basis, weight, 'jaccard' AS measure, jaccard AS similarity, threshold AS own FROM audit WHERE jaccard IS NOT NULL
  UNION ALL
  SELECT step, operator, source, basis, weight, 'cosine', cosine, threshold FROM audit WHERE cosine IS NOT NULL
  UNION ALL
  SELECT step, operator, source, basis, weight, 'estimated_jaccard', estimated_jaccard, threshold FROM audit WHERE basis = 'signatures'
), by_threshold AS (
  SELECT * EXCLUDE (own), unnest(CASE
    WHEN measure = 'cosine' THEN [own]
    WHEN step IN (SELECT step FROM audit WHERE cosine IS NOT NULL) THEN [0.5::DOUBLE, 0.8::DOUBLE]
    ELSE list_sort(list_distinct([0.5::DOUBLE, 0.8::DOUBLE, own]))
  END) AS threshold
  FROM measured
), summed AS (
  SELECT
    step, operator, source, basis, measure, threshold, count(*) AS n, CAST(round(sum(weight)) AS BIGINT) AS removed,
    sum(CASE WHEN similarity >= threshold THEN weight ELSE 0 END) / sum(weight) AS share,
    sum(weight) * sum(weight) / sum(weight * weight) AS effective
  FROM by_threshold
  GROUP BY GROUPING SETS ((step, operator, basis, measure, threshold, source), (step, operator, basis, measure, threshold))
)
SELECT
  step, operator, source, basis, measure, threshold, n, removed, share,
  {{ wilson_low }} AS low,
  {{ wilson_high }} AS high
FROM summed
ORDER BY step, source NULLS FIRST, measure DESC, threshold

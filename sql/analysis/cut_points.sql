-- Cut points between n buckets of equal weight: the least score up to which the samples have k / n of all weight. Weights are
-- summed as decimals, so that the sums do not depend on the order of rows.
WITH scored AS (
  SELECT {{ score }} AS score, sum(CAST({{ weight }} AS DECIMAL(28, 6))) AS weight, count(*) AS n, min({{ weight }}) AS lightest
  FROM stats
  WHERE {{ score }} IS NOT NULL AND NOT isnan({{ score }}) AND {{ weight }} IS NOT NULL
  GROUP BY ALL
), summed AS (
  SELECT score, sum(weight) OVER (ORDER BY score) AS up_to, sum(weight) OVER () AS total, n, lightest FROM scored
), cuts AS (
  SELECT k, min(score) AS cut
  FROM range(1, {{ buckets }}) AS numbers (k) JOIN summed ON up_to * {{ buckets }} >= total * k
  GROUP BY k
)
SELECT
  (SELECT coalesce(list(cut ORDER BY k), []) FROM cuts) AS cuts,
  CAST(sum(n) AS BIGINT) AS samples,
  CAST(max(total) AS DOUBLE) AS weight,
  min(lightest) AS lightest,
  min(score) AS least,
  max(score) AS most
FROM summed

-- Quantiles of each sketch: of n values the one at place ceil(percent * n / 100), from its bucket. A bucket whose values
-- are all the same gives that value; of others the harmonic mean of the least and the largest, whose relative distance
-- from any value between is at most (gamma - 1) / (gamma + 1).
WITH counted AS (
  SELECT
    "group", key, stat, low, high, n,
    sum(n) OVER (PARTITION BY "group", key, stat ORDER BY bucket) AS up_to,
    sum(n) OVER (PARTITION BY "group", key, stat) AS total
  FROM {{ relation }}
  WHERE bucket IS NOT NULL
)
SELECT
  "group", key, stat,
  percent / 100 AS quantile,
  CASE WHEN low = high THEN low ELSE low * (2 / (1 + low / high)) END AS value
FROM counted, (SELECT unnest({{ percents }}) AS percent)
WHERE greatest((percent * total + 99) // 100, 1) BETWEEN up_to - n + 1 AND up_to
ORDER BY "group", key, stat, quantile

-- The largest clusters of each deduplicator, with the sample that stays and the first of those that go.
WITH largest AS (
  SELECT step, cluster, any_value(size) AS size
  FROM clusters
  GROUP BY step, cluster
  QUALIFY row_number() OVER (PARTITION BY step ORDER BY any_value(size) DESC, cluster) <= {{ limit }}
)
SELECT
  step,
  cluster,
  largest.size,
  min(_row) FILTER (survivor) AS survivor,
  min(_row, {{ rows }}) AS rows
FROM clusters
JOIN largest USING (step, cluster)
GROUP BY ALL
ORDER BY step, largest.size DESC, cluster

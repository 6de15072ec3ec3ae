-- The largest clusters of each deduplicator, with the sample that stays and the first of those that go.
SELECT
  step,
  cluster,
  any_value(size) AS size,
  min(_row) FILTER (survivor) AS survivor,
  list(_row ORDER BY _row)[1 : {{ rows }}] AS rows
FROM clusters
GROUP BY step, cluster
QUALIFY row_number() OVER (PARTITION BY step ORDER BY any_value(size) DESC, cluster) <= {{ limit }}
ORDER BY step, size DESC, cluster

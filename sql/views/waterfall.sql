-- One row per step, from reading (step 0) on: what came in, what became of it, and how much of the input is left.
WITH read AS (
  SELECT
    coalesce((SELECT CAST(sum(rows) AS BIGINT) FROM shards), 0) AS rows,
    (SELECT count(*) FROM quarantine WHERE step = 0) AS unreadable
)
SELECT
  0 AS step,
  'read' AS operator,
  CAST(NULL AS VARCHAR) AS name,
  rows AS rows_in,
  CAST(0 AS BIGINT) AS removed,
  CAST(0 AS BIGINT) AS changed,
  unreadable AS quarantined,
  rows - unreadable AS rows_out,
  CAST(0 AS DOUBLE) AS removed_share,
  (rows - unreadable) / nullif(rows, 0) AS left_share,
  CAST(NULL AS BIGINT) AS bytes_in,
  CAST(NULL AS BIGINT) AS bytes_out,
  CAST(NULL AS DOUBLE) AS seconds
FROM read
UNION ALL
SELECT
  step, operator, {{ 'name' if named else 'NULL' }}, rows_in, removed, changed, quarantined, rows_out,
  removed / nullif(rows_in, 0), rows_out / nullif(rows, 0),
  bytes_in, bytes_out, seconds
FROM steps, read
ORDER BY step

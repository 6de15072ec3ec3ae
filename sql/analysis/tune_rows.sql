-- Samples that reach a filter, each a class of its own, with their statistics and fates: for conditions that are no bounds.
CREATE OR REPLACE TEMP VIEW classes AS
SELECT
  *,
  CASE WHEN {{ here }} THEN 'here' WHEN {{ kept }} THEN 'kept' ELSE 'later' END AS _fate,
  1 AS _n,
  {{ bytes_here }} AS _bytes_here,
  {{ bytes_end }} AS _bytes_end
FROM stats
JOIN row_outcomes USING (_row)
WHERE _dropped IS NULL OR _dropped >= {{ step }}

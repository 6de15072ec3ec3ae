-- Units that stand in more than {{ threshold }} samples: all of them go, wherever they are. Those that stand in fewer places
-- than that are left out first, for most units do, and telling samples apart costs more than counting places.
WITH often AS MATERIALIZED (
  SELECT key FROM marks GROUP BY key HAVING count(*) > {{ threshold }}
),
places AS MATERIALIZED (
  SELECT _row, unit, key FROM marks SEMI JOIN often USING (key)
),
frequent AS (
  SELECT key, count(*) AS samples
  FROM (SELECT DISTINCT key, _row FROM places)
  GROUP BY key
  HAVING count(*) > {{ threshold }}
)
SELECT places._row, places.unit, CAST(NULL AS BIGINT) AS kept, 'in ' || frequent.samples || ' samples' AS matched
FROM places
JOIN frequent ON places.key = frequent.key
ORDER BY places._row, places.unit

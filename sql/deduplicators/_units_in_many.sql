-- Units that stand in more than {{ threshold }} samples: all of them go, wherever they are.
SELECT marks._row, marks.unit, CAST(NULL AS BIGINT) AS kept, 'in ' || frequent.samples || ' samples' AS matched
FROM marks
JOIN (
  SELECT key, count(*) AS samples
  FROM (SELECT DISTINCT key, _row FROM marks)
  GROUP BY key
  HAVING count(*) > {{ threshold }}
) AS frequent ON marks.key = frequent.key
ORDER BY marks._row, marks.unit

-- The steps that few samples reach, that remove a large share of them, or in which one sample connects a large share.
WITH hubs AS (
  SELECT step, via, count(*) AS connected FROM duplicates WHERE unit IS NULL AND via IS NOT NULL GROUP BY ALL
), largest AS (
  SELECT step, max(connected) AS connected FROM hubs GROUP BY step
)
SELECT step
FROM steps
LEFT JOIN largest USING (step)
WHERE removed > 0
AND (rows_in <= {{ few }} OR removed > {{ removed }} * rows_in OR connected > {{ connected }} * rows_in)
ORDER BY step

-- The steps that few samples reach and that remove samples or parts of them, that remove a large share of the samples, or in which one
-- sample connects a large share.
WITH hubs AS (
  SELECT step, via, count(*) AS connected FROM duplicates WHERE unit IS NULL AND via IS NOT NULL GROUP BY ALL
), cutting AS (
  SELECT DISTINCT step FROM duplicates WHERE unit IS NOT NULL AND step IN (SELECT step FROM steps WHERE rows_in <= {{ few }})
), largest AS (
  SELECT step, max(connected) AS connected FROM hubs GROUP BY step
)
SELECT step
FROM steps
LEFT JOIN largest USING (step)
WHERE step IN (FROM cutting)
OR removed > 0 AND (rows_in <= {{ few }} OR removed > {{ removed }} * rows_in OR connected > {{ connected }} * rows_in)
ORDER BY step

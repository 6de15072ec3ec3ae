-- How many parts of texts each deduplicator took out, and what was most often the reason.
SELECT step, count(*) AS units, count(DISTINCT _row) AS samples, count(DISTINCT kept) AS origins
FROM duplicates
WHERE unit IS NOT NULL
GROUP BY step
ORDER BY step

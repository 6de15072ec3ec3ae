-- The most frequent values of a statistic that is no number.
SELECT CAST({{ column }} AS VARCHAR) AS value, count(*) AS samples, count(*) FILTER (kept) AS kept
FROM stats
WHERE {{ column }} IS NOT NULL
GROUP BY 1
ORDER BY samples DESC, value
LIMIT {{ limit }}

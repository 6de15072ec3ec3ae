-- How many clusters of each size every deduplicator found.
SELECT step, size, count(DISTINCT cluster) AS clusters
FROM clusters
GROUP BY ALL
ORDER BY ALL

-- How many clusters of each size every deduplicator found.
SELECT step, size, count(*) AS clusters
FROM (SELECT DISTINCT step, size, cluster FROM clusters)
GROUP BY ALL
ORDER BY ALL

-- Any number of sketches, one below another, as one: counts add up, the least and the largest value stay.
SELECT "group", key, stat, bucket, CAST(sum(n) AS BIGINT) AS n, min(low) AS low, max(high) AS high
FROM ({{ sketches }})
GROUP BY ALL
ORDER BY "group", key, stat, bucket

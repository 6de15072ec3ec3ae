-- Pairs of samples that match: each with the first of those that have the same key.
CREATE OR REPLACE TEMP TABLE pairs AS
WITH compared AS (SELECT _row, key FROM marks)
SELECT _row, via, 0 AS how, CAST(NULL AS DOUBLE) AS jaccard
FROM ({{ same_key }})

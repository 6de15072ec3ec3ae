-- Samples that each step removed for each of its reasons, the most frequent first; the rest of them as one, without a name.
WITH counted AS (
  SELECT step, reason, count(*) AS removed FROM ledger GROUP BY step, reason
), numbered AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY step ORDER BY removed DESC, reason) AS place,
    count(*) OVER (PARTITION BY step) AS reasons
  FROM counted
)
SELECT step, any_value(reasons) AS reasons, CASE WHEN place < {{ most }} THEN reason END AS reason, CAST(sum(removed) AS BIGINT) AS removed
FROM numbered
GROUP BY step, least(place, {{ most }}), CASE WHEN place < {{ most }} THEN reason END
ORDER BY step, least(place, {{ most }})

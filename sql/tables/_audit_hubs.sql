-- The samples with which most others were matched, by step.
WITH matches AS (
  SELECT step, operator, via, matched, count(*) AS samples
  FROM duplicates
  WHERE unit IS NULL AND step IN {{ steps | lit }} AND via IS NOT NULL
  GROUP BY ALL
), hubs AS (
  SELECT
    step, operator, via, CAST(sum(samples) AS BIGINT) AS connected, min_by(matched, (-samples, matched)) AS matched
  FROM matches
  GROUP BY step, operator, via
  HAVING sum(samples) >= {{ least }}
)
SELECT step, operator, via, connected, matched
FROM hubs
QUALIFY row_number() OVER (PARTITION BY step ORDER BY connected DESC, via) <= {{ most }}
ORDER BY step, connected DESC, via

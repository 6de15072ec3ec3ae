-- A sketch of each statistic: how many values lie in each bucket of a logarithmic scale, and the least and largest of them.
-- Bucket i > 0 holds the values in (gamma^(i - 1), gamma^i], shifted by {{ shift }} so that those below 1 are positive too; 0 holds
-- the zeros, -i the values whose negation lies in bucket i. NULL counts the samples without a finite value. Counts are whole
-- numbers, so the sketches of parts add up to that of the whole, however it was cut.
SELECT
  "group", key, stat,
  CAST(
    CASE
      WHEN value = 0 THEN 0
      WHEN isfinite(value) THEN sign(value) * (ceil(ln(abs(value)) / {{ log_gamma }}) + {{ shift }})
    END AS INTEGER
  ) AS bucket,
  count(*) AS n,
  CASE WHEN isfinite(min(value)) THEN min(value) END AS low,
  CASE WHEN isfinite(max(value)) THEN max(value) END AS high
FROM ({{ values }})
GROUP BY ALL
ORDER BY "group", key, stat, bucket

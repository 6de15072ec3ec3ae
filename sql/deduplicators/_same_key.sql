-- Samples with the same key: each is paired with the first of its group, so a group of n gives n - 1 pairs.
SELECT candidates._row AS _row, groups.first AS via
FROM candidates
JOIN (
  SELECT key, min(_row) AS first
  FROM candidates
  GROUP BY key
  HAVING count(*) > 1
) AS groups ON candidates.key = groups.key
WHERE candidates._row <> groups.first

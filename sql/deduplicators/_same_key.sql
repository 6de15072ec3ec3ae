-- Samples with the same {{ column }}: each is paired with the first of its group, so a group of n gives n - 1 pairs.
SELECT marks._row AS _row, groups.first AS via
FROM marks
JOIN (
  SELECT {{ column }} AS key, min(_row) AS first
  FROM marks
  GROUP BY ALL
  HAVING count(*) > 1
) AS groups ON marks.{{ column }} = groups.key
WHERE marks._row <> groups.first

-- Units that stand somewhere before, in an earlier sample or earlier in the same one: the first of them stays.
SELECT marks._row, marks.unit, firsts.first.r AS kept, 'seen before' AS matched
FROM marks
JOIN (
  SELECT key, min({'r': _row, 'u': unit}) AS first
  FROM marks
  GROUP BY key
  HAVING count(*) > 1
) AS firsts ON marks.key = firsts.key
WHERE NOT (marks._row = firsts.first.r AND marks.unit = firsts.first.u)
ORDER BY marks._row, marks.unit

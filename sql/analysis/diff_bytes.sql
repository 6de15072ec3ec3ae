-- Rows that both runs kept with texts of different lengths at the end; the tables alone show no more about them.
SELECT
  count(*) AS compared,
  count(*) FILTER (WHERE before IS DISTINCT FROM after) AS differing,
  coalesce(min(_row, {{ limit }}) FILTER (WHERE before IS DISTINCT FROM after), []) AS examples
FROM (
  SELECT a._row, a.{{ bytes_a }} AS before, b.{{ bytes_b }} AS after
  FROM a.row_outcomes AS a JOIN b.row_outcomes AS b ON b._row = a._row
  WHERE a._dropped IS NULL AND b._dropped IS NULL
)

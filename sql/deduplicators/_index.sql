-- What an index remembers of this run: the marks of the samples that stay, under their numbers in the whole input. By
-- which they were preferred is not remembered: they come before all samples of later runs.
SELECT
  CAST({{ first_rows }} AS BIGINT[])[(marks._row >> 32) + 1] + (marks._row & 4294967295) AS _row
  {% for column in columns %}, marks.{{ column }}{% endfor %}

FROM marks
WHERE marks._row >= 0 AND NOT EXISTS (SELECT 1 FROM gone WHERE gone._row = marks._row)
ORDER BY marks._row

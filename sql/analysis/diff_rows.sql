-- Rows whose statistic differs between the runs: how many of those that both measured, by how much, and the first of them.
{% for name, column_a, column_b in columns %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  {{ name }} AS stat,
  count(*) AS both,
  count(*) FILTER (WHERE before <> after) AS changed,
  avg(abs(after - before)) FILTER (WHERE before <> after) AS mean_change,
  max(abs(after - before)) FILTER (WHERE before <> after) AS largest_change,
  coalesce(min(_row, {{ limit }}) FILTER (WHERE before <> after), []) AS examples
FROM (
  SELECT a._row, CAST(a.{{ column_a }} AS DOUBLE) AS before, CAST(b.{{ column_b }} AS DOUBLE) AS after
  FROM a.stats AS a JOIN b.stats AS b ON b._row = a._row
  WHERE a.{{ column_a }} IS NOT NULL AND b.{{ column_b }} IS NOT NULL
)
{% endfor %}

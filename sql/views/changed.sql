-- One row per sample and mapper that changed its text, with both texts where the change was traced.
SELECT c._row, c.step, s.operator, {{ 's.name' if named else 'CAST(NULL AS VARCHAR) AS name' }}, c.bytes_in, c.bytes_out, t.original_text, t.processed_text
FROM (
{% for change in changes %}
  {{ 'UNION ALL' if not loop.first }}
  SELECT _row, {{ change.step }} AS step, {{ change.before }} AS bytes_in, {{ change.after }} AS bytes_out FROM row_outcomes WHERE {{ change.flag }}
{% else %}
  SELECT 0::BIGINT AS _row, 0 AS step, 0::BIGINT AS bytes_in, 0::BIGINT AS bytes_out WHERE FALSE
{% endfor %}
) AS c
JOIN steps AS s ON s.step = c.step
LEFT JOIN (SELECT * FROM trace WHERE processed_text IS NOT NULL) AS t ON t._row = c._row AND t.step = c.step

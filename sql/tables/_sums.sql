-- Rows by the step that removed them, with the bytes of their texts and the changes: what the table of steps adds up.
SELECT
  _dropped,
  {% for name in texts %}
  {{ 'sum(%s)' % name if again else 'CAST(sum(%s) AS BIGINT)' % name }} AS {{ name }},
  {% endfor %}
  {% for name in changes %}
  {{ 'sum(%s)' % name if again else 'count(*) FILTER (WHERE %s)' % name }} AS {{ name }},
  {% endfor %}
  {{ 'sum(_rows)' if again else 'count(*)' }} AS _rows
FROM {{ relation }}
GROUP BY ALL

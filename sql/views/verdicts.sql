-- One row per sample and step that may remove samples: whether the step removes it; NULL where that is not known.
SELECT v._row, v.step, s.operator, {{ 's.name' if named else 'CAST(NULL AS VARCHAR) AS name' }}, v.removes
FROM (
{% for verdict in verdicts %}
  {{ 'UNION ALL' if not loop.first }}
  SELECT _row, {{ verdict.step }} AS step, removes FROM (SELECT _row, {{ verdict.removes }} AS removes FROM {{ verdict.source }})
{% else %}
  SELECT 0::BIGINT AS _row, 0 AS step, FALSE AS removes WHERE FALSE
{% endfor %}
) AS v
JOIN steps AS s ON s.step = v.step

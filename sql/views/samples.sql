-- One row per sample of the input, whatever became of it.
SELECT
  o._row,
  p.file,
  o._row + p._offset AS line,
  CASE WHEN o._dropped IS NULL THEN 'kept' ELSE 'removed' END AS fate,
  o._dropped AS step,
  l.operator,
  l.name,
  l.reason,
  l.statistic,
  l.value,
  l.bound,
  l.kept_instead,
  o._bytes_0 AS bytes_in,
  coalesce({{ sizes | reverse | join(', ') }}) AS bytes_out{% for field in fields %},
  {{ field.value }} AS {{ field.shown }}{% endfor %}

FROM row_outcomes AS o
ASOF LEFT JOIN ({{ places }}) AS p ON o._row >= p._first
LEFT JOIN {{ ledger }} AS l ON l._row = o._row

UNION ALL
SELECT
  _row,
  file,
  line,
  'quarantined',
  step,
  nullif(operator, ''),
  {{ '(SELECT name FROM steps WHERE steps.step = quarantine.step)' if named else 'CAST(NULL AS VARCHAR)' }},
  error,
  CAST(NULL AS VARCHAR),
  CAST(NULL AS DOUBLE),
  CAST(NULL AS DOUBLE),
  CAST(NULL AS BIGINT),
  CAST(NULL AS BIGINT),
  CAST(NULL AS BIGINT){% for field in fields %},
  CAST(NULL AS {{ field.type }}){% endfor %}

FROM quarantine

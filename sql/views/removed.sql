-- One row per sample that a step removed: the ledger with the sample's place and fields.
SELECT
  l._row,
  p.file,
  l._row + p._offset AS line,
  l.step,
  l.operator,
  l.name,
  l.reason,
  l.statistic,
  l.value,
  l.bound,
  l.kept_instead{% for field in fields %},
  f.{{ field.shown }}{% endfor %}

FROM {{ ledger }} AS l
ASOF LEFT JOIN ({{ places }}) AS p ON l._row >= p._first{% if fields %}

LEFT JOIN fields AS f ON f._row = l._row{% endif %}

-- One row per sample that a deduplicator compared equal or similar to another: its cluster, and what it was matched with.
SELECT
  c.step,
  c.operator,
  c.cluster,
  c.size,
  c._row,
  p.file,
  c._row + p._offset AS line,
  c.survivor,
  d.kept,
  d.via,
  d.matched,
  d.distance,
  d.estimated_jaccard,
  d.jaccard,
  d.kept_in_index{% for field in fields %},
  f.{{ field.shown }}{% endfor %}

FROM clusters AS c
LEFT JOIN duplicates AS d ON d.step = c.step AND d._row = c._row AND d.unit IS NULL
ASOF LEFT JOIN ({{ places }}) AS p ON c._row >= p._first{% if fields %}

LEFT JOIN fields AS f ON f._row = c._row{% endif %}

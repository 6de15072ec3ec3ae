-- One row per sample that a step removed: where, why, and by which value against which bound.
{% if more %}
INSERT INTO ledger
{% else %}
CREATE OR REPLACE TABLE ledger AS
{% endif %}
SELECT
  _row,
  _dropped AS step,
  {{ operator }} AS operator,
  {{ where }} AS recipe_line,
  {{ reason }} AS reason,
  {{ statistic }} AS statistic,
  {{ value }} AS value,
  {{ bound }} AS bound,
  CAST(NULL AS BIGINT) AS kept_instead,
  {{ title }} AS name
FROM {{ facts }}
WHERE _dropped IS NOT NULL{% for barrier in removing %} AND _dropped <> {{ barrier.step }}{% endfor %}{% if range %} AND _row BETWEEN {{ range }}{% endif %}

{% for barrier in removing %}
UNION ALL
SELECT
  f._row,
  f._dropped,
  {{ barrier.name | lit }},
  {{ barrier.where | lit }},
  'duplicate of ' || coalesce('row ' || d.kept, d.kept_in_index),
  {{ barrier.statistic | lit }},
  CAST({{ 'd.distance' if barrier.statistic == 'hamming_distance' else 'd.estimated_jaccard' }} AS DOUBLE),
  CAST({{ barrier.bound | lit }} AS DOUBLE),
  d.kept,
  CAST({{ barrier.title | lit }} AS VARCHAR)
FROM {{ facts }} AS f
JOIN duplicates AS d ON d.step = {{ barrier.step }} AND d._row = f._row
WHERE f._dropped = {{ barrier.step }}{% if range %} AND f._row BETWEEN {{ range }} AND d._row BETWEEN {{ range }}{% endif %}

{% endfor %}
{% if removing or not ordered %}
ORDER BY _row
{% endif %}

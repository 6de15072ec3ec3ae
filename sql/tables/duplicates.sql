-- One row per sample (or unit of one: a line, a paragraph, a span of sentences, a passage) that a deduplicator removed: what is kept
-- instead, and what it was matched with. Numbers of samples are put together from shard and place in it until here.
CREATE OR REPLACE TABLE duplicates AS
{% macro dense(row) %}
CASE WHEN {{ row }} >= 0 THEN getvariable('first_rows')[({{ row }} >> 32) + 1] + ({{ row }} & 4294967295) END
{% endmacro %}
SELECT
  0::BIGINT AS _row, 0 AS step, '' AS operator, 0::BIGINT AS kept, 0::BIGINT AS unit, 0::BIGINT AS via, '' AS matched,
  0 AS distance, 0::DOUBLE AS estimated_jaccard, 0::DOUBLE AS jaccard,
  0::BIGINT AS length, 0::BIGINT AS copy_at, '' AS kept_in_index
WHERE FALSE
{% for barrier in barriers if barrier.duplicates %}
UNION ALL
SELECT
  {{ dense('_row') }} AS _row,
  {{ barrier.step }} AS step,
  {{ barrier.name | lit }} AS operator,
  {{ dense('kept') }} AS kept,
  {% if barrier.units %}
  CAST(unit AS BIGINT) AS unit,
  {{ dense('via') }} AS via,
  matched,
  CAST(NULL AS INTEGER) AS distance,
  CAST(NULL AS DOUBLE) AS estimated_jaccard,
  CAST(NULL AS DOUBLE) AS jaccard,
  CAST(length AS BIGINT) AS length,
  CAST(copy_at AS BIGINT) AS copy_at,
  {% else %}
  CAST(NULL AS BIGINT) AS unit,
  {{ dense('via') }} AS via,
  matched,
  CAST(distance AS INTEGER) AS distance,
  CAST(estimated_jaccard AS DOUBLE) AS estimated_jaccard,
  CAST(jaccard AS DOUBLE) AS jaccard,
  CAST(NULL AS BIGINT) AS length,
  CAST(NULL AS BIGINT) AS copy_at,
  {% endif %}
  {% if barrier.index %}
  CASE WHEN kept < 0 THEN
    {{ barrier.index | lit }}[((kept + (CAST({{ barrier.index | length }} AS BIGINT) << 40)) >> 40) + 1]
    || ' row ' || ((kept + (CAST({{ barrier.index | length }} AS BIGINT) << 40)) & 1099511627775)
  END AS kept_in_index
  {% else %}
  CAST(NULL AS VARCHAR) AS kept_in_index
  {% endif %}
{% if barrier.units %}
FROM (
  FROM {{ barrier.matches }}
  UNION ALL BY NAME
  SELECT 0::BIGINT AS via, 0::BIGINT AS length, 0::BIGINT AS copy_at WHERE FALSE
)
{% else %}
FROM {{ barrier.matches }}
{% endif %}
{% endfor %}
ORDER BY step, _row, unit

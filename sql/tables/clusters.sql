-- One row per sample that is like another one: which cluster it belongs to, and whether it is the one that stays.
CREATE OR REPLACE TABLE clusters AS
SELECT 0 AS step, '' AS operator, 0::BIGINT AS cluster, 0::BIGINT AS _row, FALSE AS survivor, 0::BIGINT AS size
WHERE FALSE
{% for barrier in barriers if barrier.clusters %}
UNION ALL
SELECT
  {{ barrier.step }} AS step,
  {{ barrier.name | lit }} AS operator,
  {{ barrier.before }} + dense_rank() OVER (ORDER BY kept) - 1 AS cluster,
  getvariable('first_rows')[(_row >> 32) + 1] + (_row & 4294967295) AS _row,
  _row = kept AS survivor,
  CAST(size AS BIGINT) AS size
FROM {{ barrier.members }}
WHERE _row >= 0
{% endfor %}
ORDER BY step, cluster, _row

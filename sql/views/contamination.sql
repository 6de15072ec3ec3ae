-- One row per sample and item of an evaluation set that contamination_filter found in it, with a score of 0.5 or more.
{% for column in contaminations %}
{{ 'UNION ALL' if not loop.first }}
SELECT
  _row,
  found."set" AS evaluation_set,
  found.item AS item,
  found.part AS part,
  found.score AS score,
  found.share AS share,
  found.start AS first_char,
  found."end" AS end_char,
  found.alike AS alike,
  found.items AS items_of_set,
  found.too_short AS too_short_of_set,
  kept
FROM (
  SELECT _row, kept, unnest(from_json({{ column | ident }}, '[{"score":"DOUBLE","share":"DOUBLE","set":"VARCHAR","item":"VARCHAR","part":"VARCHAR","start":"BIGINT","end":"BIGINT","alike":"BIGINT","items":"BIGINT","too_short":"BIGINT"}]')) AS found
  FROM stats
  WHERE {{ column | ident }} <> '[]'
)
{% else %}
SELECT
  CAST(NULL AS BIGINT) AS _row, '' AS evaluation_set, '' AS item, '' AS part, 0::DOUBLE AS score, 0::DOUBLE AS share, 0::BIGINT AS first_char,
  0::BIGINT AS end_char, 0::BIGINT AS alike, 0::BIGINT AS items_of_set, 0::BIGINT AS too_short_of_set, FALSE AS kept
WHERE FALSE
{% endfor %}

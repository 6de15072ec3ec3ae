-- Classes of samples that reach a filter and that none of the tried bounds separates: the bounds around their
-- statistics, and their fates. One of the values represents its class.
CREATE OR REPLACE TEMP TABLE classes AS
WITH samples AS (
  SELECT
    {% for stat in stats %}
    {{ stat.column }} AS _value_{{ loop.index }}, CAST({{ stat.column }} AS DOUBLE) AS _number_{{ loop.index }},
    {% endfor %}
    CASE WHEN {{ here }} THEN 'here' WHEN {{ kept }} THEN 'kept' ELSE 'later' END AS _fate,
    {{ bytes_here }} AS _bytes_here,
    {{ bytes_end }} AS _bytes_end
  FROM stats
  JOIN row_outcomes USING (_row)
  WHERE (_dropped IS NULL OR _dropped >= {{ step }}) AND {{ rest }}
)
SELECT
  {% for stat in stats %}
  min(_value_{{ loop.index }}) AS {{ stat.column }},
  {% endfor %}
  _fate,
  count(*) AS _n,
  CAST(sum(_bytes_here) AS BIGINT) AS _bytes_here,
  CAST(sum(_bytes_end) AS BIGINT) AS _bytes_end
FROM samples
{% for stat in stats %}
ASOF LEFT JOIN (SELECT unnest(CAST({{ stat.bounds | lit }} AS DOUBLE[])) AS _bound) AS t{{ loop.index }}
  ON _number_{{ loop.index }} >= t{{ loop.index }}._bound
{% endfor %}
GROUP BY
  {% for stat in stats %}
  t{{ loop.index }}._bound, _number_{{ loop.index }} = t{{ loop.index }}._bound, _number_{{ loop.index }} IS NULL,
  {% endfor %}
  _fate

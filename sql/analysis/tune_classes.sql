-- Samples that a filter was given, put together where the bounds to be tried cannot tell them apart: which bounds their
-- statistics lie between, and what became of them. One of the values stands for all of a class.
CREATE OR REPLACE TEMP TABLE classes AS
WITH samples AS (
  SELECT
    {% for stat in stats %}
    {{ stat.column }} AS value_{{ loop.index }}, CAST({{ stat.column }} AS DOUBLE) AS number_{{ loop.index }},
    {% endfor %}
    CASE WHEN {{ here }} THEN 'here' WHEN {{ kept }} THEN 'kept' ELSE 'later' END AS fate,
    {{ bytes_here }} AS bytes_here,
    {{ bytes_end }} AS bytes_end
  FROM stats
  JOIN fates USING (_row)
  WHERE (_dropped IS NULL OR _dropped >= {{ step }}) AND {{ rest }}
)
SELECT
  {% for stat in stats %}
  min(value_{{ loop.index }}) AS {{ stat.column }},
  {% endfor %}
  fate,
  count(*) AS n,
  CAST(sum(bytes_here) AS BIGINT) AS bytes_here,
  CAST(sum(bytes_end) AS BIGINT) AS bytes_end
FROM samples
{% for stat in stats %}
ASOF LEFT JOIN (SELECT unnest(CAST({{ stat.bounds | lit }} AS DOUBLE[])) AS bound) AS t{{ loop.index }}
  ON number_{{ loop.index }} >= t{{ loop.index }}.bound
{% endfor %}
GROUP BY
  {% for stat in stats %}
  t{{ loop.index }}.bound, number_{{ loop.index }} = t{{ loop.index }}.bound, number_{{ loop.index }} IS NULL,
  {% endfor %}
  fate

-- Samples that reach a filter: the columns that it decides by, the fate, whether the run's own values keep the sample,
-- and the other steps that remove it, as far as the run knows.
CREATE TEMP TABLE filter_rows AS
SELECT
  _row,
  {% for column in columns %}
  {{ column }},
  {% endfor %}
  CASE WHEN {{ here }} THEN 'here' WHEN {{ kept }} THEN 'kept' ELSE 'later' END AS _fate,
  coalesce({{ condition }}, FALSE) AS _in_force,
  {% if others %}
  concat_ws(',', {% for step, other in others %}CASE WHEN NOT {{ other }} THEN '{{ step }}' END{{ ', ' if not loop.last }}{% endfor %})
  {% else %}
  CASE WHEN _dropped > {{ step }} THEN CAST(_dropped AS VARCHAR) ELSE '' END
  {% endif %} AS _others,
  {{ bytes_here }} AS _bytes_here,
  {{ bytes_end }} AS _bytes_end
FROM stats
JOIN row_outcomes USING (_row)
WHERE _dropped IS NULL OR _dropped >= {{ step }}
